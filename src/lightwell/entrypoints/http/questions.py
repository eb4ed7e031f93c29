"""Questions: an answer, statements, passages, keywords, briefs and candidates."""

import time
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.briefs import MAX_NAME_LENGTH, Brief
from lightwell.domain.usage import OperationType
from lightwell.entrypoints.http.authentication import Reading
from lightwell.entrypoints.http.usage import add_usage_headers
from lightwell.entrypoints.schemas.briefs import BriefResponse, brief_response
from lightwell.entrypoints.schemas.passages import KeywordsSchema, SearchResponse, search_response
from lightwell.entrypoints.schemas.questions import (
    CandidatesResponse,
    KeywordsBody,
    QueryBody,
    QueryResponse,
    SearchBody,
    StatementsBody,
    StatementsResponse,
    candidates_response,
    query_response,
    statements_response,
)
from lightwell.metering import record_usage

router = APIRouter(prefix="/v1", tags=["questions"])

_NAMED = "A name, `NAME <ADDRESS>`, a reference, or an id."
_LIMITS = {"minLength": 1, "maxLength": MAX_NAME_LENGTH}
EntityName = Annotated[
    str, Path(description=_NAMED, examples=["Nordwind Energie"], json_schema_extra=_LIMITS)
]
EntityNameQuery = Annotated[
    str, Query(description=_NAMED, examples=["Jane Smith"], json_schema_extra=_LIMITS)
]


@router.post("/query")
async def answer_question(body: QueryBody, caller: Reading, response: Response) -> QueryResponse:
    """Answer a question with citations, or say that the evidence is insufficient."""
    began = time.perf_counter()
    answer = await caller.knowledge_base.questions.ask(body.to_request(), caller.reader)
    add_usage_headers(response, answer.usage)
    return query_response(answer, milliseconds=_milliseconds_since(began))


@router.post("/statements")
async def list_statements(
    body: StatementsBody, caller: Reading, response: Response
) -> StatementsResponse:
    """List what documents state about a question, each statement with citations and dates, the newest first."""
    began = time.perf_counter()
    listed = await caller.knowledge_base.questions.statements(
        body.query, caller.reader, topic=body.topic_filter, limit=body.top_k, mode=body.mode
    )
    add_usage_headers(response, listed.usage)
    return statements_response(listed, milliseconds=_milliseconds_since(began))


@router.post("/search")
async def search_passages(body: SearchBody, caller: Reading, response: Response) -> SearchResponse:
    """List the passages that are relevant to a question, best first."""
    began = time.perf_counter()
    found = await caller.knowledge_base.questions.search(
        body.query, caller.reader, topic=body.topic_filter, limit=body.top_k, mode=body.mode
    )
    add_usage_headers(response, found.usage)
    return search_response(found, milliseconds=_milliseconds_since(began))


@router.post("/keywords")
async def extract_keywords(
    body: KeywordsBody, caller: Reading, response: Response
) -> KeywordsSchema:
    """Return a question's keywords: themes find relations, names and terms find entities."""
    with record_usage(OperationType.QUERY) as usage:
        found = await caller.knowledge_base.questions.keywords(body.query, caller.reader)
    add_usage_headers(response, usage.summary)
    return KeywordsSchema.model_validate(json_output.keywords(found), by_alias=True)


@router.get("/briefs/{name:path}")
async def brief_entity(
    name: EntityName, caller: Reading, response: Response
) -> BriefResponse | CandidatesResponse:
    """Summarise an entity with citations; where several entities have the name, list them instead.

    The reference of a candidate selects it.
    """
    made = await caller.knowledge_base.questions.brief(name, caller.reader)
    add_usage_headers(response, made.usage)
    return brief_response(made) if isinstance(made, Brief) else candidates_response(made)


@router.get("/candidates")
async def list_candidates(caller: Reading, name: EntityNameQuery) -> CandidatesResponse:
    """List the entities that a name may mean, the likeliest first, with what distinguishes them: none, one or several."""
    return candidates_response(
        await caller.knowledge_base.questions.candidates(name, caller.reader)
    )


def _milliseconds_since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
