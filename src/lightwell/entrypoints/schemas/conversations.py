"""Chat and conversations."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field

import lightwell.entrypoints.json_conversations as json_conversations
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.chat import (
    ChatMessage,
    ChatResponse,
    ChatTurn,
    Conversation,
    ConversationId,
    Role,
    chat_response_json,
)
from lightwell.domain.questions import MAX_QUESTION_LENGTH, Mode
from lightwell.entrypoints.operations.replies import NextAfter, Schema
from lightwell.entrypoints.schemas.questions import (
    AmbiguousName,
    CitationSchema,
    SearchMode,
    Topic,
)


class ChatBody(Schema):
    """A message of a conversation."""

    message: Annotated[
        str,
        Field(
            json_schema_extra={"minLength": 1, "maxLength": MAX_QUESTION_LENGTH},
            examples=["What discount does Nordwind Energie receive?"],
        ),
    ]
    project_id: Annotated[
        UUID | None,
        Field(description="The key's project, which is the default; any other one is not found."),
    ] = None
    conversation_id: Annotated[
        UUID | None,
        Field(description="Your conversation to continue (`X-Conversation-Id`); null begins one."),
    ] = None
    topic_filter: Topic = ""
    mode: SearchMode = Mode.MIX
    with_citations: Annotated[
        bool,
        Field(
            description="Whether to add `citations`, `nearest`, `notes` and `ambiguousNames`, as `/v1/query` returns them."
        ),
    ] = False


class MessageSchema(Schema):
    role: Role
    content: str


class SourceSchema(Schema):
    """A passage behind the response. `id` is its document's, `chunkIndex` counts from 0, `distance` is 0 (equal) to 1.

    For a statement of the graph all three are null, and `source` is `LightRAG Answer`.
    """

    id: str | None
    chunk_text: str
    chunk_index: int | None
    source: str
    distance: float | None


class ChatResponseSchema(Schema):
    """The response to a message: `[n]` refers to the n-th of `sources`. `totalDuration` is in milliseconds, counts are tokens."""

    response: str
    messages: list[MessageSchema]
    sources: list[SourceSchema]
    model: str
    total_duration: int | None
    prompt_eval_count: int | None
    eval_count: int | None


class CitedChatResponseSchema(ChatResponseSchema):
    """The response with what is behind it, numbered as its `sources`; `nearest` where it has no source."""

    citations: list[CitationSchema]
    nearest: list[CitationSchema]
    notes: list[str]
    ambiguous_names: list[AmbiguousName]


class ConversationSchema(Schema):
    """A conversation; `title` is its first message that you may still read."""

    conversation_id: str
    title: str
    messages: int
    created_at: str
    updated_at: str


class ConversationPage(Schema):
    """Your own conversations, the latest first."""

    conversations: list[ConversationSchema]
    next_after: NextAfter


class MessagesResponse(Schema):
    """The latest messages of a conversation that you may still read, the oldest first."""

    conversation_id: str
    messages: list[MessageSchema]


def chat_response(response: ChatResponse) -> ChatResponseSchema:
    """Return the response as the server sends it: exactly the keys of the specification."""
    return ChatResponseSchema.model_validate(chat_response_json(response), by_alias=True)


def cited_chat_response(turn: ChatTurn) -> CitedChatResponseSchema:
    """Return the response with what is behind it."""
    document = {
        **chat_response_json(turn.response),
        "citations": [json_output.citation(each) for each in turn.citations],
        "nearest": [json_output.citation(each) for each in turn.nearest],
        "notes": turn.notes,
        "ambiguousNames": json_output.ambiguous_names(turn.ambiguous_names),
    }
    return CitedChatResponseSchema.model_validate(document, by_alias=True)


def conversation_page(found: Sequence[Conversation], following: str | None) -> ConversationPage:
    """Return a page of conversations."""
    document = {
        "conversations": [json_conversations.conversation(each) for each in found],
        "nextAfter": following,
    }
    return ConversationPage.model_validate(document, by_alias=True)


def messages_response(own: ConversationId, found: Sequence[ChatMessage]) -> MessagesResponse:
    """Return the messages of a conversation."""
    messages = [MessageSchema(role=each.role, content=each.content) for each in found]
    return MessagesResponse(conversation_id=str(own), messages=messages)
