"""People and groups in the database. Only an administrator reads or changes them; no reader does."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg.types.json import Jsonb

from lightwell.domain.access import Tags
from lightwell.domain.directory import (
    Group,
    GroupId,
    Person,
    PersonChange,
    PersonId,
    PersonName,
)
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import ProjectId, new_id
from lightwell.records.database import Database, repeatable
from lightwell.records.rows import fetch

CURRENT_TAGS: LiteralString = """
ARRAY(SELECT unnest(person.acl_tags)
      UNION
      SELECT unnest(of_group.acl_tags) FROM memberships AS member JOIN directory_groups AS of_group USING (group_id)
      WHERE member.person_id = person.person_id)
"""
"""The tags that `person` has now: its own, and those of its groups."""

_COLUMNS: LiteralString = f"""
person.person_id AS id, person.email, person.display_name,
coalesce((SELECT jsonb_object_agg(system, external_id) FROM person_external_ids
          WHERE person_external_ids.person_id = person.person_id), '{{}}') AS external_ids,
person.acl_tags,
ARRAY(SELECT of_group.name FROM memberships AS member JOIN directory_groups AS of_group USING (group_id)
      WHERE member.person_id = person.person_id ORDER BY of_group.name) AS groups,
{CURRENT_TAGS} AS tags, person.scopes, person.is_active AS active, person.created_at
"""  # noqa: S608 - only our own words

_LIST = f"""
SELECT {_COLUMNS} FROM people AS person
WHERE person.project_id = %(project_id)s AND (%(after)s::uuid IS NULL OR person.person_id > %(after)s)
  AND (%(text)s = '' OR position(lower(%(text)s) IN lower(person.display_name || ' ' || person.email)) > 0)
  AND (%(group)s = '' OR EXISTS (SELECT FROM memberships AS belongs JOIN directory_groups AS of_group USING (group_id)
                                 WHERE belongs.person_id = person.person_id AND of_group.project_id = %(project_id)s
                                   AND of_group.name = %(group)s))
ORDER BY person.person_id LIMIT %(limit)s
"""  # noqa: S608 - only our own words

_BY_NAME: LiteralString = """
person.project_id = %(project_id)s AND (
    person.person_id = %(id)s::uuid
    OR (%(system)s::text = 'email' AND person.email = %(external_id)s::text AND person.email <> '')
    OR person.person_id = (SELECT named.person_id FROM person_external_ids AS named
                           WHERE named.project_id = %(project_id)s AND named.system = %(system)s::text
                             AND named.external_id = %(external_id)s::text))
"""

GET_PERSON = f"SELECT {_COLUMNS} FROM people AS person WHERE {_BY_NAME}"  # noqa: S608 - only our own words

# Changes of a project's directory happen one at a time, so that each sees what the last one wrote.
DIRECTORY_LOCK: LiteralString = """
SELECT pg_advisory_xact_lock(hashtextextended('directory ' || %(project_id)s::text, 0))
"""

_INSERT = "INSERT INTO people (person_id, project_id) VALUES (%(person_id)s, %(project_id)s)"

_UPDATE = """
UPDATE people
SET email = coalesce(%(email)s, email), display_name = coalesce(%(display_name)s, display_name),
    acl_tags = coalesce(%(acl_tags)s, acl_tags), scopes = coalesce(%(scopes)s, scopes), is_active = coalesce(%(active)s, is_active), updated_at = now()
WHERE person_id = %(person_id)s AND project_id = %(project_id)s
"""

# Somebody else of the project has the address or one of the ids.
_TAKEN = """
SELECT FROM people WHERE project_id = %(project_id)s AND email = %(email)s AND email <> '' AND person_id <> %(person_id)s
UNION ALL
SELECT FROM person_external_ids AS held JOIN jsonb_each_text(%(external_ids)s) AS given
    ON given.key = held.system AND given.value = held.external_id
WHERE held.project_id = %(project_id)s AND held.person_id <> %(person_id)s
"""

_FORGET_IDS = "DELETE FROM person_external_ids WHERE person_id = %(person_id)s"

_INSERT_IDS = """
INSERT INTO person_external_ids (project_id, system, external_id, person_id)
SELECT %(project_id)s, key, value, %(person_id)s FROM jsonb_each_text(%(external_ids)s)
"""

END_SESSIONS: LiteralString = """
WITH unused AS (DELETE FROM sign_in_links WHERE person_id = %(person_id)s),
     uncoded AS (DELETE FROM channel_codes WHERE person_id = %(person_id)s)
DELETE FROM web_sessions
WHERE person_id = %(person_id)s OR key_id IN (SELECT key_id FROM api_keys WHERE person_id = %(person_id)s)
"""
"""Ends the sessions of a person, also those by the person's keys, the links that would sign the person in, and the codes that would link an account."""

# Those of these tags that another person or a group has, too.
_SHARED = """
SELECT DISTINCT tag FROM unnest(%(tags)s::text[]) AS tag
WHERE EXISTS (SELECT FROM people WHERE project_id = %(project_id)s AND tag = ANY(people.acl_tags)
              AND people.person_id IS DISTINCT FROM %(person_id)s)
   OR EXISTS (SELECT FROM directory_groups AS of_group WHERE project_id = %(project_id)s AND tag = ANY(of_group.acl_tags))
"""

_DELETE = "DELETE FROM people WHERE person_id = %(person_id)s AND project_id = %(project_id)s"

_GROUPS = """
SELECT group_id AS id, name, acl_tags,
       (SELECT count(*) FROM memberships AS member WHERE member.group_id = of_group.group_id) AS members,
       source_key IS NOT NULL AS is_synced
FROM directory_groups AS of_group
WHERE project_id = %(project_id)s AND (%(name)s::text IS NULL OR name = %(name)s) ORDER BY name
"""

_GROUPS_OF = """
SELECT of_group.group_id AS id, of_group.name, of_group.acl_tags,
       (SELECT count(*) FROM memberships AS member WHERE member.group_id = of_group.group_id) AS members,
       source_key IS NOT NULL AS is_synced
FROM directory_groups AS of_group
WHERE of_group.group_id IN (SELECT group_id FROM memberships WHERE memberships.person_id = %(person_id)s) ORDER BY of_group.name
"""

_SAVE_GROUP = """
INSERT INTO directory_groups (group_id, project_id, name, acl_tags)
VALUES (%(group_id)s, %(project_id)s, %(name)s, %(acl_tags)s)
ON CONFLICT (project_id, name) DO UPDATE SET acl_tags = EXCLUDED.acl_tags
"""

_DELETE_GROUP = "DELETE FROM directory_groups WHERE project_id = %(project_id)s AND name = %(name)s"

_JOIN = """
INSERT INTO group_members (group_id, person_id) SELECT %(group_id)s, unnest(%(people)s::uuid[]) ON CONFLICT DO NOTHING
"""

_LEAVE = """
DELETE FROM group_members WHERE group_id = %(group_id)s AND person_id = ANY(%(people)s::uuid[])
"""


async def list_people(
    database: Database,
    project_id: ProjectId,
    *,
    group: str,
    text: str,
    after: PersonId | None,
    limit: int,
) -> list[Person]:
    """Return up to `limit` people by id, those after the id `after`; "" for `group` and `text` leaves nobody out."""
    page = {
        "project_id": project_id,
        "group": group,
        "text": text,
        "after": after,
        "limit": limit,
    }
    return await database.rows(_LIST, page, into=Person)


async def find_person(database: Database, project_id: ProjectId, name: PersonName) -> Person | None:
    """Return the person whom this names, None for nobody."""
    return await database.row(GET_PERSON, by_name(project_id, name), into=Person)


@repeatable
async def save_person(
    database: Database, project_id: ProjectId, person_id: PersonId | None, change: PersonChange
) -> Person:
    """Change a person, or make a new one for None, and return the result.

    Raises `NotFound`, and `Invalid` where another person of the project has the e-mail address or an external id.
    """
    stored_id = PersonId(new_id()) if person_id is None else person_id
    fields: dict[str, object] = {
        "project_id": project_id,
        "person_id": stored_id,
        "email": change.email,
        "display_name": change.display_name,
        "acl_tags": None if change.acl_tags is None else sorted(change.acl_tags),
        "scopes": None if change.scopes is None else sorted(change.scopes),
        "active": change.active,
        "external_ids": Jsonb(dict(change.external_ids or {})),
    }
    async with database.transaction() as connection:
        await connection.execute(DIRECTORY_LOCK, fields)
        if person_id is None:
            await connection.execute(_INSERT, fields)
        if (await connection.execute(_TAKEN, fields)).rowcount:
            raise Invalid("Another person of this project has this e-mail address or external id")
        if not (await connection.execute(_UPDATE, fields)).rowcount:
            raise NotFound(f"There is no person {person_id}")
        if change.active is False:
            await connection.execute(END_SESSIONS, fields)
        if change.external_ids is not None:
            await connection.execute(_FORGET_IDS, fields)
            await connection.execute(_INSERT_IDS, fields)
        by_id = by_name(project_id, PersonName(stored_id))
        (person,) = await fetch(connection, GET_PERSON, by_id, into=Person)
    return person


async def delete_person(database: Database, project_id: ProjectId, person_id: PersonId) -> None:
    """Delete a person with the person's keys and memberships."""
    await database.execute(_DELETE, {"project_id": project_id, "person_id": person_id})


async def list_shared_tags(
    database: Database, project_id: ProjectId, person_id: PersonId | None, tags: Tags
) -> Tags:
    """Return those of the tags that somebody other than this person, or a group, has."""
    whose = {"project_id": project_id, "person_id": person_id, "tags": sorted(tags)}
    return frozenset(await database.values(_SHARED, whose))


async def list_groups(
    database: Database, project_id: ProjectId, name: str | None = None
) -> list[Group]:
    """Return the project's groups by name; only the one of this name, if one is given."""
    return await database.rows(_GROUPS, {"project_id": project_id, "name": name}, into=Group)


async def list_groups_of(database: Database, person_id: PersonId) -> list[Group]:
    """Return the groups of a person by name."""
    return await database.rows(_GROUPS_OF, {"person_id": person_id}, into=Group)


async def save_group(database: Database, project_id: ProjectId, name: str, tags: Tags) -> None:
    """Make a group of this name, or change the tags of the existing one."""
    row = {
        "group_id": new_id(),
        "project_id": project_id,
        "name": name,
        "acl_tags": sorted(tags),
    }
    await database.execute(_SAVE_GROUP, row)


async def delete_group(database: Database, project_id: ProjectId, name: str) -> None:
    """Delete a group, whose members lose its tags at once."""
    await database.execute(_DELETE_GROUP, {"project_id": project_id, "name": name})


async def add_members(database: Database, group: GroupId, people: Sequence[PersonId]) -> None:
    """Add people to a group; those who are members stay so."""
    await database.execute(_JOIN, {"group_id": group, "people": sorted(people)})


async def remove_members(database: Database, group: GroupId, people: Sequence[PersonId]) -> None:
    """Remove people from a group; whoever is no member is left alone."""
    await database.execute(_LEAVE, {"group_id": group, "people": sorted(people)})


def by_name(project_id: ProjectId, name: PersonName) -> dict[str, object]:
    """Return the parameters with which `GET_PERSON` finds whom this names."""
    return {
        "project_id": project_id,
        "id": name.id,
        "system": name.system,
        "external_id": name.external_id,
    }
