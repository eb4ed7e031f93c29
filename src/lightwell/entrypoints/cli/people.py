"""`people` and `groups`: the directory. Whoever may open the database may do this."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

import lightwell.domain.directory as domain
from lightwell.domain.directory import (
    PersonChange,
    PersonId,
    parse_display_name,
    parse_email,
    split_external_ids,
)
from lightwell.domain.scopes import Scope, parse_person_scopes
from lightwell.domain.web_sessions import sign_in_address
from lightwell.entrypoints.cli.console import clean, new_table, unwrapped_line
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.cli.store import (
    open_directory,
    open_directory_of,
    parse_document_tags,
    settings_of_store,
)
from lightwell.entrypoints.operations.directory import Group, Groups, People, Person
from lightwell.entrypoints.operations.sessions import Invitation, NewInvitation, new_person

people = new_group(
    "Add, list, change and delete the people who have access tags.",
    'lightwell people add ada@halden.example --name "Ada Lindqvist" --acl user:ada',
    "lightwell people list",
)
groups = new_group(
    "Save, list and delete groups, whose members have their access tags.",
    "lightwell groups save sales --acl team:sales",
    "lightwell groups join sales ada@halden.example",
)

PersonArgument = Annotated[
    str,
    typer.Argument(
        metavar="PERSON", help="An id, an e-mail address or an external id (telegram:123)."
    ),
]
Persons = Annotated[
    list[str],
    typer.Argument(metavar="PERSON...", help="Ids, e-mail addresses or external ids."),
]
GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="The name of the group.")]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="The name to show.")]
Acl = Annotated[
    list[str] | None,
    typer.Option(
        "--acl",
        metavar="TAG",
        help="The person's own access tags, beside those of groups; "
        "several by commas or by repeating it; '' for none.",
    ),
]
GroupAcl = Annotated[
    list[str] | None,
    typer.Option(
        "--acl",
        metavar="TAG",
        help="The access tags of its members; several by commas or by repeating it; '' for none.",
    ),
]
ExternalIds = Annotated[
    list[str] | None,
    typer.Option(
        "--external-id",
        metavar="SYSTEM:ID",
        help="What another system calls the person, such as telegram:123; repeat it for several.",
    ),
]


PersonScopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        help=f"What the person may do in a browser: {', '.join(scope for scope in Scope if scope is not Scope.IMPERSONATE)};"
        " repeat it. read and ingest, without it.",
    ),
]


@command(
    people,
    "add",
    'lightwell people add ada@halden.example --name "Ada Lindqvist" --acl user:ada --external-id telegram:123',
    audited="people add",
)
async def add_person(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="The e-mail address; '' for none.")],
    *,
    name: Name = None,
    acl: Acl = None,
    external_id: ExternalIds = None,
) -> Report:
    """Add a person to the project's directory."""
    change = PersonChange(
        email=parse_email(email),
        display_name=parse_display_name(name or ""),
        external_ids=split_external_ids(external_id or ()),
        acl_tags=parse_document_tags(acl),
    )
    async with open_directory() as directory:
        return _report(await directory.create_person(change))


@command(
    people,
    "invite",
    'lightwell people invite bo@halden.example --name "Bo Berg" --group sales --acl user:bo',
    "lightwell people invite ada@halden.example --days 1",
    audited="people invite",
)
async def invite_person(
    person: Annotated[
        str,
        typer.Argument(
            metavar="PERSON",
            help="An e-mail address; of somebody who is in the directory also an id or an external id.",
        ),
    ],
    *,
    name: Name = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="GROUP", help="A group to join; repeat it for several."),
    ] = None,
    acl: Acl = None,
    scope: PersonScopes = None,
    days: Annotated[
        int, typer.Option("--days", metavar="N", min=1, max=30, help="How long the link is valid.")
    ] = 7,
) -> Report:
    """Add a person and print a link that signs them in with a browser, once; for somebody who is there, just another link."""
    from lightwell.knowledge_base.invitations import SignInLinks

    change = new_person(name or "", sorted(parse_document_tags(acl)), scope or ())
    chosen = settings_of_store()
    server = chosen.server.public_url.rstrip("/") or f"http://{chosen.http.host}:{chosen.http.port}"
    async with open_directory_of(chosen) as directory:
        link, secret = await SignInLinks(directory=directory).invite(
            person, change, group or (), timedelta(days=days)
        )
    url = sign_in_address(server, secret)
    until = f"It works once, until {link.expires_at:%Y-%m-%d %H:%M} UTC, and is shown only now."
    return Report(
        document=NewInvitation.of(Invitation.model_validate(link), url=url),
        text=Lines(unwrapped_line(url), Text(until, style="dim")),
    )


@command(people, "list", "lightwell people list", "lightwell people list --group sales --json")
async def list_people(
    *,
    group: Annotated[
        str, typer.Option("--group", metavar="GROUP", help="Only members of this group.")
    ] = "",
) -> Report:
    """List the people of the project, the oldest entry first, with their current access tags."""
    listed: list[Person] = []
    async with open_directory() as directory:
        after: PersonId | None = None
        while page := await directory.list_people(group=group, after=after, limit=1000):
            listed += map(Person.model_validate, page)
            after = page[-1].id
    return Report(document=People(people=listed), text=_table(listed))


@command(people, "show", "lightwell people show ada@halden.example")
async def show_person(person: PersonArgument) -> Report:
    """Show a person with groups and current access tags."""
    async with open_directory() as directory:
        return _report(await directory.get_person(person))


@command(
    people,
    "change",
    "lightwell people change ada@halden.example --acl user:ada,project:fjell",
    "lightwell people change telegram:123 --deactivate",
    audited="people change",
)
async def change_person(  # noqa: PLR0913 - the options of the command
    person: PersonArgument,
    *,
    email: Annotated[
        str | None, typer.Option("--email", metavar="EMAIL", help="Another e-mail address.")
    ] = None,
    name: Name = None,
    acl: Acl = None,
    external_id: ExternalIds = None,
    active: Annotated[
        bool | None,
        typer.Option(
            "--activate/--deactivate",
            help="Whether the person has access; without it, API keys and tokens of this person are refused, and sessions end.",
        ),
    ] = None,
    scope: PersonScopes = None,
) -> Report:
    """Change a person; what is not given stays, and changed tags hold at the next request."""
    change = PersonChange(
        email=None if email is None else parse_email(email),
        display_name=None if name is None else parse_display_name(name),
        external_ids=None if external_id is None else split_external_ids(external_id),
        acl_tags=None if acl is None else parse_document_tags(acl),
        scopes=parse_person_scopes(scope) if scope else None,
        active=active,
    )
    async with open_directory() as directory:
        return _report(await directory.change_person(person, change))


@command(
    people, "delete", "lightwell people delete ada@halden.example --yes", audited="people delete"
)
def delete_person(person: PersonArgument, *, yes: Yes = False) -> Work:
    """Delete a person with the person's API keys; `people change --deactivate` keeps the entry."""
    confirm(f"Delete {person} with this person's API keys?", yes=yes)
    return _delete_person(person)


@command(groups, "save", "lightwell groups save sales --acl team:sales", audited="groups save")
async def save_group(group: GroupArgument, *, acl: GroupAcl = None) -> Report:
    """Make a group, or set the access tags of the existing one."""
    async with open_directory() as directory:
        return _group_report(await directory.save_group(group, parse_document_tags(acl)))


@command(groups, "list", "lightwell groups list")
async def list_groups() -> Report:
    """List the groups of the project by name."""
    async with open_directory() as directory:
        listed = [Group.model_validate(group) for group in await directory.list_groups()]
    return Report(document=Groups(groups=listed), text=_group_table(listed))


@command(
    groups,
    "join",
    "lightwell groups join sales ada@halden.example telegram:123",
    audited="groups join",
)
async def join_group(group: GroupArgument, person: Persons) -> Report:
    """Add people to a group."""
    async with open_directory() as directory:
        return _group_report(await directory.add_members(group, person))


@command(groups, "leave", "lightwell groups leave sales ada@halden.example", audited="groups leave")
async def leave_group(group: GroupArgument, person: Persons) -> Report:
    """Remove people from a group; they lose its access tags at once."""
    async with open_directory() as directory:
        return _group_report(await directory.remove_members(group, person))


@command(groups, "delete", "lightwell groups delete sales --yes", audited="groups delete")
def delete_group(group: GroupArgument, *, yes: Yes = False) -> Work:
    """Delete a group; its members lose its access tags at once."""
    confirm(f"Delete the group {group}?", yes=yes)
    return _delete_group(group)


async def _delete_person(person: str) -> Report:
    async with open_directory() as directory:
        await directory.delete_person(person)
    return Report(document={"deleted": person}, text=Text(clean(f"Deleted {person}.")))


async def _delete_group(group: str) -> Report:
    async with open_directory() as directory:
        await directory.delete_group(group)
    return Report(document={"deleted": group}, text=Text(clean(f"Deleted the group {group}.")))


def _report(person: domain.Person) -> Report:
    reply = Person.model_validate(person)
    return Report(document=reply, text=_table([reply]))


def _group_report(group: domain.Group) -> Report:
    reply = Group.model_validate(group)
    return Report(document=reply, text=_group_table([reply]))


def _table(people: Sequence[Person]) -> Table:
    table = new_table("id", "e-mail", "name", "external ids", "groups", "access tags", "state")
    for person in people:
        texts = (
            person.email or "",
            person.display_name,
            ", ".join(f"{system}:{id_}" for system, id_ in person.external_ids.items()),
            ", ".join(person.groups),
            ", ".join(person.current_tags),
        )
        state = "active" if person.active else "not active"
        table.add_row(str(person.person_id), *map(clean, texts), state)
    return table


def _group_table(groups: Sequence[Group]) -> Table:
    table = new_table("name", "access tags", "members")
    for group in groups:
        table.add_row(clean(group.name), clean(", ".join(group.acl_tags)), str(group.members))
    return table
