"""The queue of profiles with long descriptions: refresh fills it, whoever has a model claims from it and stores summaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from lightwell.domain.ids import ClassId, ProjectId
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.graph.profile_queue import (
    ALL_DUE,
    NOTE_GAPS,
    DueProfiles,
    Key,
    key_columns,
)
from lightwell.records.locks import PUBLISHING_LOCK

LONG_BYTES = 500
"""Shorter descriptions cannot exceed any token threshold, because a token has at least one byte."""

_CLAIM_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LongProfile:
    """A profile as refresh computed it: `description` is its descriptions joined."""

    subject_id: UUID
    class_id: ClassId
    name: str
    description: str


_MARK = """
INSERT INTO long_profiles (subject_id, class_id, project_id)
SELECT profile.subject_id, profile.class_id, coalesce(entity.project_id, relation.project_id)
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS touched (subject_id, class_id)
JOIN profiles AS profile USING (subject_id, class_id)
LEFT JOIN entities AS entity ON entity.entity_id = profile.subject_id
LEFT JOIN relations AS relation ON relation.relation_id = profile.subject_id
WHERE octet_length(profile.description) > %(bytes)s AND NOT 'description' = ANY(profile.by_hand)
ON CONFLICT (subject_id, class_id) DO UPDATE SET taken_until = NULL
"""

_UNMARK = """
DELETE FROM long_profiles USING profiles AS profile,
       unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS touched (subject_id, class_id)
WHERE long_profiles.subject_id = touched.subject_id AND long_profiles.class_id = touched.class_id
  AND profile.subject_id = touched.subject_id AND profile.class_id = touched.class_id
  AND (octet_length(profile.description) <= %(bytes)s OR 'description' = ANY(profile.by_hand))
"""

_CLAIM = """
WITH next AS (
    SELECT long.subject_id, long.class_id FROM long_profiles AS long
    WHERE project_id = %(project_id)s AND lease_is_over(taken_until)
      AND (%(of)s::integer[] IS NULL OR long.class_id = ANY(%(of)s))
      AND (%(since)s::timestamptz IS NULL OR EXISTS (
          SELECT FROM profiles AS profile WHERE profile.subject_id = long.subject_id
              AND profile.class_id = long.class_id AND profile.updated_at >= %(since)s))
    ORDER BY long.subject_id, long.class_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE long_profiles SET taken_until = now() + make_interval(secs => %(seconds)s)
    FROM next WHERE long_profiles.subject_id = next.subject_id AND long_profiles.class_id = next.class_id
    RETURNING long_profiles.subject_id, long_profiles.class_id
)
SELECT subject_id, class_id, display_name AS name, description FROM taken JOIN profiles USING (subject_id, class_id)
ORDER BY subject_id, class_id
"""

# A profile that was refreshed meanwhile has another description: then the summary is not stored and the mark stays.
_WRITE = """
WITH written AS (
    UPDATE profiles SET description = %(summary)s, summary_ids = %(replies)s, updated_at = now()
    WHERE subject_id = %(subject)s AND class_id = %(class_id)s AND description = %(joined)s
    RETURNING subject_id, class_id
), described AS (
    UPDATE described_profiles SET changed = true, taken_until = NULL FROM written
    WHERE described_profiles.subject_id = written.subject_id AND described_profiles.class_id = written.class_id
)
DELETE FROM long_profiles USING written
WHERE long_profiles.subject_id = written.subject_id AND long_profiles.class_id = written.class_id
"""

_DELETE_MARK = """
DELETE FROM long_profiles USING profiles AS profile
WHERE long_profiles.subject_id = %(subject)s AND long_profiles.class_id = %(class_id)s
  AND profile.subject_id = %(subject)s AND profile.class_id = %(class_id)s AND profile.description = %(joined)s
"""

_RELEASE = """
UPDATE long_profiles SET taken_until = NULL
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS given (subject_id, class_id)
WHERE long_profiles.subject_id = given.subject_id AND long_profiles.class_id = given.class_id
"""


async def mark_long(connection: Connection, touched: Sequence[Key]) -> None:
    """Mark those of the recomputed profiles whose descriptions are long, and unmark the others."""
    parameters = {**key_columns(touched), "bytes": LONG_BYTES}
    for statement in (_MARK, _UNMARK):
        await connection.execute(statement, parameters)


async def claim(
    database: Database, project_id: ProjectId, *, limit: int, due: DueProfiles = ALL_DUE
) -> list[LongProfile]:
    """Claim up to `limit` long profiles that nobody else has claimed; a claim ends by itself after five minutes."""
    taken = {"project_id": project_id, "limit": limit, "seconds": _CLAIM_SECONDS}
    return await database.rows(_CLAIM, {**taken, **due.parameters}, into=LongProfile)


@repeatable
async def write(
    database: Database,
    project_id: ProjectId,
    profile: LongProfile,
    summary: str,
    replies: Sequence[UUID],
) -> None:
    """Replace the descriptions by their summary; do nothing if the profile has changed."""
    written = {**_key(profile), "summary": summary, "replies": list(replies)}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, {"project_id": project_id})
        await connection.execute(_WRITE, written)
        await connection.execute(NOTE_GAPS, key_columns([(profile.subject_id, profile.class_id)]))


async def keep_unsummarised(database: Database, profile: LongProfile) -> None:
    """Unmark the profile: its descriptions stay joined until they change."""
    await database.execute(_DELETE_MARK, _key(profile))


async def release(database: Database, profiles: Sequence[LongProfile]) -> None:
    """Release these claims, so that others can claim the profiles."""
    keys = [(profile.subject_id, profile.class_id) for profile in profiles]
    await database.execute(_RELEASE, key_columns(keys))


def _key(profile: LongProfile) -> dict[str, object]:
    return {
        "subject": profile.subject_id,
        "class_id": profile.class_id,
        "joined": profile.description,
    }
