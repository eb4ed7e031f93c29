"""The law, over HTTP: whatever a caller asks, the reply is that of a server without the documents that the caller may not see.

One server replies to every case three times: before others put documents into it, with these documents and with what
others made of them, and after they are erased. A route without a case fails `test_every_route_has_a_case`. With the hidden documents there, a person
in a browser who has the same tags asks everything, too, and gets what a key got without them.
"""

import io
import json
import re
import zipfile
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import cycle
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from lightwell.domain.access import Reader
from lightwell.domain.analytics import FeedbackRequest
from lightwell.domain.channels import Bot, Platform
from lightwell.domain.compatibility import Compatibility
from lightwell.domain.directory import PersonChange
from lightwell.domain.document_lists import DocumentOrder
from lightwell.domain.graph import ManualEdit
from lightwell.domain.item_structure import LinkType
from lightwell.domain.web_sessions import Secret
from lightwell.entrypoints.http import page
from lightwell.entrypoints.http.openai_api import LOOKING_TWICE, MODEL
from lightwell.knowledge_base import channel_accounts
from lightwell.knowledge_base.directory import Directory
from lightwell.knowledge_base.invitations import SignInLinks
from lightwell.knowledge_base.web_sessions import WebSessions
from lightwell.testing.endpoint import FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from tests.conftest import Databases
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, open_site

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWN, QUIET, BOARD = ("team:a",), ("team:a", "user:quiet"), ("team:board",)
BOTH = ("team:a", "team:board")
VISIBLE = (
    make_document(
        "v1.md", "Acme Corp ordered pumps from Nordwind in March. Jane Smith signed.", OWN
    ),
    make_document("v2.md", "Nordwind AG sells valves in Tarn Valley. Jane Smith left.", OWN),
    make_document("v3.md", "Jane Smith met Nordwind about ENG-42 and the pumps in Osprey.", OWN),
)
HIDDEN = (
    make_document(
        "h1.md", "Acme Corp owes money to Nordwind for the pumps of Project Falcon.", BOARD
    ),
    make_document("h2.md", "Jane Smith (jane.smith@tern.example) met Zeta in Osprey.", BOARD),
    make_document("h3.md", "Jane Smith (jane.smith@kiel.example) sells nets to Zeta.", BOARD),
    replace(
        make_document(
            "h4.md", "Acme Corp ordered pumps from Zeta in April. Nordwind knows.", BOARD
        ),
        system="linear",
        kind="issue",
        metadata={"author": "Jane Smith-Okafor", "phase": "two"},
    ),
    replace(make_document("h5.md", "Zeta sends an offer for nets.", BOARD), system="upload"),
)
OWED = "What did we promise Acme Corp?"
QUESTIONS = ("Who ordered pumps?", "What does Jane Smith know of Project Falcon?")
DIRECTOR = "director@halden.example"
SECRET_NAMES = ("Project Falcon", "Zeta", "jane.smith@tern.example")


@dataclass(frozen=True)
class Case:
    """One request; `{name}` in it stands for an id that `Ids` knows."""

    path: str
    body: object = None
    who: Sequence[str] = OWN
    query: Mapping[str, object] = field(default_factory=dict[str, object])


def tool(name: str, **arguments: object) -> Case:
    """Return the call of a tool over MCP."""
    call = {"name": name, "arguments": arguments}
    return Case("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})


def user(text: str) -> dict[str, str]:
    """Return a message of the user."""
    return {"role": "user", "content": text}


def named(path: str, *names: str) -> list[Case]:
    return [Case(path.replace("NAME", name)) for name in names]


ENTITIES = ("Acme Corp", "Jane Smith", "Nordwind", "{entity}", *SECRET_NAMES, "{hidden_entity}")
QUESTIONS_OF_SOME = (
    "What did Jane Smith-Okafor write about pumps?",
    "Which issues by Smith-Okafor are about pumps in Linear?",
    "Which pumps are in documents from 2026?",
)
QUESTIONS_ASKED = [{"query": each} for each in QUESTIONS]

CASES: dict[str, list[Case]] = {
    "GET /v1/me": [Case("/v1/me"), Case("/v1/me", who=QUIET)],
    "GET /v1/me/channels": [Case("/v1/me/channels"), Case("/v1/me/channels", who=QUIET)],
    "DELETE /v1/me/channels/{platform}": [Case("/v1/me/channels/telegram")],
    "POST /v1/query": [
        *(Case("/v1/query", each) for each in QUESTIONS_ASKED),
        *(Case("/v1/query", {"query": each}) for each in QUESTIONS_OF_SOME),
        Case("/v1/query", {"query": OWED}),
    ],
    "POST /v1/query/stream": [
        *(Case("/v1/query/stream", each) for each in QUESTIONS_ASKED),
        *(
            Case("/v1/query/stream", {**each, "steps": True, "remember": True})
            for each in QUESTIONS_ASKED
        ),
        Case(
            "/v1/query/stream",
            {**QUESTIONS_ASKED[0], "conversationId": "{hidden_conversation}", "replaces": 0},
        ),
    ],
    "POST /v1/statements": [
        *(Case("/v1/statements", each) for each in QUESTIONS_ASKED),
        Case("/v1/statements", {"query": OWED}),
    ],
    "POST /v1/search": [
        Case("/v1/search", {**each, "topK": 20, "mode": mode})
        for each in QUESTIONS_ASKED
        for mode in ("mix", "naive", "local", "global", "hybrid")
    ]
    + [
        Case("/v1/search", {**QUESTIONS_ASKED[0], "filters": filters})
        for filters in (
            {"type": "document"},
            {"system": ["linear", "file"]},
            {"since": "2020-01-01"},
            {"author": "Ada"},
            {"tag": "team:sales"},
            {"source": "tracker"},
            {"metadata": {"work_state": "open"}},
        )
    ],
    "GET /v1/suggestions": [Case("/v1/suggestions"), Case("/v1/suggestions", who=QUIET)],
    "POST /v1/keywords": [Case("/v1/keywords", QUESTIONS_ASKED[1])],
    "GET /v1/briefs/{name}": named("/v1/briefs/NAME", *ENTITIES),
    "GET /v1/candidates": [Case("/v1/candidates", query={"name": each}) for each in ENTITIES],
    "POST /v1/chat": [
        *(Case("/v1/chat", {"message": each}) for each in QUESTIONS),
        *(Case("/v1/chat", {"message": each, "withCitations": True}) for each in QUESTIONS),
        Case("/v1/chat", {"message": "And why?", "conversationId": "{hidden_conversation}"}),
    ],
    "GET /v1/conversations": [
        Case("/v1/conversations", who=QUIET),
        Case("/v1/conversations", who=QUIET, query={"title": "falcon"}),
    ],
    "GET /v1/conversations/{conversation_id}": [
        Case("/v1/conversations/{conversation}", who=QUIET),
        *named("/v1/conversations/NAME", "{conversation}", "{hidden_conversation}"),
    ],
    "GET /v1/conversations/{conversation_id}/turns": [
        Case("/v1/conversations/{conversation}/turns", who=QUIET),
        *named("/v1/conversations/NAME/turns", "{conversation}", "{hidden_conversation}"),
    ],
    "PATCH /v1/conversations/{conversation_id}": [
        Case("/v1/conversations/{conversation}", {"title": QUESTIONS[0]}, who=QUIET),
        *(
            Case(f"/v1/conversations/{{{name}}}", {"title": "Falcon"})
            for name in ("conversation", "hidden_conversation")
        ),
    ],
    "DELETE /v1/conversations/{conversation_id}": [Case("/v1/conversations/{hidden_conversation}")],
    "POST /v1/chat/completions": [
        Case(
            "/v1/chat/completions",
            {"model": "lightwell", "messages": [{"role": "user", "content": each}]},
        )
        for each in QUESTIONS
    ],
    "POST /v1/responses": [
        Case("/v1/responses", {"model": "lightwell", "input": each}) for each in QUESTIONS
    ],
    "GET /v1/feedback": [
        Case("/v1/feedback", who=QUIET),
        Case("/v1/feedback", query={"queryId": "{hidden_query}"}),
    ],
    "POST /v1/feedback": [Case("/v1/feedback", {"queryId": "{hidden_query}", "rating": 3})],
    "GET /v1/sessions": [Case("/v1/sessions", who=QUIET)],
    "GET /v1/sessions/{session_id}": [
        Case("/v1/sessions/{session}", who=QUIET),
        Case("/v1/sessions/{hidden_session}"),
    ],
    "POST /v1/sessions/{session_id}/end": [Case("/v1/sessions/{hidden_session}/end")],
    "GET /v1/queries": [
        Case("/v1/queries", who=QUIET),
        Case("/v1/queries", query={"sessionId": "{hidden_session}"}),
    ],
    "GET /v1/queries/summary": [
        Case("/v1/queries/summary", who=QUIET),
        Case("/v1/queries/summary", query={"sessionId": "{hidden_session}"}),
    ],
    "GET /v1/queries/{query_id}": [
        Case("/v1/queries/{own_query}", who=QUIET),
        Case("/v1/queries/{hidden_query}"),
    ],
    "GET /v1/graph/entities": [
        Case("/v1/graph/entities", query=each)
        for each in (
            {},
            {"limit": 2},
            {"order": "passages"},
            {"kind": "organization"},
            {"query": "jane"},
            {"query": "falcon"},
            {"passage": "{chunk}"},
            {"passage": "{hidden_chunk}"},
        )
    ],
    "GET /v1/graph/entities/{name}": named("/v1/graph/entities/NAME", *ENTITIES),
    "GET /v1/graph/relations": [
        Case("/v1/graph/relations", query=each)
        for each in ({}, {"limit": 1}, {"passage": "{chunk}"}, {"passage": "{hidden_chunk}"})
    ],
    "GET /v1/graph/neighbourhood": [
        Case("/v1/graph/neighbourhood", query={"entity": each, "depth": 3}) for each in ENTITIES
    ],
    "GET /v1/graph/names": [
        Case("/v1/graph/names", query={"query": each, "limit": 50})
        for each in ("", "n", "o", "nord", "jane", "falcon", "zeta", "tern", *ENTITIES)
    ],
    "GET /v1/graph/map": [
        Case("/v1/graph/map", query={"entity": each, "depth": depth, "limit": limit})
        for each in ENTITIES
        for depth, limit in ((1, 300), (3, 2000), (3, 4))
    ],
    "GET /v1/graph/path": [
        Case("/v1/graph/path", query={"source": source, "target": target})
        for source in ("Acme Corp", "Tarn Valley", "Zeta")
        for target in ENTITIES
    ],
    "GET /v1/graph/profiles/{name}": named("/v1/graph/profiles/NAME", *ENTITIES),
    "GET /v1/graph/merges": [Case("/v1/graph/merges")],
    "GET /v1/graph/splits": [Case("/v1/graph/splits")],
    "GET /v1/graph/proposals": [
        Case("/v1/graph/proposals"),
        *(Case("/v1/graph/proposals", query={"about": each}) for each in ENTITIES),
    ],
    "GET /v1/graph/decisions": [Case("/v1/graph/decisions")],
    "GET /v1/links": [
        Case("/v1/links"),
        *(Case("/v1/links", query={"status": each}) for each in ("proposed", "confirmed")),
        *(Case("/v1/links", query={"about": each}) for each in ENTITIES),
    ],
    "GET /v1/links/{link_id}": named("/v1/links/NAME", "{link}", "{hidden_link}"),
    "POST /v1/links": [
        Case("/v1/links", {"source": one, "target": other, "type": "same_as"})
        for one, other in (("Acme Corp", "Project Falcon"), ("Zeta", "Acme Corp"))
    ],
    "POST /v1/links/propose": [
        Case("/v1/links/propose", {"about": each}) for each in ("", "Acme Corp", "Project Falcon")
    ],
    "POST /v1/links/{link_id}/confirm": [Case("/v1/links/{hidden_link}/confirm")],
    "POST /v1/links/{link_id}/reject": [Case("/v1/links/{hidden_link}/reject")],
    "DELETE /v1/links/{link_id}": [Case("/v1/links/{hidden_link}")],
    "POST /v1/graph/merges": [
        Case("/v1/graph/merges", {"sources": [one], "target": other})
        for one, other in (("Acme Corp", "Project Falcon"), ("Zeta", "Acme Corp"))
    ],
    "DELETE /v1/graph/merges/{merge}": named(
        "/v1/graph/merges/NAME", *SECRET_NAMES, "{hidden_merge}"
    ),
    "POST /v1/graph/proposals/confirm": [
        Case("/v1/graph/proposals/confirm", {"one": "Acme Corp", "other": "Project Falcon"})
    ],
    "POST /v1/graph/proposals/reject": [
        Case("/v1/graph/proposals/reject", {"one": "Acme Corp", "other": "Project Falcon"})
    ],
    "POST /v1/graph/proposals/reopen": [
        Case("/v1/graph/proposals/reopen", {"one": one, "other": "Project Falcon"})
        for one in ("Acme Corp", "Nordwind AG")
    ],
    "POST /v1/graph/splits": [
        Case("/v1/graph/splits", {"entity": "Zeta", "into": "Zeta 2", "documents": ["{document}"]}),
        Case(
            "/v1/graph/splits",
            {"entity": "Jane Smith", "into": "J", "documents": ["{hidden_document}"]},
        ),
    ],
    "DELETE /v1/graph/splits/{split}": named(
        "/v1/graph/splits/NAME", *SECRET_NAMES, "{hidden_split}"
    ),
    "PATCH /v1/graph/entities/{name}": [
        Case(f"/v1/graph/entities/{each}", {"description": "x"})
        for each in (*SECRET_NAMES, "{hidden_entity}")
    ],
    "DELETE /v1/graph/entities/{name}": named(
        "/v1/graph/entities/NAME", *SECRET_NAMES, "{hidden_entity}"
    ),
    "POST /v1/graph/entities/delete": [
        Case("/v1/graph/entities/delete", {"names": ["Acme Corp", "Zeta"]})
    ],
    "POST /v1/graph/entities/restore": [
        Case("/v1/graph/entities/restore", {"name": each}) for each in ("Zeta", "{hidden_entity}")
    ],
    "PUT /v1/graph/relations": [
        Case("/v1/graph/relations", {"source": "Acme Corp", "target": "Project Falcon"})
    ],
    "POST /v1/graph/relations/delete": [
        Case("/v1/graph/relations/delete", {"relations": ["Acme Corp RELATED_TO Zeta"]})
    ],
    "GET /v1/documents": [
        Case("/v1/documents", query=each)
        for each in (
            {},
            {"limit": 1},
            {"tag": "team:board"},
            {"title": "h1"},
            {"status": "active"},
            {"author": "Smith-Okafor"},
            {"metadata": "phase=two", "since": "2020-01-01"},
            *({"order": order, "limit": 2} for order in DocumentOrder),
            {"order": "changed", "descending": True, "limit": 1},
        )
    ],
    "GET /v1/documents/summary": [Case("/v1/documents/summary")],
    "GET /v1/documents/{document}": named(
        "/v1/documents/NAME", "{document_id}", "{hidden_document}"
    ),
    "GET /v1/documents/{document}/text": [
        Case("/v1/documents/{document_id}/text"),
        Case("/v1/documents/{document_id}/text", query={"chunkId": "{hidden_chunk}"}),
        Case("/v1/documents/{hidden_document}/text"),
    ],
    "GET /v1/documents/{document}/original": named(
        "/v1/documents/NAME/original", "{document_id}", "{hidden_document}", "{hidden_upload}"
    ),
    "GET /v1/documents/{document}/pages/{page}.png": [
        *named("/v1/documents/NAME/pages/1.png", "{document_id}", "{hidden_document}"),
        Case("/v1/documents/{hidden_upload}/pages/1.png", query={"quote": "an offer for nets"}),
        Case("/v1/documents/{hidden_upload}/pages/1.png", query={"start": 0, "end": 5}),
    ],
    "GET /v1/documents/{document}/view": [
        Case("/v1/documents/{document_id}/view"),
        Case("/v1/documents/{document_id}/view", query={"start": 5, "end": 9, "limit": 3}),
        Case("/v1/documents/{hidden_document}/view"),
        Case("/v1/documents/{hidden_document}/view", query={"start": 5, "end": 9}),
    ],
    "GET /v1/documents/{document}/audience": named(
        "/v1/documents/NAME/audience", "{document_id}", "{hidden_document}"
    ),
    "GET /v1/documents/{document}/passages": named(
        "/v1/documents/NAME/passages", "{document_id}", "{hidden_document}"
    ),
    "PUT /v1/documents/{document}/passages": [
        Case(
            "/v1/documents/{hidden_document}/passages",
            {"passages": [{"content": "The falcon is paid for. " * 40}]},
        )
    ],
    "PUT /v1/documents/{document}/access": [
        Case("/v1/documents/{hidden_document}/access", {"aclTags": ["team:a"]})
    ],
    "POST /v1/documents/{document}/access/preview": [
        Case("/v1/documents/{hidden_document}/access/preview", {"aclTags": ["team:a"]}),
        Case("/v1/documents/{document_id}/access/preview", {"aclTags": ["team:a"]}),
        Case("/v1/documents/{document_id}/access/preview", {"aclTags": ["team:a", "team:board"]}),
    ],
    "POST /v1/documents/delete/preview": [
        Case("/v1/documents/delete/preview", {"documentIds": ["{document_id}"]}),
        Case(
            "/v1/documents/delete/preview", {"documentIds": ["{document_id}", "{hidden_document}"]}
        ),
    ],
    "DELETE /v1/documents/{document}": [Case("/v1/documents/{hidden_document}")],
    "POST /v1/documents/delete": [
        Case("/v1/documents/delete", {"documentIds": ["{document_id}", "{hidden_document}"]})
    ],
    "GET /v1/jobs": [
        Case("/v1/jobs"),
        Case("/v1/jobs", query={"document": "{hidden_document}"}),
    ],
    "GET /v1/jobs/{job_id}": named("/v1/jobs/NAME", "{job}", "{hidden_job}"),
    "GET /v1/jobs/{job_id}/events": named("/v1/jobs/NAME/events", "{job}", "{hidden_job}"),
    "POST /v1/jobs/{job_id}/cancel": named("/v1/jobs/NAME/cancel", "{job}", "{hidden_job}"),
    "POST /v1/jobs/{job_id}/retry": [Case("/v1/jobs/{hidden_job}/retry")],
    "POST /mcp": [
        *(tool("search", query=each) for each in QUESTIONS),
        *(tool("ask", question=each) for each in QUESTIONS),
        *(tool("fetch", id=each) for each in ("{document}", "{hidden_document}")),
        tool("fetch", id="file:///shelf/h1.md"),
    ],
    "POST /retrieval": [
        Case("/retrieval", {"knowledge_id": each, "query": QUESTIONS[0]})
        for each in ("default", "tag=team:board", "source=tracker", "zeta", "author=Smith-Okafor")
    ],
    "POST /api/chat": [
        Case("/api/chat", {"model": MODEL, "stream": is_stream, "messages": [user(text)]})
        for is_stream in (False, True)
        for text in (*QUESTIONS, *(f"/{mode} {QUESTIONS[1]}" for mode in ("local", "context")))
    ],
    "POST /api/generate": [
        Case("/api/generate", {"model": MODEL, "prompt": each}) for each in QUESTIONS
    ],
    "GET /lightrag/health": [Case("/lightrag/health")],
    "GET /lightrag/auth/verify": [Case("/lightrag/auth/verify")],
    "POST /lightrag/documents/paginated": [
        Case("/lightrag/documents/paginated", {"sort_field": field, **more})
        for field in ("created_at", "updated_at", "id", "file_path")
        for more in (
            {},
            {"page": 2, "page_size": 10},
            {"sort_direction": "asc", "status_filter": "processed"},
        )
    ],
    "GET /lightrag/documents/status_counts": [Case("/lightrag/documents/status_counts")],
    "GET /lightrag/documents/pipeline_status": [Case("/lightrag/documents/pipeline_status")],
    "POST /lightrag/documents/cancel_pipeline": [Case("/lightrag/documents/cancel_pipeline")],
    "GET /lightrag/documents/track_status/{track_id}": [Case("/lightrag/documents/track_status/t")],
    "DELETE /lightrag/documents/delete_document": [
        Case("/lightrag/documents/delete_document", {"doc_ids": ["{hidden_document}"]})
    ],
    "GET /lightrag/graph/label/list": [Case("/lightrag/graph/label/list")],
    "GET /lightrag/graph/label/popular": [
        Case("/lightrag/graph/label/popular", query={"limit": limit}) for limit in (2, 300)
    ],
    "GET /lightrag/graph/label/search": [
        Case("/lightrag/graph/label/search", query={"q": each})
        for each in ("n", "jane", "falcon", "zeta", "tern")
    ],
    "GET /lightrag/graph/entity/exists": [
        Case("/lightrag/graph/entity/exists", query={"name": each}) for each in ENTITIES
    ],
    "GET /lightrag/graphs": [
        Case("/lightrag/graphs", query={"label": each, "max_depth": 3, "max_nodes": limit})
        for each in ("*", *ENTITIES)
        for limit in (3, 1000)
    ],
    "POST /lightrag/graph/entity/edit": [
        Case(
            "/lightrag/graph/entity/edit",
            {"entity_name": each, "updated_data": {"description": "x"}},
        )
        for each in (*SECRET_NAMES, "{hidden_entity}")
    ],
    "POST /lightrag/graph/relation/create": [
        Case(
            "/lightrag/graph/relation/create",
            {"source_entity": "Acme Corp", "target_entity": each, "relation_data": {}},
        )
        for each in SECRET_NAMES
    ],
    "POST /lightrag/graph/relation/edit": [
        Case(
            "/lightrag/graph/relation/edit",
            {"source_id": "Acme Corp", "target_id": each, "updated_data": {"description": "x"}},
        )
        for each in SECRET_NAMES
    ],
    "POST /lightrag/graph/entities/merge": [
        Case(
            "/lightrag/graph/entities/merge",
            {"entities_to_change": ["Acme Corp"], "entity_to_change_into": each},
        )
        for each in SECRET_NAMES
    ],
    "DELETE /lightrag/graph/entity/delete": [
        Case("/lightrag/graph/entity/delete", {"entity_name": each}) for each in SECRET_NAMES
    ],
    "DELETE /lightrag/graph/relation/delete": [
        Case(
            "/lightrag/graph/relation/delete",
            {"source_entity": "Acme Corp", "target_entity": each},
        )
        for each in SECRET_NAMES
    ],
    **{
        f"POST /lightrag/{path}": [
            Case(f"/lightrag/{path}", {**each, **more})
            for each in QUESTIONS_ASKED
            for more in (
                {"include_chunk_content": True},
                {"include_progress": True, "mode": "hybrid"},
                {"only_need_context": True},
            )
        ]
        for path in ("query", "query/stream", "query/data")
    },
    "POST /tools/search": [Case("/tools/search", {"query": each}) for each in QUESTIONS],
    "POST /tools/ask": [Case("/tools/ask", {"question": each}) for each in (*QUESTIONS, OWED)],
    "POST /tools/open": [
        Case("/tools/open", {"document_id": each})
        for each in ("{document_id}", "{hidden_document}", "file:///shelf/h1.md")
    ],
    "GET /v1/exports": [
        Case("/v1/exports", query={"format": each, "chunks": True, "vectors": each == "csv"})
        for each in ("csv", "xlsx", "md", "txt")
    ],
}

WITHOUT_A_CASE = {
    "GET /openapi.json": "describes the routes",
    **dict.fromkeys(
        (f"GET {each.replace(':path', '')}" for each in page.ADDRESSES),
        "the built page: test_page.py",
    ),
    "GET /docs": "shows the description",
    "GET /licences.txt": "a file of the built page: test_page.py",
    "GET /assets/{name}": "a file of the built page: test_page.py",
    "GET /health/live": "says only that the process runs",
    "GET /health/ready": "says only whether the server's components work",
    "GET /.well-known/oauth-protected-resource": "names the issuer of tokens",
    "GET /.well-known/oauth-protected-resource/mcp": "names the issuer of tokens",
    "GET /v1/models": "names fixed models",
    "GET /tools/openapi.json": "describes the tools",
    "GET /api/version": "names a fixed version",
    "GET /api/tags": "names fixed models",
    "GET /api/ps": "names fixed models",
    "POST /api/show": "describes a fixed model",
    "GET /v1/sign-in": "says only how one can sign in",
    "GET /v1/sign-in/oidc": "sends the browser to the issuer: test_oidc_sign_in.py",
    "GET /v1/sign-in/oidc/callback": "begins a session or does not: test_oidc_sign_in.py",
    "POST /v1/sign-in/key": "begins a session or does not: test_web_sessions.py",
    "POST /v1/sign-in/link": "begins a session or does not: test_web_sessions.py",
    "POST /v1/sign-out": "ends a session",
    "POST /v1/me/channels/{platform}": "makes a code of one's own: test_channel_linking.py",
    "POST /v1/sessions": "opens an empty session",
    "POST /v1/webhooks/slack": "replies only whether Slack signed it: test_slack_http.py",
    "POST /v1/webhooks/telegram": "replies only whether Telegram sent it: test_telegram_http.py",
    "POST /v1/webhooks/{source_id}": "replies only whether the webhook is genuine: test_sources.py",
    "POST /v1/documents": "makes a document of its own: test_http_documents.py",
    "POST /v1/documents/ingest": "makes a document of its own: test_http_documents.py",
    "POST /v1/graph/entities": "a guessed name confirms nothing: test_noninterference.py",
    "POST /lightrag/graph/entity/create": "a guessed name confirms nothing: test_noninterference.py",
    "GET /lightrag/ui/customization": "says only how to sign in",
    "GET /lightrag/auth-status": "says only that one has to sign in",
    "POST /lightrag/login": "says only whether a key is good: test_lightrag.py",
    "GET /lightrag/documents/supported_file_types": "names fixed types",
    **dict.fromkeys(
        ("POST /lightrag/documents/scan", "POST /lightrag/documents/reprocess_failed"),
        "enqueues one's own jobs: test_lightrag.py",
    ),
    **dict.fromkeys(
        (f"POST /lightrag/documents/{each}" for each in ("upload", "text", "texts")),
        "makes a document of its own: test_lightrag.py",
    ),
    **dict.fromkeys(
        (
            "DELETE /lightrag/documents",
            "POST /lightrag/documents/clear_cache",
        ),
        "refuses: test_lightrag.py",
    ),
}
FOR_ADMINISTRATORS = ("/v1/admin/", "/v1/analytics/", "/v1/sources", "/metrics")
"""They see people, keys, and the figures of all users. `test_administration_needs_the_scope` keeps others out."""


@dataclass(frozen=True)
class Ids:
    """What cases name: own things, and those of others, which have random ids while they do not exist."""

    own: Mapping[str, str]
    hidden: Mapping[str, str]

    def fill(self, text: str) -> str:
        """Return the text with ids for their names."""
        for name, known in (*self.own.items(), *self.hidden.items()):
            text = text.replace(f"{{{name}}}", known)
        return text


VARYING = re.compile(
    r'"(requestId|queryId|conversationId|latencyMs|ms|totalDuration|created|created_at|response_time|\w+_duration|\w+Ms)":\s*("[^"]*"|[\d.]+|null)'
)
OF_THE_REQUEST = frozenset(("x-request-id", "x-query-id", "x-conversation-id", "content-length"))
WHO_IS_SIGNED_IN = (
    "GET /v1/me",
    "GET /v1/me/channels",
    "DELETE /v1/me/channels/{platform}",
    "GET /v1/documents/{document}/audience",
)
"""Their replies say who asks; those to a session are compared with the same session's, and not with a key's."""


async def with_key(site: Site, who: Sequence[str]) -> dict[str, str]:
    """Return what a program shows that has these tags."""
    return {"Authorization": f"Bearer {await site.key(*who, scopes=ALL_BUT_ADMIN)}"}


async def in_browser(site: Site, who: Sequence[str]) -> dict[str, str]:
    """Return what the page sends for a person who has these tags, and is signed in."""
    if ("session", who) not in site.made:
        directory = Directory(database=site.keys.database, project_id=site.kb.project_id)
        change = PersonChange(
            email=f"p{len(site.made)}@halden.example",
            acl_tags=frozenset(who),
            scopes=frozenset(ALL_BUT_ADMIN),
        )
        person = await directory.create_person(change)
        _, link = await SignInLinks(directory=directory).create(str(person.id), timedelta(1))
        sessions = WebSessions(database=site.keys.database, tenant="default")
        secret = await sessions.redeem(link.text, "")
        assert secret is not None
        site.made["session", who] = secret.text
    secret = Secret(site.made["session", who])
    return {
        "Cookie": f"lightwell_session_80={secret.text}",
        "Origin": "http://localhost",
        "X-CSRF-Token": secret.csrf_token,
    }


Reply = tuple[int, dict[str, str], str]
"""The status, headers and text."""
Shown = Callable[[Site, Sequence[str]], Awaitable[dict[str, str]]]


async def reply_to(site: Site, route: str, case: Case, ids: Ids, shown: Shown = with_key) -> Reply:
    """Return all that the caller is told, without what differs from request to request."""
    reply = await site.client.request(
        route.partition(" ")[0],
        ids.fill(case.path),
        headers={"Accept": "application/json, text/event-stream", **await shown(site, case.who)},
        params=json.loads(ids.fill(json.dumps({**case.query}))),
        json=json.loads(ids.fill(json.dumps(case.body))),
    )
    if reply.headers["content-type"] == "application/zip":
        packed = zipfile.ZipFile(io.BytesIO(reply.content))
        text = "\n".join(packed.read(name).decode() for name in packed.namelist())
    else:
        text = reply.content.decode("latin-1")
    for name, hidden in ids.hidden.items():
        text = text.replace(hidden, name)
    text = re.sub(
        r"(chatcmpl-|resp_|msg_)\w+|^id: \w+", "", VARYING.sub(r'"\1"', text), flags=re.MULTILINE
    )
    headers = {name: each for name, each in reply.headers.items() if name not in OF_THE_REQUEST}
    return reply.status_code, headers, text


async def own_ids(site: Site) -> dict[str, str]:
    """Return ids of what the caller has, and of what a quiet user of the same team asked."""
    reader = await site.kb.reader(OWN)
    quiet = await site.kb.reader(QUIET)
    turn = await site.kb.questions.chat(QUESTIONS[0], quiet)
    session = await site.kb.analytics.begin_session(quiet)
    rating = FeedbackRequest(query_id=turn.query_id, rating=4, comment="Right.")
    await site.kb.analytics.give_feedback(quiet, rating)
    document = await site.kb.documents.get(reader, "file:///shelf/v1.md")
    (chunk,) = await site.kb.documents.chunks(reader, document.url)
    entity = (await site.kb.graph.entity(reader, "Acme Corp")).entity
    link = await site.kb.graph.links.add(reader, "Acme Corp", "Jane Smith", LinkType.RELATED_TO)
    return {
        "link": str(link.id),
        "conversation": str(turn.conversation_id),
        "own_query": str(turn.query_id),
        "session": str(session.id),
        "document": document.url,
        "document_id": str(document.id),
        "job": str(next(iter(await site.kb.jobs.list(reader, document=document.url))).id),
        "chunk": chunk.ref,
        "entity": str(entity.id),
    }


HIDDEN_IDS = (
    "hidden_document hidden_chunk hidden_entity hidden_conversation hidden_query hidden_session "
    "hidden_merge hidden_split hidden_job hidden_link hidden_upload"
).split()


async def hidden_ids(site: Site, both: Reader) -> dict[str, str]:
    """Let others ask, merge, split, reject and edit, and return the ids of what they have."""
    board, graph = await site.kb.reader(BOARD), site.kb.graph
    turn = await site.kb.questions.chat(QUESTIONS[1], board)
    session = await site.kb.analytics.begin_session(board)
    document = await site.kb.documents.get(board, "file:///shelf/h1.md")
    (chunk,) = await site.kb.documents.chunks(board, document.url)
    split = await graph.split(board, "Zeta", "Zeta Kiel", documents=["file:///shelf/h3.md"])
    entity = (await graph.entity(board, "Zeta")).entity
    job = next(iter(await site.kb.jobs.list(board, document=document.url)))
    uploaded = await site.kb.originals.get(board, "file:///shelf/h5.md")
    await graph.edit(board, "Acme Corp", ManualEdit(description="Owes money."))
    await graph.reject(both, "Nordwind AG", "Project Falcon")
    directory = Directory(database=site.keys.database, project_id=site.kb.project_id)
    await directory.change_person(DIRECTOR, PersonChange(external_ids={"telegram": "77"}))
    link = await graph.links.add(both, "Acme Corp", "Zeta", LinkType.SAME_AS)
    merge = await graph.merge(both, ["Acme Corp"], "Project Falcon")
    return {
        "hidden_link": str(link.id),
        "hidden_document": str(document.id),
        "hidden_chunk": str(chunk.id),
        "hidden_entity": str(entity.id),
        "hidden_conversation": str(turn.conversation_id),
        "hidden_query": str(turn.query_id),
        "hidden_session": str(session.id),
        "hidden_merge": str(merge.merge_id),
        "hidden_split": str(split.split_id),
        "hidden_job": str(job.id),
        "hidden_upload": str(uploaded.document),
    }


Replies = dict[tuple[str, int], Reply]


@dataclass(frozen=True)
class Seen:
    """Every reply, before, with and after the hidden documents."""

    before: Replies
    between: Replies
    after: Replies
    names_before: Replies
    in_browser: Replies


async def replies(
    site: Site, ids: Ids, shown: Shown = with_key, only: Collection[str] = CASES
) -> Replies:
    return {
        (route, number): await reply_to(site, route, case, ids, shown)
        for route in only
        for number, case in enumerate(CASES[route])
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(databases: Databases) -> AsyncIterator[Site]:
    with databases.lent() as url:
        async with open_site(url, {"http.compatibility": ",".join(Compatibility)}) as opened:
            await opened.kb.ingestion.ingest(InMemorySource(documents=VISIBLE))
            database = opened.keys.database
            directory = Directory(database=database, project_id=opened.kb.project_id)
            change = PersonChange(email=DIRECTOR, acl_tags=frozenset(BOARD))
            await directory.create_person(change)
            bot = Bot(platform=Platform.TELEGRAM, name="halden_bot")
            await channel_accounts.note_bot(database, opened.kb.project_id, bot)
            await database.execute("UPDATE channel_bots SET seen_at = now() + interval '1 day'", {})
            yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(site: Site) -> Seen:
    for who in {case.who for cases in CASES.values() for case in cases}:
        for shown in (with_key, in_browser):  # some replies count people and keys
            await shown(site, who)
    own = await own_ids(site)
    nothing = Ids(own, {name: str(uuid4()) for name in HIDDEN_IDS})
    before = await replies(site, nothing)
    names_before = await replies(site, nothing, in_browser, WHO_IS_SIGNED_IN)
    await site.kb.ingestion.ingest(InMemorySource(documents=(*VISIBLE, *HIDDEN)))
    both = await site.kb.reader(BOTH)
    ids = Ids(own, await hidden_ids(site, both))
    between = await replies(site, ids)
    by_session = await replies(site, ids, in_browser)
    await site.kb.documents.erase(both, [each.url for each in HIDDEN])
    return Seen(before, between, await replies(site, ids), names_before, by_session)


def routes(site: Site) -> Iterator[str]:
    """Yield every method and path that the application serves."""
    pending: list[Any] = [*site.app.routes]
    while pending:
        each = pending.pop()
        pending += getattr(getattr(each, "original_router", each), "routes", ())
        for method in {*(getattr(each, "methods", None) or ())} - {"HEAD"}:
            yield f"{method} {each.path_format}"


async def test_every_route_has_a_case(site: Site) -> None:
    there = {each for each in routes(site) if not each.split()[1].startswith(FOR_ADMINISTRATORS)}
    assert len(there) > len(CASES) / 2
    assert sorted(there - CASES.keys() - WITHOUT_A_CASE.keys()) == []
    assert sorted((CASES.keys() | WITHOUT_A_CASE.keys()) - there) == []


async def test_administration_needs_the_scope(site: Site) -> None:
    for each in routes(site):
        method, path = each.split()
        if path.startswith(FOR_ADMINISTRATORS):
            reply = await site.request(method, path, *OWN, scopes=ALL_BUT_ADMIN, json={})
            assert reply.status_code in {403, 422}, each


@pytest.mark.parametrize("route", CASES)
async def test_a_caller_feels_nothing_invisible(seen: Seen, route: str) -> None:
    for number, case in enumerate(CASES[route]):
        key = route, number
        assert seen.between[key] == seen.before[key], case
        assert seen.after[key] == seen.before[key], case


@pytest.mark.parametrize("route", CASES)
async def test_a_person_in_a_browser_gets_what_a_key_with_the_same_tags_gets(
    seen: Seen, route: str
) -> None:
    """While the hidden documents are there; so a session feels nothing invisible, either."""
    for number, case in enumerate(CASES[route]):
        key = route, number
        if route in WHO_IS_SIGNED_IN:
            assert seen.in_browser[key] == seen.names_before[key], case
        else:
            assert uncached(seen.in_browser[key]) == uncached(seen.before[key]), case


def uncached(reply: Reply) -> Reply:
    """Return a reply without the header that keeps what a person gets out of caches."""
    status, headers, text = reply
    return status, {name: each for name, each in headers.items() if name != "cache-control"}, text


async def test_the_view_would_feel_a_visible_document(site: Site, seen: Seen) -> None:
    """A document of the caller's own changes most lists: the comparison is not blind."""
    more = make_document("v4.md", "Acme Corp ordered pumps from Zeta in Project Falcon.", OWN)
    await site.kb.ingestion.ingest(InMemorySource(documents=(*VISIBLE, more)))
    ids = Ids(await own_ids(site), {name: str(uuid4()) for name in HIDDEN_IDS})
    for route in ("POST /v1/search", "GET /v1/graph/entities", "GET /v1/candidates"):
        now = [await reply_to(site, route, case, ids) for case in CASES[route]]
        then = [seen.before[route, number] for number in range(len(now))]
        assert now != then


LOOKS = (
    '{"action": "search", "query": "What does Acme Corp owe in Project Falcon?"}',
    '{"action": "neighbours", "query": "Zeta"}',
    '{"action": "find", "query": "falcon", "passage": 1}',
    '{"action": "open", "passage": 2}',
    '{"action": "answer"}',
    '{"answerable": true, "sentences": [{"quotes": ["Acme Corp ordered pumps from Nordwind in March."], "text": "Acme Corp ordered pumps from Nordwind in March."}]}',
)


ASKED_TWICE: dict[str, dict[str, object]] = {
    "query": {"query": QUESTIONS[0], "lookTwice": True},
    "query/stream": {"query": QUESTIONS[0], "lookTwice": True},
    "chat": {"message": QUESTIONS[0], "lookTwice": True},
    "chat/completions": {
        "model": LOOKING_TWICE,
        "messages": [{"role": "user", "content": QUESTIONS[0]}],
    },
    "responses": {"model": LOOKING_TWICE, "input": QUESTIONS[0]},
}
OF_THIS_RUN = re.compile(
    r"(?:chatcmpl-|resp_|msg_)\w+|\w{8}-[\w-]{27}|^id: .*|\d{4}-\d\d-\d\dT[^\"]*|\"created_at\":\d+",
    re.MULTILINE,
)


async def test_a_model_that_looks_twice_is_shown_nothing_invisible(databases: Databases) -> None:
    """It asks for what only the hidden documents have, and gets what a server without them gives, in all forms of asking."""
    shown: list[list[object]] = []
    for documents in (VISIBLE, (*VISIBLE, *HIDDEN)):
        looks = cycle(LOOKS)
        endpoint = FakeEndpoint(lambda _, looks=looks: next(looks))
        with databases.lent() as url, endpoint.running() as model:
            models = {"chat.url": model.base_url, "chat.model": "fake", "http.worker": False}
            async with open_site(url, models) as site:
                await site.kb.ingestion.ingest(InMemorySource(documents=documents))
                replies: list[tuple[str, str]] = []
                for path, body in ASKED_TWICE.items():
                    reply = await site.request("POST", f"/v1/{path}", *OWN, json=body)
                    assert reply.status_code == 200, reply.text
                    assert "ordered pumps" in reply.text
                    calls = reply.headers.get("X-Token-Usage-Calls", "6")
                    replies.append((calls, VARYING.sub("", OF_THIS_RUN.sub("", reply.text))))
                assert {calls for calls, _ in replies} == {"6"}
                listed = (await site.get("/v1/models", *OWN))["data"]
                assert [each["id"] for each in listed] == [MODEL, LOOKING_TWICE]
        shown.append([*replies, [request.body["messages"] for request in model.requests]])
    for told, due in zip(*shown, strict=True):
        assert told == due


async def test_looking_twice_without_a_model_is_refused(site: Site) -> None:
    for path, body in ASKED_TWICE.items():
        reply = await site.request("POST", f"/v1/{path}", *OWN, json=body)
        assert (reply.status_code, "LIGHTWELL_CHAT_URL" in reply.text) == (422, True), path
    assert [each["id"] for each in (await site.get("/v1/models", *OWN))["data"]] == [MODEL]
