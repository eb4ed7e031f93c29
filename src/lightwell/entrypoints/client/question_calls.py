"""Calls that ask: questions, statements, searches, briefs and chat."""

from typing import NamedTuple
from uuid import UUID

import httpx
from pydantic import BaseModel, TypeAdapter

from lightwell.domain.questions import Mode
from lightwell.entrypoints.operations.calls import Call, reader, reader_of, segment
from lightwell.entrypoints.schemas.briefs import BriefResponse
from lightwell.entrypoints.schemas.conversations import ChatBody, CitedChatResponseSchema
from lightwell.entrypoints.schemas.passages import SearchResponse
from lightwell.entrypoints.schemas.questions import (
    CandidatesResponse,
    QueryBody,
    QueryResponse,
    SearchBody,
    StatementsBody,
    StatementsResponse,
)


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: tuple[_Model, ...]


class ChatReply(NamedTuple):
    """A reply within a conversation, whose id continues it."""

    response: CitedChatResponseSchema
    conversation_id: UUID
    query_id: UUID


_read_query = reader_of(QueryResponse)
_read_statements = reader_of(StatementsResponse)
_read_search = reader_of(SearchResponse)
_brief: TypeAdapter[BriefResponse | CandidatesResponse] = TypeAdapter(
    BriefResponse | CandidatesResponse
)
_read_brief = reader(_brief)
_read_models = reader_of(_Models)
_read_chat_response = reader_of(CitedChatResponseSchema)


def _read_chat(reply: httpx.Response) -> ChatReply:
    return ChatReply(
        response=_read_chat_response(reply),
        conversation_id=UUID(reply.headers["X-Conversation-Id"]),
        query_id=UUID(reply.headers["X-Query-Id"]),
    )


def query(
    question: str,
    *,
    top_k: int = 5,
    mode: Mode = Mode.MIX,
    include_graph: bool = True,
    topic: str = "",
    session: UUID | None = None,
) -> Call[QueryResponse]:
    """Answer a question with citations, or say that the evidence is insufficient."""
    body = QueryBody(
        query=question,
        top_k=top_k,
        mode=mode,
        include_graph=include_graph,
        topic_filter=topic,
        session_id=session,
    )
    return Call(method="POST", path="/v1/query", body=body, read=_read_query)


def models() -> Call[tuple[str, ...]]:
    """List the models that a client of OpenAI may name: whether the key is valid."""

    def read(reply: httpx.Response) -> tuple[str, ...]:
        return tuple(each.id for each in _read_models(reply).data)

    return Call(method="GET", path="/v1/models", read=read)


def statements(
    question: str, *, top_k: int = 20, mode: Mode = Mode.MIX, topic: str = ""
) -> Call[StatementsResponse]:
    """List what documents state about a question, the newest first."""
    body = StatementsBody(query=question, top_k=top_k, mode=mode, topic_filter=topic)
    return Call(method="POST", path="/v1/statements", body=body, read=_read_statements)


def search(
    question: str, *, top_k: int = 5, mode: Mode = Mode.MIX, topic: str = ""
) -> Call[SearchResponse]:
    """List the passages that are relevant to a question, best first."""
    body = SearchBody(query=question, top_k=top_k, mode=mode, topic_filter=topic)
    return Call(method="POST", path="/v1/search", body=body, read=_read_search)


def brief(name: str) -> Call[BriefResponse | CandidatesResponse]:
    """Summarise an entity with citations, or list the entities that the name may mean."""
    return Call(method="GET", path=f"/v1/briefs/{segment(name)}", read=_read_brief)


def chat(
    message: str,
    *,
    conversation: UUID | None = None,
    topic: str = "",
    mode: Mode = Mode.MIX,
) -> Call[ChatReply]:
    """Answer a message of a conversation; without one, a new conversation begins. It is remembered, so it is not repeated."""
    body = ChatBody(
        message=message,
        conversation_id=conversation,
        topic_filter=topic,
        mode=mode,
        with_citations=True,
    )
    return Call(method="POST", path="/v1/chat", body=body, read=_read_chat, is_repeatable=False)
