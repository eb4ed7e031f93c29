"""A project's embedding model is changed while questions, ingestion and deletion go on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np
import pytest
from psycopg import sql

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.errors import BudgetSpent, Invalid, ModelFailed, NotFound
from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ClassId, SpaceId
from lightwell.ingest.chunking import text_to_embed
from lightwell.ingest.context import ChangeLimits, IngestContext, follow_space
from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.embeddings import Embeddings
from lightwell.ports import Vectors
from lightwell.records import embedding_space_changes, passage_gaps
from lightwell.records.database import Database
from lightwell.records.documents import chunks as published
from lightwell.records.embedding_spaces import SpaceModel
from lightwell.records.graph import profile_queue
from lightwell.records.graph.profile_queue import list_embedded
from lightwell.stores.milvus.profiles import MilvusProfiles
from lightwell.stores.milvus.vectors import MilvusVectors
from lightwell.testing.models import HashEmbedder
from lightwell.wiring import make_retriever
from tests.store_combinations import POSTGRES, Stores, on_each_vector_store

from .conftest import CountingEmbedder
from .notes import Noted, noted
from .test_noninterference import view

A, B = ["team:a"], ["team:b"]
PUMPS, TAPS = "Acme Corp (organization): sells pumps", "Nordwind (organization): repairs taps"
NEXT = "hashed-stems"


@dataclass(frozen=True)
class NextEmbedder(CountingEmbedder):
    """The model to change to; it fails while `failing` has an element."""

    inner: HashEmbedder = field(default_factory=lambda: HashEmbedder(dimension=32))
    failing: list[str] = field(default_factory=list[str])

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise ModelFailed("the next model is down")
        return await super().embed_documents(texts)


@dataclass(frozen=True, kw_only=True)
class Changing:
    """A project of notes, as seen by a process that can call two models."""

    notes: Noted
    context: IngestContext
    embeddings: Embeddings
    old: CountingEmbedder
    following: NextEmbedder

    @property
    def kb(self) -> KnowledgeBase:
        return self.notes.kb

    async def spaces(self) -> list[tuple[int, str]]:
        """Return the project's spaces by dimension, with their states."""
        return [
            (each.space.dimension, each.space.status.value) for each in await self.embeddings.list()
        ]

    async def fill(self) -> None:
        """Do all steps but the swap."""
        while await self.embeddings.advance() and (await self.missing()) != (0, 0):
            pass

    async def missing(self) -> tuple[int, int]:
        last = (await self.embeddings.list())[-1]
        return last.missing_chunks, last.missing_profiles

    async def found(self, text: str, tags: Sequence[str]) -> list[str]:
        """Return the titles of the passages that meaning alone finds."""
        found = await self.kb.questions.search(text, await self.kb.reader(tags))
        return [each.chunk.title for each in found.evidence if each.chunk.title]

    async def near(self, text: str, tags: Sequence[str]) -> dict[str, float]:
        """Return the nearest profiles of entities in the active space, with their similarities."""
        context = await follow_space(self.context)
        (vector,) = await context.embedder.embed_query(text)
        reader = await self.kb.reader(tags)
        hits = await context.profiles.nearest(
            context.space.id, vector, reader, ProfileSubject.ENTITY, limit=10
        )
        rows = await context.database.rows(
            "SELECT subject_id, min(display_name) FROM profiles GROUP BY 1", {}
        )
        names = dict(rows)
        return {names[hit.subject_id]: round(hit.similarity, 3) for hit in hits}


async def open_changing(database: Database, stores: Stores = POSTGRES) -> Changing:
    notes = await noted(database, stores=stores)
    old, following = notes.project.embedder, NextEmbedder()
    models = tuple(
        SpaceModel(embedder=each, sentences=each, price=2.0) for each in (old, following)
    )
    context = replace(notes.project.context, models=models)
    kb = KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=None))
    project = replace(notes.project, kb=kb, context=context)
    return Changing(
        notes=replace(notes, project=project),
        context=context,
        embeddings=Embeddings(context=context),
        old=old,
        following=following,
    )


@pytest.fixture
async def changing(database: Database, stores: Stores) -> Changing:
    store = await open_changing(database, stores)
    await store.notes.put("one", A, PUMPS)
    await store.notes.put("two", B, TAPS)
    return store


async def require_complete(store: Changing) -> None:
    """Every published chunk and every described profile has the vector of its text now in the active space, and nothing else is there."""
    context = await follow_space(store.context)
    database, space = context.database, context.space
    ids = await published.list_published_ids(database, context.project_id, after=None, limit=100)
    found = await published.list_published_by_id(database, [chunk for chunk, _ in ids])
    vectors = await context.vectors.vectors(space.id, [chunk for chunk, _ in ids])
    texts = [text_to_embed(each.title, each.chunk.draft) for each in found]
    for each, expected in zip(found, await context.embedder.embed_documents(texts), strict=True):
        np.testing.assert_allclose(vectors[each.chunk.id], expected, atol=0.001)
    profiles = [
        (row[0], row[1])
        for row in await database.rows(
            "SELECT subject_id, class_id FROM profiles WHERE description <> '' ORDER BY 1, 2", {}
        )
    ]
    if isinstance(context.vectors, MilvusVectors):
        assert await context.vectors.count(space.id) == len(ids)
        assert isinstance(context.profiles, MilvusProfiles)
        first = (UUID(int=0), ClassId(0))
        embedded = await list_embedded(database, context.project_id, after=first, limit=100)
        assert [each.key for each in embedded] == profiles
        assert (await context.profiles.vectors(space.id, embedded)).keys() == set(profiles)
        assert await context.profiles.count(space.id) == len(profiles)
        return
    stored = sql.SQL("SELECT chunk_id, class_id FROM {} ORDER BY chunk_id").format(
        sql.Identifier(f"chunk_vectors_{space.id:d}")
    )
    rows = await database.rows(stored, {})
    assert [(row[0], row[1]) for row in rows] == ids
    described = sql.SQL(
        "SELECT subject_id, class_id FROM {} UNION SELECT subject_id, class_id FROM {} ORDER BY 1, 2"
    ).format(
        sql.Identifier(f"entity_vectors_{space.id:d}"),
        sql.Identifier(f"relation_vectors_{space.id:d}"),
    )
    assert profiles == await database.rows(described, {})


@on_each_vector_store
async def test_s3_12_a_project_changes_its_model_and_questions_follow(changing: Changing) -> None:
    estimate = await changing.embeddings.start("")
    assert (estimate.chunks, estimate.profiles, estimate.dimension) == (2, 2, 32)
    assert 20 < estimate.tokens < 100
    assert estimate.price == pytest.approx(estimate.tokens * 2 / 1_000_000)
    assert await changing.spaces() == [(64, "active"), (32, "building")]
    begun = (await changing.embeddings.list())[-1]
    assert (begun.percent, begun.seconds_left) == (0, None)
    before = await changing.found("pumps", A)
    assert before
    await changing.embeddings.advance()
    halfway = (await changing.embeddings.list())[-1]
    assert halfway.percent == 50
    assert halfway.seconds_left == pytest.approx(halfway.seconds)
    await changing.fill()
    assert await changing.spaces() == [(64, "active"), (32, "building")]
    asked = len(changing.following.texts)
    await changing.embeddings.finish(lambda progress: None)
    assert len(changing.following.texts) == asked
    assert await changing.spaces() == [(64, "retired"), (32, "active")]
    assert await changing.found("pumps", A) == before
    assert "Acme Corp" in await changing.near("sells pumps", A)
    await require_complete(changing)


@on_each_vector_store
async def test_s3_12_nothing_invisible_is_felt_while_two_spaces_exist(
    changing: Changing, other_database: Database, stores: Stores
) -> None:
    """A reader of A sees the same before, during and after a change, whether B's document exists or not."""
    own = await open_changing(other_database, stores)
    await own.notes.put("one", A, PUMPS)

    async def seen(store: Changing) -> object:
        reader = await store.kb.reader(A)
        asked = ("What sells pumps?", "Who repairs taps?")
        return await view(store.notes.project, reader, asked), await store.near("taps", A)

    steps: tuple[Callable[[Changing], Awaitable[object]], ...] = (
        lambda store: store.embeddings.start(""),
        lambda store: store.embeddings.advance(),
        lambda store: store.embeddings.finish(lambda progress: None),
    )
    assert await seen(changing) == await seen(own)
    for step in steps:
        for store in (changing, own):
            await step(store)
        assert await seen(changing) == await seen(own)


@on_each_vector_store
async def test_what_changes_during_the_filling_is_in_both_spaces(changing: Changing) -> None:
    notes = changing.notes
    await notes.put("three", A, "Jane Smith (person): runs the harbour")
    await changing.embeddings.start("")
    await changing.fill()
    await notes.put("four", A, "Oslo (place): lies at a fjord")
    assert (await changing.missing())[0] == 1
    await changing.fill()
    assert "Oslo (place): lies at a fjord" in " ".join(changing.following.texts)
    changing.following.failing.append("down")
    await notes.put("five", A, "Bergen (place): has rain")
    await notes.put("one", A, "Acme Corp (organization): sells boats")
    assert await changing.missing() == (2, 2)
    await notes.put("three", B, "Jane Smith (person): runs the harbour")
    await notes.remove("two")
    changing.following.failing.clear()
    await changing.embeddings.finish(lambda progress: None)
    await require_complete(changing)
    assert set(await changing.near("harbour", A)) == {"Acme Corp", "Bergen", "Oslo"}
    assert set(await changing.near("harbour", B)) == {"Jane Smith"}


@on_each_vector_store
async def test_a_document_deleted_between_claim_and_put_does_not_come_back(
    changing: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    await changing.embeddings.start("")
    embed = NextEmbedder.embed_documents

    async def delete_meanwhile(self: NextEmbedder, texts: Sequence[str]) -> Vectors:
        if "two" in changing.notes.shelf:
            await changing.notes.put("one", B, PUMPS)
            await changing.notes.remove("two")
        return await embed(self, texts)

    monkeypatch.setattr(NextEmbedder, "embed_documents", delete_meanwhile)
    await changing.embeddings.finish(lambda progress: None)
    await require_complete(changing)
    assert await changing.near("pumps", A) == {}
    assert set(await changing.near("pumps", B)) == {"Acme Corp"}


async def test_what_a_killed_process_had_claimed_is_embedded_by_another(
    changing: Changing, database: Database
) -> None:
    await changing.embeddings.start("")
    space = (await changing.embeddings.list())[-1].space
    assert len(await passage_gaps.claim_for_change(database, space.id, limit=10, seconds=60)) == 2
    assert len(await embedding_space_changes.claim_profiles(database, space.id, 1)) == 1
    assert await changing.embeddings.advance() is True
    assert await changing.embeddings.advance() is False
    assert await changing.missing() == (2, 1)
    for table in ("chunk_gaps", "described_profiles"):
        await database.execute(f"UPDATE {table} SET taken_until = now() - interval '1 second'", {})
    await changing.embeddings.finish(lambda progress: None)
    await require_complete(changing)


async def test_a_crash_before_all_is_queued_is_made_up_for(
    changing: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(*_: object) -> None:
        raise ModelFailed("killed here")

    with monkeypatch.context() as patched:
        patched.setattr(embedding_space_changes, "queue", crash)
        with pytest.raises(ModelFailed):
            await embedding_space_changes.start(
                changing.context.database, changing.context.project_id, await prepared(changing)
            )
    assert await changing.missing() == (2, 2)
    await changing.embeddings.finish(lambda progress: None)
    await require_complete(changing)


async def prepared(store: Changing) -> SpaceId:
    context = store.context
    space = await embedding_space_changes.prepare(context.database, context.project_id, NEXT, 32)
    assert space is not None
    await context.vectors.prepare(space, 32)
    await context.profiles.prepare(space, 32)
    return space


async def test_a_profile_that_waits_during_the_swap_gets_its_vector_after_it(
    changing: Changing, database: Database
) -> None:
    await changing.embeddings.start("")
    await changing.fill()
    context = changing.context
    claims = await profile_queue.claim_changed(
        database, context.project_id, limit=1, max_characters=10
    )
    assert claims == []
    await database.execute("UPDATE described_profiles SET changed = true", {})
    held = await profile_queue.claim_changed(
        database, context.project_id, limit=1, max_characters=10
    )
    await changing.embeddings.finish(lambda progress: None)
    await profile_queue.mark_embedded(database, held, {held[0].key: b"old"})
    (old, new) = await changing.embeddings.list()
    assert (old.missing_profiles, new.missing_profiles) == (2, 2)
    await changing.notes.ingest()
    await require_complete(changing)
    assert (await changing.embeddings.list())[1].missing_profiles == 0


async def test_chunks_whose_job_began_before_the_swap_get_their_vectors_after_it(
    changing: Changing, database: Database
) -> None:
    await changing.embeddings.start("")
    await changing.embeddings.finish(lambda progress: None)
    await database.execute("DELETE FROM chunk_vectors_2", {})
    await database.execute(
        "INSERT INTO chunk_gaps (chunk_id, space_id, document_id, round)"
        " SELECT chunk_id, 2, document_id, 0 FROM document_chunks",
        {},
    )
    await changing.notes.ingest()
    await require_complete(changing)


@on_each_vector_store
async def test_changing_back_embeds_only_what_came_since(changing: Changing) -> None:
    await changing.embeddings.start("")
    await changing.embeddings.finish(lambda progress: None)
    await changing.notes.put("three", A, "Oslo (place): lies at a fjord")
    await changing.notes.remove("two")
    await changing.embeddings.start("")
    changing.old.texts.clear()
    await changing.embeddings.finish(lambda progress: None)
    assert [text for text in set(changing.old.texts) if "fjord" not in text] == []
    assert await changing.spaces() == [(64, "active"), (32, "retired")]
    await require_complete(changing)


async def test_a_cancelled_change_leaves_nothing(changing: Changing, database: Database) -> None:
    await changing.embeddings.start("")
    await changing.fill()
    await changing.embeddings.cancel()
    assert await changing.spaces() == [(64, "active")]
    tables = "SELECT to_regclass('chunk_vectors_2'), to_regclass('entity_vectors_2')"
    assert await database.rows(tables, {}) == [(None, None)]
    await changing.notes.put("three", A, "Oslo (place): lies at a fjord")
    await require_complete(changing)
    with pytest.raises(NotFound, match="No change"):
        await changing.embeddings.cancel()


async def test_the_old_space_is_dropped_after_its_grace(changing: Changing) -> None:
    await changing.embeddings.start("")
    await changing.embeddings.finish(lambda progress: None)
    assert await changing.embeddings.drop_retired(hours=1) == 0
    assert await changing.embeddings.drop_retired() == 1
    assert await changing.spaces() == [(32, "active")]
    assert await changing.found("pumps", A)
    await changing.notes.remove("two")
    await require_complete(changing)


async def test_a_change_that_cannot_be_is_refused_with_what_to_do(changing: Changing) -> None:
    with pytest.raises(NotFound, match="LIGHTWELL_NEXT_EMBEDDING_URL"):
        await changing.embeddings.start("unknown")
    await changing.embeddings.start("")
    with pytest.raises(Invalid, match="embeddings cancel"):
        await changing.embeddings.start("")
    await changing.embeddings.cancel()
    bounded = Embeddings(context=replace(changing.context, change_limits=ChangeLimits(tokens=10)))
    with pytest.raises(BudgetSpent, match="LIGHTWELL_TOKEN_BUDGET allows 10"):
        await bounded.start("")
    assert await changing.spaces() == [(64, "active")]


async def test_a_budget_stops_a_change_and_keeps_what_is_embedded(changing: Changing) -> None:
    await changing.embeddings.start("")
    bounded = Embeddings(context=replace(changing.context, change_limits=ChangeLimits(tokens=1)))
    assert await bounded.advance()
    with pytest.raises(BudgetSpent, match="is kept"):
        await bounded.advance()
    assert (await changing.missing())[0] == 0


async def test_a_process_that_does_not_know_the_new_model_says_what_to_set(
    changing: Changing,
) -> None:
    await changing.embeddings.start("")
    await changing.embeddings.finish(lambda progress: None)
    unaware = make_retriever(replace(changing.context, models=changing.context.models[:1]))
    kb = KnowledgeBase(changing.context, unaware, AnswerGenerator(model=None))
    with pytest.raises(Invalid, match=r"with 32 dimensions.*LIGHTWELL_NEXT_EMBEDDING_URL"):
        await kb.questions.search("pumps", await kb.reader(A))


async def test_a_dimension_that_no_index_takes_is_refused_before_anything_is_made(
    changing: Changing,
) -> None:
    large = NextEmbedder(inner=HashEmbedder(dimension=4096))
    models = (*changing.context.models[:1], SpaceModel(embedder=large, sentences=large))
    embeddings = Embeddings(context=replace(changing.context, models=models))
    with pytest.raises(Invalid, match="MATRYOSHKA"):
        await embeddings.start("")
    assert await changing.spaces() == [(64, "active")]
