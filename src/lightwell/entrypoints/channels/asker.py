"""Who asks in a chat, as of now."""

from dataclasses import dataclass
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.channels import Chat
from lightwell.domain.chat import ConversationTurn
from lightwell.domain.directory import Person
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ConversationId
from lightwell.domain.principals import SESSION, Principal
from lightwell.domain.scopes import Scope
from lightwell.knowledge_base import KnowledgeBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The person whose account sent an update, resolved anew for each update, and the reader with that person's present tags.

    `server` is the address under which people reach the server, "" where it has none; links to documents need it.
    """

    knowledge_base: KnowledgeBase
    person: Person
    reader: Reader
    chat: Chat
    server: str = ""

    @property
    def principal(self) -> Principal:
        """For whom a request speaks here: the person, as in a session of a browser, with which limits count it together."""
        person = self.person
        return Principal(
            project_id=self.reader.project_id,
            project="",
            credential=f"{SESSION}{self.chat.platform}",
            scopes=person.scopes,
            tags=person.tags,
            user=person.user,
            person=person.id,
        )

    def allows(self, scope: Scope) -> bool:
        """Return whether the person may do this, as in a browser."""
        return self.principal.allows(scope)

    async def read_turn(self, conversation: UUID, place: int) -> ConversationTurn:
        """Return an exchange of the person's own conversation, as far as the person may read it now; raise `NotFound`."""
        conversations = self.knowledge_base.conversations
        for turn in await conversations.turns(self.reader, ConversationId(conversation)):
            if turn.place == place:
                return turn
        raise NotFound("There is no such answer")
