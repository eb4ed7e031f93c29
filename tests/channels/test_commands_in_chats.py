"""Commands, files and shared answers as people type, send and press them in chats with a bot."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lightwell.domain.channels import File
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import ChannelFailed
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.conversation import GONE
from lightwell.records import channel_groups
from lightwell.records.database import Database
from lightwell.testing.sources import make_document
from tests.channels.conftest import filled
from tests.channels.memory import GROUP, MemoryChannel, Office, opened, private
from tests.flow.conftest import Project

SALES, BOARD = "team:sales", "team:board"
DOCUMENTS = (
    make_document(
        "a.md",
        "Nordwind Energie gets a discount of 18 percent. Nordwind Energie pays late.",
        [SALES],
        title="Terms",
    ),
    make_document("b.md", "Nordwind Logistik drives lorries.", [SALES]),
    make_document("c.md", "Castell Water gets a discount of 25 percent.", [BOARD]),
)
NOTE = b"The pump of Nordwind Energie is blue."
FILE = File(name="pump.txt", size=len(NOTE), handle="file-1")


@pytest.fixture
async def project(database: Database) -> Project:
    return await filled(database, *DOCUMENTS)


@pytest.fixture
async def office(project: Project) -> AsyncGenerator[Office]:
    channel = MemoryChannel(files={"file-1": NOTE})
    async with opened(project, channel) as office:
        yield office


async def test_a_brief_is_picked_and_its_source_shown_below_it(office: Office) -> None:
    ada = await office.join("ada", SALES)
    several = await office.say(ada, "/brief Nordwind")
    (label,) = (label for label in several.labels if label.startswith("Nordwind Energie"))
    assert not await office.press(ada, several, label)
    brief = office.channel.posts[several.id]
    assert "18 percent" in brief.text
    assert not await office.press(ada, brief, "1")
    assert "Terms" in office.latest(private(ada)).text
    assert office.channel.posts[several.id].text == brief.text
    again = await office.say(ada, "/brief Nordwind")
    assert "18 percent" in again.text


async def test_a_button_of_a_brief_is_of_no_use_to_others_nor_after_access_ended(
    office: Office,
) -> None:
    ada, bob = await office.join("ada", SALES), await office.join("bob", SALES)
    brief = await office.say(ada, "/brief Nordwind Energie")
    assert await office.press(bob, brief, "1") == GONE
    await office.change("ada", PersonChange(acl_tags=frozenset({BOARD})))
    assert await office.press(ada, brief, "1") == GONE
    assert "Terms" not in office.latest(private(ada)).text.replace(brief.text, "")


async def test_searches_and_promises_are_answered_for_their_words(office: Office) -> None:
    ada = await office.join("ada", SALES)
    found = await office.say(ada, "/search discount")
    assert "18 percent" in found.text
    assert "25 percent" not in found.text
    assert found.labels[0] == "1"
    nothing = await office.say(ada, "/promises the moon")
    assert nothing.text.startswith("Insufficient evidence")


@asynccontextmanager
async def working(project: Project) -> AsyncGenerator[None]:
    """A worker reads what is added."""

    async def work() -> None:
        while True:
            await project.kb.ingestion.finish_jobs()
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        yield
        task.cancel()


async def uploads(project: Project) -> int:
    query = "SELECT count(*) FROM source_documents WHERE source_system = 'upload'"
    return int(await project.database.value(query, {}))


async def test_a_file_is_added_for_whom_its_sender_chose_and_told_when_it_is_ready(
    office: Office, project: Project
) -> None:
    ada = await office.join("ada", SALES, "user:ada", scopes=(Scope.READ, Scope.INGEST))
    await office.send(ada, FILE)
    post = office.latest(private(ada))
    assert post.labels == ["Only me", SALES, "Discard"]
    async with working(project):
        assert not await office.press(ada, post, "Only me")
    assert "Ready" in office.channel.posts[post.id].text
    assert await office.press(ada, post, SALES) == GONE
    assert "blue" in (await office.say(ada, "What is the pump of Nordwind Energie?")).text
    bob = await office.join("bob", SALES)
    assert "blue" not in (await office.say(bob, "What is the pump of Nordwind Energie?")).text
    assert await uploads(project) == 1


async def test_a_file_is_added_once_though_the_platform_fails_behind_it(
    office: Office, project: Project
) -> None:
    ada = await office.join("ada", SALES, scopes=(Scope.READ, Scope.INGEST))
    await office.send(ada, FILE)
    post = office.latest(private(ada))
    failures = ["edit"]

    def fail_once(step: str) -> None:
        if step in failures:
            failures.remove(step)
            raise ChannelFailed("away")

    office.channel.before = fail_once
    async with working(project):
        await office.press(ada, post, SALES)
    assert "Ready" in office.channel.posts[post.id].text
    assert await uploads(project) == 1


async def test_what_is_changed_for_others_has_a_line_in_the_audit_log_without_words(
    project: Project, tmp_path: Path
) -> None:
    path, channel = tmp_path / "audit.jsonl", MemoryChannel(files={"file-1": NOTE})
    async with opened(project, channel, audit=str(path)) as office, working(project):
        ada = await office.join("ada", SALES, scopes=(Scope.READ, Scope.INGEST))
        await office.send(ada, FILE)
        post = office.latest(private(ada))
        await office.press(ada, post, SALES)
        await office.send(ada, FILE)
        await office.press(ada, office.latest(private(ada)), "Discard")
        await office.say(ada, "/brief Nordwind Energie")
        person = (await office.asker(ada)).person.id
    (line,) = map(json.loads, path.read_text().splitlines())
    assert line.pop("time")
    assert line == {
        "command": "channels add",
        "account": f"telegram:{ada.id}",
        "personId": str(person),
        "project": "project",
        "ids": {},
        "exitCode": 0,
    }


async def test_an_answer_is_shared_with_the_group_that_is_bound(
    office: Office, project: Project
) -> None:
    ada = await office.join("ada", SALES, BOARD)
    await channel_groups.bind(
        project.database,
        project.kb.project_id,
        GROUP.platform,
        GROUP.id,
        frozenset({SALES}),
    )
    for question, is_posted in (
        ("What discount does Nordwind Energie get?", True),
        ("What discount does Castell Water get?", False),
    ):
        post = await office.say(ada, question, GROUP)
        assert post.alone == ada.id
        told = await office.press(ada, post, "Share here", GROUP)
        latest = office.latest(GROUP)
        assert latest.text.startswith("Shared by Ada") is is_posted
        assert ("Not everybody" in told) is not is_posted
        assert not is_posted or not latest.labels
        await office.say(ada, "/new", GROUP)
