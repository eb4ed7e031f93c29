"""Who sent an update: the person of the directory whose account it is, with the tags of now; how often, and what a stranger is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from lightwell.domain.channels import Account, Chat
from lightwell.domain.directory import Person, PersonId
from lightwell.entrypoints.audit_log import AuditLog
from lightwell.entrypoints.channels.asker import Asker
from lightwell.knowledge_base import KnowledgeBase, channel_accounts
from lightwell.knowledge_base.rate_limiter import RateLimiter
from lightwell.records.database import Database

_NOTICES_PER_MINUTE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The people of a project, by their accounts. `server` is the address under which they reach the server, "" for none.

    `trusted` are the workspaces whose verified e-mail addresses link an account by themselves.
    """

    knowledge_base: KnowledgeBase
    database: Database
    limiter: RateLimiter
    project: str
    server: str = ""
    trusted: frozenset[str] = frozenset()
    audit: AuditLog = field(default_factory=partial(AuditLog, ""))

    async def find(self, account: Account, chat: Chat) -> Asker | None:
        """Return who asks, with the access of now; None where nobody active has the account."""
        knowledge_base = self.knowledge_base
        person = await channel_accounts.find_person(
            self.database, knowledge_base.project_id, account
        )
        if person is None:
            return None
        return Asker(
            knowledge_base=knowledge_base,
            person=person,
            reader=await knowledge_base.reader(person.tags, user=person.user),
            chat=chat,
            server=self.server,
        )

    def trusts(self, account: Account) -> bool:
        """Return whether the account's workspace says whose it is."""
        return account.workspace in self.trusted

    async def link_by_email(self, account: Account, email: str) -> Person | None:
        """Link an account of a trusted workspace to the person with this address; None where it cannot be."""
        person = await channel_accounts.link_by_email(
            self.database, self.knowledge_base.project_id, account, email, self.trusted
        )
        self.note("link", account, person and person.id, {})
        return person

    async def count(self, asker: Asker) -> int:
        """Count a request of the person, as one in a browser counts; return the seconds to wait, 0 where it is allowed."""
        allowance = await self.limiter.take(asker.principal)
        return 0 if allowance is None else allowance.retry_seconds

    async def may_notify(self, account: Account) -> bool:
        """Return whether the account may be told once more what it cannot do; once a minute it may."""
        project_id = self.knowledge_base.project_id
        return await channel_accounts.allow(
            self.database, project_id, account, "notice", _NOTICES_PER_MINUTE
        )

    async def link(self, account: Account, code: str) -> Person | None:
        """Link the account to the person who made the code; None for a code that is not valid. Raises `Invalid` where the account is somebody's already."""
        person = await channel_accounts.redeem(
            self.database, self.knowledge_base.project_id, account, code
        )
        self.note("link", account, person and person.id, {})
        return person

    async def unlink(self, account: Account) -> None:
        """Take the account from the person whose it is."""
        project_id = self.knowledge_base.project_id
        person_id = await channel_accounts.unlink(self.database, project_id, account)
        self.note("unlink", account, person_id, {})

    def note(
        self, what: str, account: Account, person_id: PersonId | None, ids: Mapping[str, str]
    ) -> None:
        """Write a line of the audit log as a command in a shell has it; none where nobody did anything."""
        if person_id is None:
            return
        self.audit.write(
            {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "command": f"channels {what}",
                "account": f"{account.platform}:{account.id}",
                "personId": str(person_id),
                "project": self.project,
                "ids": dict(ids),
                "exitCode": 0,
            }
        )
