"""Chat, whose JSON is the specification's, and a person's own conversations."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from lightwell.domain.chat import ConversationId
from lightwell.domain.errors import NotFound
from lightwell.entrypoints.http.authentication import Reading
from lightwell.entrypoints.http.usage import add_usage_headers
from lightwell.entrypoints.operations.replies import PageQuery, cut_page
from lightwell.entrypoints.schemas.conversations import (
    ChatBody,
    ChatResponseSchema,
    CitedChatResponseSchema,
    ConversationPage,
    MessagesResponse,
    chat_response,
    cited_chat_response,
    conversation_page,
    messages_response,
)

router = APIRouter(prefix="/v1", tags=["conversations"])


@router.post("/chat")
async def answer_message(
    body: ChatBody, caller: Reading, response: Response
) -> CitedChatResponseSchema | ChatResponseSchema:
    """Answer a message with its sources, and remember it.

    The headers `X-Conversation-Id` and `X-Query-Id` name the conversation to continue and the query to rate.
    """
    kb = caller.knowledge_base
    if body.project_id not in (None, kb.project_id):
        raise NotFound(f"There is no project {body.project_id} that you may see")
    own = ConversationId(body.conversation_id) if body.conversation_id else None
    turn = await kb.questions.chat(
        body.message, caller.reader, conversation=own, topic=body.topic_filter, mode=body.mode
    )
    response.headers["X-Conversation-Id"] = str(turn.conversation_id)
    response.headers["X-Query-Id"] = str(turn.query_id)
    add_usage_headers(response, turn.usage)
    return cited_chat_response(turn) if body.with_citations else chat_response(turn.response)


@router.get("/conversations")
async def list_conversations(
    caller: Reading, query: Annotated[PageQuery, Query()]
) -> ConversationPage:
    """List your own conversations, the latest first."""
    found = await caller.knowledge_base.conversations.list(
        caller.reader, after=query.after, limit=query.limit + 1
    )
    return conversation_page(*cut_page(found, query, lambda each: each.cursor))


@router.get("/conversations/{conversation_id}")
async def get_conversation(conversation_id: UUID, caller: Reading) -> MessagesResponse:
    """Return the latest messages of one of your own conversations."""
    own = ConversationId(conversation_id)
    return messages_response(
        own, await caller.knowledge_base.conversations.messages(caller.reader, own)
    )


@router.delete("/conversations/{conversation_id}", status_code=204)
async def delete_conversation(conversation_id: UUID, caller: Reading) -> None:
    """Delete one of your own conversations; this cannot be undone."""
    await caller.knowledge_base.conversations.delete(caller.reader, ConversationId(conversation_id))
