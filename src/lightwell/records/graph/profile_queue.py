"""The queue of profiles whose vectors are missing or outdated: refresh fills it, whoever embeds profiles claims
from it.

From the moment a profile is marked until its new vector is stored, `nearest` skips the old vector. So no search
result depends on a text that was deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import LiteralString
from uuid import UUID

from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ClassId, ProjectId
from lightwell.ports import ProfileClaim
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.graph.due_profiles import ALL_DUE, DueProfiles

Key = tuple[UUID, ClassId]
"""An entity or relation, and an access class: identifies a profile."""

_CLAIM_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedProfile:
    """A profile whose vector is missing or of an earlier text.

    For a relation, `name` and `kind` are its keywords and predicate; `source` and `target` are its ends' names
    in its own class, "" for an entity, which has no `comparison` and no `use_case` either. `text_hash` is the hash of the text of the stored vector, b"" without
    one.
    """

    subject: ProfileSubject
    name: str
    kind: str
    source: str
    target: str
    description: str
    comparison: str
    use_case: str
    text_hash: bytes
    claim: ProfileClaim

    @property
    def key(self) -> Key:
        return self.claim.subject_id, self.claim.class_id


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedProfile:
    """A profile whose vector is of what it says now, with the hash of that text."""

    subject: ProfileSubject
    subject_id: UUID
    class_id: ClassId
    text_hash: bytes

    @property
    def key(self) -> Key:
        return self.subject_id, self.class_id


_DESCRIBED: LiteralString = "profile.description || profile.comparison || profile.use_case <> ''"

_EMBEDDED = """
SELECT profile.subject, subject_id, class_id, described.text_hash
FROM described_profiles AS described JOIN profiles AS profile USING (subject_id, class_id)
WHERE described.project_id = %(project_id)s AND NOT described.changed AND (subject_id, class_id) > (%(after)s, %(after_class)s)
ORDER BY subject_id, class_id LIMIT %(limit)s
"""

# All statements of this module lock rows in the order of their keys, so that transactions do not deadlock.
_MARK = """
INSERT INTO described_profiles (subject_id, class_id, project_id)
SELECT touched.subject_id, touched.class_id, coalesce(
           known.project_id,
           (SELECT project_id FROM entities WHERE entity_id = touched.subject_id),
           (SELECT project_id FROM relations WHERE relation_id = touched.subject_id))
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS touched (subject_id, class_id)
LEFT JOIN profiles AS profile USING (subject_id, class_id)
LEFT JOIN described_profiles AS known USING (subject_id, class_id)
WHERE {described} OR known.subject_id IS NOT NULL
ORDER BY touched.subject_id, touched.class_id
ON CONFLICT (subject_id, class_id) DO UPDATE SET changed = true, taken_until = NULL
""".replace("{described}", _DESCRIBED)

# The vectors in spaces that are not active become outdated, too. The space of questions has `changed`.
NOTE_GAPS: LiteralString = """
INSERT INTO profile_gaps (subject_id, class_id, space_id)
SELECT described.subject_id, described.class_id, space.space_id
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS touched (subject_id, class_id)
JOIN described_profiles AS described USING (subject_id, class_id)
JOIN embedding_spaces AS space USING (project_id)
WHERE space.status IN ('building', 'retired')
ORDER BY described.subject_id, described.class_id, space.space_id
ON CONFLICT DO NOTHING
"""

_ANY = (
    "SELECT EXISTS (SELECT FROM described_profiles WHERE project_id = %(project_id)s AND changed)"
)

# A claim clears the hash: if its holder dies, it is unknown which vector was stored.
_CLAIM = """
WITH next AS (
    SELECT described.subject_id, described.class_id, described.text_hash FROM described_profiles AS described
    WHERE project_id = %(project_id)s AND changed AND lease_is_over(taken_until)
      AND (%(of)s::integer[] IS NULL OR described.class_id = ANY(%(of)s))
      AND EXISTS (SELECT FROM profiles AS profile
                  WHERE profile.subject_id = described.subject_id AND profile.class_id = described.class_id
                    AND {described}
                    AND (%(since)s::timestamptz IS NULL OR profile.updated_at >= %(since)s))
    ORDER BY described.subject_id, described.class_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE described_profiles AS described
SET taken_until = now() + make_interval(secs => %(seconds)s), text_hash = NULL
FROM next WHERE described.subject_id = next.subject_id AND described.class_id = next.class_id
RETURNING described.subject_id, described.class_id, coalesce(next.text_hash, ''), described.taken_until
""".replace("{described}", _DESCRIBED)

# The ends have the names of the latest chunk that states the relation, so that the embedded text changes only when the
# relation is marked; a relation that no chunk states uses the names of its ends' profiles.
_SAID = """
SELECT profile.subject_id, profile.class_id, profile.subject, profile.display_name, profile.entity_kind,
       coalesce(stated.source, source.display_name, ''), coalesce(stated.target, target.display_name, ''),
       left(profile.description, %(most)s), left(profile.comparison, %(most)s), left(profile.use_case, %(most)s)
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
WHERE {described}
ORDER BY profile.subject_id, profile.class_id
""".replace("{described}", _DESCRIBED)

_OWN = """
WITH own AS (
    SELECT described.subject_id, described.class_id
    FROM described_profiles AS described
    JOIN unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(untils)s::timestamptz[])
        AS given (subject_id, class_id, taken_until) USING (subject_id, class_id, taken_until)
    ORDER BY described.subject_id, described.class_id FOR UPDATE OF described
)
"""

_MARK_EMBEDDED = f"""
{_OWN}
UPDATE described_profiles AS described SET changed = false, taken_until = NULL, text_hash = given.text_hash
FROM own JOIN unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(hashes)s::bytea[])
    AS given (subject_id, class_id, text_hash) USING (subject_id, class_id)
WHERE described.subject_id = own.subject_id AND described.class_id = own.class_id
"""  # noqa: S608 - only our own words

_RELEASE = f"""
{_OWN}
UPDATE described_profiles AS described SET taken_until = NULL FROM own
WHERE described.subject_id = own.subject_id AND described.class_id = own.class_id
"""  # noqa: S608 - only our own words

_DELETE = f"""
{_OWN}
DELETE FROM described_profiles AS described USING own
WHERE described.subject_id = own.subject_id AND described.class_id = own.class_id
"""  # noqa: S608 - only our own words

_CLAIM_EMPTY = """
WITH next AS (
    SELECT subject_id, class_id FROM described_profiles AS described
    WHERE project_id = %(project_id)s AND changed AND lease_is_over(taken_until)
      AND NOT EXISTS (SELECT FROM profiles AS profile
                      WHERE profile.subject_id = described.subject_id AND profile.class_id = described.class_id
                        AND {described})
    ORDER BY subject_id, class_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE described_profiles AS described SET taken_until = now() + make_interval(secs => %(seconds)s)
FROM next WHERE described.subject_id = next.subject_id AND described.class_id = next.class_id
RETURNING described.subject_id, described.class_id, described.taken_until
""".replace("{described}", _DESCRIBED)

# A profile may have got a description again between the query and the lock.
_STILL_SILENT = """
SELECT subject_id, class_id
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS held (subject_id, class_id)
WHERE NOT EXISTS (SELECT FROM profiles AS profile
                  WHERE profile.subject_id = held.subject_id AND profile.class_id = held.class_id
                    AND {described})
ORDER BY subject_id, class_id
""".replace("{described}", _DESCRIBED)


async def mark_changed(connection: Connection, touched: Sequence[tuple[UUID, int]]) -> None:
    """Mark those of the recomputed profiles that have, or had, a description or a comparison."""
    if not touched:
        return
    keys = [(subject_id, ClassId(class_id)) for subject_id, class_id in touched]
    await connection.execute(_MARK, _keys(keys))
    await connection.execute(NOTE_GAPS, _keys(keys))


@repeatable
async def mark_lost(database: Database, keys: Sequence[Key]) -> None:
    """Mark profiles whose vectors are in no store, so that they are embedded again."""
    async with database.transaction() as connection:
        await mark_changed(connection, keys)


async def has_changed(database: Database, project_id: ProjectId) -> bool:
    """Return whether a profile's vector does not match its description."""
    return bool((await database.rows(_ANY, {"project_id": project_id}))[0][0])


async def list_embedded(
    database: Database, project_id: ProjectId, *, after: Key, limit: int
) -> list[EmbeddedProfile]:
    """Return up to `limit` profiles after this key whose vectors are of what they say, by key.

    It takes no reader: it is for copying all vectors to another store.
    """
    parameters = {"project_id": project_id, "after": after[0], "after_class": after[1]}
    rows = await database.rows(_EMBEDDED, {**parameters, "limit": limit})
    return [
        EmbeddedProfile(
            subject=ProfileSubject(row[0]),
            subject_id=row[1],
            class_id=ClassId(row[2]),
            text_hash=bytes(row[3]),
        )
        for row in rows
    ]


async def claim_changed(
    database: Database,
    project_id: ProjectId,
    *,
    limit: int,
    max_characters: int,
    due: DueProfiles = ALL_DUE,
) -> list[ChangedProfile]:
    """Claim up to `limit` changed profiles that nobody else has claimed, with `max_characters` of their
    descriptions.

    A claim ends after a minute, or when the profile is marked again.
    """
    claimed = await database.rows(
        _CLAIM,
        {"project_id": project_id, "limit": limit, "seconds": _CLAIM_SECONDS, **due.parameters},
    )
    if not claimed:
        return []
    hashes = {(row[0], ClassId(row[1])): bytes(row[2]) for row in claimed}
    claims = [
        ProfileClaim(subject_id=row[0], class_id=ClassId(row[1]), until=row[3]) for row in claimed
    ]
    described = await describe(database, claims, max_characters=max_characters)
    return [replace(each, text_hash=hashes[each.key]) for each in described]


async def describe(
    database: Database, claims: Sequence[ProfileClaim], *, max_characters: int
) -> list[ChangedProfile]:
    """Return those of the claimed profiles that have a description, with `max_characters` of it and no hash."""
    by_key = {(claim.subject_id, claim.class_id): claim for claim in claims}
    rows = await database.rows(_SAID, {**_keys(list(by_key)), "most": max_characters})
    return [
        ChangedProfile(
            subject=ProfileSubject(row[2]),
            name=row[3],
            kind=row[4],
            source=row[5],
            target=row[6],
            description=row[7],
            comparison=row[8],
            use_case=row[9],
            text_hash=b"",
            claim=by_key[row[0], ClassId(row[1])],
        )
        for row in rows
    ]


async def mark_embedded(
    database: Database, profiles: Sequence[ChangedProfile], hashes: Mapping[Key, bytes]
) -> None:
    """Record the hashes of the embedded texts; profiles that were marked after their claim stay marked."""
    columns = _columns([profile.claim for profile in profiles])
    await database.execute(
        _MARK_EMBEDDED, {**columns, "hashes": [hashes[each.key] for each in profiles]}
    )


async def release(database: Database, claims: Sequence[ProfileClaim]) -> None:
    """Release these claims; claims that have ended are ignored."""
    await database.execute(_RELEASE, _columns(claims))


@repeatable
async def claim_empty(
    database: Database, project_id: ProjectId, *, limit: int
) -> list[ProfileClaim]:
    """Claim up to `limit` profiles that no longer exist or have no description, and that nobody else has
    claimed.

    If a profile gets a description again, the claim on it ends.
    """
    parameters = {"project_id": project_id, "limit": limit, "seconds": _CLAIM_SECONDS}
    async with database.transaction() as connection:
        claimed = await (await connection.execute(_CLAIM_EMPTY, parameters)).fetchall()
        claims = {
            (row[0], row[1]): ProfileClaim(
                subject_id=row[0], class_id=ClassId(row[1]), until=row[2]
            )
            for row in claimed
        }
        empty = await connection.execute(_STILL_SILENT, _columns(list(claims.values())))
        keys = [(row[0], row[1]) for row in await empty.fetchall()]
        others = [claim for key, claim in claims.items() if key not in keys]
        await connection.execute(_RELEASE, _columns(others))
    return [claims[key] for key in keys]


async def delete_vector_records(database: Database, claims: Sequence[ProfileClaim]) -> None:
    """Delete the records that these profiles had a vector."""
    await database.execute(_DELETE, _columns(claims))


def _columns(claims: Sequence[ProfileClaim]) -> dict[str, object]:
    return {
        "subjects": [claim.subject_id for claim in claims],
        "classes": [claim.class_id for claim in claims],
        "untils": [claim.until for claim in claims],
    }


def _keys(keys: Sequence[Key]) -> dict[str, object]:
    return {"subjects": [key[0] for key in keys], "classes": [key[1] for key in keys]}
