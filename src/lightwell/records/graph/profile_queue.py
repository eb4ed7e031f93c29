"""Profiles that say something and have a vector, or want one: marked by refresh, taken by whoever embeds.

A vector is shown only while it is of what its profile says: from the moment a profile is marked until the vector of
its new text has been put, `nearest` passes it over. So what a lost document said is never felt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ClassId, ProjectId
from lightwell.ports import ProfileClaim
from lightwell.records.database import Connection, Database, repeatable

Key = tuple[UUID, ClassId]
"""A subject and an access class: a profile."""

_TAKEN_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedProfile:
    """A profile whose vector is missing or of other words.

    `name` and `kind` of a relation are its keywords and its predicate; `source` and `target` are what its own class
    calls its ends, "" for an entity. `text_hash` is of what its vector was made of, b"" without one.
    """

    subject: ProfileSubject
    name: str
    kind: str
    source: str
    target: str
    description: str
    text_hash: bytes
    claim: ProfileClaim

    @property
    def key(self) -> Key:
        return self.claim.subject_id, self.claim.class_id


# Rows are locked in the order of their keys, here and below: nobody waits in a circle.
_MARK = """
INSERT INTO described_profiles (subject_id, class_id, project_id)
SELECT touched.subject_id, touched.class_id, coalesce(
           known.project_id,
           (SELECT project_id FROM entities WHERE entity_id = touched.subject_id),
           (SELECT project_id FROM relations WHERE relation_id = touched.subject_id))
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS touched (subject_id, class_id)
LEFT JOIN profiles AS profile USING (subject_id, class_id)
LEFT JOIN described_profiles AS known USING (subject_id, class_id)
WHERE profile.description <> '' OR known.subject_id IS NOT NULL
ORDER BY touched.subject_id, touched.class_id
ON CONFLICT (subject_id, class_id) DO UPDATE SET changed = true, taken_until = NULL
"""

_ANY = (
    "SELECT EXISTS (SELECT FROM described_profiles WHERE project_id = %(project_id)s AND changed)"
)

# The hash goes with the claim: should its holder die, nobody knows which vector was put.
_TAKE = """
WITH next AS (
    SELECT described.subject_id, described.class_id, described.text_hash FROM described_profiles AS described
    WHERE project_id = %(project_id)s AND changed AND (taken_until IS NULL OR taken_until < now())
      AND EXISTS (SELECT FROM profiles AS profile
                  WHERE profile.subject_id = described.subject_id AND profile.class_id = described.class_id
                    AND profile.description <> ''
                    AND (%(since)s::timestamptz IS NULL OR profile.updated_at >= %(since)s))
    ORDER BY described.subject_id, described.class_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE described_profiles AS described
SET taken_until = now() + make_interval(secs => %(seconds)s), text_hash = NULL
FROM next WHERE described.subject_id = next.subject_id AND described.class_id = next.class_id
RETURNING described.subject_id, described.class_id, coalesce(next.text_hash, ''), described.taken_until
"""

# The ends are called what the latest chunk that states the relation calls them, so that the text follows from what
# marks the relation; what no chunk states has the names of their profiles.
_SAID = """
SELECT profile.subject_id, profile.class_id, profile.subject, profile.display_name, profile.entity_kind,
       coalesce(stated.source, source.display_name, ''), coalesce(stated.target, target.display_name, ''),
       left(profile.description, %(most)s)
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS taken (subject_id, class_id)
JOIN profiles AS profile USING (subject_id, class_id)
LEFT JOIN relations AS relation ON relation.relation_id = profile.subject_id
LEFT JOIN profiles AS source ON source.subject_id = relation.source_id AND source.class_id = profile.class_id
LEFT JOIN profiles AS target ON target.subject_id = relation.target_id AND target.class_id = profile.class_id
LEFT JOIN LATERAL (
    SELECT coalesce(subject.part_name, subject.name) AS source, coalesce(object.part_name, object.name) AS target
    FROM (
        SELECT chunk_id FROM relation_mentions
        WHERE relation_id = profile.subject_id AND class_id = profile.class_id ORDER BY chunk_id DESC LIMIT 1
    ) AS latest
    JOIN relation_mentions AS mention
      ON mention.chunk_id = latest.chunk_id AND mention.relation_id = profile.subject_id
    JOIN relations AS its ON its.relation_id = mention.stated_as
    JOIN document_entity_mentions AS subject
      ON subject.chunk_id = latest.chunk_id AND subject.named_as = its.source_id AND subject.class_id = profile.class_id
    JOIN document_entity_mentions AS object
      ON object.chunk_id = latest.chunk_id AND object.named_as = its.target_id AND object.class_id = profile.class_id
    WHERE mention.class_id = profile.class_id
    ORDER BY subject.name COLLATE "C", object.name COLLATE "C" LIMIT 1
) AS stated ON true
WHERE profile.description <> ''
ORDER BY profile.subject_id, profile.class_id
"""

_OWN = """
WITH own AS (
    SELECT described.subject_id, described.class_id
    FROM described_profiles AS described
    JOIN unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(untils)s::timestamptz[])
        AS given (subject_id, class_id, taken_until) USING (subject_id, class_id, taken_until)
    ORDER BY described.subject_id, described.class_id FOR UPDATE OF described
)
"""

_DONE = f"""
{_OWN}
UPDATE described_profiles AS described SET changed = false, taken_until = NULL, text_hash = given.text_hash
FROM own JOIN unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(hashes)s::bytea[])
    AS given (subject_id, class_id, text_hash) USING (subject_id, class_id)
WHERE described.subject_id = own.subject_id AND described.class_id = own.class_id
"""  # noqa: S608 - only our own words

_GIVE_BACK = f"""
{_OWN}
UPDATE described_profiles AS described SET taken_until = NULL FROM own
WHERE described.subject_id = own.subject_id AND described.class_id = own.class_id
"""  # noqa: S608 - only our own words

_FORGET = f"""
{_OWN}
DELETE FROM described_profiles AS described USING own
WHERE described.subject_id = own.subject_id AND described.class_id = own.class_id
"""  # noqa: S608 - only our own words

_TAKE_SILENT = """
WITH next AS (
    SELECT subject_id, class_id FROM described_profiles AS described
    WHERE project_id = %(project_id)s AND changed AND (taken_until IS NULL OR taken_until < now())
      AND NOT EXISTS (SELECT FROM profiles AS profile
                      WHERE profile.subject_id = described.subject_id AND profile.class_id = described.class_id
                        AND profile.description <> '')
    ORDER BY subject_id, class_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE described_profiles AS described SET taken_until = now() + make_interval(secs => %(seconds)s)
FROM next WHERE described.subject_id = next.subject_id AND described.class_id = next.class_id
RETURNING described.subject_id, described.class_id, described.taken_until
"""

# A profile may have come back between the look and the lock.
_STILL_SILENT = """
SELECT subject_id, class_id
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS held (subject_id, class_id)
WHERE NOT EXISTS (SELECT FROM profiles AS profile
                  WHERE profile.subject_id = held.subject_id AND profile.class_id = held.class_id
                    AND profile.description <> '')
ORDER BY subject_id, class_id
"""


async def mark_changed(connection: Connection, touched: Sequence[tuple[UUID, int]]) -> None:
    """Note which of the profiles just recomputed say something, or did so before."""
    if not touched:
        return
    keys = [(subject_id, ClassId(class_id)) for subject_id, class_id in touched]
    await connection.execute(_MARK, _keys(keys))


async def any_changed(database: Database, project_id: ProjectId) -> bool:
    """Return whether a profile says something else than its vector, or nothing any more."""
    return bool((await database.rows(_ANY, {"project_id": project_id}))[0][0])


async def take_changed(
    database: Database,
    project_id: ProjectId,
    *,
    limit: int,
    most: int,
    since: datetime | None = None,
) -> list[ChangedProfile]:
    """Take up to `limit` changed profiles that nobody else has in hand, with `most` characters of what they say.

    With `since` only those that were derived then or later. They come back by themselves after a minute, and at once when they are marked again.
    """
    taken = await database.rows(
        _TAKE,
        {"project_id": project_id, "limit": limit, "seconds": _TAKEN_SECONDS, "since": since},
    )
    if not taken:
        return []
    known = {(row[0], ClassId(row[1])): (bytes(row[2]), row[3]) for row in taken}
    rows = await database.rows(_SAID, {**_keys(list(known)), "most": most})
    return [
        ChangedProfile(
            subject=ProfileSubject(row[2]),
            name=row[3],
            kind=row[4],
            source=row[5],
            target=row[6],
            description=row[7],
            text_hash=known[row[0], row[1]][0],
            claim=ProfileClaim(
                subject_id=row[0], class_id=ClassId(row[1]), until=known[row[0], row[1]][1]
            ),
        )
        for row in rows
    ]


async def mark_embedded(
    database: Database, profiles: Sequence[ChangedProfile], hashes: Mapping[Key, bytes]
) -> None:
    """Note that the vectors of these are of texts with these hashes; what was marked since its taking stays marked."""
    columns = _columns([profile.claim for profile in profiles])
    await database.execute(_DONE, {**columns, "hashes": [hashes[each.key] for each in profiles]})


async def give_back(database: Database, claims: Sequence[ProfileClaim]) -> None:
    """Leave these to whoever asks next; what is done or taken anew is not theirs any more."""
    await database.execute(_GIVE_BACK, _columns(claims))


@repeatable
async def take_silent(
    database: Database, project_id: ProjectId, *, limit: int
) -> list[ProfileClaim]:
    """Take up to `limit` profiles that are gone or say nothing any more, and that nobody else has in hand.

    When a profile says something again, the claim on it ends.
    """
    wanted = {"project_id": project_id, "limit": limit, "seconds": _TAKEN_SECONDS}
    async with database.transaction() as connection:
        taken = await (await connection.execute(_TAKE_SILENT, wanted)).fetchall()
        claims = {
            (row[0], row[1]): ProfileClaim(
                subject_id=row[0], class_id=ClassId(row[1]), until=row[2]
            )
            for row in taken
        }
        silent = await connection.execute(_STILL_SILENT, _columns(list(claims.values())))
        keys = [(row[0], row[1]) for row in await silent.fetchall()]
        others = [claim for key, claim in claims.items() if key not in keys]
        await connection.execute(_GIVE_BACK, _columns(others))
    return [claims[key] for key in keys]


async def delete_vector_records(database: Database, claims: Sequence[ProfileClaim]) -> None:
    """Forget that these profiles had a vector."""
    await database.execute(_FORGET, _columns(claims))


def _columns(claims: Sequence[ProfileClaim]) -> dict[str, object]:
    return {
        "subjects": [claim.subject_id for claim in claims],
        "classes": [claim.class_id for claim in claims],
        "untils": [claim.until for claim in claims],
    }


def _keys(keys: Sequence[Key]) -> dict[str, object]:
    return {"subjects": [key[0] for key in keys], "classes": [key[1] for key in keys]}
