"""A conversation: its messages, and the response to one in the shape of S4."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, cast
from uuid import UUID

from lightwell.domain.candidates import Candidates
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.evidence import Citation
from lightwell.domain.ids import QueryId
from lightwell.domain.questions import LONGEST_QUESTION
from lightwell.domain.texts import require_text
from lightwell.domain.usage import NO_USAGE, TokenSummary

ConversationId = NewType("ConversationId", UUID)

NO_INFORMATION = "I don't have information about that in the available documents."
"""S4's words for insufficient evidence, used in chat only."""

GRAPH_SOURCE = "LightRAG Answer"
"""S4's name for a source that no document stands behind: what the graph says."""


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A passage that a response stands on; `chunk_index` counts from 0, `distance` lies in [0, 1].

    `id` is the document's. It, the index and the distance are None for what the graph says, and `id` and the index for
    nothing else. Raises `Invalid` for what breaks S4's rules for responses.
    """

    id: UUID | None
    chunk_text: str
    chunk_index: int | None
    source: str
    distance: float | None

    def __post_init__(self) -> None:
        if not self.chunk_text:
            raise Invalid("A source's chunkText cannot be empty")
        if not self.source:
            raise Invalid("A source's label cannot be empty")
        if (self.id is None) != (self.chunk_index is None):
            raise Invalid("A source's id and chunkIndex are null together or not at all")
        if self.id is None and (self.source != GRAPH_SOURCE or self.distance is not None):
            raise Invalid(f"Only {GRAPH_SOURCE} has no id, and then no distance")
        if self.chunk_index is not None and self.chunk_index < 0:
            raise Invalid(f"A source's chunkIndex cannot be negative, as {self.chunk_index} is")
        if self.distance is not None and not 0 <= self.distance <= 1:
            raise Invalid(f"A source's distance lies between 0 and 1, not at {self.distance}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphClaim:
    """What the graph says of an entity or a relation: a name, a kind or a description, word for word."""

    subject: UUID
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """S4's response: `[n]` in the text is the n-th of `sources`, which may be empty.

    `messages` are the conversation so far, this exchange at its end. `total_duration` is in milliseconds; the counts
    are tokens, None where no model was asked. Raises `Invalid` for sources that are no tuple, as None is not.
    """

    response: str
    messages: tuple[ChatMessage, ...]
    sources: tuple[SearchResult, ...]
    model: str
    total_duration: int | None
    prompt_eval_count: int | None
    eval_count: int | None

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.sources), tuple):
            raise Invalid("A response's sources are a tuple, which may be empty, and never null")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A response, and the conversation that goes on with it; `notes` tell of what did not go as it should.

    `citations` are the words behind the response, in the order of their marks, which are those of its sources: several of
    one passage have the same. `nearest`, best first, is what came closest where the response has no source.
    `ambiguous_names` are the pick lists of the message's names that fit several entities.
    """

    conversation_id: ConversationId
    response: ChatResponse
    query_id: QueryId
    citations: tuple[Citation, ...] = ()
    nearest: tuple[Citation, ...] = ()
    notes: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
    ambiguous_names: tuple[Candidates, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A reader's own conversation; `title` is its first message, "" when nothing of it may be read back."""

    id: ConversationId
    title: str
    messages: int
    created_at: datetime
    updated_at: datetime


def user_message(message: str) -> ChatMessage:
    """Return a person's message; raise `Invalid` for an empty or an overlong one."""
    if not message.strip():
        raise Invalid("Message cannot be empty")
    if len(message) > LONGEST_QUESTION:
        raise Invalid("Message exceeds maximum length")
    return ChatMessage(role=Role.USER, content=require_text(message, "The message").strip())


def conversation_id(text: str) -> ConversationId:
    """Return the id that the text is; raise `NotFound`, since nobody has a conversation called otherwise."""
    try:
        return ConversationId(UUID(text.strip()))
    except ValueError:
        raise NotFound(f"There is no conversation {text} that you may see") from None


def chat_response_json(response: ChatResponse) -> Mapping[str, object]:
    """Return exactly S4's keys, in its order, with null where there is nothing."""
    return {
        "response": response.response,
        "messages": [
            {"role": each.role.value, "content": each.content} for each in response.messages
        ],
        "sources": [_source(each) for each in response.sources],
        "model": response.model,
        "totalDuration": response.total_duration,
        "promptEvalCount": response.prompt_eval_count,
        "evalCount": response.eval_count,
    }


def _source(result: SearchResult) -> Mapping[str, object]:
    return {
        "id": None if result.id is None else str(result.id),
        "chunkText": result.chunk_text,
        "chunkIndex": result.chunk_index,
        "source": result.source,
        "distance": result.distance,
    }
