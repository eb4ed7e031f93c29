"""`channels`: bots of Telegram and Slack: their state, whose accounts are whose, and groups. Whoever may open the database may do this."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
from lightwell.domain.channels import Platform
from lightwell.domain.directory import OWNER
from lightwell.domain.errors import Invalid, NotFound
from lightwell.entrypoints.cli.console import clean, minute, new_table, unwrapped_line
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.store import (
    open_directory_of,
    parse_document_tags,
    settings,
    settings_of_store,
)
from lightwell.entrypoints.operations.channels import (
    BoundGroup,
    ChannelState,
    ChannelStates,
    LinkCode,
)

if TYPE_CHECKING:
    from lightwell.domain.directory import Person
    from lightwell.knowledge_base import channel_accounts
    from lightwell.knowledge_base.channel_accounts import OwnAccounts
    from lightwell.knowledge_base.directory import Directory
    from lightwell.settings import Settings

channels = new_group(
    "Show and check the bots of Telegram and Slack, link accounts to people, and bind groups to access tags.",
    "lightwell channels doctor",
    "lightwell channels link telegram --person ada@halden.example",
    "lightwell channels bind telegram:-1001234 --acl team:sales",
)

PlatformArgument = Annotated[
    Platform, typer.Argument(metavar="PLATFORM", help="telegram or slack.")
]
GroupArgument = Annotated[
    str,
    typer.Argument(
        metavar="PLATFORM:CHAT", help="The group's id, as the bot says it there: telegram:-1001234."
    ),
]
PersonOption = Annotated[
    str,
    typer.Option(
        "--person",
        metavar="PERSON",
        help="An id, an e-mail address or an external id. Without it, the owner of this store.",
    ),
]


@command(channels, "show", "lightwell channels show", "lightwell channels show --json")
async def show_channels() -> Report:
    """Show which bots are set up and run, how many accounts are linked, what waits, and which groups are bound."""
    from lightwell.knowledge_base import channel_accounts

    chosen = settings_of_store()
    async with open_directory_of(chosen) as directory:
        database, project_id = directory.database, directory.project_id
        bots = {bot.platform: bot for bot in await channel_accounts.list_bots(database, project_id)}
        counts = await channel_accounts.count_accounts(database, project_id)
        waiting = await channel_accounts.count_waiting(database, project_id)
        groups = await _groups(directory).list()
    states = ChannelStates(
        channels=[
            ChannelState.model_validate(
                {
                    "platform": platform,
                    "is_set_up": platform in chosen.channels.bot_tokens,
                    "bot": bots.get(platform),
                    "accounts": counts.get(platform, 0),
                    "waiting": waiting.get(platform, 0),
                }
            )
            for platform in Platform
        ],
        groups=[BoundGroup.model_validate(group) for group in groups],
    )
    return Report(document=states, text=_state_text(states))


@command(
    channels,
    "link",
    "lightwell channels link telegram",
    "lightwell channels link slack --person ada@halden.example",
    audited="channels link",
)
async def link_account(platform: PlatformArgument, *, person: PersonOption = "") -> Report:
    """Make a code that links an account of the platform to a person, once, within ten minutes."""
    async with open_directory_of(settings_of_store()) as directory:
        who = await _find_person(directory, person)
        made = LinkCode.model_validate(await _accounts(directory, who).make_code(platform))
    lines = [unwrapped_line(made.line)]
    if made.url:
        how = Text("Open this with the account, or send the bot the line below it:")
        lines = [how, unwrapped_line(made.url), *lines]
    until = f"To @{made.bot.name}: once, until {minute(made.expires_at)} UTC. Whoever sends it is {who.display_name or who.email} there."
    document = {"personId": str(who.id), **made.to_document()}
    return Report(document=document, text=Lines(*lines, Text(clean(until), style="dim")))


@command(
    channels,
    "unlink",
    "lightwell channels unlink telegram --person ada@halden.example",
    audited="channels unlink",
)
async def unlink_account(platform: PlatformArgument, *, person: PersonOption = "") -> Report:
    """Unlink a person's account of the platform: it may ask nothing from its next message on."""
    async with open_directory_of(settings_of_store()) as directory:
        who = await _find_person(directory, person)
        await _accounts(directory, who).unlink(platform)
    text = (
        f"Unlinked the account of {platform.title()} of {who.display_name or who.email or who.id}."
    )
    return Report(
        document={"personId": str(who.id), "unlinked": platform.value}, text=Text(clean(text))
    )


@command(
    channels,
    "bind",
    "lightwell channels bind telegram:-1001234 --acl team:sales",
    audited="channels bind",
)
async def bind_group(
    group: GroupArgument,
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="TAG",
            help="The access tags that everybody in the group has; several by commas or by repeating it.",
        ),
    ] = None,
) -> Report:
    """Let answers be shared in a group whose every source somebody with these access tags sees."""
    platform, chat = _parse_group(group)
    async with open_directory_of(settings_of_store()) as directory:
        bound = await _groups(directory).bind(platform, chat, parse_document_tags(acl))
    reply = BoundGroup.model_validate(bound)
    return Report(document=reply, text=_group_table([reply]))


@command(
    channels, "unbind", "lightwell channels unbind telegram:-1001234", audited="channels unbind"
)
async def unbind_group(group: GroupArgument) -> Report:
    """Let nothing be shared in a group any more; what was shared stays there."""
    platform, chat = _parse_group(group)
    async with open_directory_of(settings_of_store()) as directory:
        await _groups(directory).unbind(platform, chat)
    return Report(document={"unbound": group}, text=Text(clean(f"Unbound {group}.")))


@command(channels, "doctor", "lightwell channels doctor", "lightwell channels doctor --json")
async def check_channels() -> Report:
    """Ask Telegram and Slack whether the bots may do what they need, and say what to do where not; change nothing.

    Exit code 1: a problem was found.
    """
    from lightwell.entrypoints.cli.channel_checks import examine_channels
    from lightwell.wiring.database import has_store

    chosen = settings()
    running = await _running(chosen) if has_store(chosen) else None
    checks = [check async for check in examine_channels(chosen, running)]
    well = all(check.ok for check in checks)
    return Report(
        document={"ok": well, "checks": [asdict(check) for check in checks]},
        text=text_output.checks(checks),
        code=Exit.FINE if well else Exit.INCOMPLETE,
    )


async def _running(chosen: "Settings") -> list[Platform]:
    from lightwell.knowledge_base import channel_accounts

    async with open_directory_of(chosen) as directory:
        bots = await channel_accounts.list_bots(directory.database, directory.project_id)
    return [bot.platform for bot in bots]


async def _find_person(directory: "Directory", name: str) -> "Person":
    """Return the person, or the owner of the store for ""; raise `NotFound`, `Invalid`."""
    try:
        person = await directory.get_person(name or OWNER)
    except NotFound:
        if name:
            raise
        raise Invalid("This store has no owner: name whose account it is by --person") from None
    if not person.active:
        raise Invalid("This person is not active, and has no access")
    return person


def _accounts(directory: "Directory", person: "Person") -> "OwnAccounts":
    from lightwell.knowledge_base.channel_accounts import OwnAccounts

    return OwnAccounts(
        database=directory.database, project_id=directory.project_id, person=person.id
    )


def _groups(directory: "Directory") -> "channel_accounts.BoundGroups":
    from lightwell.knowledge_base import channel_accounts

    return channel_accounts.BoundGroups(
        database=directory.database, project_id=directory.project_id
    )


def _parse_group(text: str) -> tuple[Platform, str]:
    """Return the platform and the chat of a text such as `telegram:-1001234`; raise `Invalid`."""
    word, _, chat = text.strip().partition(":")
    if word not in list(Platform) or not chat:
        raise Invalid("Name a group by its platform and id, such as telegram:-1001234")
    return Platform(word), chat


def _state_text(states: ChannelStates) -> Lines:
    table = new_table("platform", "set up", "bot", "accounts", "waiting")
    for state in states.channels:
        bot = f"@{state.bot.name}" if state.bot else "does not run" if state.is_set_up else ""
        workspace = f" in {state.bot.workspace}" if state.bot and state.bot.workspace else ""
        table.add_row(
            state.platform,
            "yes" if state.is_set_up else "no",
            clean(bot + workspace),
            str(state.accounts),
            str(state.waiting),
        )
    return Lines(table, *([_group_table(states.groups)] if states.groups else []))


def _group_table(groups: list[BoundGroup]) -> Table:
    table = new_table("group", "access tags", "bound")
    for group in groups:
        name = clean(f"{group.platform}:{group.chat}")
        table.add_row(name, clean(", ".join(group.acl_tags)), minute(group.bound_at))
    return table
