"""Large and repetitive documents: their cost grows with what they say, and what is left out is reported."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

import pytest

from lightwell.domain.documents import DocumentState
from lightwell.domain.graph import Extraction
from lightwell.entrypoints.cli.ingest_report import IngestSummary
from lightwell.ingest import worker
from lightwell.ingest.extract import rule_extractor
from lightwell.ingest.parser import Parser
from lightwell.ingest.parser_messages import ParserLimits
from lightwell.ingest.progress import DocumentOutcome
from lightwell.knowledge_base.ingestion import Ingestion
from lightwell.ports import ExtractionInput
from lightwell.records.database import Connection, Database
from lightwell.records.documents import publishing
from lightwell.records.graph import resolution
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

TAGS = ["team:a"]
NAMES = "Osprey Systems, Nordwind Energie, Jane Smith and Anna Schmidt"


def long_text(chunks: int) -> str:
    """Return a text of at least so many chunks, no two of them equal."""
    return "\n\n".join(
        f"Pump {n} of {NAMES} was delivered on day {n}. " * 30 for n in range(chunks)
    )


def shelf(**texts: str) -> InMemorySource:
    return InMemorySource(
        documents=tuple(make_document(f"{name}.txt", text, TAGS) for name, text in texts.items())
    )


async def test_a_document_of_too_many_passages_is_read_in_part_and_says_so(
    project: Project,
) -> None:
    async def ingest(max_chunks: int) -> tuple[str, int, int]:
        with closing(Parser(ParserLimits(max_chunks=max_chunks), processes=1)) as parser:
            writer = Ingestion(context=replace(project.context, parser=parser))
            ended = await writer.ingest(shelf(long=long_text(9), short="The pump is blue."))
        reader = await project.kb.reader(TAGS)
        document = await project.kb.documents.get(reader, "file:///shelf/long.txt")
        assert document.state is DocumentState.ACTIVE
        report = IngestSummary(synced=[ended.found], done=ended.done, sources=()).report()
        told = cast("list[dict[str, str]]", report.as_json()["warnings"])
        assert [each["documentUrl"] for each in told] == [each.url for each in ended.warnings]
        warning = "; ".join(each.message for each in ended.warnings)
        assert [each["message"] for each in told] == ([warning] if warning else [])
        return warning, document.chunk_count, document.omitted_chunks

    warning, kept, omitted = await ingest(4)
    assert kept == 4
    assert omitted > 4
    assert f"its first 4 chunks are read, and {omitted} are left out" in warning
    assert "LIGHTWELL_MAX_DOCUMENT_CHUNKS" in warning
    reader = await project.kb.reader(TAGS)
    assert await ingest(4) == (warning, 4, omitted)  # nothing has changed, and it is still told
    assert (await project.kb.documents.status(reader)).chunks == 4 + 1
    whole = await ingest(20)  # the same file, with room for all of it
    assert (whole[0], whole[2]) == ("", 0)
    assert (await project.kb.documents.status(reader)).chunks == whole[1] + 1


async def test_equal_passages_are_embedded_and_extracted_from_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = rule_extractor.extract_by_rules, Counter[str]()

    def counting(chunk: ExtractionInput) -> Extraction:
        reads[chunk.draft.text] += 1
        return read(chunk)

    monkeypatch.setattr(rule_extractor, "extract_by_rules", counting)
    ended = await project.kb.ingestion.ingest(shelf(junk="Aa " * 60_000))
    (outcome,) = ended.done
    assert outcome.chunks > 50
    texts = Counter(project.embedder.texts)
    assert len(texts) <= 5
    assert set(texts.values()) == {1}
    assert sum(reads.values()) <= 10
    reader = await project.kb.reader(TAGS)
    found = await project.kb.questions.search("aa", reader)
    assert found.evidence
    assert (await project.kb.documents.status(reader)).chunks == outcome.chunks


async def test_small_documents_of_a_batch_are_done_before_a_large_one_is_embedded(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightwell.ingest.pipeline._CHUNKS_PER_GROUP", 3)
    await project.kb.ingestion.enqueue(shelf(large=long_text(8), one="One pump.", two="Two pumps."))
    embedded: list[tuple[str, int]] = []
    await worker.run_until_done(
        project.context,
        lambda outcome: embedded.append(
            (outcome.url.rsplit("/", 1)[1], len(project.embedder.texts))
        ),
    )
    assert embedded[:2] == [("one.txt", 2), ("two.txt", 2)]
    assert embedded[2][0] == "large.txt"
    assert embedded[2][1] > 2 + 3


async def test_publishing_that_outlasts_a_lease_is_not_repeated(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat cannot renew a lease while publishing holds the job's row."""
    publish = publishing.publish

    async def outlasting(connection: Connection, *rest: object) -> None:
        await publish(connection, *rest)  # type: ignore[arg-type]
        await connection.execute(
            "UPDATE ingestion_jobs SET leased_until = now() + interval '1 microsecond'"
        )

    monkeypatch.setattr(publishing, "publish", outlasting)
    await project.kb.ingestion.enqueue(shelf(note="The pump is blue."))
    told: list[DocumentOutcome] = []
    await worker.run_until_done(project.context, told.append)
    assert [(outcome.error, outcome.chunks) for outcome in told] == [("", 1)]
    attempts = "SELECT attempts FROM ingestion_jobs"
    assert await project.database.rows(attempts, {}) == [(1,)]


@dataclass(frozen=True)
class Plan:
    """A node of a plan that PostgreSQL has executed."""

    node: dict[str, object]

    @property
    def rows(self) -> float:
        """The rows that this node and those below it looked at."""
        looked = sum(
            cast("float", self.node.get(name, 0))
            for name in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter")
        )
        below = cast("list[dict[str, object]]", self.node.get("Plans", []))
        loops = cast("float", self.node["Actual Loops"])
        return looked * loops + sum(Plan(each).rows for each in below)


async def rows_looked_at(database: Database, statement: str, documents: Sequence[object]) -> float:
    async with database.transaction() as connection:
        cursor = await connection.execute(
            "EXPLAIN (ANALYZE, FORMAT JSON) " + statement,  # type: ignore[operator]
            {"documents": documents, "names": []},
        )
        ((found,),) = await cursor.fetchall()
        plans = json.loads(found) if isinstance(found, str) else found
        return Plan(plans[0]["Plan"]).rows


_WITHOUT_STATISTICS = """
UPDATE pg_class SET reltuples = -1, relpages = 0
WHERE oid IN ('document_chunks'::regclass, 'document_entity_mentions'::regclass, 'relation_mentions'::regclass)
"""
"""What PostgreSQL knows of new tables. Autovacuum may have seen these empty, between two tests that share a database; then
each join is planned for one row until the next ANALYZE, a minute later at most."""


async def test_what_a_document_mentions_is_resolved_in_linear_time(project: Project) -> None:
    """The planner does not know that a document is large; joins of its mentions with each other took minutes."""
    await project.kb.ingestion.ingest(shelf(long=long_text(150)))
    database = project.database
    (row,) = await database.rows(
        "SELECT (SELECT count(*) FROM document_entity_mentions) + (SELECT count(*) FROM relation_mentions)",
        {},
    )
    assert row[0] > 1000
    async with database.transaction() as connection:
        await connection.execute(_WITHOUT_STATISTICS)
    documents = [
        each[0] for each in await database.rows("SELECT document_id FROM source_documents", {})
    ]
    held = vars(resolution)
    statements = (held["_MOVED_NAMES"], *held["_SHOW_NAMES"], *held["_SHOW_DOCUMENTS"])
    for statement in cast("tuple[str, ...]", statements):
        assert await rows_looked_at(database, statement, documents) < 40 * row[0], statement
