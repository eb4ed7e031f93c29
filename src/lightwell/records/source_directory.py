"""Takes over who belongs to what in a business system: into groups that the source owns, and no others."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from lightwell.domain.business_systems import Source
from lightwell.domain.directory import parse_email
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import new_id
from lightwell.domain.source_items import SourceDirectory, SourceGroup, SourcePerson
from lightwell.records import sources
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.directory import DIRECTORY_LOCK
from lightwell.records.locks import LeaseHolder
from lightwell.records.rows import fetch, fetch_values

_MAX_NAME_LENGTH = 200

# An external id that an administrator has entered counts before what was found earlier, and that before an e-mail address.
_MATCH = """
SELECT given.external_id, coalesce(held.person_id, known.person_id, mailed.person_id)
FROM unnest(%(ids)s::text[], %(emails)s::text[]) AS given (external_id, email)
LEFT JOIN person_external_ids AS held
  ON held.project_id = %(project_id)s AND held.system = %(system)s AND held.external_id = given.external_id
LEFT JOIN source_people AS known
  ON known.source_key = %(source)s AND known.external_id = given.external_id
 AND NOT EXISTS (SELECT FROM person_external_ids AS other
                 WHERE other.person_id = known.person_id AND other.system = %(system)s
                   AND other.external_id <> given.external_id)
LEFT JOIN people AS mailed
  ON mailed.project_id = %(project_id)s AND mailed.email = given.email AND given.email <> ''
 AND NOT EXISTS (SELECT FROM person_external_ids AS other
                 WHERE other.person_id = mailed.person_id AND other.system = %(system)s
                   AND other.external_id <> given.external_id)
WHERE coalesce(held.person_id, known.person_id, mailed.person_id) IS NOT NULL
"""

_REMEMBER = """
INSERT INTO source_people (source_key, external_id, person_id)
SELECT %(source)s, given.external_id, given.person_id
FROM unnest(%(ids)s::text[], %(people)s::uuid[]) AS given (external_id, person_id)
ORDER BY 2
ON CONFLICT (source_key, external_id) DO UPDATE SET person_id = excluded.person_id
WHERE source_people.person_id <> excluded.person_id
"""

_ADD_PEOPLE = """
INSERT INTO people (person_id, project_id, email, display_name)
SELECT given.person_id, %(project_id)s, given.email, given.name
FROM unnest(%(people)s::uuid[], %(emails)s::text[], %(names)s::text[]) AS given (person_id, email, name)
ON CONFLICT (project_id, email) WHERE email <> '' DO NOTHING
"""

_FOREIGN_NAMES = """
SELECT name FROM directory_groups
WHERE project_id = %(project_id)s AND source_key IS DISTINCT FROM %(source)s AND name = ANY(%(names)s)
"""

_DROP_GROUPS = """
DELETE FROM directory_groups WHERE source_key = %(source)s AND name <> ALL(%(names)s)
"""

_SAVE_GROUPS = """
INSERT INTO directory_groups (group_id, project_id, name, acl_tags, source_key)
SELECT given.group_id, %(project_id)s, given.name, ARRAY(SELECT jsonb_array_elements_text(given.tags)), %(source)s
FROM unnest(%(ids)s::uuid[], %(names)s::text[], %(tags)s::jsonb[]) AS given (group_id, name, tags)
ON CONFLICT (project_id, name) DO UPDATE SET acl_tags = excluded.acl_tags
"""

_LEAVE = """
DELETE FROM group_members AS member USING directory_groups AS of_group
WHERE of_group.group_id = member.group_id AND of_group.source_key = %(source)s
  AND NOT EXISTS (SELECT FROM unnest(%(groups)s::text[], %(members)s::uuid[]) AS given (name, person_id)
                  WHERE given.name = of_group.name AND given.person_id = member.person_id)
"""

_JOIN = """
INSERT INTO group_members (group_id, person_id)
SELECT of_group.group_id, given.person_id
FROM unnest(%(groups)s::text[], %(members)s::uuid[]) AS given (name, person_id)
JOIN directory_groups AS of_group ON of_group.source_key = %(source)s AND of_group.name = given.name
ORDER BY 1, 2
ON CONFLICT DO NOTHING
"""


@repeatable
async def apply(
    database: Database, source: Source, worker: LeaseHolder, directory: SourceDirectory
) -> None:
    """Make the source's groups, their tags and their members those of the directory, in one transaction.

    People are matched by an external id that somebody has entered, else as the same account was before, else by an e-mail
    address that the system has verified. So who changes an address there stays the same person. Whoever is no active member any more loses the groups' tags at once. Groups made by hand stay as they are.
    Raises `LeaseLost`, and `Invalid` for a tag that is not the system's own.
    """
    _check_tags(source, directory.groups)
    active = [person for person in directory.people if person.is_active]
    async with database.transaction() as connection:
        await connection.execute(DIRECTORY_LOCK, {"project_id": source.project_id})
        await sources.renew_or_raise(connection, source.id, worker)
        if source.adds_people:
            await _add_people(connection, source, active)
        people = await _match(connection, source, active)
        remembered = {"source": source.id, "ids": list(people), "people": list(people.values())}
        await connection.execute(_REMEMBER, remembered)
        names = await _group_names(connection, source, directory.groups)
        await _write(connection, source, directory.groups, (names, people))


def _check_tags(source: Source, groups: Sequence[SourceGroup]) -> None:
    foreign = sorted(
        tag for group in groups for tag in group.tags if not tag.startswith(f"{source.system}:")
    )
    if foreign:
        raise Invalid(
            f"The source {source.name!r} may give only access tags that begin with {source.system}:, and not {foreign[0]!r}"
        )


async def _add_people(
    connection: Connection, source: Source, people: Sequence[SourcePerson]
) -> None:
    matched = await _match(connection, source, people)
    new = {
        _email(person): person
        for person in people
        if person.external_id not in matched and _email(person)
    }
    await connection.execute(
        _ADD_PEOPLE,
        {
            "project_id": source.project_id,
            "people": [new_id() for _ in new],
            "emails": list(new),
            "names": [person.name[:_MAX_NAME_LENGTH] for person in new.values()],
        },
    )


async def _match(
    connection: Connection, source: Source, people: Sequence[SourcePerson]
) -> dict[str, UUID]:
    fields: dict[str, object] = {
        "project_id": source.project_id,
        "source": source.id,
        "system": source.system,
        "ids": [person.external_id for person in people],
        "emails": [_email(person) for person in people],
    }
    rows = await fetch(connection, _MATCH, fields)
    return {external_id: person_id for external_id, person_id in rows}


def _email(person: SourcePerson) -> str:
    """Return the address as the directory has it, "" for one that is none."""
    try:
        return parse_email(person.email)
    except Invalid:
        return ""


async def _group_names(
    connection: Connection, source: Source, groups: Sequence[SourceGroup]
) -> dict[str, str]:
    """Return the names in the directory; a name that somebody else's group has gets a number."""
    choices: dict[str, list[str]] = {}
    for group in groups:
        name = f"{source.name}: {group.name}"[: _MAX_NAME_LENGTH - 5]
        choices[group.name] = [name, *(f"{name} ({number})" for number in range(2, 9))]
    fields = {
        "project_id": source.project_id,
        "source": source.id,
        "names": [name for names in choices.values() for name in names],
    }
    taken = set(await fetch_values(connection, _FOREIGN_NAMES, fields))
    chosen: dict[str, str] = {}
    for group_name, names in choices.items():
        free = (name for name in names if name not in taken)
        chosen[group_name] = next(free, f"{names[0][:150]} {new_id()}")
        taken.add(chosen[group_name])
    return chosen


async def _write(
    connection: Connection,
    source: Source,
    groups: Sequence[SourceGroup],
    resolved: tuple[Mapping[str, str], Mapping[str, UUID]],
) -> None:
    names, people = resolved
    members = sorted(
        {
            (names[group.name], people[member])
            for group in groups
            for member in group.members
            if member in people
        }
    )
    fields: dict[str, object] = {
        "project_id": source.project_id,
        "source": source.id,
        "ids": [new_id() for _ in groups],
        "names": [names[group.name] for group in groups],
        "tags": [Jsonb(sorted(map(source.scope_tag, group.tags))) for group in groups],
        "groups": [group for group, _ in members],
        "members": [person for _, person in members],
    }
    for statement in (_DROP_GROUPS, _SAVE_GROUPS, _LEAVE, _JOIN):
        await connection.execute(statement, fields)
