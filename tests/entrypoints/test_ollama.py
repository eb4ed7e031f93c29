"""Ollama's own Python client, unchanged, against a real server on a socket."""

import json
from collections.abc import AsyncIterator
from typing import Any

import ollama
import pytest
import pytest_asyncio

from lightwell.entrypoints.http import event_streams
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site, serving_on_socket

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEAM = ("team:a",)
MODEL = "lightwell:latest"
QUESTION = "Who ordered pumps from Nordwind?"
DOCUMENTS = (
    make_document(
        "orders.md", "# Orders\n\nAcme Corp ordered 40 pumps from Nordwind in March.", TEAM
    ),
    make_document("secret.md", "Zeta ordered pumps from Nordwind in secret.", ("team:board",)),
)
TITLE = """### Task:
Generate a concise, 3-5 word title.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: Who ordered pumps from Nordwind?
</chat_history>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url, {"http.compatibility": "ollama"}) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
            yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(site: Site) -> AsyncIterator[str]:
    async with serving_on_socket(site.app) as address:
        yield address


@pytest_asyncio.fixture(loop_scope="module")
async def client(
    site: Site, url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ollama.AsyncClient]:
    """The client takes its key from OLLAMA_API_KEY, or from the headers that it is given."""
    monkeypatch.setenv("OLLAMA_API_KEY", await site.key(*TEAM))
    opened = ollama.AsyncClient(host=url)
    async with opened:
        yield opened


async def ask(client: ollama.AsyncClient, text: str, model: str = MODEL) -> str:
    reply = await client.chat(model, [{"role": "user", "content": text}])
    assert reply.done
    assert reply.done_reason == "stop"
    return reply.message.content or ""


async def test_the_client_chats_and_streams(client: ollama.AsyncClient) -> None:
    before = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "/mix hello"},
        {"role": "assistant", "content": "Hello!"},
    ]
    messages = [*before, {"role": "user", "content": QUESTION}]
    reply = await client.chat(MODEL, messages)
    text = reply.message.content or ""
    assert "Acme Corp ordered 40 pumps from Nordwind in March." in text
    assert "[1]: <http://127.0.0.1" in text
    assert "Zeta" not in text
    assert reply.total_duration
    assert reply.eval_duration is not None
    assert reply.total_duration >= reply.eval_duration
    assert (reply.load_duration, reply.prompt_eval_count, reply.eval_count) == (0, 0, 0)
    streamed = [part async for part in await client.chat(MODEL, messages, stream=True)]
    assert len(streamed) > 2
    assert "".join(part.message.content or "" for part in streamed) == text
    assert [part.done for part in streamed] == [False] * (len(streamed) - 1) + [True]
    assert streamed[-1].done_reason == "stop"
    assert streamed[-1].prompt_eval_duration


async def test_the_client_generates(client: ollama.AsyncClient) -> None:
    text = (await client.generate(MODEL, QUESTION)).response or ""
    assert "Acme Corp ordered 40 pumps" in text
    parts = [part async for part in await client.generate(MODEL, QUESTION, stream=True)]
    assert "".join(part.response or "" for part in parts) == text
    loaded = await client.generate(MODEL)
    assert (loaded.response, loaded.done, loaded.done_reason) == ("", True, "load")


async def test_the_client_lists_and_shows_models(client: ollama.AsyncClient) -> None:
    assert [model.model for model in (await client.list()).models] == [MODEL]
    assert [model.model for model in (await client.ps()).models] == [MODEL]
    shown = await client.show(MODEL)
    assert shown.capabilities == ["completion"]
    assert shown.modelinfo
    assert shown.modelinfo["general.architecture"] == "lightwell"


async def test_modes_of_lightrag_begin_a_message(client: ollama.AsyncClient) -> None:
    answer = await ask(client, QUESTION)
    assert await ask(client, f"/naive {QUESTION}") == answer
    assert await ask(client, f"/mix[answer in rhymes] {QUESTION}") == answer
    assert await ask(client, f"/[answer in rhymes] {QUESTION}") == answer
    passages = await ask(client, f"/context {QUESTION}")
    assert passages.startswith("[1] Orders: http://127.0.0.1")
    assert "/d/" in passages
    assert passages.endswith("Acme Corp ordered 40 pumps from Nordwind in March.")
    assert await ask(client, f"/naivecontext {QUESTION}") == passages
    with pytest.raises(ollama.ResponseError, match="LIGHTWELL_CHAT_URL"):
        await ask(client, f"/bypass {QUESTION}")


async def test_a_task_of_open_webui_is_no_question(site: Site, client: ollama.AsyncClient) -> None:
    count = "SELECT count(*) FROM rag_queries"
    before = await site.keys.database.value(count, {})
    assert json.loads(await ask(client, TITLE)) == {"title": "Who ordered pumps from Nordwind"}
    assert json.loads((await client.generate(MODEL, TITLE)).response or "")["title"]
    assert await site.keys.database.value(count, {}) == before


async def test_what_is_wrong_is_an_error_of_ollama(url: str, client: ollama.AsyncClient) -> None:
    with pytest.raises(ollama.ResponseError, match="There is no model 'llama3'") as missing:
        await ask(client, QUESTION, "llama3")
    assert missing.value.status_code == 404
    with pytest.raises(ollama.ResponseError, match="maximum length"):
        async for _ in await client.chat(
            MODEL, [{"role": "user", "content": "x" * 3000}], stream=True
        ):
            pass
    stranger = ollama.AsyncClient(host=url, headers={"Authorization": "Bearer lw_wrong"})
    async with stranger:
        with pytest.raises(ollama.ResponseError, match="valid API key") as refused:
            await stranger.list()
    assert refused.value.status_code == 401


async def test_curl_says_that_the_body_is_a_form(site: Site) -> None:
    body = json.dumps({"model": "lightwell", "prompt": QUESTION, "stream": False})
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": f"Bearer {await site.key(*TEAM)}",
    }
    reply = await site.client.post("/api/generate", content=body, headers=headers)
    assert "Acme Corp" in reply.json()["response"]
    broken = await site.client.post("/api/generate", content="{", headers=headers)
    assert broken.status_code == 422
    assert broken.json()["error"]


async def test_a_slow_model_is_waited_for_in_lines_and_its_failure_is_one(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is there to say, lines without text keep the connection open."""
    monkeypatch.setattr(event_streams, "PING_SECONDS", 0.01)
    endpoint = FakeEndpoint(
        script=[Behaviour(latency=0.2)], behaviour=Behaviour(latency=0.2, status=400)
    )
    with databases.lent() as url, endpoint.running() as model:
        values = {"chat.url": model.base_url, "chat.model": "fake", "http.compatibility": "ollama"}
        async with open_site(url, values) as site:
            replies: list[list[dict[str, Any]]] = []
            for text in ("/bypass Who are you?", "/bypass And who am I?"):
                body = {"model": MODEL, "prompt": text}
                reply = await site.request("POST", "/api/generate", *TEAM, json=body)
                assert reply.headers["content-type"] == "application/x-ndjson"
                replies.append([json.loads(line) for line in reply.text.splitlines()])
            answered, failed = replies
            assert (answered[0]["response"], answered[0]["done"]) == ("", False)
            assert "understood" in "".join(line["response"] for line in answered)
            assert answered[-1]["done"]
            assert answered[-1]["eval_count"] > 0
            assert failed[0]["response"] == ""
            assert failed[-1].keys() == {"error"}
            listed = (await site.get("/api/tags", *TEAM))["models"]
            assert [each["name"] for each in listed] == [MODEL, "lightwell-look-twice:latest"]
