"""What is said of entities and relations is embedded: once a batch, class by class, and shown while it is still said."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import psycopg
import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.errors import ModelFailed
from lightwell.domain.graph import (
    ManualEdit,
    MergeStrategy,
    Predicate,
    ProfileSubject,
    RelationMention,
)
from lightwell.ingest.context import IngestContext
from lightwell.ingest.profile_embedding import MAX_CHARACTERS
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Vectors
from lightwell.records.database import Database
from lightwell.stores.milvus.collection import connect as connect_milvus
from lightwell.stores.milvus.profiles import MilvusProfiles
from lightwell.stores.postgres.profiles import PostgresProfiles
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource
from lightwell.wiring import make_retriever

from .conftest import CountingEmbedder, Project
from .extraction_model import read_by_model
from .notes import Noted, noted
from .test_ingestion import LONG, ingest, make_document
from .test_merging import AB, A, B
from .test_summaries import note, reply

PUMPS, TAPS = "Acme Corp (organization): sells pumps", "Acme Corp (organization): repairs taps"
USES = "Acme Corp -> Nordwind [USES]: rents its lorries"


@pytest.fixture
async def store(database: Database) -> Noted:
    return await noted(database)


async def near(
    store: Noted | Project,
    tags: Sequence[str],
    text: str,
    subject: ProfileSubject = ProfileSubject.ENTITY,
) -> dict[str, float]:
    """Return what the reader's nearest profiles are called, with their similarities."""
    project = store.project if isinstance(store, Noted) else store
    reader = await project.kb.reader(tags)
    (vector,) = await HashEmbedder(dimension=64).embed_query(text)
    context = project.context
    hits = await context.profiles.nearest(context.space.id, vector, reader, subject, limit=10)
    rows = await project.database.rows(
        "SELECT subject_id, min(display_name) FROM profiles WHERE class_id = ANY(%(classes)s) GROUP BY 1",
        {"classes": list(reader.classes)},
    )
    names = dict(rows)
    return {names[hit.subject_id]: round(hit.similarity, 3) for hit in hits}


async def rows(store: Noted | Project) -> tuple[int, int, int]:
    """Return how many profiles are recorded as described, how many of them have changed, and how many vectors are there."""
    database = store.project.database if isinstance(store, Noted) else store.database
    (found,) = await database.rows(
        "SELECT count(*), count(*) FILTER (WHERE changed OR taken_until IS NOT NULL),"
        " (SELECT count(*) FROM entity_vectors_1) + (SELECT count(*) FROM relation_vectors_1) FROM described_profiles",
        {},
    )
    return found


def embedded(store: Noted | Project) -> list[str]:
    """Return the texts of profiles that were embedded so far, in order."""
    embedder = store.project.embedder if isinstance(store, Noted) else store.embedder
    return [text for text in embedder.texts if ": " in text and "\n" not in text]


async def test_only_what_says_something_is_embedded(store: Noted) -> None:
    await store.put("one", A, PUMPS, "Jane Smith (person)", USES)
    assert sorted(embedded(store)) == [
        "Acme Corp (organization): sells pumps",
        "Acme Corp - Nordwind: rents its lorries",
    ]
    assert await near(store, A, "pumps") == {"Acme Corp": pytest.approx(0.447, abs=0.05)}
    assert len(await near(store, A, "lorries", ProfileSubject.RELATION)) == 1
    assert await near(store, B, "pumps") == {}


async def test_bare_names_cost_no_embedding_and_no_row(project: Project) -> None:
    await ingest(project, make_document("a.md", f"Acme Corp met Jane Smith in Oslo. {LONG}", A))
    assert embedded(project) == []
    assert await rows(project) == (0, 0, 0)


async def test_a_batch_embeds_a_profile_once_and_equal_words_once(store: Noted) -> None:
    for number in range(12):
        store.shelf[f"a{number}"] = make_document(
            f"a{number}.txt", f"Acme Corp (organization): did {number}", A
        )
        store.shelf[f"b{number}"] = make_document(f"b{number}.txt", PUMPS, [B, AB][number % 2])
    await store.ingest()
    (long,) = [text for text in embedded(store) if "did" in text]
    assert all(f"did {number}" in long for number in range(12))
    assert embedded(store).count(PUMPS) == 1
    assert await rows(store) == (3, 0, 3)


async def test_nothing_is_embedded_again_until_something_else_is_said(store: Noted) -> None:
    await store.put("one", A, PUMPS, USES)
    before = embedded(store)
    await store.put("one", A, PUMPS, USES, "Jane Smith (person)")
    await store.put("two", A, "Acme Corp (organization)", USES)
    assert embedded(store) == before
    assert await rows(store) == (2, 0, 2)
    await store.put("two", A, TAPS, USES)
    assert embedded(store) == [
        *before,
        "Acme Corp (organization): sells pumps | repairs taps",
    ]


async def test_what_is_long_is_cut(store: Noted) -> None:
    await store.put("one", A, PUMPS + " and more" * 1000)
    (text,) = embedded(store)
    assert len(text) == len("Acme Corp (organization): ") + MAX_CHARACTERS


async def test_each_class_is_embedded_in_its_own_words(store: Noted) -> None:
    """Also when a merge gives two names to one thing, and one class knows but one of them."""
    await store.put("a", A, "Zyx (organization): sells pumps", "Zyx -> Nordwind [USES]: rents")
    await store.put(
        "b", B, "Acme Corp (organization): repairs", "Acme Corp -> Nordwind [USES]: owns"
    )
    reader = await store.kb.reader(["team:a", "team:b"])
    await store.kb.graph.merge(reader, ["Acme Corp"], "Zyx", strategy=MergeStrategy.CONCATENATE)
    await store.put(
        "b2", B, "Acme Corp (organization): paints", "Acme Corp -> Nordwind [USES]: lends"
    )
    assert embedded(store)[-2:] != []
    for text in embedded(store):
        of_a = any(word in text for word in ("Zyx", "pumps", "rents"))
        of_b = any(word in text for word in ("Acme", "repairs", "owns", "paints", "lends"))
        assert of_a != of_b, text
    assert "Acme Corp - Nordwind: owns | lends" in embedded(store)
    assert await rows(store) == (4, 0, 4)


async def test_a_person_s_word_is_embedded_too(store: Noted) -> None:
    await store.put("one", A, PUMPS, "Nordwind (organization)")
    reader = await store.kb.reader(A)
    await store.kb.graph.edit(reader, "Acme Corp", ManualEdit(description="Makers of whistles."))
    said = RelationMention(
        subject="Nordwind",
        object="Acme Corp",
        predicate=Predicate.USES,
        keywords="whistles",
        description="Blown at noon.",
    )
    await store.kb.graph.relate(reader, said)
    assert embedded(store)[1:] == [
        "Acme Corp (organization): Makers of whistles.",
        "Nordwind - whistles - Acme Corp: Blown at noon.",
    ]
    await store.kb.graph.delete(reader, "Acme Corp")
    assert await rows(store) == (0, 0, 0)


async def test_the_ends_are_called_what_the_relation_s_own_text_calls_them(
    store: Noted, other_database: Database
) -> None:
    """So it does not matter when it was embedded; a profile's name may change at any time."""
    at_once = await noted(other_database)
    texts = {
        "one": "ACME CORP -> Nordwind [USES]: rents",
        "two": "Acme Corp (organization)",
        "three": "Acme Corp (organization)",
    }
    for name, text in texts.items():
        await store.put(name, A, text)
        at_once.shelf[name] = make_document(f"{name}.txt", text, A, title=name)
    await at_once.ingest()
    assert embedded(store) == embedded(at_once) == ["ACME CORP - Nordwind: rents"]


async def test_the_ends_of_a_relation_by_hand_are_called_what_its_class_calls_them(
    store: Noted,
) -> None:
    await store.put("one", A, "Acme Corp (organization)", "Nordwind (organization)")
    await store.put("two", B, "ACME CORP (organization)", "NORDWIND (organization)")
    said = RelationMention(
        subject="Nordwind", object="Acme Corp", predicate=Predicate.USES, description="At noon."
    )
    reader = await store.kb.reader(["team:a", "team:b"])
    await store.kb.graph.relate(reader, said, tags=A)
    await store.kb.graph.relate(reader, said, tags=B)
    assert embedded(store) == ["Nordwind - Acme Corp: At noon.", "NORDWIND - ACME CORP: At noon."]


async def test_a_document_that_changes_hands_takes_its_words_along(store: Noted) -> None:
    await store.put("one", A, PUMPS)
    await store.put("two", A, TAPS)
    before = await near(store, A, "repairs taps")
    store.shelf["two"] = replace(store.shelf["two"], acl_tags=frozenset(B))
    await store.kb.ingestion.enqueue(InMemorySource(documents=tuple(store.shelf.values())))
    assert await near(store, A, "repairs taps") == {}
    await store.ingest()
    after = await near(store, A, "repairs taps")
    assert after["Acme Corp"] < before["Acme Corp"]
    assert (await near(store, B, "repairs taps"))["Acme Corp"] > before["Acme Corp"]
    assert embedded(store)[-2:] in ([PUMPS, TAPS], [TAPS, PUMPS])


@pytest.mark.parametrize("verb", ["delete", "erase", "vanish"])
async def test_what_goes_leaves_no_vector_behind(store: Noted, verb: str) -> None:
    await store.put("one", A, PUMPS, "Zyx (organization): paints", USES)
    await store.put("two", A, TAPS)
    reader = await store.kb.reader(A)
    assert await rows(store) == (3, 0, 3)
    match verb:
        case "delete":
            await store.kb.documents.delete(reader, ["file:///shelf/one.txt"])
        case "erase":
            await store.kb.documents.erase(reader, ["file:///shelf/one.txt"])
        case _:
            await store.remove("one")
    assert embedded(store)[-1] == TAPS
    assert await rows(store) == (1, 0, 1)
    assert await near(store, A, "pumps", ProfileSubject.RELATION) == {}


async def test_a_worker_begins_with_what_others_left(store: Noted) -> None:
    await store.put("one", A, PUMPS)
    await store.put("two", A, TAPS)
    del store.shelf["two"]
    await store.kb.ingestion.enqueue(InMemorySource(documents=tuple(store.shelf.values())))
    assert (await rows(store))[1] == 1
    stop = asyncio.Event()
    working = asyncio.create_task(store.kb.ingestion.work(stop, lambda outcome: None))
    for _ in range(100):
        if (await rows(store))[1] == 0:
            break
        await asyncio.sleep(0.1)
    stop.set()
    await working
    assert await rows(store) == (1, 0, 1)
    assert embedded(store)[-1] == PUMPS


@dataclass(frozen=True)
class Interrupted:
    """An embedder to which something happens before it has read the profiles' texts."""

    inner: CountingEmbedder
    happens: Callable[[str], None]

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if any(text.startswith("Acme Corp (") and "\n" not in text for text in texts):
            self.happens(texts[0])
        return await self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)


def interrupted(store: Noted, happens: Callable[[str], None]) -> Noted:
    """Return the store with an embedder that is interrupted; `embedded` still tells what it read."""
    project = store.project
    return with_way(
        store, replace(project.context, embedder=Interrupted(project.embedder, happens))
    )


def with_way(store: Noted, context: IngestContext) -> Noted:
    project = store.project
    answers = AnswerGenerator(model=None)
    kb = KnowledgeBase(context, make_retriever(context), answers)
    return replace(store, project=replace(project, kb=kb, context=context))


@dataclass
class Failing:
    """Something that fails while it is told to."""

    fails: bool = True
    times: list[str] = field(default_factory=list[str])

    def __call__(self, text: str) -> None:
        if self.fails:
            self.times.append(text)
            raise ModelFailed("the endpoint is gone")


async def test_while_the_embedder_fails_documents_still_come_and_go(store: Noted) -> None:
    await store.put("one", A, PUMPS)
    failing = Failing()
    weak = interrupted(store, failing)
    await weak.put("one", A, TAPS)
    await weak.put("two", A, "Zyx (organization): paints")
    await weak.kb.documents.erase(await store.kb.reader(A), ["file:///shelf/two.txt"])
    assert failing.times
    assert await near(store, A, "pumps") == {}
    assert await rows(store) == (1, 1, 1)
    failing.fails = False
    del weak.shelf["two"]
    await weak.ingest()
    assert await rows(store) == (1, 0, 1)
    assert embedded(store) == [PUMPS, TAPS]


async def test_s3_11_while_the_index_is_down_corrections_are_made_and_wait_for_it(
    store: Noted,
) -> None:
    """Search finds by no vector of what was said before, and by the new one once the index is there again."""
    await store.put("one", A, PUMPS)
    reader, context = await store.kb.reader(A), store.project.context
    async with connect_milvus("http://127.0.0.1:1", "", 5) as nowhere:
        index = MilvusProfiles(
            database=context.database,
            server=nowhere,
            project_id=context.project_id,
            postgres=PostgresProfiles(context.database),
        )
        cut_off = with_way(store, replace(context, profiles=index))
        await cut_off.kb.graph.edit(reader, "Acme Corp", ManualEdit(description="Makes whistles."))
        assert await rows(store) == (1, 1, 1)
        assert await near(store, A, "pumps") == {}
        await cut_off.kb.graph.delete(reader, "Acme Corp")
        assert await rows(store) == (1, 1, 1)
        await cut_off.kb.graph.restore(reader, "Acme Corp")
    await store.kb.ingestion.finish_jobs()
    assert await rows(store) == (1, 0, 1)
    assert list(await near(store, A, "makes whistles")) == ["Acme Corp"]


async def test_what_changes_while_it_is_embedded_is_embedded_again(
    store: Noted, database_url: str
) -> None:
    shown: list[object] = []

    def meanwhile(text: str) -> None:
        """Have somebody else say something else, once, and look what is shown then."""
        if not shown:
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute(
                    "UPDATE profiles SET description = 'sinks' WHERE description <> ''"
                )
                connection.execute(
                    "UPDATE described_profiles SET changed = true, taken_until = NULL"
                )
                shown.append(text)

    await interrupted(store, meanwhile).put("one", A, PUMPS)
    assert embedded(store) == [PUMPS, "Acme Corp (organization): sinks"]
    assert await rows(store) == (1, 0, 1)
    assert (await near(store, A, "Acme Corp (organization): sinks"))["Acme Corp"] > 0.99


async def test_what_a_worker_had_in_hand_when_it_died_comes_back(store: Noted) -> None:
    def die(text: str) -> None:
        raise asyncio.CancelledError(text)

    with suppress(asyncio.CancelledError):
        await interrupted(store, die).put("one", A, PUMPS)
    assert await rows(store) == (1, 1, 0)
    await store.project.database.execute(
        "UPDATE described_profiles SET taken_until = now() + interval '1 minute'", {}
    )
    await store.ingest()
    assert await rows(store) == (1, 1, 0)
    await store.project.database.execute("UPDATE described_profiles SET taken_until = now()", {})
    await store.ingest()
    assert await rows(store) == (1, 0, 1)


async def test_a_summary_takes_the_place_of_the_descriptions(database: Database) -> None:
    """Where the model fails first, what was joined has a vector until the summary is there."""
    notes = [note(f"a{n}", ["team:a"]) for n in range(12)]
    script = [*[Behaviour()] * 12, *[Behaviour(status=500)] * 2]
    with FakeEndpoint(reply, script=script).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, _):
            await project.kb.ingestion.ingest(InMemorySource(documents=tuple(notes)))
            await project.kb.ingestion.ingest(
                InMemorySource(documents=(*notes, note("b0", ["team:b"])))
            )
            first, *later = embedded(project)
            assert " | " in first
            assert [text for text in later if "Summary of note a" in text]
            assert await rows(project) == (2, 0, 2)


async def test_the_approximate_index_comes_to_stand_by_itself(store: Noted) -> None:
    project = store.project
    index = PostgresProfiles(project.database, max_exact=0)
    context = replace(project.context, profiles=index)
    await with_way(store, context).put("one", A, PUMPS, USES)
    standing = await project.database.rows(
        "SELECT count(*) FROM pg_indexes WHERE indexname ~ '^(entity|relation)_vectors_1_hnsw$'", {}
    )
    assert standing == [(2,)]
