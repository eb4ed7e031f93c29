"""LightRAG's routes for questions. An answer is markdown, as its WebUI shows it: what documents say is text in it, and the links are citations."""

import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from fastapi import APIRouter

from lightwell.domain.answers import Answer, StreamType
from lightwell.domain.chat import ChatMessage, Role
from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import Retrieval
from lightwell.domain.questions import Question
from lightwell.entrypoints.http.authentication import Caller, Reading
from lightwell.entrypoints.http.event_streams import (
    LINES,
    EventStream,
    format_error_line,
    format_line,
)
from lightwell.entrypoints.http.lightrag_documents import name_of
from lightwell.entrypoints.http.lightrag_graphs import entity_properties, relation_properties
from lightwell.entrypoints.http.lightrag_schema import (
    QueryDataResponse,
    QueryRequest,
    QueryResponse,
    ReferenceItem,
)
from lightwell.entrypoints.http.lightrag_speech import make_router
from lightwell.entrypoints.http.openai_api import Conversation
from lightwell.entrypoints.markdown import (
    citation_title,
    escape,
    render_answer,
    render_rest,
    render_token,
)

router: APIRouter = make_router()

_MOST_PASSAGES: Final = 20


@router.post("/query")
async def query(body: QueryRequest, caller: Reading) -> QueryResponse:
    """Answer a question with references, or say that the evidence is insufficient."""
    began = time.perf_counter()
    if body.only_need_context:
        context, references = await _context(body, caller)
        is_by_model = False
    else:
        answer = await _conversation(body).answer(caller)
        context = render_answer(answer, caller.server) + _list_sources(answer)
        references = _references(answer, body)
        is_by_model = answer.author is not None
    return QueryResponse(
        response=context,
        references=references if body.include_references else None,
        response_time=time.perf_counter() - began,
        llm_generated=is_by_model,
    )


@router.post("/query/stream")
async def stream_query(body: QueryRequest, caller: Reading) -> EventStream:
    """Answer a question in lines of JSON.

    The references come first, as LightRAG has it, and so the answer in one piece. With `include_progress`, where its clients
    expect another order, and without references, each sentence comes when it is checked.
    """
    return EventStream(
        _lines(body, caller),
        render_error=format_error_line,
        ping=b"\n",
        media_type=LINES,
    )


@router.post("/query/data")
async def query_data(body: QueryRequest, caller: Reading) -> QueryDataResponse:
    """List the passages that are relevant to a question, with the entities and relations that it concerns."""
    retrieval = await _search(body, caller)
    chunks, keywords = _chunks(retrieval), retrieval.analysis.keywords
    data: dict[str, object] = {
        "entities": [
            {"entity_name": entity.name, **entity_properties(entity)}
            for entity in retrieval.entities
        ],
        "relationships": [
            {"src_id": relation.source, "tgt_id": relation.target, **relation_properties(relation)}
            for relation in retrieval.relations
        ],
        "chunks": chunks,
        "references": [item.model_dump(exclude={"content"}) for item in _sources(chunks)],
    }
    return QueryDataResponse(
        message="Query executed successfully",
        data=data,
        metadata={
            "query_mode": body.mode.value,
            "keywords": {"high_level": [*keywords.high], "low_level": [*keywords.low]},
        },
    )


async def _lines(body: QueryRequest, caller: Caller) -> AsyncGenerator[bytes, None]:
    began, is_live = time.perf_counter(), body.include_progress or not body.include_references
    if body.only_need_context or body.stream is False:
        whole = await query(body, caller)
        yield format_line(
            whole.model_dump(mode="json", exclude={"response_time"}, exclude_none=True)
        )
    else:
        pieces: list[str] = []
        async with aclosing(_conversation(body).stream(caller)) as events:
            async for event in events:
                if event.type is StreamType.ERROR:
                    yield format_line({"error": event.error})
                    return
                if event.type is StreamType.TOKEN and is_live:
                    yield format_line({"response": render_token(event)})
                elif event.type is StreamType.TOKEN:
                    pieces.append(render_token(event))
                elif event.answer is not None:
                    for line in _end(event.answer, body, "".join(pieces), caller.server):
                        yield line
    if body.include_progress:
        yield format_line({"response_time": round(time.perf_counter() - began, 3)})


def _end(answer: Answer, body: QueryRequest, unsent: str, server: str) -> Iterable[bytes]:
    if body.include_references:
        listed = _references(answer, body)
        yield format_line({"references": [item.model_dump(exclude_none=True) for item in listed]})
    if rest := unsent + render_rest(answer, server) + _list_sources(answer):
        yield format_line({"response": rest})


def _list_sources(answer: Answer) -> str:
    """Return the section that LightRAG has its models write below an answer."""
    if not answer.citations:
        return ""
    lines = (f"- {citation.id} {escape(citation_title(citation))}" for citation in answer.citations)
    return "\n\n".join(("", "### References", "\n".join(lines)))


def _conversation(body: QueryRequest) -> Conversation:
    """Return what is asked; raise `Invalid`."""
    if body.only_need_prompt:
        raise Invalid("There is no single prompt to show: each sentence of an answer is checked")
    Question(text=body.query, mode=body.mode)
    history = [
        ChatMessage(role=Role(message.role), content=message.content)
        for message in body.conversation_history or []
        if message.role in (Role.USER, Role.ASSISTANT)
    ]
    return Conversation(text=body.query, history=history, mode=body.mode)


async def _search(body: QueryRequest, caller: Caller) -> Retrieval:
    return await caller.knowledge_base.questions.search(
        body.query,
        caller.reader,
        limit=min(body.chunk_top_k or _MOST_PASSAGES, _MOST_PASSAGES),
        mode=body.mode,
    )


async def _context(body: QueryRequest, caller: Caller) -> tuple[str, list[ReferenceItem]]:
    """Return the passages as one text, each behind the number of its reference."""
    chunks = _chunks(await _search(body, caller))
    pieces = (f"[{chunk['reference_id']}] {escape(chunk['content'])}" for chunk in chunks)
    return "\n\n".join(pieces), [*_sources(chunks, with_content=bool(body.include_chunk_content))]


def _references(answer: Answer, body: QueryRequest) -> list[ReferenceItem]:
    """Return the citations of an answer under their numbers in its text."""
    return [
        ReferenceItem(
            reference_id=citation.id.strip("[]"),
            file_path=citation_title(citation),
            content=[citation.snippet] if body.include_chunk_content else None,
        )
        for citation in answer.citations
    ]


def _chunks(retrieval: Retrieval) -> list[dict[str, str]]:
    numbers = _numbers(retrieval)
    return [
        {
            "reference_id": numbers[str(evidence.chunk.document_id)],
            "content": evidence.chunk.text,
            "file_path": name_of(evidence.chunk.title, evidence.chunk.url),
            "chunk_id": evidence.chunk.ref,
        }
        for evidence in retrieval.evidence
    ]


def _sources(
    chunks: Sequence[Mapping[str, str]], *, with_content: bool = False
) -> Iterable[ReferenceItem]:
    """Yield each document of the passages, in their order."""
    for number, path in {chunk["reference_id"]: chunk["file_path"] for chunk in chunks}.items():
        content = [chunk["content"] for chunk in chunks if chunk["reference_id"] == number]
        yield ReferenceItem(
            reference_id=number, file_path=path, content=content if with_content else None
        )


def _numbers(retrieval: Retrieval) -> Mapping[str, str]:
    documents = dict.fromkeys(str(evidence.chunk.document_id) for evidence in retrieval.evidence)
    return {document: str(number) for number, document in enumerate(documents, start=1)}
