"""Of all processes of a server one receives and answers for a bot; no failure of a bot ends the server, and no end of a process loses what waits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from pydantic import SecretStr

from lightwell.domain.channels import Platform, Text
from lightwell.domain.errors import ChannelFailed
from lightwell.entrypoints.channels import bots, inbox
from lightwell.entrypoints.channels.conversation import Conversations
from lightwell.entrypoints.http import bots as bots_of_server
from lightwell.records import channel_updates
from lightwell.records.channel_updates import TakenUpdate
from lightwell.records.database import Database
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from tests.channels.conftest import filled
from tests.channels.memory import (
    TOKEN,
    MemoryChannel,
    Office,
    opened,
    people_of,
    private,
    update_of,
)
from tests.entrypoints.http_site import open_site
from tests.flow.conftest import Project
from tests.patience import PATIENCE

SALES = "team:sales"
DISCOUNT = "What discount does Nordwind Energie get?"
DOCUMENT = make_document("a.md", "Nordwind Energie gets a discount of 18 percent.", [SALES])


@pytest.fixture
async def project(database: Database) -> Project:
    return await filled(database, DOCUMENT)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have processes look at once who receives, and try again at once."""
    monkeypatch.setattr(bots, "_STANDBY_SECONDS", 0.05)
    monkeypatch.setattr(bots, "_FIRST_PAUSE", 0.05)
    monkeypatch.setattr(inbox, "_GRACE_SECONDS", 0.05)


async def test_the_server_runs_the_bots_whose_tokens_are_set(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = MemoryChannel()
    names: list[str] = []

    @asynccontextmanager
    async def open_channel(settings: Settings) -> AsyncGenerator[MemoryChannel]:
        yield channel

    def load(name: str) -> SimpleNamespace:
        names.append(name)
        return SimpleNamespace(open_channel=open_channel)

    monkeypatch.setattr(bots_of_server, "import_module", load)
    async with open_site(database_url) as site:
        assert (names, site.app.state.channels) == ([], {})
    token = {"channels.telegram_token": SecretStr(TOKEN)}
    async with open_site(database_url, token) as site:
        assert names == ["lightwell.entrypoints.telegram.opening"]
        assert set(site.app.state.channels) == {Platform.TELEGRAM}
        assert site.app.state.channels[Platform.TELEGRAM].channel is channel
        await site.kb.ingestion.ingest(
            InMemorySource(documents=(DOCUMENT,), scope="file:///shelf/")
        )
        database = site.keys.database
        project = Project.__new__(Project)
        object.__setattr__(project, "kb", site.kb)
        object.__setattr__(project, "database", database)
        office = Office(project=project, channel=channel, people=people_of(project))
        ada = await office.join("ada", SALES)
        assert "18 percent" in (await office.say(ada, DISCOUNT)).text
    assert not channel.runs.is_set()


@pytest.mark.usefixtures("quick")
async def test_a_bot_that_does_not_receive_tries_again_and_answers_meanwhile(
    project: Project,
) -> None:
    failures = [ChannelFailed("away"), RuntimeError("a bug"), ChannelFailed("away")]

    def fail(step: str) -> None:
        if step == "run" and failures:
            raise failures.pop()

    channel = MemoryChannel()
    channel.before = fail
    async with opened(project, channel) as office:
        ada = await office.join("ada", SALES)
        assert "18 percent" in (await office.say(ada, DISCOUNT)).text
    assert failures == []


_HOLDERS = """
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def next_holder(database: Database, before: int) -> int:
    """Return the session that has the lock, when it is another one than before."""
    async with asyncio.timeout(PATIENCE):
        while not (new := {*await database.values(_HOLDERS, {})} - {before}):  # noqa: ASYNC110 - the database says so
            await asyncio.sleep(0.02)
    return int(new.pop())


@pytest.mark.usefixtures("quick")
async def test_another_process_receives_where_the_lock_is_lost(project: Project) -> None:
    database = project.database
    async with opened(project) as first, opened(project) as second:
        ada, holder = await first.join("ada", SALES), 0
        for number in range(4):
            holder = await next_holder(database, holder)
            update = update_of(ada, Text(text=DISCOUNT))
            await channel_updates.insert(database, project.kb.project_id, update)
            await first.deliver()
            answers = [
                post
                for office in (first, second)
                for post in office.channel.posts.values()
                if "18 percent" in post.text
            ]
            assert len(answers) == number + 1
            await database.execute("SELECT pg_terminate_backend(%(pid)s)", {"pid": holder})


@pytest.mark.usefixtures("quick")
async def test_what_is_under_way_when_the_server_stops_is_answered_by_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def hang(self: Conversations, taken: TakenUpdate) -> None:
        begun.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(Conversations, "respond", hang)
        async with opened(project) as office:
            ada = await office.join("ada", SALES)
            await channel_updates.insert(
                project.database, project.kb.project_id, update_of(ada, Text(text=DISCOUNT))
            )
            async with asyncio.timeout(PATIENCE):
                await begun.wait()
    async with opened(project) as office:
        await office.deliver()
        (answer,) = office.channel.in_chat(private(ada))
        assert "18 percent" in answer.text


async def test_what_was_tried_too_often_is_given_up(project: Project) -> None:
    async with opened(project) as office:
        ada = await office.join("ada", SALES)
    await channel_updates.insert(
        project.database, project.kb.project_id, update_of(ada, Text(text=DISCOUNT))
    )
    await project.database.execute("UPDATE channel_updates SET attempts = 16", {})
    async with opened(project) as office:
        await office.deliver()
        assert office.channel.written == []


async def test_keys_are_forgotten_after_a_week_and_buttons_when_they_expire(
    project: Project,
) -> None:
    async with opened(project) as office:
        ada = await office.join("ada", SALES)
        await office.say(ada, DISCOUNT)
        await office.say(ada, "/status")
    execute, values = project.database.execute, project.database.values
    await execute(
        "UPDATE channel_updates SET answered_at = now() - interval '8 days' WHERE attempts = 1 AND key = (SELECT min(key) FROM channel_updates)",
        {},
    )
    await execute("UPDATE channel_buttons SET expires_at = now()", {})
    async with opened(project):
        async with asyncio.timeout(PATIENCE):
            while await values("SELECT 1 FROM channel_buttons", {}):  # noqa: ASYNC110 - upkeep does it
                await asyncio.sleep(0.02)
    assert len(await values("SELECT 1 FROM channel_updates", {})) == 1
