"""An administrator changes the embedding model over HTTP, from one that an endpoint serves to the bundled one, both real."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from lightwell.domain.api_keys import Scope
from lightwell.domain.ids import ProjectId
from lightwell.entrypoints.http import background_worker
from lightwell.models.bge import BgeSmall
from lightwell.settings import Settings
from lightwell.testing.endpoint import FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring.examination import examine
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site
from tests.patience import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

TAG = "team:sales"
SPACES = "/v1/admin/embeddings"
BGE = BgeSmall().model
SERVED = "bge-of-an-endpoint"
DOCUMENTS = (
    make_document("discount.md", "Nordwind receives a discount of 18 percent.", [TAG]),
    make_document("dam.md", "The dam in Tarn Valley was built in 1931.", [TAG]),
)


@pytest.fixture(scope="module")
def database_of_site(databases: Databases) -> Any:
    with databases.lent() as url:
        yield url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(database_of_site: str) -> AsyncIterator[Site]:
    with FakeEndpoint(embedder=BgeSmall()).running() as fake:
        settings = {
            "server.metrics_token": SecretStr("monitoring"),
            "embedding.url": fake.base_url,
            "embedding.model": SERVED,
        }
        async with open_site(database_of_site, settings) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
            yield opened


async def ask(site: Site, method: str, path: str, scope: str = Scope.ADMIN, **more: Any) -> Any:
    return await site.request(method, path, TAG, scopes=(scope,), **more)


async def statuses(site: Site) -> list[tuple[str, str, int]]:
    reply = await ask(site, "GET", SPACES)
    assert reply.status_code == 200, reply.text
    return [(space["model"], space["status"], space["percent"]) for space in reply.json()["spaces"]]


async def metrics(site: Site) -> list[str]:
    reply = await site.client.get("/metrics", headers={"Authorization": "Bearer monitoring"})
    return [line for line in reply.text.splitlines() if line.startswith("lightwell_embedding")]


async def test_s3_12_only_an_administrator_changes_the_model(site: Site) -> None:
    for method, path in (
        ("GET", SPACES),
        ("POST", f"{SPACES}/change"),
        ("DELETE", f"{SPACES}/change"),
    ):
        more: dict[str, Any] = {"json": {}} if method == "POST" else {}
        reply = await ask(site, method, path, Scope.CURATE, **more)
        assert reply.status_code == 403


async def test_s3_12_a_change_that_cannot_be_says_what_to_do(site: Site) -> None:
    unnamed = await ask(site, "POST", f"{SPACES}/change", json={})
    assert unnamed.status_code == 422
    assert "LIGHTWELL_NEXT_EMBEDDING_URL" in unnamed.json()["detail"]
    unknown = await ask(site, "POST", f"{SPACES}/estimate", json={"model": "owl"})
    assert unknown.status_code == 404
    idle = await ask(site, "DELETE", f"{SPACES}/change")
    assert idle.status_code == 404


async def test_s3_12_a_change_is_estimated_started_followed_and_cancelled(
    site: Site, database_of_site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def list_none(_: object) -> dict[str, ProjectId]:
        return {}

    monkeypatch.setattr(background_worker.BackgroundWorker, "_list_due", list_none)
    assert await statuses(site) == [(SERVED, "active", 100)]
    estimate = (await ask(site, "POST", f"{SPACES}/estimate", json={"model": BGE})).json()
    assert (estimate["model"], estimate["chunks"], estimate["price"]) == (BGE, 2, 0)
    begun = await ask(site, "POST", f"{SPACES}/change", json={"model": BGE})
    assert begun.status_code == 202
    assert begun.json()["tokens"] == estimate["tokens"] > 10
    assert (await statuses(site))[1] == (BGE, "building", 0)
    again = await ask(site, "POST", f"{SPACES}/change", json={"model": BGE})
    assert again.status_code == 422
    assert "is under way" in again.json()["detail"]
    assert 'lightwell_embedding_gaps{kind="passages",space="building"} 2.0' in await metrics(site)
    assert "lightwell_embedding_changes 1.0" in await metrics(site)
    checks = await examine(Settings(database_url=SecretStr(database_of_site)))
    details = {check.name: check.detail for check in checks}
    assert details["vectors of default"] == f"{SERVED} (384), 2 of 2 passages"
    assert "0 of 2 passages" in details["change of vectors of default"]
    cancelled = await ask(site, "DELETE", f"{SPACES}/change")
    assert [space["model"] for space in cancelled.json()["spaces"]] == [SERVED]


async def test_s3_12_the_server_changes_a_project_between_two_real_models(site: Site) -> None:
    question = {"query": "What discount does Nordwind receive?"}

    async def answer() -> str:
        reply = await ask(site, "POST", "/v1/query", Scope.READ, json=question)
        assert reply.status_code == 200, reply.text
        return reply.json()["answer"]

    before = await answer()
    assert "18 percent" in before
    begun = await ask(site, "POST", f"{SPACES}/change", json={"model": BGE})
    assert begun.status_code == 202
    async with asyncio.timeout(PATIENCE):
        while (BGE, "active", 100) not in await statuses(site):
            assert await answer() == before
            await asyncio.sleep(0.05)
    assert await answer() == before
    assert await statuses(site) == [(SERVED, "retired", 100), (BGE, "active", 100)]
    found = await site.kb.questions.search(question["query"], await site.kb.reader([TAG]))
    text = f"discount.md\n\n{found.evidence[0].chunk.text}"
    (vector,) = await BgeSmall().embed_query(question["query"])
    distances = [float(vector @ other) for other in await BgeSmall().embed_documents([text])]
    assert found.evidence[0].cosine_distance == pytest.approx(1 - distances[0], abs=0.05)


async def test_the_doctor_says_who_reads_what_was_not_read_yet(
    site: Site, database_of_site: str
) -> None:
    """As after an upgrade to another network, or an ingestion that was ended between its stages."""
    await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    unread = """
    INSERT INTO chunk_gaps (chunk_id, space_id, document_id, round)
    SELECT chunk_id, space_id, document_id, 0 FROM document_chunks CROSS JOIN embedding_spaces
    WHERE status = 'active' ON CONFLICT DO NOTHING
    """
    await site.keys.database.execute(unread, {})
    checks = await examine(Settings(database_url=SecretStr(database_of_site)))
    [found] = [check for check in checks if check.name == "vectors of default"]
    assert found.ok
    assert "0 of 2 passages; a server, a worker or the next `lightwell ingest`" in found.detail


async def test_s3_12_the_doctor_names_a_model_that_the_settings_no_longer_do(
    site: Site, database_of_site: str
) -> None:
    await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    rename = "UPDATE embedding_spaces SET model = 'owl' WHERE status = 'active'"
    await site.keys.database.execute(rename, {})
    checks = await examine(Settings(database_url=SecretStr(database_of_site)))
    [found] = [check for check in checks if check.name == "vectors of default"]
    assert not found.ok
    assert "Name owl in LIGHTWELL_EMBEDDING_URL" in found.fix
