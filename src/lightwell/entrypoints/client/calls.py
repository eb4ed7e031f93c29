"""What can be asked of a server: one function for each operation. `clients` sends what they return."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import quote
from uuid import UUID

import httpx
from pydantic import BaseModel, TypeAdapter

from lightwell.domain.questions import Mode
from lightwell.entrypoints.schemas import Schema
from lightwell.entrypoints.schemas.briefs import BriefResponse
from lightwell.entrypoints.schemas.conversations import ChatBody, ChatResponseSchema
from lightwell.entrypoints.schemas.passages import SearchResponse
from lightwell.entrypoints.schemas.questions import (
    CandidatesResponse,
    QueryBody,
    QueryResponse,
    SearchBody,
    StatementsBody,
    StatementsResponse,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """A request, and how its reply is read; one that `is_repeatable` changes nothing, and may be sent again."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    body: Schema | None = None
    is_repeatable: bool = True

    @property
    def content(self) -> bytes | None:
        """The body as JSON."""
        return self.body.model_dump_json(by_alias=True).encode() if self.body else None


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: tuple[_Model, ...]


class ChatReply(NamedTuple):
    """A reply within a conversation, whose id continues it."""

    response: ChatResponseSchema
    conversation_id: UUID
    query_id: UUID


def _reader(adapter: TypeAdapter[T]) -> Callable[[httpx.Response], T]:
    """Return what reads a reply; keys that a newer server has in addition are left out."""
    return lambda reply: adapter.validate_json(reply.content, extra="ignore")


_read_query = _reader(TypeAdapter(QueryResponse))
_read_statements = _reader(TypeAdapter(StatementsResponse))
_read_search = _reader(TypeAdapter(SearchResponse))
_brief: TypeAdapter[BriefResponse | CandidatesResponse] = TypeAdapter(
    BriefResponse | CandidatesResponse
)
_read_brief = _reader(_brief)
_read_models = _reader(TypeAdapter(_Models))
_read_chat_response = _reader(TypeAdapter(ChatResponseSchema))


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
    return Call(method="GET", path=f"/v1/briefs/{quote(name, safe='')}", read=_read_brief)


def chat(
    message: str,
    *,
    conversation: UUID | None = None,
    topic: str = "",
    mode: Mode = Mode.MIX,
) -> Call[ChatReply]:
    """Answer a message of a conversation; without one, a new conversation begins. It is remembered, so it is not repeated."""
    body = ChatBody(message=message, conversation_id=conversation, topic_filter=topic, mode=mode)
    return Call(method="POST", path="/v1/chat", body=body, read=_read_chat, is_repeatable=False)
