"""Accounts of chat platforms and people: a code links an account to the person for whom it was made; and groups, which are bound to tags."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import KeyId
from lightwell.domain.channels import (
    Account,
    Bot,
    BoundGroup,
    CodeMaker,
    LinkCode,
    OwnChannel,
    Platform,
    new_code,
    parse_code,
)
from lightwell.domain.directory import Person, PersonId, PersonName, parse_email
from lightwell.domain.errors import Forbidden, Invalid, NotFound
from lightwell.domain.ids import ProjectId
from lightwell.domain.principals import KEY, SESSION, Principal
from lightwell.domain.rate_limits import Quota
from lightwell.domain.web_sessions import WebSessionId
from lightwell.records import (
    channel_accounts,
    channel_bots,
    channel_groups,
    channel_updates,
    directory,
    rate_limits,
)
from lightwell.records.database import Database

_TRIES_PER_MINUTE = 5
_MAX_CHAT_LENGTH = 200


async def find_person(database: Database, project_id: ProjectId, account: Account) -> Person | None:
    """Return whose account this is now, None for nobody's, and for somebody's who is not active."""
    person = await directory.find_person(database, project_id, account.person_name)
    return person if person is not None and person.active else None


async def redeem(
    database: Database, project_id: ProjectId, account: Account, code: str
) -> Person | None:
    """Link the account to the person for whom the code was made, whose other account of the platform is unlinked then.

    None for a code that is wrong, was used or has expired, and after five tries of the account in a minute: callers say the same
    of all. Raises `Invalid`, saying what to do, where the account is linked to somebody else; the code stays valid.
    """
    secret = parse_code(code)
    may_try = await allow(database, project_id, account, "code", _TRIES_PER_MINUTE)
    if secret is None or not may_try:
        return None
    return await channel_accounts.redeem_code(database, project_id, account, secret)


async def allow(
    database: Database, project_id: ProjectId, account: Account, what: str, most: int
) -> bool:
    """Count what an account is about to do, and return whether it may: at most so many times a minute."""
    bucket = f"{what}\n{project_id}\n{account.platform}\n{account.id}"
    quota = Quota(policy=what, bucket=hashlib.sha256(bucket.encode()).hexdigest(), requests=most)
    (allowance,) = await rate_limits.take(database, [quota])
    return not allowance.retry_seconds


async def link_by_email(
    database: Database,
    project_id: ProjectId,
    account: Account,
    email: str,
    trusted: Collection[str],
) -> Person | None:
    """Link an account of a trusted workspace to the person with this address, which the workspace has verified, and return that person.

    None where the workspace is not among those that are `trusted`, nobody active has the address, that person has another account, or
    this one was linked before: whoever unlinked it wants it so, and can link it by a code.
    """
    if account.workspace not in trusted:
        return None
    try:
        address = parse_email(email)
    except Invalid:
        return None
    return await channel_accounts.link_by_email(database, project_id, account, address)


async def unlink(database: Database, project_id: ProjectId, account: Account) -> PersonId | None:
    """Unlink the account, with its picks and buttons; return whose it was, None for nobody's."""
    return await channel_accounts.unlink(database, project_id, account)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAccounts:
    """The accounts of one person."""

    database: Database
    project_id: ProjectId
    person: PersonId

    async def make_code(self, platform: Platform, maker: CodeMaker = CodeMaker()) -> LinkCode:  # noqa: B008 - a frozen value
        """Make a code that links an account to the person, valid for ten minutes and as long as the session or key that made it.

        Raises `NotFound` where no bot of the platform runs.
        """
        bots = await channel_bots.list_bots(self.database, self.project_id)
        bot = next((bot for bot in bots if bot.platform is platform), None)
        if bot is None:
            raise NotFound(
                f"No bot of {platform.title()} runs here: `lightwell channels doctor` says what it lacks"
            )
        secret = new_code()
        expires_at = await channel_accounts.insert_code(
            self.database,
            self.project_id,
            secret,
            self.person,
            platform,
            maker,
        )
        return LinkCode(bot=bot, secret=secret, expires_at=expires_at)

    async def unlink(self, platform: Platform) -> None:
        """Unlink the account of the platform; raise `NotFound` where there is none."""
        if not await channel_accounts.unlink_person(
            self.database, self.project_id, self.person, platform
        ):
            raise NotFound(f"No account of {platform.title()} is linked")


async def list_channels(database: Database, principal: Principal) -> list[OwnChannel]:
    """Return the platforms on which a bot runs, or an account of the principal's person is linked."""
    person = principal.acting_for or principal.person
    linked = await channel_accounts.list_accounts(database, person) if person else []
    accounts = {account.platform: account for account in linked}
    running = await channel_bots.list_bots(database, principal.project_id)
    bots = {bot.platform: bot for bot in running}
    return [
        OwnChannel(platform=platform, bot=bots.get(platform), account=accounts.get(platform))
        for platform in Platform
        if platform in bots or platform in accounts
    ]


async def can_link(database: Database, principal: Principal) -> bool:
    """Return whether `own_accounts` returns accounts."""
    try:
        await own_accounts(database, principal)
    except Forbidden:
        return False
    return True


async def own_accounts(database: Database, principal: Principal) -> OwnAccounts:
    """Return the accounts of the person as whom the principal signed in.

    Raises `Forbidden` for a key without a person, for one that acts for somebody, and where the principal may less than the person: an
    account may all that its person may, and stays linked when a key has ended.
    """
    person = None
    if principal.person is not None and principal.acting_for is None:
        name = PersonName(principal.person)
        person = await directory.find_person(database, principal.project_id, name)
    if person is None:
        raise Forbidden("Only a person can link an account: sign in, or use a key of a person")
    if not (person.tags <= principal.tags and all(map(principal.allows, person.scopes))):
        raise Forbidden(
            "This key may less than its person, and a linked account would not: sign in"
        )
    return OwnAccounts(database=database, project_id=principal.project_id, person=person.id)


def maker_of(principal: Principal) -> CodeMaker:
    """Return the session or the key that the principal showed; neither for the token of an issuer."""
    if principal.is_session:
        session = principal.credential.removeprefix(SESSION)
        return CodeMaker(session=WebSessionId(UUID(session)))
    if principal.credential.startswith(KEY):
        return CodeMaker(key=KeyId(UUID(principal.credential.removeprefix(KEY))))
    return CodeMaker()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundGroups:
    """The groups of a project that are bound to tags. Its caller must be an administrator, or hold the database itself."""

    database: Database
    project_id: ProjectId

    async def list(self) -> list[BoundGroup]:
        """Return them by platform and id."""
        return await channel_groups.list_groups(self.database, self.project_id)

    async def bind(self, platform: Platform, chat: str, tags: Tags) -> BoundGroup:
        """Let answers be shared in a group whose every source is visible to somebody with these tags; raise `Invalid`."""
        if not tags:
            raise Invalid("Name the access tags that everybody in the group has")
        _require_chat(chat)
        return await channel_groups.bind(self.database, self.project_id, platform, chat, tags)

    async def unbind(self, platform: Platform, chat: str) -> None:
        """Let nothing be shared in a group any more; raise `NotFound` where it is not bound, `Invalid` for what is no id."""
        _require_chat(chat)
        if not await channel_groups.unbind(self.database, self.project_id, platform, chat):
            raise NotFound("This group is not bound")


def _require_chat(chat: str) -> None:
    if not 1 <= len(chat) <= _MAX_CHAT_LENGTH or not chat.isprintable():
        raise Invalid("Name the group by its id: the bot says it in the group")


async def note_bot(database: Database, project_id: ProjectId, bot: Bot) -> None:
    """Note that a bot runs: whoever has its lock says it when it begins to receive, and every minute."""
    await channel_bots.note_bot(database, project_id, bot)


async def list_bots(database: Database, project_id: ProjectId) -> list[Bot]:
    """Return the bots that run, by platform."""
    return await channel_bots.list_bots(database, project_id)


async def count_accounts(database: Database, project_id: ProjectId) -> dict[Platform, int]:
    """Return how many accounts are linked, by platform."""
    return await channel_accounts.count_accounts(database, project_id)


async def count_waiting(database: Database, project_id: ProjectId) -> dict[Platform, int]:
    """Return how many updates are not answered yet, by platform."""
    return await channel_updates.count_waiting(database, project_id)
