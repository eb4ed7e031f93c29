"""People in browsers: signing in and out, what a session may do and for how long, and requests of other pages."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from lightwell.domain.directory import PersonChange
from lightwell.domain.scopes import Scope
from lightwell.domain.web_sessions import Secret
from tests.conftest import Databases
from tests.entrypoints.offices import DISCOUNT, OWN, QUESTION, Browser, Office, open_office

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Office]:
    audit = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    with databases.lent() as url:
        async with open_office(
            url, audit, {"server.web_allowed_networks": "127.0.0.1/32"}
        ) as opened:
            yield opened


# ── signing in ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_ways_to_sign_in_are_public(office: Office) -> None:
    reply = await office.browser().client.get("/v1/sign-in")
    assert reply.json() == {"oidc": None, "key": True, "link": True}


async def test_a_key_signs_in_with_its_tags_and_scopes(office: Office) -> None:
    seller = await office.with_key(await office.site.key("team:sales"))
    assert await seller.sees()
    other = await office.with_key(await office.site.key("team:support"))
    assert not await other.sees()
    me = await other.me()
    assert (me["name"], me["personId"], me["scopes"], me["tags"]) == (
        "test",
        None,
        ["read"],
        ["team:support"],
    )
    assert (await other.send("GET", "/v1/admin/keys")).status_code == 403
    wrong = await office.sign_in(office.browser(), "lw_wrong")
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers


async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(office: Office) -> None:
    browser = office.browser()
    reply = await office.sign_in(browser, await office.site.key("team:sales"))
    cookie = reply.headers["set-cookie"].lower()
    assert cookie.startswith("lightwell_session_80=")
    assert {"httponly", "samesite=lax", "path=/"} <= set(cookie.split("; "))
    assert "domain" not in cookie
    assert reply.content == b""
    encrypted = await browser.client.post(
        "https://knowledge.example.com/v1/sign-in/key",
        json={"key": await office.site.key("team:sales")},
        headers={"Origin": "https://knowledge.example.com", "Host": "localhost"},
    )
    assert encrypted.status_code == 403  # the name in `Host` is another one than the page's
    encrypted = await browser.client.post(
        "https://localhost/v1/sign-in/key",
        json={"key": await office.site.key("team:sales")},
        headers={"Origin": "https://localhost"},
    )
    cookie = encrypted.headers["set-cookie"].lower()
    assert cookie.startswith("__host-lightwell_session=")
    assert "secure" in cookie.split("; ")


async def test_a_link_signs_its_person_in_once(office: Office) -> None:
    person = await office.person("team:sales", display_name="Ada Lindqvist")
    token = await office.link(person)
    browser = office.browser()
    assert (await office.redeem(browser, token)).status_code == 204
    assert (await browser.me())["name"] == "Ada Lindqvist"
    assert await browser.sees()
    assert (await office.redeem(office.browser(), token)).status_code == 401
    late = await office.link(person, timedelta())
    assert (await office.redeem(office.browser(), late)).status_code == 401
    for text in ("", "x", "A" * 43, token[:-1]):
        assert (await office.redeem(office.browser(), text)).status_code == 401


async def test_of_two_browsers_with_one_link_one_signs_in(office: Office) -> None:
    token = await office.link(await office.person("team:sales"))
    replies = await asyncio.gather(*(office.redeem(office.browser(), token) for _ in range(5)))
    assert sorted(reply.status_code for reply in replies) == [204, 401, 401, 401, 401]


async def test_each_sign_in_has_a_new_secret_and_ends_the_session_before(office: Office) -> None:
    browser = await office.with_key(await office.site.key("team:sales"))
    planted = browser.secret
    assert (await office.sign_in(browser, await office.site.key("team:support"))).status_code == 204
    assert browser.secret != planted
    victim = office.browser()
    victim.client.cookies.set("lightwell_session_80", planted, domain="localhost.local")
    assert await victim.status() == 401
    assert not await browser.sees()


# ── what a session may do ────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_has_exactly_the_person_s_present_tags(office: Office) -> None:
    person = await office.person("user:eve")
    browser = await office.as_person(person)
    assert not await browser.sees()
    await office.directory.save_group("sellers", frozenset({"team:sales"}))
    await office.directory.add_members("sellers", [person.email])
    assert await browser.sees()
    await office.directory.remove_members("sellers", [person.email])
    assert not await browser.sees()


async def test_an_administrator_s_session_administers_and_nobody_else_s_does(
    office: Office,
) -> None:
    person = await office.person("team:sales", scopes=frozenset({Scope.ADMIN}))
    browser = await office.as_person(person)
    assert (await browser.send("GET", "/v1/admin/people")).status_code == 200
    assert set((await browser.me())["scopes"]) == set(Scope)
    change = {"scopes": ["read"]}
    await browser.send("PATCH", f"/v1/admin/people/{person.id}", change)
    assert (await browser.send("GET", "/v1/admin/people")).status_code == 403
    assert (await browser.me())["scopes"] == ["read"]
    admin = await office.site.key(scopes=("admin",))
    wrong = await office.site.client.patch(
        f"/v1/admin/people/{person.id}",
        json={"scopes": ["impersonate"]},
        headers={"Authorization": f"Bearer {admin}"},
    )
    assert wrong.status_code == 422


async def test_the_places_of_a_person_have_names_that_people_know(office: Office) -> None:
    person = await office.person("user:finn", "user:shared", "project:fjell")
    await office.person("user:shared")
    await office.directory.save_group("Harbour crew", frozenset({"team:harbour"}))
    await office.directory.add_members("Harbour crew", [person.email])
    browser = await office.as_person(person)
    assert (await browser.me())["places"] == [
        {"tag": "user:finn", "name": "user:finn", "isOwn": True, "isSynced": False},
        {"tag": "team:harbour", "name": "Harbour crew", "isOwn": False, "isSynced": False},
        {"tag": "project:fjell", "name": "project:fjell", "isOwn": False, "isSynced": False},
        {"tag": "user:shared", "name": "user:shared", "isOwn": False, "isSynced": False},
    ]
    key = await office.site.key("user:finn", person=person.email)
    shown = await office.site.client.get("/v1/me", headers={"Authorization": f"Bearer {key}"})
    assert [place["tag"] for place in shown.json()["places"]] == ["user:finn"]
    assert shown.json()["csrfToken"] == ""


async def test_conversations_of_a_person_are_the_same_with_a_key_and_with_a_session(
    office: Office,
) -> None:
    person = await office.person("team:sales")
    browser = await office.as_person(person)
    turn = await browser.send("POST", "/v1/chat", {"message": QUESTION["query"]})
    assert turn.status_code == 200, turn.text
    key = await office.site.key(person=person.email)
    listed = await office.site.client.get(
        "/v1/conversations", headers={"Authorization": f"Bearer {key}"}
    )
    assert turn.headers["x-conversation-id"] in listed.text


# ── how sessions end ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_ends_with_its_key(office: Office) -> None:
    for end in ("revoke", "rotate", "expire"):
        key, token = await office.site.keys.create(
            "default", "brief", scopes=("read",), tags=("team:sales",)
        )
        browser = await office.with_key(token.text)
        assert await browser.status() == 200
        if end == "revoke":
            await office.site.keys.revoke("default", key.id)
        elif end == "rotate":
            await office.site.keys.rotate("default", key.id)
        else:
            await office.execute(
                "UPDATE api_keys SET expires_at = now() WHERE key_id = %(key)s", key=key.id
            )
        assert await browser.status() == 401, end


async def test_a_session_outlives_a_rotation_as_long_as_the_old_secret_does(
    office: Office,
) -> None:
    key, token = await office.site.keys.create(
        "default", "rotated", scopes=("read",), tags=("team:sales",)
    )
    browser = await office.with_key(token.text)
    await office.site.keys.rotate("default", key.id, grace=timedelta(hours=1))
    assert await browser.status() == 200
    await office.execute(
        "UPDATE api_keys SET previous_until = now() WHERE key_id = %(key)s", key=key.id
    )
    assert await browser.status() == 401


async def test_a_session_ends_with_its_person(office: Office) -> None:
    person = await office.person("team:sales")
    browser, token = await office.as_person(person), await office.link(person)
    by_key = await office.with_key(await office.site.key(person=person.email))
    await office.directory.change_person(person.email, PersonChange(active=False))
    assert [await each.status() for each in (browser, by_key)] == [401, 401]
    assert (await office.redeem(office.browser(), token)).status_code == 401
    await office.directory.change_person(person.email, PersonChange(active=True))
    assert [await each.status() for each in (browser, by_key)] == [401, 401]
    assert (await office.redeem(office.browser(), token)).status_code == 401
    again = await office.as_person(person)
    await office.directory.delete_person(person.email)
    assert await again.status() == 401


async def test_a_session_and_a_link_end_with_their_project(office: Office) -> None:
    _, token = await office.site.keys.create("trial", "x", scopes=("admin",), tags=())
    browser = await office.with_key(token.text)
    made = await browser.send("POST", "/v1/admin/invitations", {"person": "t@halden.example"})
    home = await administrator(office)
    deleted = await home.send("DELETE", "/v1/admin/projects/trial?confirm=trial")
    assert deleted.status_code == 204, deleted.text
    assert await browser.status() == 401
    link = made.json()["url"].partition("#")[2]
    assert (await office.redeem(office.browser(), link)).status_code == 401


async def test_sessions_end_by_signing_out_here_and_everywhere(office: Office) -> None:
    person = await office.person("team:sales")
    here, there = await office.as_person(person), await office.as_person(person)
    by_key = await office.with_key(await office.site.key(person=person.email))
    stranger = await office.as_person(await office.person("team:sales"))
    stolen = here.secret
    signed_out = await here.send("POST", "/v1/sign-out")
    assert signed_out.status_code == 204
    assert "max-age=0" in signed_out.headers["set-cookie"].lower()
    assert len(here.client.cookies) == 0
    here.client.cookies.set("lightwell_session_80", stolen, domain="localhost.local")
    assert [await each.status() for each in (here, there, by_key)] == [401, 200, 200]
    await there.send("POST", "/v1/sign-out", {"everywhere": True})
    assert [await each.status() for each in (there, by_key, stranger)] == [401, 401, 200]
    assert (await office.browser().send("POST", "/v1/sign-out")).status_code == 204


async def test_a_session_ends_after_a_pause_and_at_its_latest(office: Office) -> None:
    for column, ago in (("last_used_at", "7 days"), ("expires_at", "0 days")):
        person = await office.person("team:sales")
        browser = await office.as_person(person)
        await office.execute(
            f"UPDATE web_sessions SET {column} = now() - interval '{ago}' WHERE person_id = %(person)s",
            person=person.id,
        )
        assert await browser.status() == 401


async def test_whoever_uses_a_session_keeps_it(office: Office) -> None:
    person = await office.person("team:sales")
    browser = await office.as_person(person)
    await office.execute(
        "UPDATE web_sessions SET last_used_at = now() - interval '6 days' WHERE person_id = %(person)s",
        person=person.id,
    )
    assert await browser.status() == 200
    (session,) = await office.links.list_sessions(person.email)
    assert await office.site.keys.database.now() - session.last_used_at < timedelta(minutes=5)


# ── requests of other pages ──────────────────────────────────────────────────────────────────────────────────

FOREIGN: list[Mapping[str, str]] = [
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "null"},
    {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_no_other_page_changes_anything_with_the_session(
    office: Office, headers: Mapping[str, str]
) -> None:
    browser = await office.with_key(await office.site.key("team:sales"))
    token = {"X-CSRF-Token": Secret(browser.secret).csrf_token}
    for path, body in (("/v1/query", QUESTION), ("/v1/sign-out", {})):
        reply = await browser.client.post(path, json=body, headers={**token, **headers})
        assert (reply.status_code, reply.json()["code"]) == (403, "foreign_page"), path
    for path, body in (("key", {"key": "lw_x"}), ("link", {"token": "x"})):
        reply = await browser.client.post(f"/v1/sign-in/{path}", json=body, headers=headers)
        assert reply.status_code == 403, path
    assert await browser.status() == 200


async def test_a_change_needs_the_token_of_the_session(office: Office) -> None:
    browser = await office.with_key(await office.site.key("team:sales"))
    other = await office.with_key(await office.site.key("team:sales"))
    tokens = ["", "x", "ü", browser.secret, Secret(other.secret).csrf_token]
    for token in tokens:
        headers = httpx.Headers([*OWN.items(), ("X-CSRF-Token", token)], encoding="utf-8")
        reply = await browser.client.post("/v1/query", json=QUESTION, headers=headers)
        assert reply.status_code == 403, token
    same = {"Sec-Fetch-Site": "same-origin", "X-CSRF-Token": (await browser.me())["csrfToken"]}
    assert (await browser.client.post("/v1/query", json=QUESTION, headers=same)).status_code == 200


async def test_other_pages_read_nothing_with_the_session_and_links_to_it_work(
    office: Office,
) -> None:
    browser = await office.with_key(await office.site.key("team:sales"))
    for site, mode, status in (
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
    ):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        reply = await browser.client.get("/v1/documents", headers=headers)
        assert reply.status_code == status, (site, mode)
        assert status != 200 or reply.headers["cache-control"] == "no-store"


async def test_a_request_with_a_key_is_as_before_whatever_the_cookie_says(
    office: Office,
) -> None:
    browser = await office.with_key(await office.site.key("team:sales"))
    other = {"Authorization": f"Bearer {await office.site.key('team:support')}"}
    reply = await browser.client.post("/v1/query", json=QUESTION, headers=other)
    assert reply.status_code == 200
    assert DISCOUNT not in reply.text
    for wrong in ("Bearer lw_wrong", "Basic x", "Bearer"):
        reply = await browser.client.get("/v1/me", headers={"Authorization": wrong})
        assert reply.status_code == 401, wrong


# ── what is written down ─────────────────────────────────────────────────────────────────────────────────────


async def test_the_store_and_the_audit_log_hold_no_secret(office: Office) -> None:
    person = await office.person("team:sales")
    token = await office.link(person)
    browser = office.browser(**{"User-Agent": "Mozilla/5.0 (X11; Linux) Firefox/133.0"})
    await office.redeem(browser, token)
    await browser.me()
    audit = office.audit.read_text("utf-8")
    stored = str(
        await office.site.keys.database.rows(
            "SELECT web_sessions::text, sign_in_links::text FROM web_sessions LEFT JOIN sign_in_links USING (person_id)",
            {},
        )
    )
    assert str(person.id) in stored
    assert "Firefox, Linux" in stored
    for secret in (token, browser.secret, Secret(browser.secret).csrf_token):
        assert secret not in stored + audit
    lines = [json.loads(line) for line in audit.splitlines()]
    mine = [line for line in lines if line["personId"] == str(person.id)]
    assert [line["route"] for line in mine] == ["/v1/sign-in/link", "/v1/me"]
    assert len({line["credential"] for line in mine}) == 1
    assert mine[0]["credential"].startswith("session:")


async def test_failed_sign_ins_of_an_address_are_limited(office: Office) -> None:
    failed = office.site.app.state.credentials.failed_logins
    before = failed.per_minute
    failed.per_minute = 3
    try:
        browser = await office.with_key(await office.site.key("team:sales"))
        replies = [await office.sign_in(office.browser(), f"lw_{n}") for n in range(5)]
        assert 429 in [reply.status_code for reply in replies]
        assert (await office.redeem(office.browser(), "A" * 43)).status_code == 429
        assert await browser.status() == 200
        ended = office.browser()
        ended.client.cookies.set("lightwell_session_80", "A" * 43, domain="localhost.local")
        assert await ended.status() == 401
    finally:
        failed.per_minute = before
        failed._free_at.clear()


async def test_open_pages_of_ended_sessions_keep_nobody_out(office: Office) -> None:
    """Behind a proxy a whole office has one address, and each of its pages goes on asking."""
    ended = office.browser()
    ended.client.cookies.set("lightwell_session_80", "A" * 43, domain="localhost.local")
    assert {await ended.status() for _ in range(100)} == {401}
    browser = await office.with_key(await office.site.key("team:sales"))
    assert await browser.status() == 200


async def test_several_sessions_of_one_person_have_the_requests_of_one(office: Office) -> None:
    person = await office.person("team:sales")
    one, other = await office.as_person(person), await office.as_person(person)
    accepted = office.site.app.state.credentials
    first = await accepted.principals.of_session(Secret(one.secret))
    second = await accepted.principals.of_session(Secret(other.secret))
    assert first.credential != second.credential
    assert first.caller == second.caller


async def test_a_person_deletes_and_shares_what_that_person_alone_sees(office: Office) -> None:
    scopes = frozenset({Scope.READ, Scope.INGEST})
    person = await office.person("user:wren", "team:nest", scopes=scopes)
    await office.person("team:nest")
    browser = await office.as_person(person)

    async def uploaded(*tags: str) -> str:
        token = Secret(browser.secret).csrf_token
        reply = await browser.client.post(
            "/v1/documents",
            files=[("files", ("note.txt", f"A note for {tags}.".encode()))],
            data={"aclTags": list(tags)},
            headers={**OWN, "X-CSRF-Token": token},
        )
        assert reply.status_code == 202, reply.text
        return str(reply.json()["documents"][0]["documentId"])

    mine, ours = await uploaded("user:wren"), await uploaded("team:nest")
    for tags in ((), ("team:other",), ("user:wren", "team:other")):
        token = Secret(browser.secret).csrf_token
        refused = await browser.client.post(
            "/v1/documents",
            files=[("files", ("note.txt", b"A note."))],
            data={"aclTags": list(tags)},
            headers={**OWN, "X-CSRF-Token": token},
        )
        assert refused.status_code == 422, tags
    for method, path, body in (
        ("PUT", f"/v1/documents/{ours}/access", {"aclTags": ["user:wren", "team:nest"]}),
        ("POST", f"/v1/documents/{ours}/access/preview", {"aclTags": ["user:wren"]}),
        ("DELETE", f"/v1/documents/{ours}", None),
        ("POST", "/v1/documents/delete", {"documentIds": [mine, ours]}),
        ("POST", "/v1/documents/delete/preview", {"documentIds": [mine, ours]}),
        ("PUT", f"/v1/documents/{ours}/passages", {"passages": [{"content": "Others. " * 120}]}),
    ):
        refused = await browser.send(method, path, body)
        assert refused.status_code == 403, (method, path, refused.text)
        assert "Others see this document" in refused.json()["detail"]
    others = {"aclTags": ["user:wren", "team:other"]}
    assert (await browser.send("PUT", f"/v1/documents/{mine}/access", others)).status_code == 422

    gone = await uploaded("user:wren")
    preview = await browser.send("POST", "/v1/documents/delete/preview", {"documentIds": [gone]})
    deleted = await browser.send("DELETE", f"/v1/documents/{gone}")
    assert (preview.status_code, deleted.status_code) == (200, 200)
    shared = {"aclTags": ["user:wren", "team:nest"]}
    preview = await browser.send("POST", f"/v1/documents/{mine}/access/preview", shared)
    assert preview.json()["gains"]["people"] == 1, preview.text
    assert (await browser.send("PUT", f"/v1/documents/{mine}/access", shared)).status_code == 200
    # What is shared is not the person's alone any more.
    assert (await browser.send("DELETE", f"/v1/documents/{mine}")).status_code == 403

    # Without a browser, a key has its scopes and no more.
    key = await office.site.key("user:wren", scopes=(Scope.READ, Scope.INGEST))
    bare = await office.site.client.delete(
        f"/v1/documents/{ours}", headers={"Authorization": f"Bearer {key}"}
    )
    assert bare.status_code == 403
    reading = await office.as_person(
        await office.person("user:tit", scopes=frozenset({Scope.READ}))
    )
    assert (await reading.send("DELETE", f"/v1/documents/{mine}")).status_code == 403


async def test_a_page_of_the_web_that_others_see_keeps_what_it_is_called(office: Office) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<p>A dam.</p>"
        )
        await writer.drain()
        writer.close()

    scopes = frozenset({Scope.READ, Scope.INGEST})
    browser = await office.as_person(await office.person("user:crane", "team:reeds", scopes=scopes))
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    statuses: list[int] = []
    async with server:
        for tag in ("user:crane", "team:reeds"):
            for title in ("The dam", "Renamed"):
                body = {"documentUrl": address, "aclTags": [tag], "title": title}
                reply = await browser.send("POST", "/v1/documents/ingest", body)
                statuses.append(reply.status_code)
    assert statuses == [202, 202, 202, 403]


# ── invitations ──────────────────────────────────────────────────────────────────────────────────────────────


async def administrator(office: Office) -> Browser:
    return await office.as_person(await office.person(scopes=frozenset({Scope.ADMIN})))


async def test_an_invitation_gives_exactly_what_it_says_and_works_once(office: Office) -> None:
    admin = await administrator(office)
    await office.directory.save_group("invited", frozenset({"team:sales"}))
    body = {
        "person": "New@halden.example",
        "name": "New Colleague",
        "groups": ["invited"],
        "aclTags": ["user:new"],
        "scopes": ["read"],
        "days": 2,
    }
    made = await admin.send("POST", "/v1/admin/invitations", body)
    assert made.status_code == 201, made.text
    server, token = made.json()["url"].split("/sign-in#")
    assert server == "http://localhost"
    listed = await admin.send("GET", "/v1/admin/invitations")
    assert made.json()["invitationId"] in listed.text
    assert token not in listed.text
    browser = office.browser()
    assert (await office.redeem(browser, token)).status_code == 204
    me = await browser.me()
    assert (me["name"], me["email"], me["scopes"], me["tags"]) == (
        "New Colleague",
        "new@halden.example",
        ["read"],
        ["team:sales", "user:new"],
    )
    assert await browser.sees()
    assert (await office.redeem(office.browser(), token)).status_code == 401
    assert (
        made.json()["invitationId"] not in (await admin.send("GET", "/v1/admin/invitations")).text
    )


async def test_whoever_is_there_gets_another_link_and_nothing_else(office: Office) -> None:
    admin = await administrator(office)
    person = await office.person("user:old")
    for given in ({"groups": ["x"]}, {"aclTags": ["team:sales"]}, {"scopes": ["admin"]}):
        body = {"person": person.email, **given}
        refused = await admin.send("POST", "/v1/admin/invitations", body)
        assert refused.status_code == 422, given
    made = await admin.send("POST", "/v1/admin/invitations", {"person": str(person.id)})
    assert made.status_code == 201
    browser = office.browser()
    await office.redeem(browser, made.json()["url"].partition("#")[2])
    assert (await browser.me())["tags"] == ["user:old"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"person": "telegram:404"}, 404),
        ({"person": "no address"}, 422),
        ({"person": "a@halden.example", "groups": ["no such group"]}, 404),
        ({"person": "a@halden.example", "scopes": ["impersonate"]}, 422),
        ({"person": "a@halden.example", "aclTags": ["a b"]}, 422),
        ({"person": "a@halden.example", "days": 31}, 422),
    ],
    ids=str,
)
async def test_an_invitation_that_is_wrong_adds_nobody(
    office: Office, body: dict[str, object], status: int
) -> None:
    admin = await administrator(office)
    assert (await admin.send("POST", "/v1/admin/invitations", body)).status_code == status
    assert await office.directory.list_people(text="a@halden.example") == []


async def test_a_revoked_invitation_signs_nobody_in(office: Office) -> None:
    admin = await administrator(office)
    person = await office.person("team:sales")
    made = (await admin.send("POST", "/v1/admin/invitations", {"person": person.email})).json()
    path = f"/v1/admin/invitations/{made['invitationId']}"
    assert (await admin.send("DELETE", path)).status_code == 204
    assert (await admin.send("DELETE", path)).status_code == 404
    token = made["url"].partition("#")[2]
    assert (await office.redeem(office.browser(), token)).status_code == 401


async def test_an_administrator_sees_where_people_are_signed_in_and_signs_them_out(
    office: Office,
) -> None:
    admin = await administrator(office)
    person = await office.person("team:sales")
    token = await office.link(person)
    browser = office.browser(**{"User-Agent": "Mozilla/5.0 (Macintosh) Safari/605"})
    await office.redeem(browser, await office.link(person))
    by_key = await office.with_key(await office.site.key(person=person.email))
    path = f"/v1/admin/people/{person.email}/sessions"
    sessions = (await admin.send("GET", path)).json()["sessions"]
    assert {session["browser"] for session in sessions} == {"Safari, macOS", ""}
    assert (await admin.send("DELETE", path)).status_code == 204
    assert [await each.status() for each in (browser, by_key, admin)] == [401, 401, 200]
    assert (await office.redeem(office.browser(), token)).status_code == 401
    other = await office.as_person(await office.person("team:sales"))
    assert (await other.send("GET", path)).status_code == 403


async def test_people_are_found_by_a_part_of_their_name_or_address(office: Office) -> None:
    admin = await administrator(office)
    person = await office.person(display_name="Ingrid Ås%_berg")
    for text in ("ingrid", "ås%_B", person.email[:6]):
        reply = await admin.client.get("/v1/admin/people", params={"query": text})
        assert str(person.id) in reply.text, text
    reply = await admin.client.get("/v1/admin/people", params={"query": "ingrid%"})
    assert reply.json()["people"] == []


# ── beyond this machine ──────────────────────────────────────────────────────────────────────────────────────


async def test_beyond_this_machine_nobody_signs_in_over_an_open_wire(
    databases: Databases, tmp_path: Path
) -> None:
    with databases.lent() as url:
        async with open_office(url, tmp_path / "log", {"http.hosts": "lightwell.lan"}) as office:
            key = {"key": await office.site.key("team:sales")}
            headers = {"Origin": "http://lightwell.lan"}
            where = "http://lightwell.lan/v1/sign-in/key"
            refused = await office.browser().client.post(where, json=key, headers=headers)
            assert refused.status_code == 422
            assert "https://" in refused.json()["detail"]


async def test_behind_a_proxy_the_public_address_counts(
    databases: Databases, tmp_path: Path
) -> None:
    public = {"server.public_url": "https://lightwell.example/"}
    with databases.lent() as url:
        async with open_office(url, tmp_path / "log", public) as office:
            person = await office.person("team:sales")
            admin = await office.site.key(scopes=("admin",))
            made = await office.site.client.post(
                "/v1/admin/invitations",
                json={"person": person.email},
                headers={"Authorization": f"Bearer {admin}", "Host": "lightwell.example"},
            )
            assert made.json()["url"].startswith("https://lightwell.example/sign-in#")
            # The proxy speaks to the server without TLS, with the host that it was asked for or with another one.
            for host in ("lightwell.example", "127.0.0.1:8000"):
                reply = await office.browser().client.post(
                    "/v1/sign-in/link",
                    json={"token": await office.link(person)},
                    headers={"Origin": "https://lightwell.example", "Host": host},
                )
                assert reply.status_code == 204, reply.text
                assert reply.headers["set-cookie"].startswith("__Host-lightwell_session=")
                assert "secure" in reply.headers["set-cookie"].lower()
