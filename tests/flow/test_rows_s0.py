"""Rows of the specification's S0, each by its number."""

from psycopg import sql

from lightwell.domain.graph import Predicate, Statement, Word
from lightwell.records.database import Database
from lightwell.testing.models import ScriptedModel
from lightwell.testing.shelf import written

from .notes import Noted, noted

_PRIMARY_KEYS = """
SELECT attrelid::regclass::text, attname::text
FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
WHERE indisprimary AND atttypid = 'uuid'::regtype AND attrelid::regclass::text NOT LIKE '%%vectors%%'
ORDER BY 1, 2
"""


async def shelve(notes: Noted, numbers: range, tags: list[str], *lines: str) -> None:
    """Bring so many documents with these lines in, in one ingestion."""
    for number in numbers:
        name = f"n{number:02}"
        notes.shelf[name] = written(f"{name}.txt", "\n".join(lines), tags, title=name)
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
        "SELECT subject, cardinality(source_ids), cardinality(source_paths), mention_count FROM profiles"
        " ORDER BY subject",
        {},
    )
    assert stored == [("entity", 50, 50, 60), ("entity", 50, 50, 60), ("relation", 50, 50, 60)]
    arrived = await database.rows("SELECT chunk_ref FROM document_chunks ORDER BY chunk_id", {})
    latest = [row[0] for row in arrived][-50:]
    found = await notes.kb.graph.entity(reader, "Acme")
    for sourced in (found.entity, *found.relations):
        assert sourced.chunk_count == 60
        assert list(sourced.sources) == latest
        assert len(sourced.paths) == 50


async def test_s0_11_every_key_that_is_made_is_a_uuid_of_version_7(database: Database) -> None:
    notes = await noted(database, model=ScriptedModel(["One firm."]))
    await notes.put("one", ["team:a"], "Acme (firm): sells", "Nordwind (firm): buys")
    await notes.put("two", ["team:a"], "Acme Inc (firm): makes", "Acme Inc -> Nordwind [USES]: it")
    reader = await notes.kb.reader(["team:a"])
    await notes.kb.graph.merge(reader, ["Acme Inc"], "Acme")
    await notes.kb.graph.create(reader, Word(name="Osprey"))
    await notes.kb.graph.relate(
        reader, Statement(subject="Osprey", object="Acme", predicate=Predicate.PART_OF)
    )
    await notes.kb.chat("What does Acme sell?", reader)
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
        "entities",
        "relations",
        "profiles",
        "entity_merges",
        "ingestion_jobs",
        "ingestion_runs",
        "conversations",
        "rag_queries",
        "retrieval_metrics",
    } <= seen
