"""Signing in with an issuer: what has to fit together, and what an attacker might send instead."""

import base64
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
import pytest_asyncio
from pydantic import SecretStr

from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import Invalid
from lightwell.domain.scopes import Scope
from lightwell.entrypoints.http.oidc_sign_in import parse_attempt, safe_next
from lightwell.settings import Settings
from tests.conftest import Databases
from tests.entrypoints.http_site import open_site
from tests.entrypoints.offices import Browser, Office, open_office
from tests.local_issuer import AUDIENCE, RSA_KEYS, LocalIssuer, public_jwk, run_issuer, token

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLIENT, SECRET = "lightwell web", "s%cret:with signs"
CALLBACK = "http://localhost/v1/sign-in/oidc/callback"


@dataclass(kw_only=True)
class Provider:
    """An issuer that signs in whoever its tests name: each code is for one request, of one client, with the verifier of the challenge."""

    issuer: LocalIssuer
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    challenges: dict[str, str] = field(default_factory=dict[str, str])

    def authorize(self, query: Mapping[str, str], **claims: Any) -> str:
        """Return a code for the request that the browser was sent with."""
        code = f"code-{len(self.challenges)}-{id(query)}"
        self.challenges[code] = query["code_challenge"]
        self.claims = {"aud": CLIENT, "nonce": query["nonce"], **claims}
        return code

    def grant(self, form: Mapping[str, str], authorization: str) -> object | None:
        shown = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = self.challenges.pop(form["code"], "")
        fits = base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
        if not fits or shown != "lightwell%20web:s%25cret%3Awith%20signs":
            return None
        if form["redirect_uri"] != CALLBACK or form["grant_type"] != "authorization_code":
            return None
        return {"id_token": token(self.issuer, **self.claims), "token_type": "Bearer"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with run_issuer() as issuer:
        issuer.keys = [public_jwk(RSA_KEYS[0], "one")]
        made = Provider(issuer=issuer)
        issuer.grant = made.grant
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(
    databases: Databases, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Office]:
    values = {
        "oidc.issuer": provider.issuer.url,
        "oidc.client_id": CLIENT,
        "oidc.client_secret": SecretStr(SECRET),
        "oidc.tags_claim": "groups",
    }
    audit = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    with databases.lent() as url:
        async with open_office(url, audit, values) as opened:
            yield opened


async def begin(browser: Browser, wanted: str = "/documents") -> dict[str, str]:
    """Follow the button; return what the issuer is asked."""
    reply = await browser.client.get("/v1/sign-in/oidc", params={"next": wanted})
    assert reply.status_code == 303, reply.text
    return dict(parse_qsl(urlsplit(reply.headers["location"]).query))


async def end(browser: Browser, query: Mapping[str, str], **more: str) -> httpx.Response:
    """Come back from the issuer."""
    return await browser.client.get(
        "/v1/sign-in/oidc/callback", params={"state": query["state"], **more}
    )


async def signed_in(office: Office, provider: Provider, **claims: Any) -> Browser:
    browser = office.browser()
    query = await begin(browser)
    reply = await end(browser, query, code=provider.authorize(query, **claims))
    assert reply.headers["location"] == "/documents"
    return browser


def refusal(reply: httpx.Response) -> str:
    """Return why the browser is back at the form; no session came with it."""
    assert reply.status_code == 303
    assert "lightwell_session" not in str(reply.headers.get_list("set-cookie"))
    return reply.headers["location"].removeprefix("/sign-in?failed=")


async def test_a_person_of_the_directory_signs_in_with_the_directory_s_tags_and_scopes(
    office: Office, provider: Provider
) -> None:
    person = await office.person(
        "team:sales", external_ids={"oidc": "ada"}, scopes=frozenset({Scope.ADMIN})
    )
    browser = office.browser()
    ways = await browser.client.get("/v1/sign-in")
    assert ways.json()["oidc"] == {"name": "127.0.0.1"}
    query = await begin(browser)
    assert query["code_challenge_method"] == "S256"
    assert query["redirect_uri"] == CALLBACK
    code = provider.authorize(query, sub="ada", groups=["team:payroll"])
    reply = await end(browser, query, code=code, iss=provider.issuer.url)
    assert (reply.status_code, reply.headers["location"]) == (303, "/documents")
    assert "max-age=43200" in str(reply.headers.get_list("set-cookie")).lower()
    me = await browser.me()
    assert (me["personId"], me["tags"]) == (str(person.id), ["team:sales"])
    assert "admin" in me["scopes"]
    await office.directory.change_person(person.email, PersonChange(active=False))
    assert await browser.status() == 401
    again = office.browser()
    query = await begin(again)
    assert refusal(await end(again, query, code=provider.authorize(query, sub="ada"))) == "refused"


async def test_whom_the_directory_does_not_have_has_the_token_s_tags_until_it_has_that_person(
    office: Office, provider: Provider
) -> None:
    browser = await signed_in(office, provider, sub="bo", name="Bo Berg", groups=["team:sales"])
    me = await browser.me()
    assert (me["name"], me["personId"], me["tags"]) == ("Bo Berg", None, ["team:sales"])
    assert me["scopes"] == ["read"]
    assert await browser.sees()
    bo = await office.person("user:bo", external_ids={"oidc": "bo"})
    me = await browser.me()
    assert (me["personId"], me["tags"]) == (str(bo.id), ["user:bo"])
    assert not await browser.sees()
    await office.directory.change_person(bo.email, PersonChange(active=False))
    assert await browser.status() == 401


async def test_signing_out_everywhere_ends_all_sessions_of_one_subject(
    office: Office, provider: Provider
) -> None:
    one = await signed_in(office, provider, sub="cleo")
    two = await signed_in(office, provider, sub="cleo")
    other = await signed_in(office, provider, sub="dora")
    await one.send("POST", "/v1/sign-out", {"everywhere": True})
    assert [await each.status() for each in (one, two, other)] == [401, 401, 200]


async def test_a_sign_in_that_this_browser_has_not_begun_is_refused(
    office: Office, provider: Provider
) -> None:
    """Otherwise somebody could sign others in as themselves, and read what they upload."""
    attacker, victim = office.browser(), office.browser()
    query = await begin(attacker)
    code = provider.authorize(query, sub="eve")
    assert refusal(await end(victim, query, code=code)) == "state"
    own = await begin(victim)
    assert refusal(await end(victim, query, code=code)) == "state"
    assert refusal(await end(victim, own, code=code)) == "state"  # the attempt is over


async def test_a_code_is_redeemed_once(office: Office, provider: Provider) -> None:
    browser = office.browser()
    query = await begin(browser)
    cookies = dict(browser.client.cookies)
    code = provider.authorize(query, sub="finn")
    assert (await end(browser, query, code=code)).headers["location"] == "/documents"
    assert refusal(await end(browser, query, code=code)) == "state"
    replayed = office.browser()
    replayed.client.cookies.update(cookies)
    assert refusal(await end(replayed, query, code=code)) == "provider"


async def test_a_stolen_code_is_worth_nothing_in_another_attempt(
    office: Office, provider: Provider
) -> None:
    victim, thief = office.browser(), office.browser()
    code = provider.authorize(await begin(victim), sub="gus")
    query = await begin(thief)
    assert refusal(await end(thief, query, code=code)) == "provider"


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": AUDIENCE},
        {"aud": [CLIENT, AUDIENCE]},
        {"aud": [CLIENT, AUDIENCE], "azp": AUDIENCE},
        {"azp": AUDIENCE},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"sub": None},
    ],
    ids=str,
)
async def test_a_token_for_somebody_else_signs_nobody_in(
    office: Office, provider: Provider, claims: dict[str, Any]
) -> None:
    browser = office.browser()
    query = await begin(browser)
    code = provider.authorize(query, **{"sub": "hedda", **claims})
    assert refusal(await end(browser, query, code=code)) == "provider"


async def test_a_token_for_several_audiences_counts_where_it_was_made_for_this_client(
    office: Office, provider: Provider
) -> None:
    browser = await signed_in(office, provider, sub="ivar", aud=[CLIENT, AUDIENCE], azp=CLIENT)
    assert await browser.status() == 200


async def test_what_the_issuer_refuses_leads_back_to_the_form(
    office: Office, provider: Provider
) -> None:
    browser = office.browser()
    query = await begin(browser)
    evil = "<script>alert(1)</script>"
    reply = await end(browser, query, error="access_denied", error_description=evil)
    assert refusal(reply) == "provider"
    assert evil not in str(reply.headers) + reply.text
    query = await begin(browser)
    code = provider.authorize(query, sub="jon")
    assert refusal(await end(browser, query, code=code, iss="https://evil.example")) == "provider"


async def test_many_failed_sign_ins_of_an_address_wait(office: Office, provider: Provider) -> None:
    failed = office.site.app.state.credentials.failed_logins
    before, failed.per_minute = failed.per_minute, 2
    try:
        browser = office.browser()
        outcomes: list[str] = []
        for number in range(4):
            query = await begin(browser)
            outcomes.append(refusal(await end(browser, query, code=f"guess-{number}")))
        assert (outcomes[0], outcomes[-1]) == ("provider", "wait")
    finally:
        failed.per_minute = before
        failed._free_at.clear()


async def test_the_way_back_leads_to_a_page_of_this_server_only() -> None:
    for address in ("/", "/documents", "/d/1#2-3", "/?q=a%20b%2F%2Fc", "/c/9?x=https://y.example"):
        assert safe_next(address) == address
    for address in (
        "",
        "documents",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\\/evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "/v1/sign-in/oidc",
        "/a b",
        "/" + "a" * 2000,
    ):
        assert safe_next(address) == "/", address
    for text in ("", "a", "a.b.c", "...", "a.b..%2F"):
        assert parse_attempt(text) is None
    planted = parse_attempt("state.nonce.verifier.%2F%2Fevil.example")
    assert planted is not None
    assert planted.next == "/"


async def test_the_cookie_of_an_attempt_is_out_of_reach(office: Office) -> None:
    reply = await office.browser().client.get("/v1/sign-in/oidc")
    cookie = reply.headers["set-cookie"].lower()
    assert {"httponly", "samesite=lax", "path=/", "max-age=600"} <= set(cookie.split("; "))
    encrypted = await office.browser().client.get("https://localhost/v1/sign-in/oidc")
    assert encrypted.headers["set-cookie"].startswith("__Host-lightwell_oidc=")


async def test_an_issuer_that_cannot_be_reached_leads_back_to_the_form(
    databases: Databases,
) -> None:
    with databases.lent() as url:
        values = {"oidc.issuer": "http://127.0.0.1:9/none", "oidc.client_id": CLIENT}
        async with open_site(url, values) as site:
            assert refusal(await site.client.get("/v1/sign-in/oidc")) == "provider"
        async with open_site(url) as site:
            assert (await site.client.get("/v1/sign-in/oidc")).status_code == 404
        with pytest.raises(Invalid, match="LIGHTWELL_OIDC_ISSUER"):
            async with open_site(url, {"oidc.client_id": CLIENT}):
                pass


@pytest.mark.parametrize("url", ["ftp://x", "https://x/path", "https://x?y", "x"])
async def test_a_public_address_is_one_of_a_server(url: str) -> None:
    with pytest.raises(Invalid, match="LIGHTWELL_PUBLIC_URL"):
        Settings.model_validate({"server": {"public_url": url}})
