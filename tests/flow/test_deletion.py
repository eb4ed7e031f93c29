"""Deleting documents: one rebuild for all, a report, and nothing left to find."""

import pytest

from lightwell.domain.errors import NotFound
from lightwell.testing.shelf import Shelf, written

from .conftest import Project
from .test_ingestion import ingest, residue

SALES, SUPPORT = ["team:sales"], ["team:support"]


async def test_the_report_says_what_went_and_what_was_rebuilt(project: Project) -> None:
    await ingest(
        project,
        written("a.md", "Acme Corp met Jane Smith in Oslo.", SALES),
        written("b.md", "Acme Corp met Zyxwvut Ltd in Oslo.", SALES),
        written("c.md", "Acme Corp stays. Oslo is far.", SALES),
    )
    reader = await project.kb.reader(SALES)
    report = await project.kb.delete(reader, ["file:///shelf/a.md", "file:///shelf/b.md"])
    assert len(report.documents) == report.chunks == report.vectors == 2
    gone = {ref.rpartition(":")[2] for ref in report.entities_deleted}
    rebuilt = {ref.rpartition(":")[2] for ref in report.entities_rebuilt}
    assert "jane-smith" in gone
    assert "acme-corp" in rebuilt
    assert not gone & rebuilt
    assert report.relations_deleted > 0
    assert report.mentions >= len(gone) + len(rebuilt)
    assert report.errors == ()
    assert await residue(project, "zyxwvut") == []
    stale = await project.database.rows("SELECT count(*) FROM stale_profiles", {})
    assert stale == [(0,)]


async def test_many_documents_are_rebuilt_once(project: Project) -> None:
    await ingest(
        project, *(written(f"{n}.md", "Acme Corp met Jane Smith.", SALES) for n in range(6))
    )
    before = await profiles_updated(project)
    reader = await project.kb.reader(SALES)
    await project.kb.delete(reader, [f"file:///shelf/{n}.md" for n in range(5)])
    after = await profiles_updated(project)
    assert {name for name, _ in after} <= {name for name, _ in before}
    assert len({moment for _, moment in after}) == 1


async def profiles_updated(project: Project) -> list[tuple[str, object]]:
    rows = await project.database.rows(
        "SELECT display_name, updated_at FROM profiles WHERE subject = 'entity' ORDER BY 1", {}
    )
    return [(str(name), moment) for name, moment in rows]


async def test_the_report_is_the_readers_and_says_nothing_of_others(project: Project) -> None:
    """What only others still see is gone for this reader."""
    await ingest(
        project,
        written("a.md", "Acme Corp met Jane Smith.", SALES),
        written("b.md", "Jane Smith wrote to Acme Corp.", SUPPORT),
    )
    reader = await project.kb.reader(SALES)
    report = await project.kb.delete(reader, ["file:///shelf/a.md"])
    assert report.entities_rebuilt == ()
    other = await project.kb.reader(SUPPORT)
    assert (await project.kb.status(other)).entities > 0


async def test_one_that_is_not_there_keeps_all(project: Project) -> None:
    await ingest(
        project, written("a.md", "Acme Corp.", SALES), written("b.md", "Acme Corp.", SUPPORT)
    )
    reader = await project.kb.reader(SALES)
    with pytest.raises(NotFound):
        await project.kb.delete(reader, ["file:///shelf/a.md", "file:///shelf/b.md"])
    assert (await project.kb.status(reader)).chunks == 1


async def test_erasing_leaves_not_even_the_name(project: Project) -> None:
    await ingest(project, written("zyxwvut.md", "Acme Corp met Jane Smith.", SALES))
    reader = await project.kb.reader(SALES)
    await project.kb.erase(reader, ["file:///shelf/zyxwvut.md"])
    assert await residue(project, "zyxwvut") == []
    rows = await project.database.rows("SELECT count(*) FROM ingestion_jobs", {})
    assert rows == [(0,)]
    await project.kb.ingest(Shelf(documents=(written("zyxwvut.md", "Acme Corp is back.", SALES),)))
    assert (await project.kb.status(await project.kb.reader(SALES))).chunks == 1
