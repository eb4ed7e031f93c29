"""Open WebUI's own code reads the tools of a real server, calls them, and forwards its users."""

import asyncio
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from lightwell.domain.directory import PersonChange
from lightwell.knowledge_base.directory import Directory
from lightwell.testing.server import temporary_folder
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, serving_in_thread
from tests.open_webui_source import OpenWebUI, load

pytestmark = pytest.mark.slow

SECRET = "0123456789abcdef" * 2
VALUES = {"http.compatibility": "tool-server"}
ADA, BEN = "ada@halden.example", "ben@halden.example"
QUESTION = "Who ordered pumps from Nordwind?"
DOCUMENTS = (
    make_document(
        "orders.md", "# Orders\n\nAcme Corp ordered 40 pumps from Nordwind.", ("team:a",)
    ),
    make_document("secret.md", "# Secret\n\nZeta ordered pumps from Nordwind.", ("team:board",)),
)


async def prepare(site: Site) -> str:
    await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    directory = Directory(database=site.keys.database, project_id=site.kb.project_id)
    for email, tag in ((ADA, "team:a"), (BEN, "team:board")):
        await directory.create_person(PersonChange(email=email, acl_tags=frozenset([tag])))
    return await site.key(scopes=("read", "impersonate"))


@pytest.fixture(scope="module")
def program() -> Iterator[OpenWebUI]:
    with temporary_folder() as folder:
        yield load(folder)


@pytest.mark.parametrize("secret", ["", SECRET])
def test_open_webui_calls_the_tools_as_its_users(
    databases: Databases, program: OpenWebUI, secret: str
) -> None:
    async def talk(url: str, key: str) -> None:
        server = await program.read_tools(f"{url}/tools")
        specs = {spec["name"]: spec["parameters"] for spec in server["specs"]}
        assert specs["ask_documents"]["required"] == ["question"]
        assert list(specs["open_document"]["properties"]) == ["document_id", "start"]
        for email, title in ((ADA, "Orders"), (BEN, "Secret")):
            user = program.forward(key, email, secret)
            asked = await program.call(server, "ask_documents", user, question=QUESTION)
            assert {source["title"] for source in asked["sources"]} == {title}
            (found,) = (await program.call(server, "search_documents", user, query=QUESTION))["passages"]  # fmt: skip
            name = found["document_id"]
            opened = await program.call(server, "open_document", user, document_id=name, start=0)
            assert opened["title"] == title
            other = program.forward(key, BEN if email == ADA else ADA, secret)
            hidden = await program.call(server, "open_document", other, document_id=name)
            assert "HTTP error 404" in hidden["error"]
        stranger = program.forward(key, "eve@halden.example", secret)
        refused = await program.call(server, "ask_documents", stranger, question=QUESTION)
        assert "unknown_person" in refused["error"]

    values = VALUES | {"http.forwarding_secret": SecretStr(secret)}
    with (
        databases.lent() as database,
        serving_in_thread(database, prepare, values) as (url, key),
    ):
        asyncio.run(talk(url, key))
