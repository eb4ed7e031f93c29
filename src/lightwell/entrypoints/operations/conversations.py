"""Chat, whose JSON is the specification's, and a person's own conversations."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from lightwell.domain.answers import Confidence
from lightwell.domain.chat import MAX_TITLE_LENGTH, Role
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ConversationId
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, Mode
from lightwell.entrypoints.operations.citations import AmbiguousName, Citation
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.questions import (
    ANY_DOCUMENT,
    Context,
    DocumentFilters,
    LookTwice,
    QuestionText,
    SearchMode,
    Sentence,
    State,
    Threshold,
    Topic,
    UnderstoodFilter,
)
from lightwell.entrypoints.operations.replies import (
    After,
    Moment,
    NextAfter,
    PageLimit,
    Reply,
    Rounded,
    page_of,
    read_from,
)

conversations = Subject(prefix="/v1", tag="conversations")


class Message(Reply):
    role: Role
    content: str


class Source(Reply):
    """A passage behind the response. `id` is its document's, `chunkIndex` counts from 0, `distance` is 0 (equal) to 1.

    For a statement of the graph all three are null, and `source` is `LightRAG Answer`.
    """

    id: UUID | None
    chunk_text: str
    chunk_index: int | None
    source: str
    distance: float | None


class ChatReply(Reply):
    """The response to a message: `[n]` refers to the n-th of `sources`. `totalDuration` is in milliseconds, counts are tokens."""

    conversation_id: Annotated[UUID, Field(exclude=True)]
    query_id: Annotated[UUID, Field(exclude=True)]
    response: Annotated[str, read_from("response", "response.response")]
    messages: Annotated[list[Message], read_from("messages", "response.messages")]
    sources: Annotated[list[Source], read_from("sources", "response.sources")]
    model: Annotated[str, read_from("model", "response.model")]
    total_duration: Annotated[int | None, read_from("totalDuration", "response.total_duration")]
    prompt_eval_count: Annotated[
        int | None, read_from("promptEvalCount", "response.prompt_eval_count")
    ]
    eval_count: Annotated[int | None, read_from("evalCount", "response.eval_count")]


class CitedChatReply(ChatReply):
    """The response with what is behind it, numbered as its `sources`; `nearest` where it has no source."""

    state: State
    confidence: Confidence
    relevance: Rounded
    threshold: Threshold = SUFFICIENT_RELEVANCE
    sentences: list[Sentence]
    context: Context
    citations: list[Citation]
    nearest: list[Citation]
    notes: list[str]
    ambiguous_names: list[AmbiguousName]
    filters: list[UnderstoodFilter]


class ShownAnswer(Reply):
    """An answer as it is shown again, with the citations that its documents still bear out; `isChanged` where one is missing."""

    query_id: UUID
    text: str
    state: State
    confidence: Confidence | None
    relevance: Rounded | None
    threshold: Threshold = SUFFICIENT_RELEVANCE
    sentences: list[Sentence]
    context: Context
    citations: list[Citation]
    model: str
    notes: list[str]
    is_changed: bool


class Turn(Reply):
    """A message with its response, `text`; `place` is its number. `answer` is null where the graph responded, or an older version."""

    place: int
    question: str
    asked_at: Moment
    text: str
    answer: ShownAnswer | None


class ConversationTurns(Reply):
    """The latest fifty exchanges of a conversation that you may still read, the oldest first."""

    conversation_id: UUID
    title: str
    turns: list[Turn]


class Conversation(Reply):
    """A conversation; `title` is the one that you gave it, else its first message that you may still read."""

    conversation_id: Annotated[UUID, read_from("conversationId", "id")]
    title: str
    messages: int
    created_at: Moment
    updated_at: Moment


class ConversationPage(Reply):
    """Your own conversations, the latest first."""

    conversations: list[Conversation]
    next_after: NextAfter


class ConversationMessages(Reply):
    """The latest messages of a conversation that you may still read, the oldest first."""

    conversation_id: UUID
    messages: list[Message]


@conversations.operation(
    "POST",
    "/chat",
    headers={"conversation_id": "X-Conversation-Id", "query_id": "X-Query-Id"},
)
async def answer_message(  # noqa: PLR0913 - the fields of the request
    caller: Caller,
    message: QuestionText,
    *,
    project_id: Annotated[
        UUID | None,
        Field(description="The key's project, which is the default; any other one is not found."),
    ] = None,
    conversation_id: Annotated[
        UUID | None,
        Field(description="Your conversation to continue (`X-Conversation-Id`); null begins one."),
    ] = None,
    topic_filter: Topic = "",
    filters: DocumentFilters = ANY_DOCUMENT,
    mode: SearchMode = Mode.MIX,
    look_twice: LookTwice = False,
    with_citations: Annotated[
        bool,
        Field(
            description="Whether to add `state`, `confidence`, `relevance`, `threshold`, `sentences`, `context`, `citations`, `nearest`, `notes`, `ambiguousNames` and `filters`, as `/v1/query` returns them."
        ),
    ] = False,
) -> CitedChatReply | ChatReply:
    """Answer a message with its sources, and remember it.

    The headers `X-Conversation-Id` and `X-Query-Id` name the conversation to continue and the query to rate.
    """
    kb = caller.knowledge_base
    if project_id not in (None, kb.project_id):
        raise NotFound(f"There is no project {project_id} that you may see")
    turn = await kb.questions.chat(
        message,
        caller.reader,
        conversation=ConversationId(conversation_id) if conversation_id else None,
        filters=filters.with_topic(topic_filter),
        mode=mode,
        look_twice=look_twice,
    )
    return caller.reply(CitedChatReply if with_citations else ChatReply, turn)


@conversations.operation("GET", "/conversations")
async def list_conversations(
    caller: Caller,
    limit: PageLimit = 100,
    after: After = "",
    title: Annotated[
        str, Field(max_length=200, description="Only those in whose title this stands.")
    ] = "",
) -> ConversationPage:
    """List your own conversations, the latest first."""
    listed = await caller.knowledge_base.conversations.list(
        caller.reader, title=title, after=after, limit=limit + 1
    )
    page, next_after = page_of(listed, limit, lambda conversation: conversation.cursor)
    return ConversationPage(
        conversations=[Conversation.model_validate(conversation) for conversation in page],
        next_after=next_after,
    )


@conversations.operation("GET", "/conversations/{conversation_id}")
async def get_conversation(caller: Caller, conversation_id: UUID) -> ConversationMessages:
    """Return the latest messages of one of your own conversations."""
    messages = await caller.knowledge_base.conversations.messages(
        caller.reader, ConversationId(conversation_id)
    )
    return ConversationMessages(
        conversation_id=conversation_id,
        messages=[Message.model_validate(message) for message in messages],
    )


@conversations.operation("GET", "/conversations/{conversation_id}/turns")
async def list_turns(caller: Caller, conversation_id: UUID) -> ConversationTurns:
    """Return one of your own conversations as it is shown: each question with its answer, sentences and citations, checked for access now."""
    conversation = ConversationId(conversation_id)
    kept = caller.knowledge_base.conversations
    turns = await kept.turns(caller.reader, conversation)
    return ConversationTurns(
        conversation_id=conversation_id,
        title=(await kept.get(caller.reader, conversation)).title,
        turns=[caller.reply(Turn, turn) for turn in turns],
    )


@conversations.operation("PATCH", "/conversations/{conversation_id}")
async def rename_conversation(
    caller: Caller,
    conversation_id: UUID,
    title: Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_TITLE_LENGTH})],
) -> Conversation:
    """Give one of your own conversations a title."""
    conversation = ConversationId(conversation_id)
    kept = caller.knowledge_base.conversations
    await kept.rename(caller.reader, conversation, title)
    return Conversation.model_validate(await kept.get(caller.reader, conversation))


@conversations.operation("DELETE", "/conversations/{conversation_id}", status=204)
async def delete_conversation(caller: Caller, conversation_id: UUID) -> None:
    """Delete one of your own conversations; this cannot be undone."""
    await caller.knowledge_base.conversations.delete(caller.reader, ConversationId(conversation_id))
