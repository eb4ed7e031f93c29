"""Methods for a reader's own conversations; `Questions.chat` continues them."""

from dataclasses import dataclass

from lightwell.answer.chat import recent_messages
from lightwell.domain.access import Reader
from lightwell.domain.chat import ChatMessage, Conversation, ConversationId
from lightwell.records import conversations
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """The conversations of one project, each reader's own."""

    database: Database

    async def list(
        self, reader: Reader, *, after: str = "", limit: int = 100
    ) -> list[Conversation]:
        """Return up to `limit` conversations, the latest first, those after the `Conversation.cursor` `after`."""
        return await conversations.list_own(self.database, reader, after=after, limit=limit)

    async def messages(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ChatMessage, ...]:
        """Return the latest messages of a conversation that may be read back; raise `NotFound`."""
        return recent_messages(
            await conversations.list_messages(self.database, reader, conversation)
        )

    async def delete(self, reader: Reader, conversation: ConversationId) -> None:
        """Delete a conversation; raise `NotFound`."""
        await conversations.delete(self.database, reader, conversation)
