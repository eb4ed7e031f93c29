"""Signing in with a real Keycloak, through its own form."""

import html
import re
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import pytest_asyncio
from pydantic import SecretStr

from lightwell.domain.directory import PersonChange
from tests.conftest import Databases
from tests.entrypoints.offices import Browser, Office, open_office
from tests.keycloak.server import CLIENT, PASSWORD, SECRET, keycloak

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Office]:
    audit = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    with keycloak() as issuer, databases.lent() as url:
        values = {
            "oidc.issuer": issuer,
            "oidc.client_id": CLIENT,
            "oidc.client_secret": SecretStr(SECRET),
            "oidc.person_claim": "email",
            "oidc.tags_claim": "groups",
        }
        async with open_office(url, audit, values) as opened:
            yield opened


def in_directory(email: str) -> PersonChange:
    return PersonChange(email=email, acl_tags=frozenset({"team:sales"}))


async def come_back(browser: Browser, who: str, password: str = PASSWORD) -> str:
    """Follow the button, fill in Keycloak's form, and return the address that it sends the browser back to; "" where it does not."""
    begun = await browser.client.get("/v1/sign-in/oidc", params={"next": "/documents"})
    async with httpx.AsyncClient(timeout=60) as elsewhere:
        form = await elsewhere.get(begun.headers["location"])
        assert form.status_code == 200, form.text
        (action,) = re.findall(r'action="([^"]+)"', form.text)
        fields = {"username": who, "password": password, "credentialId": ""}
        # A browser sends cookies that are `Secure` to its own machine without TLS, too; httpx does not.
        cookies = "; ".join(f"{each.name}={each.value}" for each in form.cookies.jar)
        headers = {"Cookie": cookies}
        answered = await elsewhere.post(html.unescape(action), data=fields, headers=headers)
        return answered.headers.get("location", "")


async def end(browser: Browser, address: str) -> str:
    """Come back to the server; return where it leads the browser."""
    parts = urlsplit(address)
    reply = await browser.client.get(f"{parts.path}?{parts.query}")
    assert reply.status_code == 303, reply.text
    return reply.headers["location"]


async def test_a_person_of_the_directory_signs_in(office: Office) -> None:
    ada = await office.directory.create_person(in_directory("ada@halden.example"))
    browser = office.browser()
    assert await come_back(browser, "ada", "wrong") == ""
    assert await end(browser, await come_back(browser, "ada")) == "/documents"
    me = await browser.me()
    assert (me["personId"], me["email"]) == (str(ada.id), "ada@halden.example")
    assert await browser.sees()
    await office.directory.delete_person("ada@halden.example")
    assert await browser.status() == 401


async def test_whom_the_directory_does_not_have_has_the_groups_as_tags(office: Office) -> None:
    browser = office.browser()
    assert await end(browser, await come_back(browser, "bo")) == "/documents"
    me = await browser.me()
    assert (me["name"], me["personId"], me["tags"]) == ("Bo Berg", None, ["team:sales"])
    assert await browser.sees()


async def test_an_address_that_is_not_verified_is_nobody_s(office: Office) -> None:
    await office.directory.create_person(in_directory("grace@halden.example"))
    browser = office.browser()
    assert await end(browser, await come_back(browser, "eve")) == "/sign-in?failed=provider"


async def test_the_way_back_works_once_in_the_browser_that_began_it(office: Office) -> None:
    browser, other = office.browser(), office.browser()
    address = await come_back(browser, "bo")
    assert await end(other, address) == "/sign-in?failed=state"
    cookies = dict(browser.client.cookies)
    assert await end(browser, address.replace("state=", "state=x")) == "/sign-in?failed=state"
    browser.client.cookies.update(cookies)
    assert await end(browser, address) == "/documents"
    again = office.browser()
    again.client.cookies.update(cookies)
    assert (
        await end(again, address) == "/sign-in?failed=provider"
    )  # Keycloak knows the code was used


async def test_a_code_of_another_attempt_is_refused_for_its_verifier(office: Office) -> None:
    victim, thief = office.browser(), office.browser()
    code = parse_qs(urlsplit(await come_back(victim, "bo")).query)["code"][0]
    begun = await thief.client.get("/v1/sign-in/oidc")
    state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
    assert (
        await end(thief, f"/v1/sign-in/oidc/callback?state={state}&code={code}")
        == "/sign-in?failed=provider"
    )


async def test_a_token_for_another_client_signs_nobody_in_and_opens_nothing(
    office: Office,
) -> None:
    provider = office.site.app.state.credentials.provider
    async with httpx.AsyncClient(timeout=60) as elsewhere:
        form = {
            "grant_type": "password",
            "client_id": "another",
            "client_secret": "secret-of-another",
            "username": "bo",
            "password": PASSWORD,
            "scope": "openid",
        }
        where = f"{provider.verifier.issuer.url}/protocol/openid-connect/token"
        tokens = (await elsewhere.post(where, data=form)).json()
    assert await provider.verifier.verify(tokens["id_token"]) is None
    for name in ("id_token", "access_token"):
        shown = {"Authorization": f"Bearer {tokens[name]}"}
        reply = await office.browser().client.get("/v1/me", headers=shown)
        assert reply.status_code == 401
