"""Files that are sent: asked for whom, fetched once, added as the person, and told when they are readable."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from lightwell.domain.channels import File
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import ChannelFailed, NotFound
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels import files
from lightwell.entrypoints.channels.actions import AddFile, ShowJob
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Message
from lightwell.knowledge_base.directory import Directory
from lightwell.records.database import Database
from tests.channels.company import (
    GROUP,
    INGEST,
    actions,
    asking,
    change,
    join,
    labels,
    pressed,
    words,
)
from tests.flow.conftest import Project, project_on

MOST = 1_000
TEXT = b"The pump is blue. It was bought in March."
SALES, SHARED, BOARD = "team:sales", "team:all", "team:board"


@dataclass
class Sent:
    """A file on the platform, which counts how often it is fetched; `fails` breaks the connection after its first part."""

    content: bytes = TEXT
    fails: bool = False
    fetched: int = field(default=0)

    async def parts(self) -> AsyncIterator[bytes]:
        self.fetched += 1
        for start in range(0, len(self.content), 20):
            yield self.content[start : start + 20]
            if self.fails:
                raise ChannelFailed("The connection broke")


async def add(asker: Asker, action: AddFile, sent: Sent) -> Message:
    return await files.add(asker, action, sent.parts(), MOST)


def note(name: str = "note.txt", size: int = len(TEXT)) -> File:
    return File(name=name, size=size, handle="file-1")


@pytest.fixture
async def project(database: Database) -> Project:
    return await project_on(database)


@pytest.fixture
async def mia(project: Project) -> Asker:
    """Somebody with an own place and two groups, one of which is nobody else's concern but a second member's."""
    mia = await join(project, "mia", ["user:mia"], INGEST)
    await join(project, "tom", [], INGEST)
    directory = Directory(database=project.database, project_id=project.kb.project_id)
    for group, tag, members in (
        ("Sales", SALES, ["mia", "tom"]),
        ("Everybody", SHARED, ["mia", "tom"]),
        ("Board", BOARD, ["tom"]),
    ):
        await directory.save_group(group, frozenset({tag}))
        await directory.add_members(group, [f"{name}@halden.example" for name in members])
    return await asking(project, mia.person.display_name.lower())


async def count(project: Project) -> int:
    return await project.database.value("SELECT count(*) FROM source_documents", {})


async def test_it_is_asked_for_whom_and_added_for_them_alone(project: Project, mia: Asker) -> None:
    asked = await files.offer(mia, note(), MOST)
    assert labels(asked) == ["Only me", "Everybody", "Sales", "Discard"]
    sent = Sent()
    said = await add(mia, pressed(asked, "Sales", AddFile), sent)
    assert "note.txt" in words(said)
    assert "Waiting" in words(said)
    await project.kb.ingestion.finish_jobs()
    ready = await files.progress(mia, pressed(said, "How far is it?", ShowJob), seconds=5)
    assert "Ready" in words(ready)
    assert not ready.buttons
    tom = await asking(project, "tom")
    (document,) = await project.kb.documents.list(tom.reader)
    assert (document.title, document.acl_tags) == ("note", frozenset({SALES}))
    assert sent.fetched == 1


async def test_the_same_file_is_added_once_wherever_else_it_should_go(
    project: Project, mia: Asker
) -> None:
    asked, sent = await files.offer(mia, note(), MOST), Sent()
    first = await add(mia, pressed(asked, "Sales", AddFile), sent)
    for label in ("Sales", "Only me"):
        assert await add(mia, pressed(asked, label, AddFile), sent) == first
    assert (sent.fetched, await count(project)) == (1, 1)


async def test_presses_at_once_add_it_once(project: Project, mia: Asker) -> None:
    asked = await files.offer(mia, note(), MOST)
    actions = [pressed(asked, label, AddFile) for label in ("Sales", "Only me", "Sales")]
    said = await asyncio.gather(*(add(mia, action, Sent()) for action in actions))
    assert len({words(message) for message in said}) == 1
    assert await count(project) == 1


async def test_an_administrator_adds_for_a_group_of_others(project: Project, mia: Asker) -> None:
    admin = await change(project, "mia", PersonChange(scopes=frozenset({Scope.ADMIN})))
    asked = await files.offer(admin, note(), MOST)
    said = await add(admin, pressed(asked, "Board", AddFile), Sent())
    assert "Added" in words(said)
    assert not said.buttons
    await project.kb.ingestion.finish_jobs()
    (document,) = await project.kb.documents.list((await asking(project, "tom")).reader)
    assert document.acl_tags == {BOARD}


async def test_a_break_adds_nothing_and_the_next_try_all(project: Project, mia: Asker) -> None:
    action = pressed(await files.offer(mia, note(), MOST), "Sales", AddFile)
    with pytest.raises(ChannelFailed):
        await add(mia, action, Sent(fails=True))
    assert await count(project) == 0
    await add(mia, action, Sent())
    assert await count(project) == 1


async def test_discarding_and_what_one_may_not_add_fetches_nothing(
    project: Project, mia: Asker
) -> None:
    sent = Sent()
    asked = await files.offer(mia, note(), MOST)
    action = pressed(asked, "Sales", AddFile)
    assert "Discarded" in words(await add(mia, pressed(asked, "Discard", AddFile), sent))
    for tag in (BOARD, "team:nobody"):
        with pytest.raises(NotFound):
            await add(mia, replace(action, tag=tag), sent)
    reader = await change(project, "mia", PersonChange(scopes=frozenset()))
    assert "not add any" in words(await files.offer(reader, note(), MOST))
    assert "not add any" in words(await add(reader, action, sent))
    nobody = await join(project, "kim", [], INGEST)
    assert "no place" in words(await files.offer(nobody, note(), MOST))
    alone = await asking(project, "tom", GROUP)
    in_group = await files.offer(alone, note(), MOST)
    assert not in_group.buttons
    assert "Board" not in words(in_group)
    assert (sent.fetched, await count(project)) == (0, 0)


async def test_what_is_too_large_is_refused_by_its_size_and_by_its_bytes(
    project: Project, mia: Asker
) -> None:
    assert "too large" in words(await files.offer(mia, note(size=MOST + 1), MOST))
    action = pressed(await files.offer(mia, note(size=1), MOST), "Sales", AddFile)
    sent = Sent(content=b"x" * (MOST + 1))
    assert "too large" in words(await add(mia, action, sent))
    assert await count(project) == 0
    await add(mia, action, Sent(content=b"x" * MOST))
    assert await count(project) == 1


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("virus.exe", b"MZ\x90\x00" + bytes(60), ""),
        ("empty.txt", b"", ""),
        ("whose.md", b"---\nacl_tags: [team:all]\n---\n\nThe pump is blue.", "says itself"),
    ],
    ids=["program", "empty", "front matter"],
)
async def test_what_is_no_document_is_refused_with_the_reason(
    project: Project, mia: Asker, name: str, content: bytes, why: str
) -> None:
    action = pressed(await files.offer(mia, note(name), MOST), "Sales", AddFile)
    said = await add(mia, action, Sent(content=content))
    await project.kb.ingestion.finish_jobs()
    if jobs := actions(said, ShowJob):
        said = await files.progress(mia, jobs[0])
        assert "Could not be added" in words(said)
    assert name in words(said)
    assert why in words(said)
    assert not await project.kb.documents.list((await asking(project, "tom")).reader) or jobs


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd\x00.txt", "a\u202e\n\n@all.txt", "x" * 5_000 + ".txt", "", "<b>&.txt"],
)
async def test_a_hostile_name_is_text_on_one_line_and_no_path(
    project: Project, mia: Asker, name: str
) -> None:
    asked = await files.offer(mia, note(name), MOST)
    lines = words(asked).splitlines()
    assert lines[1].startswith("Who may see it?")
    assert len(lines[0]) <= 100
    assert lines[0].isprintable()
    said = await add(mia, pressed(asked, "Sales", AddFile), Sent())
    assert words(said).splitlines()[0].isprintable()
    await project.kb.ingestion.finish_jobs()
    (document,) = await project.kb.documents.list((await asking(project, "mia")).reader)
    assert "/" not in document.title
    assert document.url.startswith("upload:///")


async def test_nobody_else_learns_how_far_a_file_is(project: Project, mia: Asker) -> None:
    asked = await files.offer(mia, note(), MOST)
    (job,) = actions(await add(mia, pressed(asked, "Only me", AddFile), Sent()), ShowJob)
    with pytest.raises(NotFound):
        await files.progress(await asking(project, "tom"), job)
