"""What Open WebUI sends: its users in headers, with OpenAI's API, Ollama's API, tools and MCP."""

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import jwt
import pytest
import pytest_asyncio

from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.http.app import create_app
from lightwell.knowledge_base.directory import Directory
from lightwell.settings import HttpSettings, Settings
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "0123456789abcdef" * 2
QUESTION = "Who ordered pumps from Nordwind?"
USER = {"role": "user", "content": QUESTION}
ADA, BEN, GONE = "ada@halden.example", "ben@halden.example", "gone@halden.example"
ORDER, SECRET_ORDER = "Acme Corp ordered 40 pumps", "Zeta ordered pumps"
DOCUMENTS = (
    make_document("orders.md", f"# Orders\n\n{ORDER} from Nordwind in March.", ("team:a",)),
    make_document("secret.md", f"{SECRET_ORDER} from Nordwind in secret.", ("team:board",)),
)
DOORS: Mapping[str, object] = {
    "/v1/chat/completions": {"model": "lightwell", "messages": [USER]},
    "/v1/responses": {"model": "lightwell", "input": QUESTION},
    "/v1/query": {"query": QUESTION},
    "/api/chat": {"model": "lightwell", "messages": [USER], "stream": False},
    "/tools/search": {"query": QUESTION},
    "/tools/ask": {"question": QUESTION},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"question": QUESTION}}},
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url, {"http.compatibility": "ollama,tool-server"}) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
            directory = Directory(database=opened.keys.database, project_id=opened.kb.project_id)
            for email, tag in ((ADA, "team:a"), (BEN, "team:board"), (GONE, "team:board")):
                change = PersonChange(email=email, acl_tags=frozenset([tag]), active=email != GONE)
                await directory.create_person(change)
            yield opened


@pytest.fixture
def signing(site: Site) -> Iterator[None]:
    """The server takes signed users only."""
    site.app.state.forwarding_secret = SECRET
    yield
    site.app.state.forwarding_secret = ""


def signed(email: str, secret: str = SECRET, **claims: object) -> dict[str, str]:
    """Return the header that Open WebUI makes, as its `_mint_forward_user_jwt` does."""
    now = int(time.time())
    payload = {
        "sub": "1",
        "email": email,
        "name": "Ada",
        "role": "user",
        "iss": "open-webui",
        "iat": now,
        "exp": now + 300,
    }
    return {"X-OpenWebUI-User-Jwt": jwt.encode(payload | claims, secret, algorithm="HS256")}


def plain(email: str) -> dict[str, str]:
    """Return the headers that Open WebUI sends without a secret."""
    names = {"Name": "Ada%20L", "Id": "17", "Email": email, "Role": "admin"}
    return {f"X-OpenWebUI-User-{name}": value for name, value in names.items()}


async def send(
    site: Site,
    path: str,
    headers: Mapping[str, str],
    *tags: str,
    scopes: tuple[str, ...] = ("read", "impersonate"),
) -> tuple[int, bool, bool]:
    """Return the status, and whether the reply has the order, and the secret one."""
    accepted = {"Accept": "application/json, text/event-stream", **headers}
    reply = await site.request(
        "POST", path, *tags, scopes=scopes, headers=accepted, json=DOORS[path]
    )
    return reply.status_code, ORDER in reply.text, SECRET_ORDER in reply.text


@pytest.mark.parametrize("path", DOORS)
async def test_a_forwarded_user_reads_as_that_person_of_the_directory(
    site: Site, path: str
) -> None:
    assert await send(site, path, plain(ADA)) == (200, True, False)
    assert await send(site, path, plain(BEN.upper())) == (200, False, True)
    # the person's access and never the key's own, though nobody is forwarded then
    assert await send(site, path, plain(ADA), "team:board") == (200, True, False)
    assert await send(site, path, {}, "team:board") == (200, False, True)
    for nobody in ("stranger@halden.example", GONE):
        assert await send(site, path, plain(nobody), "team:a") == (404, False, False)


@pytest.mark.parametrize("path", DOORS)
async def test_without_the_scope_a_forwarded_user_changes_nothing(site: Site, path: str) -> None:
    """Open WebUI forwards its users to every connection; a key that may not act for people stays itself."""
    for headers in (plain(BEN), signed(BEN), plain("nobody@halden.example")):
        assert await send(site, path, headers, "team:a", scopes=("read",)) == (200, True, False)


async def test_a_name_that_is_no_address_names_nobody(site: Site) -> None:
    person = await Directory(database=site.keys.database, project_id=site.kb.project_id).get_person(
        BEN
    )
    for name in (str(person.id), "telegram:77", "", "Ben"):
        status, *sees = await send(site, "/v1/query", plain(name), "team:a")
        assert (status in (404, 422), any(sees)) == (True, False), name


async def test_the_header_of_lightwell_comes_before_what_is_forwarded(site: Site) -> None:
    headers = plain(ADA) | {"X-Lightwell-Act-As": BEN}
    assert await send(site, "/v1/query", headers) == (200, False, True)


@pytest.mark.usefixtures("signing")
async def test_with_a_secret_only_signed_users_count(site: Site) -> None:
    past = int(time.time()) - 3600
    assert await send(site, "/v1/chat/completions", signed(ADA)) == (200, True, False)
    assert await send(site, "/v1/chat/completions", signed(BEN) | plain(ADA)) == (200, False, True)
    unsigned = {"X-OpenWebUI-User-Jwt": jwt.encode({"email": BEN}, "", algorithm="none")}
    for headers in (
        plain(ADA),
        unsigned,
        signed(ADA, "another secret of 32 characters!"),
        signed(ADA, exp=past),
        signed(ADA, iss="else"),
        {"X-OpenWebUI-User-Jwt": "x"},
    ):
        assert await send(site, "/v1/chat/completions", headers, "team:a") == (403, False, False)


async def test_a_signed_user_cannot_be_checked_without_the_secret(site: Site) -> None:
    reply = await site.request("POST", "/v1/query", scopes=("read", "impersonate"), headers=signed(ADA), json=DOORS["/v1/query"])  # fmt: skip
    assert (reply.status_code, "LIGHTWELL_HTTP_FORWARDING_SECRET" in reply.text) == (422, True)


async def test_a_secret_that_can_be_guessed_is_refused() -> None:
    http = HttpSettings.model_validate({"forwarding_secret": "secret"})
    with pytest.raises(Invalid, match="at least 32"):
        create_app(Settings(http=http))


async def test_models_are_listed_for_a_key_that_names_nobody(site: Site) -> None:
    """Open WebUI also lists them when it starts, for no user."""
    for path in ("/v1/models", "/api/tags", "/api/version"):
        reply = await site.request("GET", path, scopes=("read", "impersonate"))
        assert reply.status_code == 200, path


async def test_the_document_of_tools_is_for_models(site: Site) -> None:
    """It needs no key, and offers no header to a model."""
    document = (await site.client.get("/tools/openapi.json")).json()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    names = {operation["operationId"] for operation in operations}
    assert names == {"search_documents", "ask_documents", "open_document"}
    assert all(operation["description"] for operation in operations)
    assert "Act-As" not in json.dumps(document)


async def test_a_document_is_opened_piece_by_piece_by_who_may_read_it(site: Site) -> None:
    async def post(path: str, **body: object) -> Any:
        reply = await site.request("POST", path, "team:a", json=body)
        return reply.json()

    (passage, *_) = (await post("/tools/search", query=QUESTION))["passages"]
    answer = await post("/tools/ask", question=QUESTION)
    assert (passage["title"], answer["sources"][0]["document_id"]) == (
        "Orders",
        passage["document_id"],
    )
    assert answer["sources"][0]["mark"] in answer["answer"]
    assert answer["sources"][0]["url"].startswith(f"http://localhost/d/{passage['document_id']}#")
    opened = await post("/tools/open", document_id=passage["document_id"], start=2)
    assert opened["text"].startswith("Orders")
    assert opened["next_start"] is None
    hidden = await site.kb.documents.get(
        await site.kb.reader(["team:board"]), "file:///shelf/secret.md"
    )
    missing = await site.request(
        "POST", "/tools/open", "team:a", json={"document_id": str(hidden.id)}
    )
    never = await site.request(
        "POST", "/tools/open", "team:a", json={"document_id": "file:///shelf/never.md"}
    )
    assert missing.status_code == never.status_code == 404
