"""When a document was changed: what it says of itself before its file's time, and never what cannot be."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lightwell.connectors.files import Files
from lightwell.domain.briefs import Brief
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

TAGS = ["team:sales"]
COPIED = datetime(2026, 2, 1, 12, tzinfo=UTC)


async def changed(project: Project, name: str) -> datetime:
    return (await project.kb.documents.get(await project.kb.reader(TAGS), name)).updated_at


@pytest.mark.parametrize(
    ("front_matter", "at"),
    [
        ("updated: 2025-03-02", datetime(2025, 3, 2, tzinfo=UTC)),
        ("date: 2025-03-02T10:00:00+02:00", datetime(2025, 3, 2, 8, tzinfo=UTC)),
        ("date: 2025-03-02\nupdated: 2025-04-01", datetime(2025, 4, 1, tzinfo=UTC)),
        ("date: 2999-01-01", COPIED),
        ("date: 1969-12-31", COPIED),
        ("date: 0001-01-01", COPIED),
        ("date: last summer", COPIED),
        ("title: No date", COPIED),
    ],
)
async def test_a_plausible_date_of_its_own_stands_before_the_files_time(
    project: Project, front_matter: str, at: datetime
) -> None:
    note = make_document("a.md", f"---\n{front_matter}\n---\nAcme Corp bought pumps.", TAGS)
    await project.kb.ingestion.ingest(InMemorySource(documents=(replace(note, updated_at=COPIED),)))
    assert await changed(project, "file:///shelf/a.md") == at


async def test_what_a_source_says_stands_before_what_its_text_says(project: Project) -> None:
    note = make_document("a.md", "---\nupdated: 2025-03-02\n---\nAcme Corp bought pumps.", TAGS)
    noted = replace(note, system="attio", kind="note", url="https://attio/a", updated_at=COPIED)
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(noted,), scope="https://attio/"), "attio"
    )
    assert await changed(project, "https://attio/a") == COPIED


async def test_an_unchanged_file_keeps_its_date_and_is_not_read_again(
    project: Project, tmp_path: Path
) -> None:
    file = tmp_path / "a.md"
    file.write_text("---\nupdated: 2025-03-02\n---\nAcme Corp bought pumps.")
    source = Files(root=tmp_path, default_tags=frozenset(TAGS))
    assert (await project.kb.ingestion.ingest(source)).found.new == 1
    assert await changed(project, file.as_uri()) == datetime(2025, 3, 2, tzinfo=UTC)
    os.utime(file, (0, COPIED.timestamp()))
    again = await project.kb.ingestion.ingest(source)
    assert (again.found.unchanged, again.found.changed, again.done) == (1, 0, ())
    assert await changed(project, file.as_uri()) == datetime(2025, 3, 2, tzinfo=UTC)
    file.write_text("Acme Corp sold pumps.")
    os.utime(file, (0, COPIED.timestamp()))
    assert (await project.kb.ingestion.ingest(source)).found.changed == 1
    assert await changed(project, file.as_uri()) == COPIED


def lines(said: Sequence[tuple[str, datetime | None]]) -> list[tuple[str, str]]:
    return [(text, f"{at:%Y-%m-%d}" if at else "") for text, at in said]


@pytest.mark.parametrize(
    ("name", "text", "day"),
    [
        ("a.md", "Acme Corp bought pumps.", ""),
        ("2025-03-02-visit.md", "Acme Corp bought pumps.", "2025-03-02"),
        ("a.md", "# Visit on 2 March 2025\n\nAcme Corp bought pumps.", "2025-03-02"),
        ("a.md", "Date: Sunday, 2 March 2025\n\nAcme Corp bought pumps.", "2025-03-02"),
        ("a.md", "---\ndate: 2025-03-02\n---\nAcme Corp bought pumps.", "2025-03-02"),
        ("2999-01-01.md", "Acme Corp bought pumps.", ""),
    ],
)
async def test_what_a_file_says_has_the_files_own_date_or_none(
    project: Project, tmp_path: Path, name: str, text: str, day: str
) -> None:
    (tmp_path / name).write_text(text)
    await project.kb.ingestion.ingest(Files(root=tmp_path, default_tags=frozenset(TAGS)))
    reader = await project.kb.reader(TAGS)
    brief = await project.kb.questions.brief("Acme Corp", reader)
    assert isinstance(brief, Brief)
    said = [line for line in (*brief.about, *brief.lately) if "bought" in line.text]
    assert {at for _, at in lines([(each.text, each.said_at) for each in said])} == {day}
    listed = await project.kb.questions.statements("What of Acme Corp and pumps?", reader)
    assert {at for _, at in lines([(each.text, each.said_at) for each in listed.sentences])} == {
        day
    }


async def test_what_a_system_says_has_the_systems_date(project: Project) -> None:
    note = make_document("a.md", "Acme Corp bought pumps.", TAGS)
    noted = replace(note, system="attio", kind="note", url="https://attio/a", updated_at=COPIED)
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(noted,), scope="https://attio/"), "attio"
    )
    reader = await project.kb.reader(TAGS)
    listed = await project.kb.questions.statements("What of Acme Corp and pumps?", reader)
    assert [each.said_at for each in listed.sentences] == [COPIED]


async def test_briefs_and_statements_are_ordered_and_dated_by_it(project: Project) -> None:
    said = {
        "Acme Corp is a utility in Lübeck.": "2024-01-01",
        "Acme Corp visited Lübeck.": "2025-01-05",
        "Acme Corp called about Lübeck.": "2025-06-02",
        "Acme Corp asked for Lübeck.": "2025-03-01",
    }
    documents = [
        replace(make_document(f"{n}.md", f"---\ndate: {day}\n---\n{text}", TAGS), updated_at=COPIED)
        for n, (text, day) in enumerate(said.items())
    ]
    await project.kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))
    reader = await project.kb.reader(TAGS)
    newest = sorted(said.items(), key=lambda each: each[1], reverse=True)
    brief = await project.kb.questions.brief("Acme Corp", reader)
    assert isinstance(brief, Brief)
    assert lines([(each.text, each.said_at) for each in brief.about]) == newest[3:]
    assert {each.snippet for each in brief.about[0].citations} == {newest[3][0]}
    assert lines([(each.text, each.said_at) for each in brief.lately]) == newest[:3]
    listed = await project.kb.questions.statements("What of Acme Corp and Lübeck?", reader)
    assert lines([(each.text, each.said_at) for each in listed.sentences]) == newest
