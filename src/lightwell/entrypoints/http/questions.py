"""Questions: one answer, or its events as they come."""

import json
import time
from collections.abc import AsyncIterator

from fastapi import APIRouter, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.usage import TokenSummary
from lightwell.entrypoints.http.authentication import Reading
from lightwell.entrypoints.schemas.questions import QueryBody, QueryResponse, query_response

router = APIRouter(prefix="/v1", tags=["questions"])


@router.post("/query")
async def answer_question(body: QueryBody, caller: Reading, response: Response) -> QueryResponse:
    """Answer a question with citations, or say that the evidence is insufficient."""
    began = time.perf_counter()
    answer = await caller.knowledge_base.query(body.to_request(), caller.reader)
    add_usage_headers(response, answer.usage)
    return query_response(answer, milliseconds=round((time.perf_counter() - began) * 1000))


@router.post("/query/stream", response_class=EventSourceResponse)
async def stream_answer(body: QueryBody, caller: Reading) -> AsyncIterator[ServerSentEvent]:
    """Answer a question as events: `token`, `citation`, `metadata`, `done`, or `error`; each sentence when it is checked."""
    request = body.to_request()
    number = 0
    async for event in caller.knowledge_base.query_stream(request, caller.reader):
        number += 1
        data = json.dumps(json_output.event(event), ensure_ascii=False)
        yield ServerSentEvent(event=event.type.value, id=str(number), raw_data=data)


def add_usage_headers(response: Response, usage: TokenSummary) -> None:
    """Say what models cost, where one was called."""
    if usage.calls:
        response.headers["X-Token-Usage-Calls"] = str(usage.calls)
        response.headers["X-Token-Usage-Input"] = str(usage.total_input_tokens)
        response.headers["X-Token-Usage-Output"] = str(usage.total_output_tokens)
