"""Statements, search, keywords, briefs, candidates, chat and conversations over HTTP."""

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from lightwell.domain.chat import NO_INFORMATION
from lightwell.domain.errors import Invalid
from lightwell.testing.endpoint import FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISCOUNT = "Nordwind Energie receives a discount of 18 percent on all items."
DOCUMENTS = (
    make_document("contract.md", DISCOUNT, ["team:sales"], title="Contract"),
    make_document(
        "promise.md", "We promised Nordwind Energie delivery by 3 March 2026.", ["team:sales"]
    ),
    make_document("a.md", "Jane Smith (jane.smith@acme.example) leads the dam.", ["team:sales"]),
    make_document("b.md", "Jane Smith (jane.smith@tern.example) sells nets.", ["team:sales"]),
)
QUESTION = "What discount does Nordwind Energie receive?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
            yield opened


async def post(site: Site, path: str, body: object, *tags: str) -> Any:
    reply = await site.request("POST", path, *(tags or ("team:sales",)), json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_s2_13_statements_have_citations(site: Site) -> None:
    found = await post(site, "/v1/statements", {"query": "What did we promise about deadlines?"})
    assert found["statements"]
    for each in found["statements"]:
        assert each["citations"]
    nothing = await post(site, "/v1/statements", {"query": "What did we promise?"}, "team:support")
    assert (nothing["statements"], nothing["confidence"]) == ([], "insufficient")


async def test_a_search_lists_passages_with_scores(site: Site) -> None:
    found = await post(site, "/v1/search", {"query": QUESTION, "topK": 2})
    assert found["results"][0]["content"] == DISCOUNT
    assert len(found["results"]) <= 2
    assert (await post(site, "/v1/search", {"query": QUESTION}, "team:x"))["results"] == []


async def test_s3_9_the_messages_are_those_of_the_specification(site: Site) -> None:
    wrong: list[tuple[str, dict[str, object], str]] = [
        ("query", {"query": " "}, "Query cannot be empty"),
        ("query", {"query": "x" * 2001}, "Query exceeds maximum length"),
        ("search", {"query": "x", "topK": 0}, "topK must be between 1 and 20"),
        ("statements", {"query": "x", "topK": 21}, "topK must be between 1 and 20"),
        ("chat", {"message": " "}, "Message cannot be empty"),
        ("chat", {"message": "x" * 2001}, "Message exceeds maximum length"),
    ]
    for path, body, message in wrong:
        reply = await site.request("POST", f"/v1/{path}", "team:sales", json=body)
        assert (reply.status_code, reply.json()["detail"]) == (422, message)
    reply = await site.request(
        "POST", "/v1/search", "team:sales", json={"query": "x", "mode": "bypass"}
    )
    assert reply.status_code == 422


async def test_keywords_of_a_question(site: Site) -> None:
    found = await post(site, "/v1/keywords", {"query": QUESTION})
    assert found["byModel"] is False
    assert "Nordwind Energie" in " ".join(found["lowLevelKeywords"])


async def test_s2_12_a_brief_is_cited_and_s2_14_an_ambiguous_name_gives_a_pick_list(
    site: Site,
) -> None:
    brief = await site.get("/v1/briefs/Nordwind Energie", "team:sales")
    assert brief["entity"]["entityName"] == "Nordwind Energie"
    assert brief["citations"]
    several = await site.get("/v1/briefs/Jane Smith", "team:sales")
    assert len(several["candidates"]) == 2
    refs = [each["entityRef"] for each in several["candidates"]]
    picked = await site.get(f"/v1/briefs/{refs[0]}", "team:sales")
    assert picked["entity"]["entityRef"] == refs[0]
    same = await site.get("/v1/candidates", "team:sales", name="Jane Smith")
    assert [each["entityRef"] for each in same["candidates"]] == refs
    assert (await site.get("/v1/candidates", "team:x", name="Jane Smith"))["candidates"] == []
    hidden = await site.request("GET", "/v1/briefs/Jane Smith", "team:x")
    assert hidden.status_code == 404


async def test_s4_1_a_chat_response_has_exactly_the_keys_of_the_specification(site: Site) -> None:
    reply = await site.request("POST", "/v1/chat", "team:sales", json={"message": QUESTION})
    found = reply.json()
    assert list(found) == [
        "response", "messages", "sources", "model", "totalDuration", "promptEvalCount", "evalCount",
    ]  # fmt: skip
    source = found["sources"][0]
    assert list(source) == ["id", "chunkText", "chunkIndex", "source", "distance"]
    assert (source["chunkText"], source["chunkIndex"]) == (DISCOUNT, 0)
    assert found["promptEvalCount"] is None
    assert [each["role"] for each in found["messages"]] == ["user", "assistant"]
    own = reply.headers["X-Conversation-Id"]
    body = {"message": "And who owns it?", "conversationId": own}
    again = await site.request("POST", "/v1/chat", "team:sales", json=body)
    assert again.headers["X-Conversation-Id"] == own
    assert len(again.json()["messages"]) == 4


async def test_s4_2_without_a_document_the_sources_are_empty_and_not_null(site: Site) -> None:
    found = await post(site, "/v1/chat", {"message": QUESTION}, "team:x")
    assert (found["response"], found["sources"]) == (NO_INFORMATION, [])


async def test_s4_2_what_the_graph_states_has_explicit_nulls(site: Site) -> None:
    found = await post(site, "/v1/chat", {"message": "What do you know about Nordwind Energie?"})
    stated = [each for each in found["sources"] if each["source"] == "LightRAG Answer"]
    for each in stated:
        assert (each["id"], each["chunkIndex"], each["distance"]) == (None, None, None)


async def test_s4_3_another_project_is_not_found_and_a_malformed_one_is_invalid(site: Site) -> None:
    own = {"message": QUESTION, "projectId": str(site.kb.project_id)}
    await post(site, "/v1/chat", own)
    for wrong, status in ((str(uuid4()), 404), ("mine", 422)):
        body = {"message": QUESTION, "projectId": wrong}
        reply = await site.request("POST", "/v1/chat", "team:sales", json=body)
        assert reply.status_code == status


async def test_conversations_are_listed_page_by_page_read_and_deleted_by_their_owner(
    site: Site,
) -> None:
    for number in range(3):
        await post(site, "/v1/chat", {"message": f"Hello {number}"}, "user:ada", "team:sales")
    owner = ("user:ada", "team:sales")
    titles: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await site.get("/v1/conversations", *owner, limit=2, after=after)
        titles += [each["title"] for each in page["conversations"]]
        after = page["nextAfter"]
    assert titles == ["Hello 2", "Hello 1", "Hello 0"]
    first = (await site.get("/v1/conversations", *owner))["conversations"][0]["conversationId"]
    path = f"/v1/conversations/{first}"
    assert len((await site.get(path, *owner))["messages"]) == 2
    for method in ("GET", "DELETE"):
        assert (await site.request(method, path, "team:sales")).status_code == 404
    assert (await site.request("DELETE", path, *owner)).status_code == 204
    assert (await site.request("GET", path, *owner)).status_code == 404
    wrong = await site.request("GET", "/v1/conversations", *owner, params={"after": "x"})
    assert wrong.status_code == 422


async def test_s3_14_a_question_over_http_leaves_no_plain_text_in_analytics(site: Site) -> None:
    asked = {"query": "Which zirconium discount does Nordwind Energie receive?"}
    query = (await post(site, "/v1/query", asked, "user:zenobia", "team:sales"))["queryId"]
    rated = {"queryId": query, "rating": 5}
    given = await site.request("POST", "/v1/feedback", "user:zenobia", "team:sales", json=rated)
    assert given.status_code == 201
    for table in ("rag_queries", "retrieval_metrics", "analytics_sessions", "feedback_events"):
        rows = await site.keys.database.rows(
            f"SELECT to_jsonb(kept)::text FROM {table} AS kept", {}
        )
        assert rows, table
        assert not [row for row in rows if "zirconium" in row[0] or "zenobia" in row[0]], table


async def test_unknown_filters_are_refused(site: Site) -> None:
    reply = await site.request("GET", "/v1/conversations", "team:sales", params={"page": "2"})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_request")


async def test_s1_1_what_a_model_cost_is_in_the_headers(databases: Databases) -> None:
    with databases.lent() as url, FakeEndpoint().running() as endpoint:
        models = {
            "chat.url": endpoint.base_url,
            "chat.model": "fake",
            "ingestion.extraction": "model",
            "http.worker": False,
        }
        async with open_site(url, models) as site:
            await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS[:2]))
            for path, body in (
                ("query", {"query": QUESTION}),
                ("query", {"query": QUESTION, "withUnsupported": True}),
                ("statements", {"query": QUESTION}),
                ("chat", {"message": QUESTION}),
                (
                    "chat/completions",
                    {"model": "lightwell", "messages": [{"role": "user", "content": QUESTION}]},
                ),
                ("responses", {"model": "lightwell", "input": QUESTION}),
            ):
                reply = await site.request("POST", f"/v1/{path}", "team:sales", json=body)
                assert reply.status_code == 200, reply.text
                assert int(reply.headers.get("X-Token-Usage-Calls", 0)) >= 1, (path, reply.text)
                assert int(reply.headers["X-Token-Usage-Input"]) > 0
                if path == "query":
                    was_asked_for = body.get("withUnsupported") is True
                    assert reply.json()["unsupported"] == ["understood"] * was_asked_for
                kinds = ("Query", "Keyword-Extraction", "Ingestion", "Summarization", "Rerank")
                spent = [int(reply.headers.get(f"X-Token-Usage-{each}", 0)) for each in kinds]
                assert spent[0] > 0
                assert sum(spent) == sum(
                    int(reply.headers[f"X-Token-Usage-{each}"]) for each in ("Input", "Output")
                )


_TOO_LONG = """
    WITH lengthened AS (
        UPDATE profiles SET description = repeat('more ' || clock_timestamp()::text || ' | ', 500), updated_at = now() + interval '1 minute'
        WHERE subject = 'entity' RETURNING subject_id, class_id
    )
    INSERT INTO long_profiles (subject_id, class_id, project_id)
    SELECT subject_id, class_id, project_id FROM lengthened JOIN entities ON entity_id = subject_id
    ON CONFLICT DO NOTHING RETURNING 1
"""


async def test_s1_1_what_a_correction_costs_is_in_the_headers_of_who_sees_it(
    databases: Databases,
) -> None:
    """Descriptions that became too long are summarised after each correction: only the caller's own ones count."""
    with databases.lent() as url, FakeEndpoint().running() as endpoint:
        models = {
            "chat.url": endpoint.base_url,
            "chat.model": "fake",
            "ingestion.extraction": "model",
            "http.worker": False,
        }
        async with open_site(url, models) as site:
            await site.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS[:2]))

            async def cost(method: str, path: str, tag: str, **more: Any) -> int:
                await site.keys.database.rows(_TOO_LONG, {})
                reply = await site.request(method, f"/v1/{path}", tag, scopes=ALL_BUT_ADMIN, **more)
                assert reply.status_code in (200, 201), reply.text
                return int(reply.headers.get("X-Token-Usage-Calls", 0))

            plant = {"name": "Osprey Plant", "kind": "site"}
            # Nobody else's descriptions are told: team:other sees none of those that become too long.
            assert await cost("POST", "graph/entities", "team:other", json=plant) == 0
            assert await cost("POST", "graph/entities", "team:sales", json=plant) >= 1
            path, edit = "graph/entities/Osprey Plant", {"description": "A plant."}
            assert await cost("PATCH", path, "team:sales", json=edit) >= 1
            body = {"documentIds": [DOCUMENTS[0].url]}
            assert await cost("POST", "documents/delete", "team:sales", json=body) >= 1


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_greeting_over_openais_api_is_greeted_as_in_a_chat(
    site: Site, *, is_streamed: bool
) -> None:
    hello = "Hello! Ask me about your documents."
    messages = [{"role": "user", "content": "hello!"}]
    for path, body in (
        ("chat/completions", {"messages": messages}),
        ("responses", {"input": "hello!"}),
    ):
        asked = {"model": "lightwell", "stream": is_streamed, **body}
        reply = await site.request("POST", f"/v1/{path}", "team:sales", json=asked)
        assert reply.status_code == 200
        assert hello in reply.text
        assert "url_citation" not in reply.text


async def test_half_a_character_in_an_earlier_message_or_a_clients_prompt_is_left_out(
    site: Site,
) -> None:
    """A page that shortens what was said cuts an emoji in two, and sends it again with each question."""
    said = ({"role": "user", "content": QUESTION}, {"role": "assistant", "content": "18\ud83d"})
    title = f'# Title\n{{"title": ""}}\n<chat_history>\nUSER: {QUESTION}\ud83d\n</chat_history>'
    for messages in (
        [*said, {"role": "user", "content": "And until when?"}],
        [{"role": "user", "content": title}],
    ):
        body = json.dumps({"model": "lightwell", "messages": messages})
        headers = {"Content-Type": "application/json"}
        reply = await site.request(
            "POST", "/v1/chat/completions", "team:sales", content=body, headers=headers
        )
        assert reply.status_code == 200, reply.text


async def test_a_clients_prompt_for_a_title_is_no_question(site: Site) -> None:
    text = (
        '### Task:\nGenerate a title.\n### Output:\nJSON format: { "title": "here" }\n'
        f"{'- Be brief. ' * 300}\n### Chat History:\n<chat_history>\nUSER: {QUESTION}\n</chat_history>"
    )
    body = {"model": "lightwell", "messages": [{"role": "user", "content": text}]}
    logged = await site.request("GET", "/v1/analytics/summary", scopes=("read", "admin"))
    reply = await post(site, "/v1/chat/completions", body)
    title = json.loads(reply["choices"][0]["message"]["content"])["title"]
    assert QUESTION.startswith(title)
    streamed = await site.request(
        "POST", "/v1/chat/completions", "team:sales", json={**body, "stream": True}
    )
    *chunks, last = [
        json.loads(line.removeprefix("data: "))
        for line in streamed.text.splitlines()
        if "{" in line
    ]
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == json.dumps(
        {"title": title}
    )
    assert last["choices"][0]["finish_reason"] == "stop"
    assert (
        await site.request("GET", "/v1/analytics/summary", scopes=("read", "admin"))
    ).text == logged.text
    other = await site.request(
        "POST", "/v1/chat/completions", "team:sales", json={**body, "model": "gpt-4"}
    )
    assert other.status_code == 404


async def test_a_chat_returns_its_citations_where_they_are_wanted(site: Site) -> None:
    body = {"message": QUESTION, "withCitations": True}
    cited = await post(site, "/v1/chat", body)
    assert cited["citations"][0]["snippet"] == DISCOUNT
    assert (cited["nearest"], cited["notes"], cited["ambiguousNames"]) == ([], [], [])
    other = await post(site, "/v1/chat", body, "team:x")
    assert (other["citations"], other["nearest"]) == ([], [])


async def test_a_list_of_tags_is_no_reader(site: Site) -> None:
    tags: Any = ["team:sales"]
    with pytest.raises(Invalid, match=r"await kb\.reader"):
        await site.kb.questions.ask(QUESTION, tags)
    with pytest.raises(Invalid, match=r"await kb\.reader"):
        await site.kb.questions.search(QUESTION, tags)
