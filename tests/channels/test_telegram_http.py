"""Telegram and a whole server: what a person asks there is answered with that person's access, by polling and by a webhook."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

import httpx
import pytest
from pydantic import SecretStr

from lightwell.domain.channels import Platform, Update
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import Invalid, StoreFailed
from lightwell.entrypoints.channels.bots import Reception
from lightwell.entrypoints.http.body_limit import MAX_BODY_BYTES
from lightwell.entrypoints.telegram.pace import Pace
from lightwell.knowledge_base.channel_accounts import BoundGroups
from lightwell.knowledge_base.directory import Directory
from lightwell.testing.sources import InMemorySource, make_document
from tests.clocks import InstantClock
from tests.entrypoints.http_site import Site, open_site
from tests.patience import until
from tests.telegram_server.server import BotApi, serving
from tests.telegram_server.state import TOKEN, FakeTelegram

PATH = "/v1/webhooks/telegram"
SECRET = "a_secret_that_telegram_alone_has"  # noqa: S105
SERVICE, BOARD = "team:service", "board"
DOCUMENTS = (
    make_document("pumps.md", "The seal of the pump P-7 leaks since March.", [SERVICE]),
    make_document("pay.md", "Ada gets a bonus of 4,000 euros in May.", [BOARD]),
)


@dataclass(frozen=True, kw_only=True)
class Company:
    """A server with a bot, and its Telegram."""

    site: Site
    fake: FakeTelegram
    api: BotApi

    async def join(self, name: str, *tags: str) -> int:
        """Add somebody to Telegram, and to the directory with these tags."""
        number = self.fake.person(name)
        change = PersonChange(
            email=f"{name}@halden.example",
            external_ids={"telegram": str(number)},
            acl_tags=frozenset(tags),
        )
        await self.directory.create_person(change)
        return number

    @property
    def directory(self) -> Directory:
        return Directory(database=self.site.keys.database, project_id=self.site.kb.project_id)

    async def hears(self, person: int, words: str, chat: int = 0) -> None:
        """Wait until the bot says something to a person that has these words."""
        await until(lambda: any(words in text for text in self.fake.read(person, chat)))

    async def notice(self, person: int, words: str) -> None:
        """Wait until a press of a person is answered with a notice that has these words."""
        await until(lambda: any(who == person and words in text for who, text in self.fake.notices))

    async def deliver(self) -> list[int]:
        """Have Telegram send what it has to the server, once there is a webhook."""
        await until(lambda: bool(self.fake.webhook))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.site.app)) as client:
            return await self.api.deliver(client)

    async def post(self, body: bytes, secret: str | None) -> httpx.Response:
        headers = {b"Content-Type": b"application/json"}
        if secret is not None:
            headers[b"X-Telegram-Bot-Api-Secret-Token"] = secret.encode()
        return await self.site.client.post(PATH, content=body, headers=headers)


@asynccontextmanager
async def opened(database_url: str, *, webhook: bool) -> AsyncGenerator[Company]:
    clock = InstantClock()
    fake = FakeTelegram(clock=clock.now)
    api = BotApi(fake)
    pace = patch(
        "lightwell.entrypoints.telegram.opening.Pace", lambda: Pace(clock.now, clock.sleep)
    )
    async with serving(api) as url:
        values: dict[str, object] = {
            "channels.telegram_token": SecretStr(TOKEN),
            "channels.telegram_api": url,
            "server.public_url": "https://localhost",
        }
        if webhook:
            values["channels.telegram_webhook_secret"] = SecretStr(SECRET)
        async with AsyncExitStack() as stack:
            with pace:
                site = await stack.enter_async_context(open_site(database_url, values))
            yield Company(site=site, fake=fake, api=api)
    assert api.violations == []


@pytest.fixture
async def company(database_url: str) -> AsyncGenerator[Company]:
    async with opened(database_url, webhook=True) as company:
        yield company


async def test_s2_15_a_person_asks_telegrams_bot_with_the_persons_own_access(
    database_url: str,
) -> None:
    async with opened(database_url, webhook=False) as company:
        source = InMemorySource(documents=DOCUMENTS, scope="file:///shelf/")
        await company.site.kb.ingestion.ingest(source)
        ada, eve = await company.join("ada", SERVICE), await company.join("eve", BOARD)
        company.fake.say(ada, "Since when does the seal of pump P-7 leak?")
        company.fake.say(eve, "Since when does the seal of pump P-7 leak?")
        await company.hears(ada, "leaks since March")
        await company.directory.change_person("ada@halden.example", PersonChange(active=False))
        company.fake.say(ada, "Since when does the seal of pump P-7 leak?")
        await company.hears(ada, "link")
        assert not any("leaks since March" in text for text in company.fake.read(eve))


async def test_in_a_group_the_asker_alone_sees_the_answer_until_it_is_shared(
    database_url: str,
) -> None:
    async with opened(database_url, webhook=False) as company:
        source = InMemorySource(documents=DOCUMENTS, scope="file:///shelf/")
        await company.site.kb.ingestion.ingest(source)
        fake, question = company.fake, "since when does the seal of the pump P-7 leak?"
        ada, eve = await company.join("ada", SERVICE), await company.join("eve", BOARD)
        pumps = fake.group("Pumps", ada, eve)
        fake.say_alone(ada, f"/ask@halden_bot {question}", pumps)
        await company.hears(ada, "leaks since March", pumps)
        assert fake.read(eve, pumps) == []
        fake.say(eve, f"@halden_bot {question}", pumps)
        await company.hears(eve, "private chat", pumps)
        await until(lambda: bool(fake.read(eve)))
        fake.say(ada, f"@halden_bot {question}", pumps)
        await company.hears(ada, "leaks since March")
        fake.press(ada, "Share here", pumps)
        await company.notice(ada, "administrator")
        kb, database = company.site.kb, company.site.keys.database
        groups = BoundGroups(database=database, project_id=kb.project_id)
        await groups.bind(Platform.TELEGRAM, str(pumps), frozenset({SERVICE}))
        assert not any("since March" in text for text in fake.read(eve, pumps) + fake.read(eve))
        fake.press(ada, "Share here", pumps)
        await company.hears(eve, "leaks since March", pumps)


async def test_a_webhook_is_set_and_what_it_brings_is_answered(company: Company) -> None:
    ada = await company.join("ada")
    company.fake.say(ada, "/help")
    assert await company.deliver() == [200]
    assert company.fake.webhook == {"url": f"https://localhost{PATH}", "secret_token": SECRET}
    await company.hears(ada, "/search")
    company.fake.repeat()
    assert await company.deliver() == [200]
    company.fake.say(ada, "/status")
    assert await company.deliver() == [200]
    await company.hears(ada, "ada")
    assert len([text for text in company.fake.read(ada) if "/search" in text]) == 1


async def test_everything_that_telegram_did_not_send_gets_the_same_reply(
    company: Company, database_url: str
) -> None:
    body = b'{"update_id": 1}'
    secrets = (None, "", "wrong", SECRET[:-1], SECRET + "x", "\u00e9" * 20)
    replies = [await company.post(body, secret) for secret in secrets]
    async with open_site(database_url) as none:
        headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
        replies.append(await none.client.post(PATH, content=body, headers=headers))
    shown = [{**reply.json(), "requestId": "", "status": reply.status_code} for reply in replies]
    assert shown[0]["status"] == 401
    assert [reply for reply in shown if reply != shown[0]] == []
    assert (await company.post(b"x" * (MAX_BODY_BYTES + 1), SECRET)).status_code == 413


async def test_what_is_malformed_is_not_sent_again_and_what_is_not_stored_is(
    company: Company,
) -> None:
    for body in (b"", b"{", b"[]", b"[" * 100_000, b'{"update_id": "x"}', b'{"update_id": 1}'):
        assert (await company.post(body, SECRET)).status_code == 200
    ada = await company.join("ada")
    company.fake.say(ada, "/help")
    bots: dict[Platform, Reception] = company.site.app.state.channels

    async def receive(update: Update) -> None:
        raise StoreFailed("The database is away")

    company.site.app.state.channels = {
        Platform.TELEGRAM: replace(bots[Platform.TELEGRAM], receive=receive)
    }
    assert await company.deliver() == [503]
    company.site.app.state.channels = bots
    assert await company.deliver() == [200]
    await company.hears(ada, "/search")


async def test_a_token_without_a_webhook_that_telegram_could_call_is_said(
    database_url: str,
) -> None:
    values = {
        "channels.telegram_token": SecretStr(TOKEN),
        "channels.telegram_webhook_secret": SecretStr(SECRET),
    }
    cases: list[tuple[dict[str, object], str]] = [
        ({}, "LIGHTWELL_PUBLIC_URL"),
        ({"server.public_url": "http://kb.example"}, "https"),
        ({"channels.telegram_webhook_secret": SecretStr("short")}, "16 to 256"),
        ({"channels.telegram_token": SecretStr("no"), "server.public_url": "https://kb.example"}, "BotFather"),
    ]  # fmt: skip
    for more, words in cases:
        with pytest.raises(Invalid, match=words):
            async with open_site(database_url, {**values, **more}):
                pass
