"""Who has an access tag: the groups and people of the directory, and keys.

Names of people are for administrators; whoever calls this leaves them out for others.
"""

from collections.abc import Iterable
from typing import LiteralString

from lightwell.domain.access import Reader
from lightwell.domain.audiences import MAX_NAMES, TagChange, TagHolders
from lightwell.records.database import Database
from lightwell.records.directory import CURRENT_TAGS

_HOLDERS = """
WITH holders AS (
    SELECT person.person_id, coalesce(nullif(person.display_name, ''), person.email) AS name, tag, NULL AS of_group
    FROM people AS person CROSS JOIN LATERAL unnest(person.acl_tags) AS tag
    WHERE person.project_id = %(project_id)s AND person.is_active AND tag = ANY(%(tags)s)
    UNION ALL
    SELECT person.person_id, coalesce(nullif(person.display_name, ''), person.email), tag, directory_groups.name
    FROM directory_groups CROSS JOIN LATERAL unnest(directory_groups.acl_tags) AS tag
    CROSS JOIN LATERAL (SELECT person_id FROM memberships WHERE memberships.group_id = directory_groups.group_id) AS member
    JOIN people AS person USING (person_id)
    WHERE directory_groups.project_id = %(project_id)s AND person.is_active AND tag = ANY(%(tags)s)
)
SELECT wanted.tag,
       ARRAY(SELECT name FROM directory_groups
             WHERE project_id = %(project_id)s AND wanted.tag = ANY(acl_tags) ORDER BY name) AS groups,
       (SELECT count(DISTINCT person_id) FROM holders WHERE holders.tag = wanted.tag) AS people,
       (SELECT count(*) FROM api_keys
        WHERE project_id = %(project_id)s AND person_id IS NULL AND wanted.tag = ANY(acl_tags)
          AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AND scopes && '{read,admin}') AS keys,
       ARRAY(SELECT name FROM holders WHERE holders.tag = wanted.tag AND name <> ''
             GROUP BY person_id, name ORDER BY name, person_id LIMIT %(most)s) AS names,
       ARRAY(SELECT of_group FROM holders WHERE holders.tag = wanted.tag AND of_group IS NOT NULL
               AND 'person ' || person_id = %(user)s ORDER BY of_group) AS own_groups,
       EXISTS (SELECT FROM holders WHERE holders.tag = wanted.tag AND of_group IS NULL
               AND 'person ' || person_id = %(user)s) AS is_own
FROM unnest(%(tags)s::text[]) AS wanted (tag) ORDER BY wanted.tag
"""

_IN_GROUPS: LiteralString = """
SELECT member.person_id FROM directory_groups AS of_group
CROSS JOIN LATERAL (SELECT person_id FROM memberships WHERE memberships.group_id = of_group.group_id) AS member
WHERE of_group.project_id = %(project_id)s AND of_group.acl_tags && %(tags)s::text[]
"""

_COUNTS = f"""
SELECT count(*) AS everybody,
       count(*) FILTER (WHERE person.acl_tags && %(tags)s::text[] OR person.person_id IN ({_IN_GROUPS})) AS reached
FROM people AS person WHERE project_id = %(project_id)s AND is_active
"""  # noqa: S608 - only our own words

_MOVED = f"""
SELECT coalesce(nullif(person.display_name, ''), person.email) AS name, tags && %(new)s::text[] AS gains
FROM people AS person CROSS JOIN LATERAL (SELECT {CURRENT_TAGS} AS tags) AS current
WHERE person.project_id = %(project_id)s AND person.is_active
  AND (person.acl_tags && %(tags)s::text[] OR person.person_id IN ({_IN_GROUPS}))
  AND (tags && %(old)s::text[]) <> (tags && %(new)s::text[])
ORDER BY name, person.person_id
"""  # noqa: S608 - only our own words


async def list_holders(database: Database, reader: Reader, tags: Iterable[str]) -> list[TagHolders]:
    """Return who has each of these tags, by tag; `own_groups` and `is_own` say from where the reader's person has it."""
    parameters = {
        "project_id": reader.project_id,
        "tags": sorted(tags),
        "user": reader.user,
        "most": MAX_NAMES,
    }
    rows = await database.rows(_HOLDERS, parameters)
    return [
        TagHolders(
            tag=tag,
            groups=tuple(groups),
            people=people,
            keys=keys,
            names=tuple(names),
            own_groups=tuple(own_groups),
            is_own=is_own,
        )
        for tag, groups, people, keys, names, own_groups, is_own in rows
    ]


async def count_people(database: Database, reader: Reader, tags: Iterable[str]) -> tuple[int, int]:
    """Return how many active people the directory has, and how many of them have one of these tags."""
    parameters = {"project_id": reader.project_id, "tags": sorted(tags)}
    ((everybody, reached),) = await database.rows(_COUNTS, parameters)
    return everybody, reached


async def list_moved(
    database: Database, reader: Reader, change: TagChange
) -> tuple[list[str], list[str]]:
    """Return the names of active people who gain access by a change of tags, and of those who lose it, in order."""
    parameters = {
        "project_id": reader.project_id,
        "old": sorted(change.old),
        "new": sorted(change.new),
        "tags": sorted(change.old | change.new),
    }
    rows = await database.rows(_MOVED, parameters)
    return [name for name, gains in rows if gains], [name for name, gains in rows if not gains]
