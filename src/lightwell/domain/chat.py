"""Chat: messages, conversations, and the response to a message in the shape that chat clients expect."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import cast
from uuid import UUID

from lightwell.domain.answers import AnswerState, Citation, CitedPiece, Confidence, PlacedSentence
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph_views import Candidates
from lightwell.domain.ids import ConversationId, DocumentId, QueryId
from lightwell.domain.questions import MAX_QUESTION_LENGTH, UnderstoodFilter
from lightwell.domain.texts import only_text, require_text
from lightwell.domain.usage import NO_USAGE, TokenSummary

NO_INFORMATION = "I don't have information about that in the available documents."
"""The fixed text for insufficient evidence, used in chat only."""

GRAPH_SOURCE = "LightRAG Answer"
"""The fixed label of a source without a document: a statement of the graph."""


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message. Clients that shorten texts cut characters in two, and send the whole conversation with each question: such halves are left out."""

    role: Role
    content: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", only_text(self.content))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A source of a response; `chunk_index` counts from 0, `distance` lies in [0, 1].

    `id` is the document's. For a statement of the graph `id`, `chunk_index` and `distance` are None; `id` and
    `chunk_index` are None for nothing else. Raises `Invalid` for any other combination.
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
    """What the graph says of an entity or a relation, verbatim: a name, a kind, a description or a comparison."""

    subject: UUID
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """The response to a message: `[n]` in the text refers to the n-th of `sources`, which may be empty.

    `messages` is the conversation so far, this exchange last. `total_duration` is in milliseconds; the counts
    are tokens, None where no model was called. Raises `Invalid` where `sources` is not a tuple.
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
    """A response and the conversation that it belongs to; `notes` report what failed.

    `state`, `confidence`, `relevance`, `sentences` and their `context` are those of its answer: what the graph states possibly answers, with a
    relevance of 0.6, and has no sentence.
    `citations` are the quotes behind the response, in the order of their numbers, which are those of its
    sources; quotes of one passage share a number. `nearest`, best first, are the closest passages where the
    response has no source. `ambiguous_names` lists the candidates of each name in the message that several
    entities have; `filters` those that words of the message mean.
    """

    conversation_id: ConversationId
    response: ChatResponse
    query_id: QueryId
    state: AnswerState
    confidence: Confidence
    relevance: float
    sentences: tuple[PlacedSentence, ...] = ()
    context: tuple[CitedPiece, ...] = ()
    citations: tuple[Citation, ...] = ()
    nearest: tuple[Citation, ...] = ()
    notes: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
    ambiguous_names: tuple[Candidates, ...] = ()
    filters: tuple[UnderstoodFilter, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """Where an exchange belongs: to a conversation, to a new one for None.

    It takes the place of the conversation's message `replaces` and of all that follow; None adds it at the end.
    """

    conversation: ConversationId | None = None
    replaces: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """What is shown again of an answer: `sentences` in `text`, with the citations whose ids they name, and their `context`.

    `confidence` and `relevance` are None where an older version stored it. `is_changed` where a document does not say any more what one of its citations quoted; that citation is left out.
    """

    query_id: QueryId
    text: str
    state: AnswerState
    sentences: tuple[PlacedSentence, ...]
    citations: tuple[Citation, ...]
    model: str
    notes: tuple[str, ...]
    context: tuple[CitedPiece, ...] = ()
    confidence: Confidence | None = None
    relevance: float | None = None
    is_changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What is stored of a message and its response: `documents` are those that the response cites, `claims` what it takes from the graph."""

    messages: tuple[ChatMessage, ...]
    documents: tuple[DocumentId, ...] = ()
    claims: tuple[GraphClaim, ...] = ()
    answer: ShownAnswer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """A message of a conversation with its response, `text`; `answer` is None where an older version stored it."""

    place: int
    question: str
    asked_at: datetime
    text: str
    answer: ShownAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A reader's own conversation; `title` is its own, else its first message, "" when it may not be shown any more."""

    id: ConversationId
    title: str
    messages: int
    created_at: datetime
    updated_at: datetime

    @property
    def cursor(self) -> str:
        """Where a list continues after this conversation."""
        return f"{self.updated_at.isoformat()} {self.id}"


MAX_TITLE_LENGTH = 120


def require_title(title: str) -> str:
    """Return a conversation's title on one line; raise `Invalid` if it is empty or too long."""
    line = " ".join(require_text(title, "The title").split())
    if not line:
        raise Invalid("A title cannot be empty")
    if len(line) > MAX_TITLE_LENGTH:
        raise Invalid(f"A title has at most {MAX_TITLE_LENGTH} characters")
    return line


def user_message(message: str) -> ChatMessage:
    """Return a person's message, trimmed; raise `Invalid` if it is empty or too long."""
    if not message.strip():
        raise Invalid("Message cannot be empty")
    if len(message) > MAX_QUESTION_LENGTH:
        raise Invalid("Message exceeds maximum length")
    return ChatMessage(role=Role.USER, content=require_text(message, "The message").strip())


def parse_conversation_id(text: str) -> ConversationId:
    """Return the id in this text; raise `NotFound` for any other text, because no conversation has such an id."""
    try:
        return ConversationId(UUID(text.strip()))
    except ValueError:
        raise NotFound(f"There is no conversation {text} that you may see") from None


def parse_conversation_cursor(text: str) -> tuple[datetime, ConversationId]:
    """Return the time and the id in a `Conversation.cursor`; raise `Invalid` for any other text."""
    time, _, conversation_id = text.partition(" ")
    try:
        return datetime.fromisoformat(time), ConversationId(UUID(conversation_id))
    except ValueError:
        raise Invalid(f"{text!r} is not where a list of conversations continues") from None
