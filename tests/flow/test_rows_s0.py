"""Rows of the specification's S0, each by its number."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from psycopg import sql
from pydantic import SecretStr, ValidationError

from lightwell import Settings, delete_project, open_knowledge_base
from lightwell.domain.briefs import Brief
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import NotFound
from lightwell.domain.exports import ExportConfig, ExportFormat
from lightwell.domain.graph import ManualEdit, Predicate, RelationMention, SourceIdStrategy
from lightwell.entrypoints.operations.documents import DocumentChunk
from lightwell.entrypoints.operations.searches import Keywords as KeywordsReply
from lightwell.records.database import Database, list_migrations
from lightwell.settings import ChatSettings, IngestionSettings, QuestionSettings
from lightwell.testing.endpoint import Body, FakeEndpoint
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import read_by_model
from .notes import Noted, noted
from .test_model_extraction import LIST
from .test_rows_s1 import ORDERS, QUESTION, reply

# Of entities and relations readers see the ids, which may tell no time: those need not be of version 7.
_PRIMARY_KEYS = """
SELECT attrelid::regclass::text, attname::text
FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
WHERE indisprimary AND atttypid = 'uuid'::regtype AND attrelid::regclass::text NOT LIKE '%%vectors%%'
  AND attname NOT IN ('entity_id', 'relation_id', 'subject_id', 'named_as', 'stated_as', 'source_id')
ORDER BY 1, 2
"""


async def shelve(notes: Noted, numbers: range, tags: list[str], *lines: str) -> None:
    """Bring so many documents with these lines in, in one ingestion."""
    for number in numbers:
        name = f"n{number:02}"
        notes.shelf[name] = make_document(f"{name}.txt", "\n".join(lines), tags, title=name)
    await notes.ingest()


async def test_s0_1_stored_sources_are_the_latest_fifty_in_order_of_arrival(
    database: Database,
) -> None:
    notes = await noted(database)
    for start in (0, 20, 40):
        lines = ["Acme -> Nordwind [USES]: daily"]
        await shelve(notes, range(start, start + 20), ["team:a"], *lines)
    reader = await notes.kb.reader(["team:a"])
    stored = await database.rows(
        "SELECT subject, cardinality(source_ids), mention_count FROM profiles ORDER BY subject",
        {},
    )
    assert stored == [("entity", 50, 60), ("entity", 50, 60), ("relation", 50, 60)]
    arrived = await database.rows("SELECT chunk_ref FROM document_chunks ORDER BY chunk_id", {})
    latest = [row[0] for row in arrived][-50:]
    found = await notes.kb.graph.entity(reader, "Acme")
    for sourced in (found.entity, *found.relations):
        assert sourced.chunk_count == 60
        assert list(sourced.sources) == latest
        assert len(sourced.paths) == 50


def by_model(database_url: str, fake: FakeEndpoint, values: Mapping[str, object]) -> Settings:
    return Settings(
        database_url=SecretStr(database_url),
        chat=ChatSettings(url=fake.base_url, model="reader"),
        ingestion=IngestionSettings(extraction_form="lines"),
    ).with_values(values)


async def test_s0_2_a_passage_says_which_kept_replies_it_was_read_from(database: Database) -> None:
    with FakeEndpoint(reply).running() as fake:
        async with read_by_model(database, fake.base_url) as (project, _):
            await project.kb.ingestion.ingest(InMemorySource(documents=ORDERS[:1]))
            reader = await project.kb.reader(["team:us"])
            (chunk,) = await project.kb.documents.chunks(reader, ORDERS[0].url)
            kept = await database.rows(
                "SELECT cache_type, content_hash FROM extraction_cache ORDER BY id", {}
            )
            assert chunk.llm_cache_ids == tuple(":".join(row) for row in kept)
            assert chunk.llm_cache_ids[0].startswith("ENTITY_EXTRACTION:")
            assert (chunk.document_id, chunk.index) == (
                (await project.kb.documents.get(reader, ORDERS[0].url)).id,
                0,
            )
            (found,) = (await project.kb.questions.search(QUESTION, reader)).evidence
            assert found.chunk.llm_cache_ids == chunk.llm_cache_ids
            shown = DocumentChunk.model_validate(chunk).model_dump(by_alias=True)
            assert "llmCacheIds" in str(shown)


async def every_row(database: Database) -> dict[str, list[str]]:
    """Return every row of every table but the list of migrations, as text."""
    tables = await database.rows(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations' ORDER BY 1",
        {},
    )
    found: dict[str, list[str]] = {}
    for (table,) in tables:
        query = sql.SQL("SELECT held::text FROM {} AS held ORDER BY 1")
        rows = await database.rows(query.format(sql.Identifier(table)), {})
        found[table] = [row[0] for row in rows]
    return found


async def test_s0_3_a_deleted_project_leaves_the_store_as_if_it_had_never_been(
    database: Database, database_url: str
) -> None:
    with FakeEndpoint(reply).running() as fake:
        stays = by_model(database_url, fake, {"project": "stays", "ingestion.extraction": "model"})
        goes = stays.model_copy(update={"project": "goes", "tenant": "another"})
        async with open_knowledge_base(stays) as kb:
            await kb.ingestion.ingest(InMemorySource(documents=ORDERS[:2]))
        before = await every_row(database)
        async with open_knowledge_base(goes) as kb:
            await kb.ingestion.ingest(InMemorySource(documents=ORDERS))
            reader = await kb.reader(["team:us"])
            await kb.questions.ask(QUESTION, reader)
            await kb.questions.chat(QUESTION, reader)
            await kb.graph.create(reader, ManualEdit(name="Osprey"))
            await kb.graph.merge(reader, ["Nordwind"], "Acme Corp")
            assert len((await every_row(database))["extraction_cache"]) > 2
        await delete_project(goes)
        assert await every_row(database) == before
        with pytest.raises(NotFound, match="There is no project 'goes'"):
            await delete_project(goes)


async def test_s0_3_a_kept_reply_outlives_its_chunk_without_naming_it(database: Database) -> None:
    with FakeEndpoint(reply).running() as fake:
        async with read_by_model(database, fake.base_url) as (project, _):
            await project.kb.ingestion.ingest(InMemorySource(documents=ORDERS[:1]))
            held = "SELECT count(*), count(chunk_id) FROM extraction_cache"
            assert await database.rows(held, {}) == [(1, 1)]
            await database.execute("DELETE FROM document_chunks", {})
            assert await database.rows(held, {}) == [(1, 0)]


@pytest.mark.parametrize(("wanted", "by"), [("auto", False), ("true", True), ("false", False)])
async def test_s0_4_keywords_are_kept_under_the_hash_of_question_and_reader(
    database: Database, database_url: str, wanted: str, *, by: bool
) -> None:
    with FakeEndpoint(reply).running() as fake:
        questions = QuestionSettings.model_validate({"keyword_extraction": wanted})
        async with open_knowledge_base(
            by_model(database_url, fake, {"questions": questions})
        ) as kb:
            reader = await kb.reader(["team:us"])
            found = await kb.questions.keywords(QUESTION, reader)
            assert found.question_hash == hashlib.sha256(QUESTION.encode()).hexdigest()
            assert found.by_model is by
            assert await kb.questions.keywords(QUESTION, reader) == found
            kept = await database.rows(
                """SELECT cache_type, content_hash = keyed_hash(project_id, %(key)s),
                          content_hash = %(hash)s, created_at FROM extraction_cache""",
                {
                    "key": f"{found.question_hash} {reader.cache_name}",
                    "hash": found.question_hash,
                },
            )
            key = ("KEYWORD_EXTRACTION", True, False, found.cached_at)
            assert kept == ([key] if by else [])
            assert (found.cached_at is not None) is by
            assert len(fake.requests) == len(kept)
            if by:
                assert (found.high, found.low[0]) == (("purchases",), "Acme Corp")
            retrieval = await kb.questions.search(QUESTION, reader)
            assert retrieval.analysis.keywords == found
            told = KeywordsReply.model_validate(found).model_dump(by_alias=True)
            assert told.keys() >= {
                "highLevelKeywords",
                "lowLevelKeywords",
                "queryHash",
                "cachedAt",
            }


@pytest.mark.parametrize(("enabled", "passes"), [(True, 1), (False, 0)])
async def test_s0_9_gleaning_can_be_switched_off(
    database_url: str, passes: int, *, enabled: bool
) -> None:
    with FakeEndpoint(lambda _: "E|Ada Moss|person|Met people\nEND").running() as fake:
        chosen = by_model(
            database_url,
            fake,
            {"ingestion.extraction": "model", "ingestion.gleaning_enabled": enabled},
        )
        async with open_knowledge_base(chosen) as kb:
            await kb.ingestion.ingest(
                InMemorySource(documents=(make_document("a.md", LIST, ["team:a"]),))
            )
        assert len(fake.requests) == 1 + passes


def pump_notes(*numbers: int, tags: tuple[str, ...] = ("team:us",)) -> tuple[NewDocument, ...]:
    return tuple(
        make_document(f"{n}.md", f"# Note {n}\n\nAcme Corp sells Pump {n} to everybody.", tags)
        for n in numbers
    )


def read_pumps(body: Body) -> str:
    """Say of Acme Corp which pump the passage names."""
    (number,) = set(re.findall(r"Acme Corp sells Pump (\d)", str(body))) or {"0"}
    return f"E|Acme Corp|organization|Sells Pump {number}\nEND"


async def test_s0_9_the_separator_stands_between_what_is_shown_and_exported(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    with FakeEndpoint(read_pumps).running() as fake:
        values = {
            "ingestion.extraction": "model",
            "ingestion.gleaning_passes": 0,
            "ingestion.description_separator": " / ",
            "questions.rerank": "none",
        }
        chosen = by_model(database_url, fake, values)
        table = tmp_path / "acme.csv"
        async with open_knowledge_base(chosen) as kb:
            await kb.ingestion.ingest(InMemorySource(documents=pump_notes(1, 2)))
            reader = await kb.reader(["team:us"])
            shown = (await kb.graph.entity(reader, "Acme Corp")).entity.description
            found = (await kb.questions.search("What does Acme Corp sell?", reader)).entities
            brief = await kb.questions.brief("Acme Corp", reader)
            await kb.documents.export(
                reader, ExportConfig(format=ExportFormat.CSV, output_path=table)
            )
        assert sorted(shown.split(" / ")) == ["Sells Pump 1", "Sells Pump 2"]
        assert shown in {each.description for each in found}
        assert isinstance(brief, Brief)
        assert brief.entity.description == shown
        assert shown in table.read_text("utf-8")
        stored = "SELECT description FROM profiles WHERE display_name = 'Acme Corp'"
        assert await database.rows(stored, {}) == [(shown.replace(" / ", " | "),)]
        async with open_knowledge_base(
            chosen.with_values({"ingestion.description_separator": " | "})
        ) as kb:
            again = (await kb.graph.entity(reader, "Acme Corp")).entity.description
        assert again == shown.replace(" / ", " | ")


@pytest.mark.parametrize("strategy", SourceIdStrategy)
async def test_s0_9_the_limit_and_the_strategy_choose_the_sources_stored_and_shown(
    database: Database, database_url: str, strategy: SourceIdStrategy
) -> None:
    shelf = InMemorySource(
        documents=(*pump_notes(1, 2, 3), *pump_notes(4, 5, 6, tags=("team:eu",)))
    )
    options = {"max_source_ids": 2, "source_id_strategy": strategy.lower()}
    chosen = Settings(
        database_url=SecretStr(database_url),
        questions=QuestionSettings(rerank="none"),
        ingestion=IngestionSettings.model_validate(options),
    )
    stored = "SELECT max(cardinality(source_ids)) FROM profiles"
    for settings in (chosen, chosen.with_values({"ingestion.max_source_ids": 3})):
        most = settings.ingestion.max_source_ids
        async with open_knowledge_base(settings) as kb:
            await kb.ingestion.ingest(shelf)
            found = await kb.graph.entity(await kb.reader(["team:us", "team:eu"]), "Acme Corp")
            assert await database.value(stored, {}) == most
        rows = await database.rows("SELECT chunk_ref FROM document_chunks ORDER BY chunk_id", {})
        arrived = [row[0] for row in rows]
        kept = arrived[-most:] if strategy is SourceIdStrategy.FIFO else arrived[:most]
        assert list(found.entity.sources) == kept
        assert len(found.entity.paths) == most
        assert found.entity.chunk_count == 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_source_ids", 0),
        ("max_source_ids", 1001),
        ("source_id_strategy", "LIFO"),
        ("description_separator", ""),
        ("description_separator", "-" * 21),
    ],
)
def test_s0_9_a_setting_out_of_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValidationError, match=name):
        IngestionSettings.model_validate({name: value})


async def test_s0_11_every_key_that_is_made_is_a_uuid_of_version_7(database: Database) -> None:
    notes = await noted(database, model=ScriptedModel(["One firm."]))
    await notes.put("one", ["team:a"], "Acme (firm): sells", "Nordwind (firm): buys")
    await notes.put("two", ["team:a"], "Acme Inc (firm): makes", "Acme Inc -> Nordwind [USES]: it")
    reader = await notes.kb.reader(["team:a"])
    await notes.kb.graph.merge(reader, ["Acme Inc"], "Acme")
    await notes.kb.graph.create(reader, ManualEdit(name="Osprey"))
    await notes.kb.graph.relate(
        reader, RelationMention(subject="Osprey", object="Acme", predicate=Predicate.PART_OF)
    )
    await notes.kb.questions.chat("What does Acme sell?", reader)
    seen: set[str] = set()
    for table, column in await database.rows(_PRIMARY_KEYS, {}):
        query = sql.SQL("SELECT substr({}::text, 15, 1) FROM {}")
        rows = await database.rows(query.format(sql.Identifier(column), sql.Identifier(table)), {})
        assert {row[0] for row in rows} <= {"7"}, f"{table}.{column}"
        seen |= {table} if rows else set()
    assert {
        "projects",
        "source_documents",
        "document_chunks",
        "entity_merges",
        "ingestion_jobs",
        "ingestion_runs",
        "conversations",
        "rag_queries",
        "retrieval_metrics",
    } <= seen


def test_s0_12_migrations_take_nothing_away_that_they_have_not_moved_before() -> None:
    takes_away = re.compile(r"\b(?:DROP TABLE|DROP COLUMN|TRUNCATE) (\w+)", re.IGNORECASE)
    moved = {"upload": "octet_length(upload)", "rejected_merges": "FROM rejected_merges"}
    from_other_columns = {"primary_url", "source_paths", "text_content"}
    made_anew = {"chunk_multi_vectors", "signs"}  # by the network, from the texts
    derived = from_other_columns | made_anew
    names = [name for name, _ in list_migrations()]
    assert names == sorted(names)
    for _, text in list_migrations():
        for taken in takes_away.finditer(text):
            assert taken[1] in derived or moved[taken[1]] in text[: taken.start()]
