"""Who asks in a chat, as of now."""

from dataclasses import dataclass

from lightwell.domain.access import Reader
from lightwell.domain.channels import Chat
from lightwell.domain.directory import Person
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

    def allows(self, scope: Scope) -> bool:
        """Return whether the person may do this, as in a browser."""
        return scope in self.person.scopes or Scope.ADMIN in self.person.scopes
