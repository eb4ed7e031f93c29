"""What passages say by themselves is read when they come in and kept; by other rules' version it is read again, and answers stay."""

import pytest

from lightwell.domain.documents import NewDocument
from lightwell.ingest.chunk_analysis import renew_analyses
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.text.analysis.chunk import analyse
from lightwell.text.analysis.stored import VERSION, decode

from .conftest import Project

TAGS = ["team:a"]
LEAVE = """# Leave

Everybody has 25 days of annual leave a year. Jane Smith approves it by Friday, as decided on 3 May 2026.

| Band | Days |
|---|---|
| Engineer | 25 |
| Lead | 28 |
"""


def leave() -> NewDocument:
    return make_document("leave.md", LEAVE, TAGS)


async def stored(database: Database) -> list[tuple[int, bytes, str]]:
    """Return each chunk's version, analysis and text."""
    return await database.rows(
        "SELECT version, analysis, chunk_text FROM document_chunks LEFT JOIN chunk_analyses USING (chunk_id)",
        {},
    )


async def test_a_chunk_that_is_published_is_analysed(project: Project) -> None:
    await project.kb.ingestion.ingest(InMemorySource(documents=(leave(),)))
    [(version, data, text)] = await stored(project.database)
    assert version == VERSION
    assert decode(data, text) == analyse(text)


@pytest.mark.parametrize("data", [b"", b"\x00broken"])
async def test_an_analysis_that_is_old_or_broken_changes_no_answer_and_is_made_again(
    project: Project, data: bytes
) -> None:
    reader = await project.kb.reader(TAGS)
    await project.kb.ingestion.ingest(InMemorySource(documents=(leave(),)))
    before = await project.kb.questions.search("How many days of leave are there?", reader)
    for version in (0, VERSION):
        await project.database.execute(
            "UPDATE chunk_analyses SET version = %(version)s, analysis = %(data)s",
            {"version": version, "data": data},
        )
        after = await project.kb.questions.search("How many days of leave are there?", reader)
        assert after.evidence == before.evidence
    await project.database.execute("UPDATE chunk_analyses SET version = 0", {})
    assert await renew_analyses(project.context)
    assert not await renew_analyses(project.context)
    [(version, renewed, text)] = await stored(project.database)
    assert (version, decode(renewed, text)) == (VERSION, analyse(text))
