"""Who a request speaks for: keys, people and their current tags, acting for others, and administration."""

import asyncio
import json
import re
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from pydantic import SecretStr

from lightwell.domain.api_keys import Scope, parse_token
from lightwell.domain.directory import Person, PersonChange
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.rate_limits import RateLimits
from lightwell.domain.token_claims import ClaimNames
from lightwell.entrypoints.audit_log import AuditLog
from lightwell.entrypoints.http.app import create_app
from lightwell.entrypoints.http.authentication import ACT_AS
from lightwell.entrypoints.http.credentials import OidcTokens
from lightwell.entrypoints.http.failed_logins import FailedLogins
from lightwell.entrypoints.http.oidc import Issuer, TokenVerifier
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.knowledge_base.directory import Directory
from lightwell.knowledge_base.rate_limiter import RateLimiter
from lightwell.records.database import connect
from lightwell.settings import HttpSettings, Settings
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN
from tests.local_issuer import AUDIENCE, RSA_KEYS, LocalIssuer, public_jwk, run_issuer, token
from tests.patience import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = {"query": "What discount does Nordwind receive?"}
DISCOUNT = "Nordwind receives a discount of 18 percent on all items."
SALARY = "Every salary rises by 4 percent in July. Zyntrix GmbH pays all salaries of the company."
NUMBERS = count()


@dataclass(frozen=True, kw_only=True)
class Site:
    """A server in this process on one store for all tests of the module; each test makes its own people and keys."""

    app: Any
    client: httpx.AsyncClient
    keys: ApiKeys
    directory: Directory

    async def key(self, *tags: str, scopes: tuple[str, ...] = (Scope.READ,), **more: Any) -> str:
        _, token = await self.keys.create("default", "test", scopes=scopes, tags=tags, **more)
        return token.text

    async def person(self, *tags: str, **more: Any) -> Person:
        change = PersonChange(
            email=f"p{next(NUMBERS)}@halden.example", acl_tags=frozenset(tags), **more
        )
        return await self.directory.create_person(change)

    async def send(
        self, method: str, path: str, key: str, body: object = None, act_as: str = ""
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"} | ({ACT_AS: act_as} if act_as else {})
        return await self.client.request(method, path, json=body, headers=headers)

    async def sees(self, key: str, act_as: str = "") -> bool:
        """Return whether whoever shows the key gets the discount."""
        reply = await self.send("POST", "/v1/query", key, QUESTION, act_as)
        assert reply.status_code == 200, reply.text
        return DISCOUNT in reply.json()["answer"]

    async def status(self, key: str, act_as: str = "") -> int:
        return (await self.send("GET", "/v1/models", key, act_as=act_as)).status_code


@pytest.fixture(scope="module")
def store(databases: Databases) -> Any:
    with databases.lent() as url:
        yield url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(store: str) -> AsyncIterator[Site]:
    settings = Settings(database_url=store)  # pyright: ignore[reportArgumentType]
    app = create_app(settings)
    documents = (
        make_document("contract.md", DISCOUNT, ["team:sales"]),
        make_document("salaries.md", SALARY, ["team:payroll"]),
    )
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client,
        connect(store) as database,
    ):
        kb = await app.state.projects.open("default")
        await kb.ingestion.ingest(InMemorySource(documents=documents))
        yield Site(
            app=app,
            client=client,
            keys=ApiKeys(database=database, tenant="default"),
            directory=Directory(database=database, project_id=kb.project_id),
        )


# ── whose tags ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_s2_3_a_key_that_names_a_person_has_that_person_s_current_tags(site: Site) -> None:
    person = await site.person("user:ada")
    key = await site.key(person=person.email)
    assert not await site.sees(key)
    await site.directory.save_group("sales", frozenset({"team:sales"}))
    await site.directory.add_members("sales", [person.email])
    assert await site.sees(key)
    await site.directory.save_group("sales", frozenset({"team:other"}))
    assert not await site.sees(key)
    await site.directory.change_person(
        person.email, PersonChange(acl_tags=frozenset({"team:sales"}))
    )
    assert await site.sees(key)


async def test_leaving_or_deleting_a_group_takes_its_tags_at_once(site: Site) -> None:
    person = await site.person()
    key = await site.key(person=str(person.id))
    for leave in (True, False):
        await site.directory.save_group("temporary", frozenset({"team:sales"}))
        await site.directory.add_members("temporary", [str(person.id)])
        assert await site.sees(key)
        if leave:
            await site.directory.remove_members("temporary", [str(person.id)])
        else:
            await site.directory.delete_group("temporary")
        assert not await site.sees(key)


async def test_a_key_s_own_tags_narrow_those_of_its_person_and_add_none(site: Site) -> None:
    person = await site.person("team:sales", "user:bo")
    assert await site.sees(await site.key("team:sales", person=person.email))
    assert not await site.sees(await site.key("user:bo", person=person.email))
    assert not await site.sees(
        await site.key("team:sales", person=(await site.person("user:bo")).email)
    )


async def test_whoever_is_not_active_or_deleted_has_no_access_at_once(site: Site) -> None:
    person = await site.person("team:sales", external_ids={"telegram": "7"})
    key, bot = await site.key(person=person.email), await site.key(scopes=("read", "impersonate"))
    assert (await site.status(key), await site.status(bot, "telegram:7")) == (200, 200)
    await site.directory.change_person(person.email, PersonChange(active=False))
    assert (await site.status(key), await site.status(bot, "telegram:7")) == (401, 404)
    await site.directory.change_person(person.email, PersonChange(active=True))
    assert (await site.status(key), await site.status(bot, "telegram:7")) == (200, 200)
    await site.directory.delete_person(person.email)
    assert (await site.status(key), await site.status(bot, "telegram:7")) == (401, 404)


# ── acting for others ────────────────────────────────────────────────────────────────────────────────────────


async def test_s2_3_an_adapter_acts_with_the_person_s_tags_and_never_with_its_own(
    site: Site,
) -> None:
    seller = await site.person("team:sales", external_ids={"telegram": "1:2"})
    other = await site.person("team:support")
    plain = await site.key("team:nothing", scopes=("read", "impersonate"))
    for name in (str(seller.id), seller.email, f"email:{seller.email}", "telegram:1:2"):
        assert await site.sees(plain, name)
    rich = await site.key("team:sales", scopes=("read", "impersonate"))
    assert await site.sees(rich)
    assert not await site.sees(rich, other.email)


@pytest.mark.parametrize(
    "header",
    [
        "X-Act-As",
        "X-Lightwell-ActAs",
        "X-Lightwell-Acting-As",
        "X_Lightwell_Act_As",
        "On-Behalf-Of",
        "Impersonate-User",
    ],
)
async def test_a_misspelt_name_of_the_header_never_has_a_key_answer_as_itself(
    site: Site, header: str
) -> None:
    person = await site.person("team:support")
    for scopes in (("read", "impersonate"), ("read",)):
        key = await site.key("team:sales", scopes=scopes)
        assert await site.sees(key)
        credentials = {"Authorization": f"Bearer {key}", header: person.email}
        reply = await site.client.post("/v1/query", json=QUESTION, headers=credentials)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_request")
        assert header.lower() in reply.json()["detail"]
        assert "X-Lightwell-Act-As" in reply.json()["detail"]


async def test_a_bot_that_names_nobody_is_told_the_header(site: Site) -> None:
    bot = await site.key(scopes=("read", "impersonate"))
    reply = await site.send("POST", "/v1/query", bot, QUESTION)
    assert reply.status_code == 422
    assert "X-Lightwell-Act-As" in reply.json()["detail"]
    admin = await site.key(scopes=("admin",))
    assert (await site.send("GET", "/v1/models", admin)).status_code == 200


async def test_without_the_scope_nobody_acts_for_anybody_whoever_is_named(site: Site) -> None:
    person = await site.person("team:sales")
    key = await site.key("team:sales")
    replies = [
        await site.send("GET", "/v1/models", key, act_as=name)
        for name in (person.email, "nobody@halden.example", "not a name")
    ]
    assert [reply.status_code for reply in replies] == [403, 403, 403]
    assert len({reply.json()["detail"] for reply in replies}) == 1


async def test_nobody_and_whoever_is_not_active_are_told_apart_by_nothing(site: Site) -> None:
    gone = await site.person("team:sales", active=False)
    bot = await site.key(scopes=("read", "impersonate"))
    replies = [
        await site.send("GET", "/v1/models", bot, act_as=name)
        for name in (gone.email, "nobody@halden.example", "telegram:404")
    ]
    assert {(reply.status_code, reply.json()["code"]) for reply in replies} == {
        (404, "unknown_person")
    }
    assert len({reply.json()["detail"] for reply in replies}) == 1


async def test_acting_for_somebody_administers_nothing(site: Site) -> None:
    person = await site.person("team:sales")
    admin = await site.key(scopes=("admin",))
    assert await site.sees(admin, person.email)
    assert (await site.send("GET", "/v1/admin/keys", admin, act_as=person.email)).status_code == 403


async def test_a_person_keeps_conversations_when_tags_change_and_shares_them_with_nobody(
    site: Site,
) -> None:
    kb = await site.app.state.projects.open("default")
    ada, bo = await site.person("team:sales"), await site.person("team:sales")
    turn = await kb.questions.chat(QUESTION["query"], await kb.reader(ada.tags, user=ada.user))
    conversation = turn.conversation_id
    later = await kb.reader([*ada.tags, "team:more"], user=ada.user)
    assert len(await kb.conversations.messages(later, conversation)) == 2
    with pytest.raises(NotFound):
        await kb.conversations.messages(await kb.reader(bo.tags, user=bo.user), conversation)
    with pytest.raises(NotFound):
        await kb.conversations.messages(await kb.reader(ada.tags), conversation)


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_misspelt_project_is_not_made_by_listing_or_revoking(site: Site) -> None:
    with pytest.raises(NotFound, match="defualt"):
        await site.keys.list("defualt")
    with pytest.raises(NotFound, match="defualt"):
        await site.keys.revoke("defualt", site.directory.project_id)
    assert "defualt" not in [name for name, _ in await site.keys.list_projects()]


async def test_s2_3_keys_are_made_rotated_and_revoked_by_an_administrator(site: Site) -> None:
    admin = await site.key(scopes=("admin",))
    made = await site.send(
        "POST", "/v1/admin/keys", admin, {"name": "laptop", "aclTags": ["team:sales"]}
    )
    assert made.status_code == 201
    first, key_id = made.json()["key"], made.json()["keyId"]
    assert await site.sees(first)
    rotate = f"/v1/admin/keys/{key_id}/rotate"
    second = (await site.send("POST", rotate, admin, {"graceHours": 1})).json()["key"]
    assert await site.sees(second)
    assert await site.sees(first)
    third = (await site.send("POST", rotate, admin, {})).json()["key"]
    assert [await site.status(key) for key in (first, second, third)] == [401, 401, 200]
    listed = await site.send("GET", "/v1/admin/keys", admin)
    assert key_id in [key["keyId"] for key in listed.json()["keys"]]
    assert not any(key.split("_", 2)[2] in listed.text for key in (first, second, third))
    assert (await site.send("DELETE", f"/v1/admin/keys/{key_id}", admin)).status_code == 204
    assert await site.status(third) == 401
    assert (await site.send("POST", rotate, admin, {})).status_code == 404


async def test_the_grace_of_an_old_secret_ends(site: Site) -> None:
    key = await site.key("team:sales")
    token = parse_token(key)
    assert token is not None
    admin = await site.key(scopes=("admin",))
    rotate = f"/v1/admin/keys/{token.key_id}/rotate"
    assert (await site.send("POST", rotate, admin, {"graceHours": 1})).status_code == 200
    await site.keys.database.execute(
        "UPDATE api_keys SET previous_until = now() WHERE key_id = %(key)s", {"key": token.key_id}
    )
    assert await site.status(key) == 401


ADMINISTRATION = [
    ("GET", "/v1/admin/keys", None),
    ("POST", "/v1/admin/keys", {"name": "x", "scopes": ["admin"]}),
    ("GET", "/v1/admin/people", None),
    ("POST", "/v1/admin/people", {"email": "x@halden.example"}),
    ("GET", "/v1/admin/groups", None),
    ("PUT", "/v1/admin/groups/x", {"aclTags": ["team:sales"]}),
    ("GET", "/v1/admin/projects", None),
    ("GET", "/v1/admin/access/explain?document=contract.md&person=x@halden.example", None),
]


async def test_what_is_no_text_is_refused_and_fails_nothing(site: Site) -> None:
    admin = await site.key(scopes=("admin",))
    requests: list[tuple[str, str, object]] = [
        ("POST", "/v1/admin/keys", {"name": "a\0"}),
        ("POST", "/v1/admin/keys", {"name": "a", "person": "telegram:\0"}),
        ("POST", "/v1/admin/people", {"email": "a\0@halden.example"}),
        ("POST", "/v1/admin/people", {"displayName": "\0", "externalIds": {"x\0": "1"}}),
        ("POST", "/v1/admin/projects", {"name": "\0"}),
        ("DELETE", "/v1/admin/projects/%00?confirm=%00", None),
        ("PUT", "/v1/admin/groups/%00", {"aclTags": []}),
        ("GET", "/v1/admin/people?group=%00", None),
        ("GET", "/v1/admin/people/%00", None),
        ("GET", "/v1/admin/access/explain?document=%00&person=a@b", None),
    ]
    for method, path, body in requests:
        reply = await site.send(method, path, admin, body)
        assert reply.status_code == 422, (path, reply.text)


@pytest.mark.parametrize(("method", "path", "body"), ADMINISTRATION)
async def test_s2_3_only_an_administrator_administers(
    site: Site, method: str, path: str, body: object
) -> None:
    key = await site.key("team:sales", scopes=ALL_BUT_ADMIN)
    assert (await site.send(method, path, key, body)).status_code == 403


# ── the directory ────────────────────────────────────────────────────────────────────────────────────────────


async def test_people_and_groups_are_maintained_over_http(site: Site) -> None:
    admin = await site.key(scopes=("admin",))
    body = {
        "email": "Ada@Halden.example",
        "displayName": "Ada Lindqvist",
        "externalIds": {"slack": "U1"},
        "aclTags": ["user:ada"],
    }
    made = (await site.send("POST", "/v1/admin/people", admin, body)).json()
    assert made["email"] == "ada@halden.example"
    put = await site.send("PUT", "/v1/admin/groups/board", admin, {"aclTags": ["team:board"]})
    assert put.json()["members"] == 0
    joined = await site.send("PUT", "/v1/admin/groups/board/members/slack:U1", admin)
    assert joined.json()["members"] == 1
    shown = (await site.send("GET", "/v1/admin/people/ada@halden.example", admin)).json()
    assert (shown["groups"], shown["currentTags"]) == (["board"], ["team:board", "user:ada"])
    changed = await site.send(
        "PATCH",
        "/v1/admin/people/slack:U1",
        admin,
        {"displayName": "", "externalIds": {"sso": "a"}},
    )
    assert (changed.json()["displayName"], changed.json()["externalIds"]) == ("", {"sso": "a"})
    assert changed.json()["aclTags"] == ["user:ada"]
    members = (await site.send("GET", "/v1/admin/people?group=board", admin)).json()
    assert [person["personId"] for person in members["people"]] == [made["personId"]]
    left = await site.send("DELETE", "/v1/admin/groups/board/members/sso:a", admin)
    assert left.json()["members"] == 0
    assert (await site.send("DELETE", "/v1/admin/groups/board", admin)).status_code == 204
    assert (await site.send("DELETE", "/v1/admin/people/sso:a", admin)).status_code == 204
    assert (await site.send("GET", "/v1/admin/people/sso:a", admin)).status_code == 404


async def test_an_address_or_external_id_belongs_to_one_person(site: Site) -> None:
    person = await site.person(external_ids={"telegram": "99"})
    admin = await site.key(scopes=("admin",))
    for body in ({"email": person.email.upper()}, {"externalIds": {"telegram": "99"}}):
        reply = await site.send("POST", "/v1/admin/people", admin, body)
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_request")
    again = await site.directory.change_person(
        person.email, PersonChange(email=person.email, external_ids={"telegram": "99"})
    )
    assert again.external_ids == {"telegram": "99"}


async def test_people_come_in_pages(site: Site) -> None:
    made = {(await site.person()).email for _ in range(3)}
    admin = await site.key(scopes=("admin",))
    emails: list[str] = []
    after = ""
    while True:
        page = await site.send("GET", f"/v1/admin/people?limit=2&after={after}", admin)
        emails += [person["email"] for person in page.json()["people"]]
        after = page.json()["nextAfter"]
        if after is None:
            break
    assert len(emails) == len(set(emails))
    assert made <= set(emails)


# ── projects, and why somebody sees a document ───────────────────────────────────────────────────────────────


async def test_projects_are_made_and_deleted_and_their_administrators_stay_in_them(
    site: Site,
) -> None:
    admin = await site.key(scopes=("admin",))
    made = await site.send("POST", "/v1/admin/projects", admin, {"name": "trial"})
    inside = made.json()["adminKey"]["key"]
    assert (await site.send("GET", "/v1/admin/projects", inside)).status_code == 403
    assert (await site.send("GET", "/v1/admin/people", inside)).json()["people"] == []
    assert (await site.send("GET", "/v1/admin/people/p0@halden.example", inside)).status_code == 404
    assert not await site.sees(inside)
    first = site.app.state.projects.opened["trial"].project_id
    delete = "/v1/admin/projects/trial?confirm="
    assert (await site.send("DELETE", f"{delete}trail", admin)).status_code == 422
    assert (await site.send("DELETE", f"{delete}trial", admin)).status_code == 204
    assert await site.status(inside) == 401
    assert (await site.send("DELETE", f"{delete}trial", admin)).status_code == 404
    again = await site.send("POST", "/v1/admin/projects", admin, {"name": "trial"})
    assert not await site.sees(again.json()["adminKey"]["key"])
    assert site.app.state.projects.opened["trial"].project_id != first
    path = "/v1/admin/projects/default?confirm=default"
    assert (await site.send("DELETE", path, admin)).status_code == 422


async def test_a_project_that_another_process_made_anew_is_opened_anew(
    site: Site,
) -> None:
    projects = site.app.state.projects
    opened = await projects.open("default")
    assert await projects.open("default", opened.project_id) is opened
    await site.keys.create("renewed", "x", scopes=["read"], tags=[])
    projects.opened["renewed"] = opened
    _, token = await site.keys.create("renewed", "x", scopes=["read"], tags=["team:sales"])
    assert not await site.sees(token.text)


async def test_s2_3_why_somebody_sees_a_document(site: Site) -> None:
    admin = await site.key(scopes=("admin",))
    person = await site.person("user:cy")
    await site.directory.save_group("sellers", frozenset({"team:sales", "team:fair"}))
    explain = f"/v1/admin/access/explain?document=file:///shelf/contract.md&person={person.email}"
    before = (await site.send("GET", explain, admin)).json()
    assert (before["visible"], before["obstacles"]) == (False, ["no_shared_tag"])
    await site.directory.add_members("sellers", [person.email])
    after = (await site.send("GET", explain, admin)).json()
    assert (after["visible"], after["obstacles"]) == (True, [])
    assert {"tag": "team:sales", "from": "group", "name": "sellers", "shared": True} in after[
        "tags"
    ]
    narrow = parse_token(await site.key("team:fair", person=person.email))
    assert narrow is not None
    by_key = f"/v1/admin/access/explain?document=file:///shelf/contract.md&key={narrow.key_id}"
    narrowed = (await site.send("GET", by_key, admin)).json()
    assert narrowed["obstacles"] == ["narrowed_by_key"]
    await site.keys.revoke("default", narrow.key_id)
    await site.directory.change_person(person.email, PersonChange(active=False))
    refused = (await site.send("GET", by_key, admin)).json()
    assert set(refused["obstacles"]) == {"narrowed_by_key", "person_not_active", "key_revoked"}
    assert DISCOUNT not in json.dumps(after)
    assert (await site.send("GET", explain.replace("contract", "no"), admin)).status_code == 404
    assert (await site.send("GET", explain.split("&")[0], admin)).status_code == 422


# ── tokens of an issuer ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def issuer() -> Iterator[LocalIssuer]:
    with run_issuer() as running:
        running.keys = [public_jwk(RSA_KEYS[0], "one")]
        yield running


@asynccontextmanager
async def accepting(site: Site, **changed: Any) -> AsyncGenerator[None]:
    """Let the server have other credentials or an audit log for a while."""
    before = site.app.state.credentials
    site.app.state.credentials = replace(before, **changed)
    try:
        yield
    finally:
        site.app.state.credentials = before


@asynccontextmanager
async def trusting(site: Site, issuer: LocalIssuer, project: str = "") -> AsyncGenerator[None]:
    """Let the server accept the issuer's tokens for a while."""
    claims = ClaimNames(
        person="sub",
        tags="groups",
        project=project,
        home="default",
        scopes=frozenset({Scope.READ}),
    )
    trusted = Issuer(url=issuer.url, audience=AUDIENCE, algorithms=frozenset({"RS256"}))
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        verifier = TokenVerifier(issuer=trusted, client=client)
        async with accepting(site, oidc=OidcTokens(verifier=verifier, names=claims)):
            yield


async def test_s2_3_a_token_of_the_issuer_has_the_person_s_current_tags_or_its_own(
    site: Site, issuer: LocalIssuer
) -> None:
    person = await site.person(external_ids={"oidc": "cleo"})
    of_cleo, stranger = token(issuer, sub="cleo", groups=["team:sales"]), token(issuer, sub="x")
    assert await site.status(of_cleo) == 401
    async with trusting(site, issuer):
        assert not await site.sees(of_cleo)  # the directory knows better than the token
        tagged = PersonChange(acl_tags=frozenset({"team:sales"}))
        await site.directory.change_person(person.email, tagged)
        assert await site.sees(of_cleo)
        await site.directory.change_person(person.email, PersonChange(active=False))
        assert await site.status(of_cleo) == 401
        assert not await site.sees(stranger)
        assert await site.sees(token(issuer, sub="x", groups=["team:sales"]))
        assert (await site.send("GET", "/v1/admin/keys", stranger)).status_code == 403
        assert await site.status(stranger, person.email) == 403
        assert await site.status(token(issuer, RSA_KEYS[1], sub="x")) == 401
        assert await site.status(await site.key("team:sales")) == 200


async def test_a_token_s_project_is_found_and_never_made(site: Site, issuer: LocalIssuer) -> None:
    async with trusting(site, issuer, project="lightwell"):
        assert await site.status(token(issuer, lightwell="default")) == 200
        assert await site.status(token(issuer, lightwell="nowhere")) == 401
        assert await site.status(token(issuer)) == 401
    assert "nowhere" not in [name for name, _ in await site.keys.list_projects()]


async def test_a_client_of_mcp_finds_the_issuer_by_the_answer_without_a_token(
    site: Site, issuer: LocalIssuer
) -> None:
    assert (await site.client.get("/.well-known/oauth-protected-resource/mcp")).status_code == 404
    async with trusting(site, issuer):
        reply = await site.client.post("/mcp", json={})
        challenge = reply.headers["www-authenticate"]
        where = re.fullmatch(r'Bearer resource_metadata="(.*)"', challenge)
        assert where is not None
        assert (await site.client.get(where[1])).json() == {
            "resource": "http://localhost/mcp",
            "authorization_servers": [issuer.url],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["openid"],
        }
        plain = (await site.client.get("/v1/models")).headers["www-authenticate"]
        described = await site.client.get(plain.split('"')[1])
        assert described.json()["resource"] == "http://localhost/"


# ── rate limits ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_s2_3_a_key_has_a_limit_and_is_told_when_to_come_again(site: Site) -> None:
    limits = RateLimits(per_key=3, per_tenant=0)
    key, other = await site.key("team:sales"), await site.key("team:sales")
    async with accepting(site, limiter=replace(site.app.state.credentials.limiter, limits=limits)):
        replies = [await site.send("GET", "/v1/models", key) for _ in range(4)]
        assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
        assert await site.status(other) == 200
    assert replies[0].headers["ratelimit-policy"] == '"key";q=3;w=60'
    assert [reply.headers["ratelimit"].split(";")[1] for reply in replies] == ["r=2", "r=1", "r=0", "r=0"]  # fmt: skip
    assert 1 <= int(replies[3].headers["retry-after"]) <= 20
    assert replies[3].json()["code"] == "too_many_requests"


async def test_a_tenant_has_a_limit_that_holds_across_processes(site: Site) -> None:
    limits = RateLimits(per_key=100, per_tenant=40)
    limiter = RateLimiter(database=site.keys.database, tenant="default", limits=limits)
    elsewhere = RateLimiter(
        database=site.app.state.projects.keys.database, tenant="default", limits=limits
    )
    keys = [await site.key() for _ in range(2)]
    principals = [await site.app.state.credentials.principals.of_key(key) for key in keys]
    taken = await asyncio.gather(
        *(buckets.take(principals[n % 2]) for n in range(30) for buckets in (limiter, elsewhere))
    )
    refused = [allowance for allowance in taken if allowance and allowance.retry_seconds]
    assert 60 - len(refused) in (40, 41)  # a share of the minute may pass meanwhile
    assert {allowance.quota.policy for allowance in refused} == {"tenant"}


async def test_many_failures_of_an_address_are_stopped_and_valid_keys_pass(site: Site) -> None:
    key = await site.key("team:sales")
    async with accepting(site, failed_logins=FailedLogins(per_minute=5, clock=lambda: 0.0)):
        assert await site.status(key) == 200
        wrong = [await site.send("GET", "/v1/models", f"lw_wrong{n}") for n in range(7)]
        assert [reply.status_code for reply in wrong] == [401] * 5 + [429] * 2
        assert int(wrong[-1].headers["retry-after"]) >= 1
        assert await site.status(key) == 200
        assert (await site.client.get("/v1/models")).status_code == 401
        parsed = parse_token(key)
        assert parsed is not None
        await site.keys.revoke("default", parsed.key_id)
        assert [await site.status(key) for _ in range(2)] == [401, 429]


async def test_failures_count_for_the_network_of_one_client() -> None:
    logins = FailedLogins(per_minute=2, clock=lambda: 0.0)
    addresses = {
        "2001:db8::1": "2001:db8::ffff",
        "198.51.100.1": "::ffff:198.51.100.1",
    }
    for address, same in addresses.items():
        for _ in range(2):
            logins.note_failure(address, "wrong")
        assert logins.wait_seconds(same, "wrong") > 0
    for other in ("2001:db8:0:1::1", "198.51.100.2", "unix"):
        assert logins.wait_seconds(other, "wrong") == 0


# ── the audit log ────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def auditing(site: Site, target: Path) -> Generator[None]:
    """Let the server write its audit log to a file for a while."""
    silent = site.app.state.audit
    with AuditLog(str(target)) as site.app.state.audit:
        yield
    site.app.state.audit = silent


async def test_s2_3_each_action_has_a_line_and_no_text(site: Site, tmp_path: Path) -> None:
    person = await site.person("team:sales", display_name="Ada Lindqvist")
    bot = await site.key("team:x", scopes=("read", "impersonate"))
    admin = await site.key(scopes=("admin",))
    target = tmp_path / "audit.jsonl"
    with auditing(site, target):
        answer = await site.send("POST", "/v1/query", bot, QUESTION, person.email)
        stream = await site.send("POST", "/v1/query/stream", bot, QUESTION, person.email)
        await site.send("GET", "/v1/models", "lw_wrong")
        for name in (person.email, person.id):
            await site.send("GET", f"/v1/admin/people/{name}", admin)
        await site.send("GET", "/v1/Nordwind", admin)
        await site.client.get("/health/live")
    assert DISCOUNT in answer.text
    assert DISCOUNT in stream.text
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "/v1/query", 200),
        ("POST", "/v1/query/stream", 200),
        ("GET", "/v1/models", 401),
        ("GET", "/v1/admin/people/{person}", 200),
        ("GET", "/v1/admin/people/{person}", 200),
        ("GET", None, 404),
    ]
    shown = parse_token(bot)
    assert shown is not None
    first = lines[0]
    assert first["credential"] == f"key:{shown.key_id}"
    assert (first["actingFor"], first["project"]) == (str(person.id), "default")
    assert first["requestId"] == answer.headers["x-request-id"]
    assert lines[4]["ids"] == {"person": str(person.id)}
    for text in ("Nordwind", "discount", "percent", shown.secret, "lw_", person.email, "Lindqvist"):
        assert text not in target.read_text()


async def test_the_audit_log_is_its_owner_s_and_is_made_anew_when_it_was_moved(
    tmp_path: Path,
) -> None:
    target = tmp_path / "audit.jsonl"
    with AuditLog(str(target)) as log:
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        log.write({"line": 1})
        target.rename(tmp_path / "old")
        log.write({"line": 2})
    with AuditLog(str(target)) as log:
        log.write({"line": 3})
    assert (tmp_path / "old").read_text() == '{"line":1}\n'
    assert target.read_text() == '{"line":2}\n{"line":3}\n'
    (tmp_path / "link").symlink_to(target)
    for impossible in (tmp_path / "no" / "audit", tmp_path / "link"):
        with pytest.raises(Invalid, match="AUDIT_LOG"), AuditLog(str(impossible)):
            pass


# ── what nobody may learn ────────────────────────────────────────────────────────────────────────────────────


NOT_FOR_READERS = ("/v1/admin", "/v1/sources", "/v1/webhooks")
"""Paths of administrators, and of systems that sign what they send: an unknown source gets the same 401 as a wrong signature."""


async def hidden_things(site: Site, key: str) -> dict[str, str]:
    """Return, by the names of parameters, things that exist and that only this key sees."""
    entities = (await site.send("GET", "/v1/graph/entities", key)).json()["entities"]
    session = await site.send("POST", "/v1/sessions", key, {})
    kb = await site.app.state.projects.open("default")
    turn = await kb.questions.chat("Which salary rises?", await kb.reader(["team:payroll"]))
    question = {**QUESTION, "sessionId": session.json()["sessionId"]}
    return {
        "name": next(
            entity["entityName"] for entity in entities if "Zyntrix" in entity["entityName"]
        ),
        "session_id": question["sessionId"],
        "query_id": (await site.send("POST", "/v1/query", key, question)).json()["queryId"],
        "conversation_id": str(turn.conversation_id),
    }


async def test_what_one_may_not_see_and_what_does_not_exist_give_the_same_document(
    site: Site,
) -> None:
    """For each route that names a thing, without a body; what is not in the table is asked for by a hidden document's id."""
    payroll = await site.key("team:payroll")
    things = await hidden_things(site, payroll)
    kb = await site.app.state.projects.open("default")
    seen = await kb.documents.get(await kb.reader(["team:payroll"]), "file:///shelf/salaries.md")
    key = await site.key("team:sales", scopes=ALL_BUT_ADMIN)
    compared: set[str] = set()
    for path, operations in site.app.openapi()["paths"].items():
        parameter = re.search(r"\{(\w+)", path)
        if parameter is None or path.startswith(NOT_FOR_READERS):
            continue
        names = (things.get(parameter[1], str(seen.id)), str(uuid4()))
        for method in set(operations) & {"get", "delete", "post"}:
            replies = [
                await site.send(method.upper(), re.sub(r"\{[^}]*\}", name, path), key)
                for name in names
            ]
            if [reply.status_code for reply in replies] == [422, 422]:
                continue
            texts = [
                reply.text.replace(name, "IT").replace(reply.headers["x-request-id"], "ID")
                for reply, name in zip(replies, names, strict=True)
            ]
            assert [reply.status_code for reply in replies] == [404, 404], (method, path)
            assert texts[0] == texts[1]
            compared.add(parameter[1])
    assert compared >= things.keys()


# ── browsers ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_page_can_neither_rebind_its_name_nor_call_from_another_origin(site: Site) -> None:
    for host, status in (
        ("localhost", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("attacker.example", 421),
        ("localhost.attacker.example:8000", 421),
        ("", 421),
    ):
        reply = await site.client.get("/health/live", headers={"Host": host})
        assert reply.status_code == status, host
    preflight = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    reply = await site.client.options("/v1/query", headers=preflight)
    assert "access-control-allow-origin" not in reply.headers


async def test_settings_name_the_pages_and_names_of_a_server() -> None:
    """The interface's description is asked for, since it needs no store: this server is not started."""
    settings = Settings(
        database_url=SecretStr("postgresql://nowhere"),
        http=HttpSettings(origins="https://chat.example.com", hosts="knowledge.example.com:8443"),
    )
    transport = httpx.ASGITransport(create_app(settings))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for origin, allowed in (
            ("https://chat.example.com", "https://chat.example.com"),
            ("https://evil.example", None),
        ):
            headers = {"Origin": origin, "Host": "knowledge.example.com"}
            reply = await client.get("/openapi.json", headers=headers)
            assert reply.status_code == 200
            assert reply.headers.get("access-control-allow-origin") == allowed
    with pytest.raises(Invalid, match="ORIGINS"):
        create_app(
            Settings(database_url=SecretStr("postgresql://nowhere"), http=HttpSettings(origins="*"))
        )
