"""To whom conversations, sessions, logged questions and feedback belong: the person, else the key."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from lightwell.domain.api_keys import Scope, parse_token
from lightwell.domain.directory import PersonChange
from lightwell.knowledge_base.directory import Directory
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import Site, open_site

TAG = "team:sales"
SECRET = "Will Greta Holm be dismissed in May?"  # noqa: S105 - a question
READ = (Scope.READ,)


@pytest.fixture
async def site(databases: Databases) -> AsyncIterator[Site]:
    document = make_document("leave.md", "Everyone has 30 days of leave.", [TAG])
    with databases.lent() as url:
        async with open_site(url, {"http.worker": False}) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=(document,)))
            yield opened


async def new_key(site: Site, *, person: str = "", scopes: tuple[Scope, ...] = READ) -> str:
    _, token = await site.keys.create("default", "k", scopes=scopes, tags=(TAG,), person=person)
    return token.text


async def request(
    site: Site, key: str, method: str, path: str, body: object = None, act_as: str = ""
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    headers |= {"X-Lightwell-Act-As": act_as} if act_as else {}
    return await site.client.request(method, path, headers=headers, json=body)


async def send(
    site: Site, key: str, method: str, path: str, body: object = None, act_as: str = ""
) -> tuple[int, Any]:
    reply = await request(site, key, method, path, body, act_as)
    return reply.status_code, reply.json() if reply.content else None


async def begin(site: Site, key: str, act_as: str = "") -> tuple[str, str, str]:
    """Say and ask something; return the ids of the conversation, the session and the query."""
    session = (await send(site, key, "POST", "/v1/sessions", {}, act_as))[1]["sessionId"]
    said = await request(site, key, "POST", "/v1/chat", {"message": SECRET}, act_as)
    asked = {"query": SECRET, "sessionId": session}
    answer = (await send(site, key, "POST", "/v1/query", asked, act_as))[1]
    return said.headers["X-Conversation-Id"], session, answer["queryId"]


async def sees(site: Site, key: str, ids: tuple[str, str, str], act_as: str = "") -> set[str]:
    """Return which of the three this key gets at."""
    conversation, session, query = ids

    async def status(method: str, path: str, body: object = None) -> int:
        return (await send(site, key, method, path, body, act_as))[0]

    held: set[str] = set()
    listed = (await send(site, key, "GET", "/v1/conversations", None, act_as))[1]
    if conversation in {each["conversationId"] for each in listed["conversations"]}:
        held.add("listed")
    if await status("GET", f"/v1/conversations/{conversation}") == 200:
        held.add("conversation")
    going_on = {"message": "And in June?", "conversationId": conversation}
    if await status("POST", "/v1/chat", going_on) == 200:
        held.add("chat")
    if await status("GET", f"/v1/sessions/{session}") == 200:
        held.add("session")
    listed = (await send(site, key, "GET", "/v1/queries", None, act_as))[1]
    if query in {each["queryId"] for each in listed["queries"]}:
        held.add("queries")
    if await status("POST", "/v1/feedback", {"queryId": query, "rating": 1}) == 201:
        held.add("feedback")
    return held


ALL = {"listed", "conversation", "chat", "session", "queries", "feedback"}


async def test_two_keys_with_the_same_tags_share_nothing(site: Site) -> None:
    one, two = await new_key(site), await new_key(site)
    ids = await begin(site, one)
    assert await sees(site, one, ids) == ALL
    assert await sees(site, two, ids) == set()
    token = parse_token(one)
    assert token is not None
    _, rotated = await site.keys.rotate("default", token.key_id)
    assert await sees(site, rotated.text, ids) == ALL


async def test_keys_of_one_person_and_a_bot_that_acts_for_her_share_all(site: Site) -> None:
    directory = Directory(
        database=site.kb.documents.context.database, project_id=site.kb.project_id
    )
    for email in ("ada@halden.example", "bo@halden.example"):
        await directory.create_person(PersonChange(email=email, acl_tags=frozenset({TAG})))
    bot = await new_key(site, scopes=(Scope.READ, Scope.IMPERSONATE))
    ids = await begin(site, await new_key(site, person="ada@halden.example"))
    assert await sees(site, await new_key(site, person="ada@halden.example"), ids) == ALL
    assert await sees(site, bot, ids, act_as="ada@halden.example") == ALL
    assert await sees(site, bot, ids) == set()
    assert await sees(site, bot, ids, act_as="bo@halden.example") == set()
