"""Linking accounts of Telegram and Slack to people, and groups to tags: by the functions that bots call, over HTTP, and the codes between them."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import httpx
import pytest
import pytest_asyncio

from lightwell.domain.access import Tags
from lightwell.domain.channels import LINK_CODE_LIFE, Account, Bot, LinkCode, Platform
from lightwell.domain.directory import Person, PersonChange, PersonId
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.people import People
from lightwell.knowledge_base import channel_accounts
from lightwell.knowledge_base.channel_accounts import OwnAccounts
from lightwell.records import channel_groups
from lightwell.records.channel_accounts import list_accounts
from lightwell.records.database import Database
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN
from tests.entrypoints.offices import Browser, Office, open_office

pytestmark = pytest.mark.asyncio(loop_scope="module")

TELEGRAM, SLACK = Platform.TELEGRAM, Platform.SLACK
BOTS = (
    Bot(platform=TELEGRAM, name="halden_bot"),
    Bot(platform=SLACK, name="lightwell", workspace="Halden"),
)
_NUMBERS = count(1000)


def account(platform: Platform = TELEGRAM, name: str = "") -> Account:
    """Return an account that nobody else has."""
    number = next(_NUMBERS)
    return Account(
        platform=platform, id=str(number) if platform is TELEGRAM else f"T1/U{number}", name=name
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Office]:
    audit = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    with databases.lent() as url:
        async with open_office(url, audit) as opened:
            for bot in BOTS:
                await channel_accounts.note_bot(database(opened), opened.site.kb.project_id, bot)
            yield opened


def database(office: Office) -> Database:
    return office.site.keys.database


def own(office: Office, person: Person) -> OwnAccounts:
    return OwnAccounts(
        database=database(office), project_id=office.site.kb.project_id, person=person.id
    )


async def accounts_of(office: Office, person: Person) -> list[Account]:
    return await list_accounts(database(office), person.id)


async def code_of(office: Office, person: Person, platform: Platform = TELEGRAM) -> LinkCode:
    return await own(office, person).make_code(platform)


async def redeem(office: Office, who: Account, code: str) -> Person | None:
    return await channel_accounts.redeem(database(office), office.site.kb.project_id, who, code)


async def whose(office: Office, who: Account) -> PersonId | None:
    person = await channel_accounts.find_person(database(office), office.site.kb.project_id, who)
    return None if person is None else person.id


async def link(office: Office, person: Person, who: Account) -> None:
    code = await code_of(office, person, who.platform)
    assert await redeem(office, who, code.secret.text) is not None


# ── codes ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_code_links_the_account_that_sends_it_once(office: Office) -> None:
    ada, phone, other = await office.person("team:sales"), account(name="Ada L."), account()
    code = await code_of(office, ada)
    linked = await redeem(office, phone, f" {code.secret.text} ")
    assert linked is not None
    assert (linked.id, linked.tags) == (ada.id, {"team:sales"})
    assert linked.external_ids == {"telegram": phone.id}
    assert await accounts_of(office, ada) == [phone]
    assert await redeem(office, other, code.secret.text) is None
    assert await whose(office, other) is None


async def test_a_deep_link_of_telegram_holds_the_code_and_slack_gets_a_line(office: Office) -> None:
    ada = await office.person()
    code = await code_of(office, ada)
    assert code.url == f"https://t.me/halden_bot?start={code.secret.text}"
    assert code.line == f"/start {code.secret.text}"
    assert len(code.secret.text) <= 64
    slack = await code_of(office, ada, SLACK)
    assert (slack.url, slack.line) == ("", f"link {slack.secret.text}")
    assert slack.secret.text.isalnum()


async def test_of_two_who_send_the_same_code_one_is_linked(office: Office) -> None:
    for _ in range(5):
        ada, both = await office.person(), (account(), account())
        code = await code_of(office, ada)
        linked = await asyncio.gather(*(redeem(office, who, code.secret.text) for who in both))
        assert sorted(person is None for person in linked) == [False, True]
        assert sorted([await whose(office, who) == ada.id for who in both]) == [False, True]


async def test_a_code_that_is_wrong_of_another_platform_or_expired_links_nobody(
    office: Office,
) -> None:
    ada, phone = await office.person(), account()
    assert await redeem(office, phone, "0" * 32) is None
    assert await redeem(office, phone, "") is None
    code = await code_of(office, ada, SLACK)
    assert await redeem(office, phone, code.secret.text) is None
    code = await code_of(office, ada)
    assert (code.expires_at - await database(office).now()) <= LINK_CODE_LIFE
    await office.execute(
        "UPDATE channel_codes SET expires_at = now() WHERE person_id = %(person)s", person=ada.id
    )
    assert await redeem(office, phone, code.secret.text) is None
    assert await whose(office, phone) is None


async def test_an_account_has_few_tries_a_minute(office: Office) -> None:
    ada, phone = await office.person(), account()
    code = await code_of(office, ada)
    for _ in range(5):
        assert await redeem(office, phone, "0" * 32) is None
    assert await redeem(office, phone, code.secret.text) is None
    assert await redeem(office, account(), code.secret.text) is not None


async def test_a_code_of_somebody_who_was_deactivated_links_nobody(office: Office) -> None:
    ada, phone = await office.person(), account()
    code = await code_of(office, ada)
    await office.directory.change_person(str(ada.id), PersonChange(active=False))
    await office.directory.change_person(str(ada.id), PersonChange(active=True))
    assert await redeem(office, phone, code.secret.text) is None


async def test_the_database_has_no_code(office: Office) -> None:
    code = await code_of(office, await office.person())
    rows = await database(office).values("SELECT channel_codes::text FROM channel_codes", {})
    assert rows
    assert not [row for row in rows if code.secret.text in row]
    assert code.secret.text not in repr(code)


# ── accounts ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_account_is_taken_from_nobody(office: Office) -> None:
    ada, bo, phone = await office.person(), await office.person(), account()
    await link(office, ada, phone)
    code = await code_of(office, bo)
    with pytest.raises(Invalid, match=r"linked to another person.*unlink"):
        await redeem(office, phone, code.secret.text)
    assert await whose(office, phone) == ada.id
    assert (
        await channel_accounts.unlink(database(office), office.site.kb.project_id, phone) == ada.id
    )
    assert await redeem(office, phone, code.secret.text) is not None  # the code was kept
    assert await whose(office, phone) == bo.id


async def test_an_account_of_somebody_who_left_is_free(office: Office) -> None:
    before, ada, phone = await office.person(), await office.person(), account()
    await link(office, before, phone)
    await office.directory.change_person(str(before.id), PersonChange(active=False))
    await link(office, ada, phone)
    assert await whose(office, phone) == ada.id
    left = await office.directory.change_person(str(before.id), PersonChange(active=True))
    assert left.external_ids == {}
    assert await accounts_of(office, before) == []


async def test_a_person_has_one_account_of_a_platform_the_one_linked_last(office: Office) -> None:
    ada, old, new, slack = await office.person(), account(), account(), account(SLACK)
    for who in (old, slack, new):
        await link(office, ada, who)
    assert await accounts_of(office, ada) == [slack, new]
    assert await whose(office, old) is None


async def test_whoever_is_deactivated_or_deleted_loses_access_at_once(office: Office) -> None:
    ada, phone = await office.person("team:sales"), account(name="Ada L.")
    await link(office, ada, phone)
    await office.directory.change_person(str(ada.id), PersonChange(active=False))
    assert await whose(office, phone) is None
    await office.directory.change_person(str(ada.id), PersonChange(active=True))
    assert await whose(office, phone) == ada.id
    await office.directory.delete_person(str(ada.id))
    assert await whose(office, phone) is None
    rows = await database(office).values("SELECT channel_accounts::text FROM channel_accounts", {})
    assert not [row for row in rows if phone.id in row]


async def test_what_an_account_picked_and_could_press_is_gone_when_it_is_unlinked(
    office: Office,
) -> None:
    ada, phone = await office.person(), account()
    await link(office, ada, phone)
    project_id = office.site.kb.project_id
    row = {"project_id": project_id, "account": phone.id}
    await office.execute(
        "INSERT INTO channel_chats (project_id, platform, chat, account, picks)"
        """ VALUES (%(project_id)s, 'telegram', '1', %(account)s, '{"Acme": "company:1"}')""",
        **row,
    )
    await office.execute(
        "INSERT INTO channel_buttons (button_id, project_id, platform, account, chat, action, class_ids, expires_at)"
        " VALUES (gen_random_uuid(), %(project_id)s, 'telegram', %(account)s, '1', '{}', '{}', now() + interval '1 day')",
        **row,
    )
    await own(office, ada).unlink(TELEGRAM)
    left = "SELECT account FROM channel_chats UNION ALL SELECT account FROM channel_buttons"
    assert phone.id not in await database(office).values(left, {})
    assert await accounts_of(office, ada) == []
    with pytest.raises(NotFound):
        await own(office, ada).unlink(TELEGRAM)


# ── by e-mail ────────────────────────────────────────────────────────────────────────────────────────────────


async def by_email(office: Office, who: Account, email: str) -> PersonId | None:
    person = await channel_accounts.link_by_email(
        database(office), office.site.kb.project_id, who, email, {"T1"}
    )
    return None if person is None else person.id


async def test_an_address_of_a_trusted_workspace_links(office: Office) -> None:
    ada, slack = await office.person(), account(SLACK)
    stranger = Account(platform=SLACK, id="T2/U1")
    assert await by_email(office, stranger, ada.email) is None
    assert await by_email(office, account(TELEGRAM), ada.email) is None
    assert await by_email(office, slack, "nobody@halden.example") is None
    assert await by_email(office, slack, "") is None
    assert await by_email(office, slack, "no address") is None
    assert await by_email(office, slack, ada.email.upper()) == ada.id
    assert await whose(office, slack) == ada.id
    assert await by_email(office, account(SLACK), ada.email) is None  # she has one


async def test_an_address_links_nobody_who_is_not_active(office: Office) -> None:
    ada, slack = await office.person(active=False), account(SLACK)
    assert await by_email(office, slack, ada.email) is None


async def test_an_address_takes_no_account_and_links_none_again_that_was_unlinked(
    office: Office,
) -> None:
    ada, bo, slack = await office.person(), await office.person(), account(SLACK)
    await link(office, ada, slack)
    assert await by_email(office, slack, bo.email) is None
    await own(office, ada).unlink(SLACK)
    assert await by_email(office, slack, ada.email) is None
    assert await whose(office, slack) is None
    await link(office, ada, slack)
    assert await whose(office, slack) == ada.id


# ── bots ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_where_no_bot_runs_there_is_no_code(office: Office) -> None:
    ada = await office.person()
    await office.execute("UPDATE channel_bots SET seen_at = now() - interval '4 minutes'")
    try:
        with pytest.raises(NotFound, match="No bot of Telegram runs here"):
            await code_of(office, ada)
    finally:
        await office.execute("UPDATE channel_bots SET seen_at = now()")
    assert await code_of(office, ada)


# ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────


async def channels(browser: Browser) -> Any:
    reply = await browser.send("GET", "/v1/me/channels")
    assert reply.status_code == 200, reply.text
    return reply.json()


async def make_code(browser: Browser, platform: str = "telegram") -> Any:
    reply = await browser.send("POST", f"/v1/me/channels/{platform}")
    assert reply.status_code == 201, reply.text
    return reply.json()


def code_in(reply: Any) -> str:
    """Return the code of the line to send."""
    return reply["line"].split()[1]


async def test_a_person_links_in_a_browser_sees_it_and_unlinks(office: Office) -> None:
    ada, phone = await office.person(), account(name="Ada <b>L.</b>")
    browser = await office.as_person(ada)
    bots = [{"name": "halden_bot", "workspace": None}, {"name": "lightwell", "workspace": "Halden"}]
    assert await channels(browser) == {
        "channels": [
            {"platform": platform, "bot": bot, "account": None}
            for platform, bot in zip(("telegram", "slack"), bots, strict=True)
        ],
        "canLink": True,
    }
    made = await make_code(browser)
    assert made["url"] == f"https://t.me/halden_bot?start={code_in(made)}"
    assert (await make_code(browser, "slack"))["url"] is None
    assert await redeem(office, phone, code_in(made)) is not None
    (telegram, _) = (await channels(browser))["channels"]
    assert telegram["account"] == {"id": phone.id, "name": "Ada <b>L.</b>"}
    assert (await browser.send("DELETE", "/v1/me/channels/telegram")).status_code == 204
    assert await whose(office, phone) is None
    assert (await browser.send("DELETE", "/v1/me/channels/telegram")).status_code == 404
    assert (await browser.send("POST", "/v1/me/channels/irc")).status_code == 422


async def test_another_page_makes_no_code_and_unlinks_nothing(office: Office) -> None:
    browser = await office.as_person(await office.person())
    for method in ("POST", "DELETE"):
        reply = await browser.client.request(
            method, "/v1/me/channels/telegram", headers={"Origin": "https://evil.example"}
        )
        assert (reply.status_code, reply.json()["code"]) == (403, "foreign_page")


async def test_a_session_that_ends_takes_its_codes_with_it(office: Office) -> None:
    ada = await office.person()
    browser, other = await office.as_person(ada), await office.as_person(ada)
    of_ended, of_other = await make_code(browser), await make_code(other)
    await browser.send("POST", "/v1/sign-out")
    assert await redeem(office, account(), code_in(of_ended)) is None
    assert await redeem(office, account(), code_in(of_other)) is not None


async def test_a_session_that_is_not_used_any_more_links_nobody(office: Office) -> None:
    ada = await office.person()
    made = await make_code(await office.as_person(ada))
    await office.execute(
        "UPDATE web_sessions SET last_used_at = now() - interval '8 days' WHERE person_id = %(person)s",
        person=ada.id,
    )
    assert await redeem(office, account(), code_in(made)) is None


async def with_key(office: Office, method: str, key: str, **headers: str) -> httpx.Response:
    shown = {"Authorization": f"Bearer {key}", **headers}
    return await office.site.client.request(method, "/v1/me/channels/telegram", headers=shown)


async def test_a_key_of_a_person_links_until_it_is_revoked(office: Office) -> None:
    ada = await office.person("team:sales")
    keys = office.site.keys
    made: list[str] = []
    for revoked in (True, False):
        key, token = await keys.create(
            "default", "laptop", scopes=["read", "ingest"], tags=[], person=ada.email
        )
        reply = await with_key(office, "POST", token.text)
        assert reply.status_code == 201, reply.text
        made.append(code_in(reply.json()))
        if revoked:
            await keys.revoke("default", key.id)
    assert await redeem(office, account(), made[0]) is None
    assert await redeem(office, account(), made[1]) is not None


async def test_nobody_links_more_than_the_request_itself_may(office: Office) -> None:
    """A key without a person, a bot that acts for one, and keys and sessions with less than their person."""
    ada = await office.person(
        "team:sales", "team:board", scopes=frozenset({*ALL_BUT_ADMIN, Scope.ADMIN})
    )
    site = office.site
    without = await site.key("team:sales")
    bot = await site.key("team:sales", scopes=ALL_BUT_ADMIN)
    fewer_tags = await site.key("team:sales", scopes=("admin",), person=ada.email)
    fewer_scopes = await site.key(scopes=("read",), person=ada.email)
    for method in ("POST", "DELETE"):
        for key in (without, bot, fewer_tags, fewer_scopes):
            reply = await with_key(office, method, key)
            assert (reply.status_code, reply.json()["code"]) == (403, "missing_scope")
        acting = {"X-Lightwell-Act-As": ada.email}
        assert (await with_key(office, method, bot, **acting)).status_code == 403
    for key in (without, fewer_tags):
        browser = await office.with_key(key)
        assert not (await channels(browser))["canLink"]
        assert (await browser.send("POST", "/v1/me/channels/telegram")).status_code == 403
    everything = await site.key(scopes=("admin",), person=ada.email)
    assert (await with_key(office, "POST", everything)).status_code == 201


async def test_nobody_sees_the_account_of_another(office: Office) -> None:
    ada, bo = await office.person(), await office.person()
    browser = await office.as_person(bo)
    before = await channels(browser)
    phone = account(name="Ada L.")
    await link(office, ada, phone)
    assert await channels(browser) == before
    assert (await browser.send("DELETE", "/v1/me/channels/telegram")).status_code == 404
    assert await whose(office, phone) == ada.id


async def test_the_audit_log_says_who_made_a_code_and_not_which(office: Office) -> None:
    ada = await office.person()
    browser = await office.as_person(ada)
    made = await make_code(browser)
    text = office.audit.read_text()
    assert code_in(made) not in text
    line = json.loads(text.splitlines()[-1])
    assert (line["method"], line["route"], line["personId"], line["status"]) == (
        "POST",
        "/v1/me/channels/{platform}",
        str(ada.id),
        201,
    )


async def test_the_audit_log_says_whose_account_was_linked_and_unlinked_in_a_chat(
    office: Office,
) -> None:
    ada, phone, state = await office.person(), account(), office.site.app.state
    people = People(
        knowledge_base=office.site.kb,
        database=database(office),
        limiter=state.credentials.limiter,
        project="default",
        audit=state.audit,
    )
    code = await code_of(office, ada)
    assert await people.link(phone, "0" * 32) is None
    assert await people.link(phone, code.secret.text)
    await people.unlink(phone)
    await people.unlink(phone)
    reply = await office.site.request(
        "GET", f"/v1/admin/audit?person={ada.id}&onlyChanges=true", scopes=("admin",)
    )
    lines = [(line["command"], line["account"]) for line in reply.json()["entries"]]
    assert lines == [
        ("channels unlink", f"telegram:{phone.id}"),
        ("channels link", f"telegram:{phone.id}"),
    ]
    assert code.secret.text not in office.audit.read_text()


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("group", ["telegram/-100123", "slack/C2"])
async def test_an_administrator_binds_a_group_to_tags(office: Office, group: str) -> None:
    platform, _, chat = group.partition("/")
    path = f"/v1/admin/channels/groups/{group}"
    admin: dict[str, Any] = {"scopes": ("admin",)}

    async def tags() -> Tags | None:
        return await channel_groups.find_tags(
            database(office), office.site.kb.project_id, Platform(platform), chat
        )

    assert await tags() is None
    for names in (["team:fair"], ["team:sales", "team:fair"]):
        reply = await office.site.request("PUT", path, json={"aclTags": names}, **admin)
        assert reply.status_code == 200, reply.text
        assert (reply.json()["chat"], reply.json()["aclTags"]) == (chat, sorted(names))
        assert await tags() == set(names)
    reply = await office.site.request("GET", "/v1/admin/channels/groups", **admin)
    assert [each["chat"] for each in reply.json()["groups"]] == [chat]
    for names in ([], ["no tag"]):
        reply = await office.site.request("PUT", path, json={"aclTags": names}, **admin)
        assert reply.status_code == 422
    assert (await office.site.request("DELETE", path, **admin)).status_code == 204
    assert (await office.site.request("DELETE", path, **admin)).status_code == 404
    assert await tags() is None
