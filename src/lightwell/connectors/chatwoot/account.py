"""What a Chatwoot account consists of: its inboxes and agents, and how its things are named."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lightwell.connectors.chatwoot.api import ChatwootApi, parse
from lightwell.connectors.chatwoot.models import Agent, Inbox, Sender
from lightwell.connectors.item_documents import one_line
from lightwell.domain.access import Tags
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.item_structure import StatedEntity
from lightwell.domain.source_items import SourceDirectory, SourceGroup, SourcePerson

SYSTEM = "chatwoot"
ACCOUNT_TAGS: Tags = frozenset((f"{SYSTEM}:account",))
ACCOUNT_NOTES_TAGS: Tags = frozenset((f"{SYSTEM}:account:internal",))
HELP_CENTRE_TAGS: Tags = frozenset((f"{SYSTEM}:help-centre",))
_ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account as of the moment `at` by Chatwoot's clock, None where it does not tell the time; `base_url` is where people open it."""

    api: ChatwootApi
    base_url: str
    inboxes: Mapping[int, Inbox]
    agents: Mapping[int, Agent]
    at: datetime | None = None

    @property
    def number(self) -> int:
        return self.api.account

    @property
    def page(self) -> str:
        return f"{self.base_url}/app/accounts/{self.number}"

    def conversation_ref(self, display_id: int) -> GlobalRef:
        return global_ref(SYSTEM, "conversation", f"{self.number}-{display_id}")

    def conversation_url(self, display_id: int) -> str:
        return f"{self.page}/conversations/{display_id}"

    def inbox_entity(self, inbox_id: int) -> StatedEntity:
        inbox = self.inboxes.get(inbox_id)
        return StatedEntity(
            ref=global_ref(SYSTEM, "inbox", str(inbox_id)),
            kind="inbox",
            name=one_line(inbox.name) if inbox and inbox.name else f"Inbox {inbox_id}",
            url=f"{self.page}/inbox/{inbox_id}",
        )

    def contact_entity(self, sender: Sender) -> StatedEntity:
        """Return the contact of a conversation; its name may be missing, as in chats with visitors."""
        return StatedEntity(
            ref=global_ref(SYSTEM, "contact", str(sender.id)),
            kind="person",
            name=one_line(sender.shown_name) or f"Contact {sender.id}",
            url=f"{self.page}/contacts/{sender.id}",
            attributes={"email": sender.email.lower()} if sender.email else {},
        )

    def agent_entity(self, sender: Sender) -> StatedEntity:
        """Return an agent by the name that the account has for him now."""
        agent = self.agents.get(sender.id or 0)
        email = (agent.email if agent else "") or sender.email
        return StatedEntity(
            ref=global_ref(SYSTEM, "user", str(sender.id)),
            kind="person",
            name=one_line((agent.name if agent else "") or sender.shown_name)
            or f"Agent {sender.id}",
            attributes={"email": email.lower()} if email else {},
        )


def inbox_tags(inbox_id: int) -> Tags:
    return frozenset((f"{SYSTEM}:inbox:{inbox_id}",))


def internal_tags(inbox_id: int) -> Tags:
    """Return the access tags of the private notes in an inbox."""
    return frozenset((f"{SYSTEM}:inbox:{inbox_id}:internal",))


async def load_account(api: ChatwootApi, base_url: str) -> Account:
    """Read the inboxes and agents of the account."""
    answer = await api.require("inboxes")
    inboxes = [parse(Inbox, row) for row in answer.rows]
    agents = [parse(Agent, row) for row in (await api.require("agents")).rows]
    return Account(
        api=api,
        base_url=base_url,
        inboxes={inbox.id: inbox for inbox in inboxes},
        agents={agent.id: agent for agent in agents},
        at=answer.at,
    )


async def read_directory(account: Account) -> SourceDirectory:
    """Return the agents, and who works in which inbox.

    Administrators see all inboxes. An agent with a custom role may see less than the others of an inbox, and Chatwoot does
    not say what; so such an agent is in no group.
    """
    usual = {
        id_
        for id_, agent in account.agents.items()
        if agent.confirmed and agent.custom_role_id is None
    }
    administrators = {id_ for id_ in usual if account.agents[id_].role == _ADMINISTRATOR}
    everybody = frozenset(map(str, usual))
    groups = [
        SourceGroup(name="Account", tags=ACCOUNT_TAGS | ACCOUNT_NOTES_TAGS, members=everybody),
        SourceGroup(name="Help centre", tags=HELP_CENTRE_TAGS, members=everybody),
    ]
    for inbox_id in account.inboxes:
        answer = await account.api.get(f"inbox_members/{inbox_id}")
        members = {parse(Agent, row).id for row in answer.rows} if answer else set[int]()
        groups.append(
            SourceGroup(
                name=f"Inbox {account.inbox_entity(inbox_id).name} ({inbox_id})",
                tags=inbox_tags(inbox_id) | internal_tags(inbox_id),
                members=frozenset(map(str, members & usual | administrators)),
            )
        )
    people = tuple(
        SourcePerson(
            external_id=str(id_),
            email=agent.email if agent.confirmed else "",
            name=one_line(agent.name) or agent.email,
            is_active=agent.confirmed,
        )
        for id_, agent in account.agents.items()
    )
    return SourceDirectory(people=people, groups=tuple(groups))
