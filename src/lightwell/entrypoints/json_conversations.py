"""Conversations as JSON, with the keys that HTTP uses."""

from lightwell.domain.chat import Conversation
from lightwell.entrypoints.json_output import Json


def conversation(conversation: Conversation) -> Json:
    """Return a conversation without its messages."""
    return {
        "conversationId": str(conversation.id),
        "title": conversation.title,
        "messages": conversation.messages,
        "createdAt": conversation.created_at.isoformat(),
        "updatedAt": conversation.updated_at.isoformat(),
    }
