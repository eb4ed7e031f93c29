"""The interface's description beside the specification: each field with its default and range; and that every route counts."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.http.app import create_app
from lightwell.settings import Settings
from tests.entrypoints.http_site import ALL_BUT_ADMIN, Site, open_site

SCHEMAS: dict[str, Any] = create_app(Settings()).openapi()["components"]["schemas"]
UNCOUNTED = ("/health", "/v1/webhooks", "/.well-known", "/metrics", "/v1/sign-")
"""What needs no key, or has its own: probes, other systems' events, where tokens come from, and how one signs in and out."""
ID = "019f0000-0000-7000-8000-000000000000"


@pytest.fixture
async def limited(database_url: str) -> AsyncIterator[Site]:
    async with open_site(database_url, {"server.key_requests_per_minute": 1}) as site:
        yield site


def field(schema: str, name: str) -> dict[str, Any]:
    return SCHEMAS[schema]["properties"][name]


@pytest.mark.parametrize(
    ("schema", "required", "optional"),
    [
        ("AnswerQuestionBody", {"query"}, {"sessionId", "topK", "includeGraph", "topicFilter"}),
        (
            "Answer",
            {"queryId", "answer", "citations", "confidence", "metadata"},
            set[str](),
        ),
        (
            "Citation",
            {"id", "chunkId", "documentTitle", "documentUrl", "snippet", "relevanceScore"},
            set[str](),
        ),
        (
            "AnswerMetadata",
            {"queryId", "totalTokens", "citationCount", "confidence", "vectorResultCount"}
            | {"graphResultCount", "latencyMs"},
            set[str](),
        ),
        ("IngestBody", {"documentUrl"}, {"title", "format", "metadata"}),
        (
            "IngestJob",
            {"jobId", "documentId", "status", "estimatedChunks"},
            set[str](),
        ),
        (
            "Job",
            {"jobId", "documentId", "status", "progress", "totalChunks", "processedChunks"}
            | {"errorMessage"},
            set[str](),
        ),
        ("GiveFeedbackBody", {"queryId", "rating"}, {"comment"}),
    ],
)
def test_s3_6_requests_and_replies_have_the_fields_of_the_specification(
    schema: str, required: set[str], optional: set[str]
) -> None:
    described = SCHEMAS[schema]
    assert required | optional <= described["properties"].keys()
    assert required <= set(described["required"])
    assert optional.isdisjoint(described["required"])


def test_s3_6_defaults_and_ranges_are_those_of_the_specification() -> None:
    asked = field("AnswerQuestionBody", "topK")
    assert (asked["default"], asked["minimum"], asked["maximum"]) == (5, 1, 20)
    assert field("AnswerQuestionBody", "includeGraph")["default"] is True
    assert field("AnswerQuestionBody", "query")["maxLength"] == 2000
    rating = field("GiveFeedbackBody", "rating")
    assert (rating["minimum"], rating["maximum"]) == (0, 5)  # the seed's table has 1-5 or 0/1
    assert {"markdown", "pdf", "text"} <= set(SCHEMAS["Format"]["enum"])


def test_s3_8_a_job_has_the_states_and_the_progress_of_the_specification() -> None:
    states = ["queued", "chunking", "embedding", "extracting", "complete", "failed"]
    assert field("Job", "status")["enum"] == states
    progress = field("Job", "progress")
    assert (progress["minimum"], progress["maximum"]) == (0, 100)


async def test_s2_3_every_route_counts_against_the_limit_of_a_key(limited: Site) -> None:
    """Also those of OpenAI's interface and of MCP: nobody asks by another door after the limit."""
    scopes = (*ALL_BUT_ADMIN, Scope.ADMIN)
    first = await limited.request("GET", "/v1/documents", "team:sales", scopes=scopes)
    assert first.status_code == 200
    tried = set[str]()
    for path, operations in limited.app.openapi()["paths"].items():
        if path.startswith(UNCOUNTED):
            continue
        for method in operations:
            reply = await limited.request(
                method.upper(), re.sub(r"\{[^}]*\}", ID, path), "team:sales", scopes=scopes
            )
            assert reply.status_code == 429, (method, path, reply.text)
            tried.add(path)
    assert {"/v1/query", "/v1/chat/completions", "/v1/responses"} <= tried
    reply = await limited.request("POST", "/mcp", "team:sales", scopes=scopes, json={})
    assert reply.status_code == 429
