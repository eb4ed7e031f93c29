"""`kill -9` of a server whose bot is answering: every message that Telegram was told came is answered afterwards, once."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import settings
from pydantic import SecretStr

from lightwell.domain.channels import Platform
from lightwell.domain.directory import PersonChange
from lightwell.domain.scopes import Scope
from lightwell.knowledge_base.directory import Directory
from lightwell.records.database import connect
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from tests.conftest import Databases
from tests.entrypoints.served import PROGRAM
from tests.patience import PATIENCE
from tests.telegram_server.server import BotApi, Fault, serving
from tests.telegram_server.state import TOKEN, FakeTelegram

pytestmark = pytest.mark.slow

FACT = "Nordwind receives a discount of 18 percent on all items."
QUESTION = "What discount does Nordwind receive?"
NAMES = ("Ada", "Bob", "Grace")


async def prepare(url: str, numbers: list[int]) -> None:
    """Store a document, and people whose accounts have these numbers."""
    async with open_knowledge_base(Settings(database_url=SecretStr(url))) as kb:
        documents = (make_document("fact.md", FACT, ["team:sales"]),)
        await kb.ingestion.ingest(InMemorySource(documents=documents))
        async with connect(url) as database:
            directory = Directory(database=database, project_id=kb.project_id)
            for name, number in zip(NAMES, numbers, strict=True):
                await directory.create_person(
                    PersonChange(
                        email=f"{name.casefold()}@halden.example",
                        external_ids={Platform.TELEGRAM: str(number)},
                        acl_tags=frozenset({"team:sales"}),
                        scopes=frozenset({Scope.READ}),
                    )
                )


@asynccontextmanager
async def serve(home: Path, url: str, api: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run `lightwell serve` during the block, at whose end it is killed."""
    with (home / "served.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            "serve",
            "--port",
            "0",
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "LIGHTWELL_DATABASE_URL": url,
                "LIGHTWELL_TELEGRAM_TOKEN": TOKEN,
                "LIGHTWELL_TELEGRAM_API": api,
            },
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.parametrize("method", ["sendMessage", "editMessageText"])
async def test_a_killed_bot_answers_all_that_it_has_acknowledged_once(
    method: str, databases: Databases, tmp_path: Path
) -> None:
    """The server is killed while Telegram does what it asked for, so that it never learns what came of it."""
    if method == "sendMessage" and settings.get_current_profile_name() != "thorough":
        pytest.skip("`make test-long` runs it: another lease of a minute is waited for")
    api = BotApi(FakeTelegram(clock=asyncio.get_running_loop().time))
    fake = api.fake
    people = [fake.person(name) for name in NAMES]
    with databases.lent() as url:
        await prepare(url, people)
        async with serving(api) as address:
            for person in people:
                fake.say(person, QUESTION)
            hold = asyncio.Event()
            api.fail(method, Fault(does=True, waits=hold), times=len(people))
            async with serve(tmp_path, url, address):
                await until(lambda: len(api.faults[method]) < len(people) and not fake.queue)
            hold.set()
            api.faults.clear()
            fake.say(people[0], QUESTION)
            fake.repeat()
            async with serve(tmp_path, url, address):
                await until(lambda: all(answers(fake, person) for person in people))
                await until(lambda: answers(fake, people[0]) == 2)
                fake.say(people[1], "/status")
                await until(lambda: "You see 1 document" in fake.read(people[1])[-1])
    assert [answers(fake, person) for person in people] == [2, 1, 1]
    if method == "editMessageText":  # what was sent was known, and is written into
        assert [len(fake.read(person)) for person in people] == [2, 2, 1]
    assert api.violations == []


def answers(fake: FakeTelegram, person: int) -> int:
    return sum("18 percent" in text for text in fake.read(person))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what another process does
            await asyncio.sleep(0.05)
