"""The queue of profiles whose vectors are missing or outdated: refresh fills it, whoever embeds profiles claims
from it.

From the moment a profile is marked until its new vector is stored, `nearest` skips the old vector. So no search
result depends on a text that was deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ClassId, ProjectId
from lightwell.ports import ProfileClaim
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.rows import fetch, make

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DueProfiles:
    """Which profiles a run of derivation takes up, of all that wait for a summary or a vector.

    With `since`, only profiles that were recomputed then or later; with `classes`, only those of these access classes.
    """

    since: datetime | None = None
    classes: Sequence[ClassId] | None = None

    @property
    def parameters(self) -> Mapping[str, object]:
        """The parameters of the statements that claim profiles."""
        return {"since": self.since, "of": None if self.classes is None else list(self.classes)}


ALL_DUE = DueProfiles()

_DESCRIBED: LiteralString = "profile.description || profile.comparison || profile.use_case <> ''"

_EMBEDDED = """
SELECT profile.subject, subject_id, class_id, described.text_hash
FROM described_profiles AS described JOIN profiles AS profile USING (subject_id, class_id)
WHERE described.project_id = %(project_id)s AND NOT described.changed AND (subject_id, class_id) > (%(after)s, %(after_class)s)
ORDER BY subject_id, class_id LIMIT %(limit)s
"""

# All statements of this module lock rows in the order of their keys, so that transactions do not deadlock.
_MARK = f"""
INSERT INTO described_profiles (subject_id, class_id, project_id)
SELECT touched.subject_id, touched.class_id, coalesce(
           known.project_id,
           (SELECT project_id FROM entities WHERE entity_id = touched.subject_id),
           (SELECT project_id FROM relations WHERE relation_id = touched.subject_id))
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS touched (subject_id, class_id)
LEFT JOIN profiles AS profile USING (subject_id, class_id)
LEFT JOIN described_profiles AS known USING (subject_id, class_id)
WHERE {_DESCRIBED} OR known.subject_id IS NOT NULL
ORDER BY touched.subject_id, touched.class_id
ON CONFLICT (subject_id, class_id) DO UPDATE SET changed = true, taken_until = NULL
"""  # noqa: S608 - only our own words

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
_CLAIM = f"""
WITH next AS (
    SELECT described.subject_id, described.class_id, described.text_hash FROM described_profiles AS described
    WHERE project_id = %(project_id)s AND changed AND lease_is_over(taken_until)
      AND (%(of)s::integer[] IS NULL OR described.class_id = ANY(%(of)s))
      AND EXISTS (SELECT FROM profiles AS profile
                  WHERE profile.subject_id = described.subject_id AND profile.class_id = described.class_id
                    AND {_DESCRIBED}
                    AND (%(since)s::timestamptz IS NULL OR profile.updated_at >= %(since)s))
    ORDER BY described.subject_id, described.class_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE described_profiles AS described
SET taken_until = now() + make_interval(secs => %(seconds)s), text_hash = NULL
FROM next WHERE described.subject_id = next.subject_id AND described.class_id = next.class_id
RETURNING described.subject_id, described.class_id, coalesce(next.text_hash, ''), described.taken_until
"""  # noqa: S608 - only our own words

# The ends have the names of the latest chunk that states the relation, so that the embedded text changes only when the
# relation is marked; a relation that no chunk states uses the names of its ends' profiles.
_SAID = f"""
SELECT profile.subject_id, profile.class_id, profile.subject, profile.display_name AS name, profile.entity_kind AS kind,
       coalesce(stated.source, source.display_name, '') AS source, coalesce(stated.target, target.display_name, '') AS target,
       left(profile.description, %(most)s) AS description, left(profile.comparison, %(most)s) AS comparison,
       left(profile.use_case, %(most)s) AS use_case
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
WHERE {_DESCRIBED}
ORDER BY profile.subject_id, profile.class_id
"""  # noqa: S608 - only our own words

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

_CLAIM_EMPTY = f"""
WITH next AS (
    SELECT subject_id, class_id FROM described_profiles AS described
    WHERE project_id = %(project_id)s AND changed AND lease_is_over(taken_until)
      AND NOT EXISTS (SELECT FROM profiles AS profile
                      WHERE profile.subject_id = described.subject_id AND profile.class_id = described.class_id
                        AND {_DESCRIBED})
    ORDER BY subject_id, class_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE described_profiles AS described SET taken_until = now() + make_interval(secs => %(seconds)s)
FROM next WHERE described.subject_id = next.subject_id AND described.class_id = next.class_id
RETURNING described.subject_id, described.class_id, described.taken_until AS until
"""  # noqa: S608 - only our own words

# A profile may have got a description again between the query and the lock.
_STILL_SILENT = f"""
SELECT subject_id, class_id
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS held (subject_id, class_id)
WHERE NOT EXISTS (SELECT FROM profiles AS profile
                  WHERE profile.subject_id = held.subject_id AND profile.class_id = held.class_id
                    AND {_DESCRIBED})
ORDER BY subject_id, class_id
"""  # noqa: S608 - only our own words


async def mark_changed(connection: Connection, touched: Sequence[Key]) -> None:
    """Mark those of the recomputed profiles that have, or had, a description or a comparison."""
    if not touched:
        return
    await connection.execute(_MARK, key_columns(touched))
    await connection.execute(NOTE_GAPS, key_columns(touched))


@repeatable
async def mark_lost(database: Database, keys: Sequence[Key]) -> None:
    """Mark profiles whose vectors are in no store, so that they are embedded again."""
    async with database.transaction() as connection:
        await mark_changed(connection, keys)


async def has_changed(database: Database, project_id: ProjectId) -> bool:
    """Return whether a profile's vector does not match its description."""
    return await database.value(_ANY, {"project_id": project_id})


async def list_embedded(
    database: Database, project_id: ProjectId, *, after: Key, limit: int
) -> list[EmbeddedProfile]:
    """Return up to `limit` profiles after this key whose vectors are of what they say, by key.

    It takes no reader: it is for copying all vectors to another store.
    """
    parameters = {"project_id": project_id, "after": after[0], "after_class": after[1]}
    return await database.rows(_EMBEDDED, {**parameters, "limit": limit}, into=EmbeddedProfile)


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
    hashes = {(subject_id, class_id): text_hash for subject_id, class_id, text_hash, _ in claimed}
    claims = [
        ProfileClaim(subject_id=subject_id, class_id=class_id, until=until)
        for subject_id, class_id, _, until in claimed
    ]
    profiles = await describe(database, claims, max_characters=max_characters)
    return [replace(profile, text_hash=hashes[profile.key]) for profile in profiles]


async def describe(
    database: Database, claims: Sequence[ProfileClaim], *, max_characters: int
) -> list[ChangedProfile]:
    """Return those of the claimed profiles that have a description, with `max_characters` of it and no hash."""
    by_key = {(claim.subject_id, claim.class_id): claim for claim in claims}

    def changed(*, subject_id: UUID, class_id: ClassId, **columns: Any) -> ChangedProfile:
        return make(ChangedProfile, text_hash=b"", claim=by_key[subject_id, class_id], **columns)

    parameters = {**key_columns(list(by_key)), "most": max_characters}
    return await database.rows(_SAID, parameters, into=changed)


async def mark_embedded(
    database: Database, profiles: Sequence[ChangedProfile], hashes: Mapping[Key, bytes]
) -> None:
    """Record the hashes of the embedded texts; profiles that were marked after their claim stay marked."""
    columns = _columns([profile.claim for profile in profiles])
    await database.execute(
        _MARK_EMBEDDED, {**columns, "hashes": [hashes[profile.key] for profile in profiles]}
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
        claimed = await fetch(connection, _CLAIM_EMPTY, parameters, into=ProfileClaim)
        claims = {(claim.subject_id, claim.class_id): claim for claim in claimed}
        silent = await fetch(connection, _STILL_SILENT, _columns(claimed))
        others = [claim for key, claim in claims.items() if key not in silent]
        await connection.execute(_RELEASE, _columns(others))
    return [claims[subject_id, class_id] for subject_id, class_id in silent]


async def delete_vector_records(database: Database, claims: Sequence[ProfileClaim]) -> None:
    """Delete the records that these profiles had a vector."""
    await database.execute(_DELETE, _columns(claims))


def _columns(claims: Sequence[ProfileClaim]) -> dict[str, object]:
    return {
        "subjects": [claim.subject_id for claim in claims],
        "classes": [claim.class_id for claim in claims],
        "untils": [claim.until for claim in claims],
    }


def key_columns(keys: Sequence[Key]) -> dict[str, object]:
    """Return the keys as the parameters `subjects` and `classes` of a statement."""
    return {
        "subjects": [subject_id for subject_id, _ in keys],
        "classes": [class_id for _, class_id in keys],
    }
