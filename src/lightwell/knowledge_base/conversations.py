"""Methods for a reader's own conversations; `Questions.chat` continues them."""

from dataclasses import dataclass

from lightwell.answer.chat import recent_messages
from lightwell.domain.access import Reader
from lightwell.domain.chat import (
    ChatMessage,
    Conversation,
    ConversationTurn,
    require_title,
)
from lightwell.domain.ids import ConversationId
from lightwell.records import conversations
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """The conversations of one project, each reader's own."""

    database: Database

    async def list(
        self, reader: Reader, *, title: str = "", after: str = "", limit: int = 100
    ) -> list[Conversation]:
        """Return up to `limit` conversations, the latest first, those after the `Conversation.cursor` `after`; `title` stands in theirs."""
        return await conversations.list_own(
            self.database, reader, title=title, after=after, limit=limit
        )

    async def get(self, reader: Reader, conversation: ConversationId) -> Conversation:
        """Return a conversation; raise `NotFound`."""
        return await conversations.get(self.database, reader, conversation)

    async def messages(
        self, reader: Reader, conversation: ConversationId, *, before: int | None = None
    ) -> tuple[ChatMessage, ...]:
        """Return the latest messages of a conversation that may be read back, those before number `before`; raise `NotFound`."""
        recalled = await conversations.recall(self.database, reader, conversation, before=before)
        return recent_messages(recalled.messages)

    async def turns(
        self, reader: Reader, conversation: ConversationId
    ) -> tuple[ConversationTurn, ...]:
        """Return the latest exchanges of a conversation that may be read back, as they are shown; raise `NotFound`."""
        return await conversations.list_turns(self.database, reader, conversation)

    async def rename(self, reader: Reader, conversation: ConversationId, title: str) -> None:
        """Give a conversation a title; raise `NotFound`, and `Invalid` for an empty or a long one."""
        await conversations.rename(self.database, reader, conversation, require_title(title))

    async def delete(self, reader: Reader, conversation: ConversationId) -> None:
        """Delete a conversation; raise `NotFound`."""
        await conversations.delete(self.database, reader, conversation)
