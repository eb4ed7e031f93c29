"""Rows of the specification's S1, each by its number."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from psycopg import sql
from pydantic import SecretStr

from lightwell import (
    KnowledgeBase,
    Meter,
    OperationType,
    Settings,
    TokenSummary,
    open_knowledge_base,
    record_usage,
)
from lightwell.domain.briefs import Brief
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import ManualEdit, MergeStrategy, Predicate, parse_relation_key
from lightwell.domain.usage import NO_USAGE, summarize_usage
from lightwell.records.database import Database
from lightwell.settings import (
    ChatSettings,
    EmbeddingSettings,
    IngestionSettings,
    QuestionSettings,
    RerankerSettings,
)
from lightwell.stores.postgres.graph import ENTITIES_OF
from lightwell.testing.endpoint import Body, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import content, names
from .notes import noted
from .observed import entities_seen

QUESTION = "What does Acme Corp buy from Nordwind?"
ORDERS = tuple(
    make_document(f"{n}.md", f"# Order {n}\n\nAcme Corp buys Pump {n} from Nordwind.", ["team:us"])
    for n in range(4)
)
QUERY, INGESTION = OperationType.QUERY, OperationType.INGESTION
FOUND = {QUERY, OperationType.KEYWORD_EXTRACTION, OperationType.RERANK}


def reply(body: Body) -> str:
    """Read, summarise, find keywords and answer as a dutiful model would."""
    if "Several passages" in content(body, 0):
        return "One firm."
    if "high_level_keywords" in content(body, 0):
        return '{"high_level_keywords": ["purchases"], "low_level_keywords": ["Acme Corp"]}'
    if content(body, 1).startswith("~"):
        return names(body)
    return "Acme Corp buys Pump 1 from Nordwind [1]."


@asynccontextmanager
async def metered(
    database_url: str, fake: FakeEndpoint
) -> AsyncGenerator[tuple[KnowledgeBase, Meter], None]:
    meter = Meter()
    chosen = Settings(
        database_url=SecretStr(database_url),
        embedding=EmbeddingSettings(url=fake.base_url, model="owl"),
        chat=ChatSettings(url=fake.base_url, model="reader"),
        ingestion=IngestionSettings(extraction="model", extraction_form="lines"),
        questions=QuestionSettings(rerank="endpoint"),
        reranker=RerankerSettings(url=fake.base_url, model="owl-rank", timeout_ms=20_000),
    )
    async with open_knowledge_base(chosen, meter) as kb:
        yield kb, meter


@dataclass
class Bill:
    """Compares the reported usage of an operation with the requests that its endpoint received."""

    fake: FakeEndpoint
    taken: int = 0

    def agrees(self, usage: TokenSummary, kinds: set[OperationType]) -> None:
        assert usage.calls == len(self.fake.requests) - self.taken > 0
        assert usage.by_operation_type.keys() == kinds
        assert usage.total_input_tokens > 0
        self.taken = len(self.fake.requests)


async def test_s1_1_every_operation_says_what_its_calls_cost(database_url: str) -> None:
    with FakeEndpoint(reply).running() as fake:
        async with metered(database_url, fake) as (kb, meter):
            probes = len(fake.requests)  # for the dimension of the vectors
            bill = Bill(fake, probes)
            bill.agrees(
                (await kb.ingestion.ingest(InMemorySource(documents=ORDERS))).usage, {INGESTION}
            )
            reader = await kb.reader(["team:us"])
            bill.agrees((await kb.questions.search(QUESTION, reader)).usage, FOUND)
            bill.agrees((await kb.questions.ask(f"{QUESTION} And when?", reader)).usage, FOUND)
            events = [event async for event in kb.questions.stream(f"{QUESTION} And why?", reader)]
            told = events[-1].answer
            assert told is not None
            bill.agrees(told.usage, FOUND)
            bill.agrees(
                (await kb.questions.statements(f"{QUESTION} And how?", reader)).usage, FOUND
            )
            brief = await kb.questions.brief("Acme Corp", reader)
            assert isinstance(brief, Brief)
            bill.agrees(brief.usage, {QUERY, OperationType.RERANK})
            turn = await kb.questions.chat(f"{QUESTION} And where?", reader)
            bill.agrees(turn.usage, FOUND)
            after = await kb.questions.chat("And where?", reader, conversation=turn.conversation_id)
            bill.agrees(after.usage, FOUND)
            assert meter.summary.calls == len(fake.requests) - probes


async def test_s1_1_what_changes_the_graph_says_what_it_cost(database_url: str) -> None:
    with FakeEndpoint(reply).running() as fake:
        async with metered(database_url, fake) as (kb, _):
            await kb.ingestion.ingest(InMemorySource(documents=ORDERS))
            reader = await kb.reader(["team:us"])
            with record_usage() as again:
                await kb.ingestion.reread(reader, None)
            assert again.summary == NO_USAGE  # every reply is kept, and so is every vector
            merged = await kb.graph.merge(
                reader, ["Nordwind"], "Acme Corp", strategy=MergeStrategy.LLM_SUMMARIZE
            )
            assert merged.usage.by_operation_type.keys() == {OperationType.SUMMARIZATION}


async def test_s1_1_operations_side_by_side_count_their_own_calls(database_url: str) -> None:
    with FakeEndpoint(reply).running() as fake:
        async with metered(database_url, fake) as (kb, meter):
            await kb.ingestion.ingest(InMemorySource(documents=ORDERS))
            reader = await kb.reader(["team:us"])
            before = len(meter.usages)
            with record_usage() as both:
                one, other = await asyncio.gather(
                    kb.questions.ask(QUESTION, reader),
                    kb.questions.search("Who sells pumps?", reader),
                )
            assert one.usage.by_operation_type[QUERY] > other.usage.by_operation_type[QUERY]
            assert one.usage.calls + other.usage.calls == both.summary.calls
            assert both.summary == summarize_usage(meter.usages[before:])


async def test_s1_2_a_merge_says_when_no_source_had_relationships(database: Database) -> None:
    """The fifth validation: without relationships a merge redirects nothing, and its result says so."""
    store = await noted(database)
    await store.put("a", ["team:a"], "Acme Corp (company)", "ACME Inc (company)", "Acme (company)")
    await store.put("b", ["team:b"], "ACME Inc -> Secret [USES]: hidden")
    await store.put("c", ["team:a"], "Acme -> Nordwind [USES]: since 2019")
    reader = await store.kb.reader(["team:a"])
    alone = await store.kb.graph.merge(reader, ["ACME Inc"], "Acme Corp")
    assert alone.relations_redirected == 0
    assert "No source has relationships" in alone.note
    related = await store.kb.graph.merge(reader, ["Acme"], "Acme Corp")
    assert (related.relations_redirected, related.note) == (1, "")


async def test_s1_7_entities_and_relations_are_found_by_the_passages_they_come_from(
    database: Database,
) -> None:
    notes = await noted(database)
    await notes.put("one", ["team:a"], "Acme (firm): sells", "Acme -> Nordwind [USES]: daily")
    await notes.put("two", ["team:a"], "Osprey (plant): makes", "Acme -> Osprey [PART_OF]: since")
    await notes.put("secret", ["team:b"], "Tarn (place): hides", "Acme -> Tarn [USES]: secretly")
    graph, reader = notes.kb.graph, await notes.kb.reader(["team:a"])
    (chunk,) = await notes.kb.documents.chunks(reader, "file:///shelf/one.txt")
    for name in (chunk.ref, str(chunk.id)):
        assert [each.name for each in await graph.entities_of(reader, [name])] == [
            "Acme",
            "Nordwind",
        ]
        (stated,) = await graph.relations_of(reader, [name])
        assert (stated.source, stated.predicate, stated.target) == (
            "Acme",
            Predicate.USES,
            "Nordwind",
        )
    other = await notes.kb.reader(["team:b"])
    (secret,) = await notes.kb.documents.chunks(other, "file:///shelf/secret.txt")
    for find in (graph.entities_of, graph.relations_of):
        with pytest.raises(NotFound, match="There is no passage"):
            await find(reader, [chunk.ref, secret.ref])


async def test_s1_7_entities_and_relations_are_deleted_together_or_not_at_all(
    database: Database,
) -> None:
    notes = await noted(database)
    lines = ("Acme -> Nordwind [USES]: daily", "Acme -> Osprey [USES]: often", "Tarn (place): is")
    await notes.put("one", ["team:a"], *lines)
    graph, reader = notes.kb.graph, await notes.kb.reader(["team:a"])
    keys = [parse_relation_key("Acme USES Nordwind"), parse_relation_key("Acme USES Osprey")]
    with pytest.raises(NotFound):
        await graph.delete_relations(reader, [*keys, parse_relation_key("Acme USES Tarn")])
    with pytest.raises(NotFound):
        await graph.delete_entities(reader, ["Tarn", "Nobody"])
    assert len((await graph.entity(reader, "Acme")).relations) == 2
    gone = await graph.delete_relations(reader, keys)
    assert [each.target for each in gone] == ["Nordwind", "Osprey"]
    assert (await graph.entity(reader, "Acme")).relations == ()
    were = await graph.delete_entities(reader, ["Tarn", "Nordwind"])
    assert [each.name for each in were] == ["Tarn", "Nordwind"]
    assert [each.name for each in await entities_seen(graph, reader)] == ["Acme", "Osprey"]


async def test_s1_7_a_description_by_hand_names_the_passages_that_it_comes_from(
    database: Database,
) -> None:
    notes = await noted(database)
    await notes.put("one", ["team:a"], "Acme (firm): sells")
    await notes.put("two", ["team:a"], "Nothing here names that firm.")
    await notes.put("three", ["team:a", "team:b"], "Nor does anything here.")
    await notes.put("four", ["team:b"], "Acme (firm): hides")
    graph, reader = notes.kb.graph, await notes.kb.reader(["team:a"])
    both, other = await notes.kb.reader(["team:a", "team:b"]), await notes.kb.reader(["team:b"])
    two, three, four = [
        (await notes.kb.documents.chunks(both, f"file:///shelf/{name}.txt"))[0].ref
        for name in ("two", "three", "four")
    ]
    word = ManualEdit(description="Sells pumps", sources=(two, three))
    edited = await graph.edit(reader, "Acme", word)
    assert (edited.description, edited.sources) == ("Sells pumps", (two, three))
    assert edited.paths == ("file:///shelf/two.txt", "file:///shelf/three.txt")
    for name in (two, three):
        assert [each.name for each in await graph.entities_of(reader, [name])] == ["Acme"]
    hidden = (await graph.entity(other, "Acme")).entity
    assert (hidden.description, hidden.sources) == ("hides", (four,))
    assert await graph.entities_of(other, [three]) == []
    for asking, error in ((reader, NotFound), (both, Invalid)):
        with pytest.raises(error):
            await graph.edit(asking, "Acme", replace(word, sources=(four,)), tags=["team:a"])
    await notes.put("one", ["team:a"], "Acme (firm): sells more")
    assert (await graph.entity(reader, "Acme")).entity.sources == (two, three)
    await notes.put("two", ["team:b"], "Nothing here names that firm.")
    assert (await graph.entity(reader, "Acme")).entity.sources == (three,)
    await notes.remove("three")
    held = (await graph.entity(reader, "Acme")).entity
    assert held.paths == ("file:///shelf/one.txt",)
    assert held.description == "Sells pumps"


async def test_s1_7_relations_come_in_pages(database: Database) -> None:
    notes = await noted(database)
    lines = [f"Acme -> Plant {n} [{verb}]: it" for n in range(4) for verb in ("USES", "PART_OF")]
    await notes.put("one", ["team:a"], *lines)
    await notes.put("two", ["team:b"], "Acme -> Plant 9 [USES]: secretly")
    graph, reader = notes.kb.graph, await notes.kb.reader(["team:a"])
    held = [each async for each in graph.relations(reader)]
    whole = [str(each.key) for each in held]
    assert len(whole) == 8
    assert held == sorted(held, key=lambda each: (each.source, each.target, each.predicate))
    paged: list[str] = []
    while page := [
        str(each.key)
        async for each in graph.relations(
            reader, limit=3, after=parse_relation_key(paged[-1]) if paged else None
        )
    ]:
        paged += page
    assert paged == whole


async def test_s1_8_passages_are_looked_up_by_the_index_on_source_lists(
    database: Database,
) -> None:
    notes = await noted(database)
    await notes.put("one", ["team:a"], "Acme -> Nordwind [USES]: daily")
    reader = await notes.kb.reader(["team:a"])
    (chunk,) = await notes.kb.documents.chunks(reader, "file:///shelf/one.txt")
    await database.execute(
        "INSERT INTO profiles (subject_id, class_id, subject, display_name, entity_kind, description, mention_count,"
        "                      source_ids)"
        " SELECT gen_random_uuid(), class_id, subject, display_name, entity_kind, description, mention_count,"
        "        ARRAY[gen_random_uuid()]"
        " FROM profiles CROSS JOIN generate_series(1, 2000)",
        {},
    )
    await database.execute("ANALYZE profiles", {})
    asked = {"chunks": [chunk.id], "classes": list(reader.classes), "subject": "entity"}
    plan = await database.rows(sql.SQL("EXPLAIN {}").format(sql.SQL(ENTITIES_OF)), asked)
    assert "profiles_sources" in "\n".join(row[0] for row in plan)
