"""`people` and `groups`: the directory. Whoever may open the database may do this."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from lightwell.domain.directory import (
    Group,
    Person,
    PersonChange,
    parse_display_name,
    parse_email,
    split_external_ids,
)
from lightwell.entrypoints.cli.console import clean, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.cli.store import open_directory, parse_document_tags
from lightwell.entrypoints.json_directory import group as group_document
from lightwell.entrypoints.json_directory import person as person_document

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
People = Annotated[
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


@command(people, "list", "lightwell people list", "lightwell people list --group sales --json")
async def list_people(
    *,
    group: Annotated[
        str, typer.Option("--group", metavar="GROUP", help="Only members of this group.")
    ] = "",
) -> Report:
    """List the people of the project, the oldest entry first, with their current access tags."""
    found: list[Person] = []
    async with open_directory() as directory:
        while page := await directory.list_people(
            group=group, after=found[-1].id if found else None, limit=1000
        ):
            found += page
    return Report(
        document={"people": [person_document(each) for each in found]}, text=_table(found)
    )


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
async def change_person(
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
            help="Whether the person has access; without it, API keys and tokens of this person are refused.",
        ),
    ] = None,
) -> Report:
    """Change a person; what is not given stays, and changed tags hold at the next request."""
    change = PersonChange(
        email=None if email is None else parse_email(email),
        display_name=None if name is None else parse_display_name(name),
        external_ids=None if external_id is None else split_external_ids(external_id),
        acl_tags=None if acl is None else parse_document_tags(acl),
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
        found = await directory.list_groups()
    return Report(
        document={"groups": [group_document(each) for each in found]}, text=_group_table(found)
    )


@command(
    groups,
    "join",
    "lightwell groups join sales ada@halden.example telegram:123",
    audited="groups join",
)
async def join_group(group: GroupArgument, person: People) -> Report:
    """Add people to a group."""
    async with open_directory() as directory:
        return _group_report(await directory.add_members(group, person))


@command(groups, "leave", "lightwell groups leave sales ada@halden.example", audited="groups leave")
async def leave_group(group: GroupArgument, person: People) -> Report:
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


def _report(person: Person) -> Report:
    return Report(document=person_document(person), text=_table([person]))


def _group_report(group: Group) -> Report:
    return Report(document=group_document(group), text=_group_table([group]))


def _table(people: Sequence[Person]) -> Table:
    table = new_table("id", "e-mail", "name", "external ids", "groups", "access tags", "state")
    for each in people:
        texts = (
            each.email,
            each.display_name,
            ", ".join(f"{system}:{named}" for system, named in sorted(each.external_ids.items())),
            ", ".join(each.groups),
            ", ".join(sorted(each.tags)),
        )
        state = "active" if each.active else "not active"
        table.add_row(str(each.id), *map(clean, texts), state)
    return table


def _group_table(groups: Sequence[Group]) -> Table:
    table = new_table("name", "access tags", "members")
    for each in groups:
        table.add_row(clean(each.name), clean(", ".join(sorted(each.acl_tags))), str(each.members))
    return table
