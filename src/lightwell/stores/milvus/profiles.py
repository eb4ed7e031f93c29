"""Vector search over profiles in Milvus: a collection per project and embedding space, for entities and relations.

The text of a profile changes under its key, so each row says of which text its vector was made, by the text's hash. A hit counts only if
`described_profiles` in PostgreSQL has this hash now and nothing has changed since. So a late copy is at worst missing, never stale.

Each write is a row with a key of its own. The earlier rows of a profile are deleted only by whoever holds the claim on it, which is when
none of them counts any more. PostgreSQL may hold vectors too, from before a change of the store: a vector written here is removed there.
So those that are still there count, and are searched as well until `lightwell copy-vectors` has copied them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pymilvus import DataType

from lightwell.domain.access import Reader
from lightwell.domain.graph import ProfileSubject
from lightwell.domain.ids import ClassId, ProjectId, SpaceId
from lightwell.ports import ProfileClaim, ProfileHit, ProfileVector
from lightwell.records.database import Database
from lightwell.records.graph.profile_queue import EmbeddedProfile, Key
from lightwell.stores.milvus.collection import (
    BOUNDED,
    MAX_HITS,
    STRONG,
    Field,
    Found,
    MilvusCollection,
    MilvusServer,
    among,
)
from lightwell.stores.milvus.collection import Row as MilvusRow
from lightwell.stores.postgres.profiles import PostgresProfiles

_PROFILES_PER_SUBJECT = 3
"""How many nearest profiles are read for each result: several may belong to one entity."""

_FIELDS = (
    Field(name="profile_key", type=DataType.VARCHAR, length=128, is_primary=True),
    Field(name="subject", type=DataType.VARCHAR, length=16),
    Field(name="subject_id", type=DataType.VARCHAR, length=36),
    Field(name="text_hash", type=DataType.VARCHAR, length=64),
)

_DESCRIBED = "SELECT count(*) FROM described_profiles WHERE project_id = %(project_id)s"

_HELD = """
SELECT subject_id, class_id
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(untils)s::timestamptz[]) AS given (subject_id, class_id, taken_until)
JOIN described_profiles USING (subject_id, class_id, taken_until)
"""

_UNCHANGED = """
SELECT subject_id, class_id
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(hashes)s::bytea[]) AS given (subject_id, class_id, text_hash)
JOIN described_profiles AS described USING (subject_id, class_id, text_hash)
WHERE NOT described.changed
"""

# The last column, equal in all rows: whether any row of an earlier text was found.
_COUNTING = """
SELECT coalesce(merged.root_id, hit.subject_id), max(hit.similarity) FILTER (WHERE described.text_hash = hit.text_hash),
       bool_or(bool_or(described.text_hash <> hit.text_hash)) OVER ()
FROM unnest(%(subjects)s::uuid[], %(of)s::integer[], %(hashes)s::bytea[], %(similarities)s::float8[])
    AS hit (subject_id, class_id, text_hash, similarity)
JOIN described_profiles AS described USING (subject_id, class_id)
LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = hit.subject_id
WHERE NOT described.changed AND sees(%(classes)s, described.class_id)
GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusProfiles:
    """`ProfileIndex` over Milvus, for one project; `postgres` may hold vectors from before."""

    database: Database
    server: MilvusServer
    project_id: ProjectId
    postgres: PostgresProfiles

    async def prepare(self, space: SpaceId, dimension: int) -> None:
        await self.postgres.prepare(space, dimension)
        await self._collection(space).create(dimension, _FIELDS)

    async def drop(self, space: SpaceId) -> None:
        await self.postgres.drop(space)
        await self._collection(space).drop()

    async def put(self, space: SpaceId, vectors: Sequence[ProfileVector]) -> None:
        if not vectors:
            return
        claims = [entry.claim for entry in vectors]
        earlier = await self._keys_of(space, [claim.subject_id for claim in claims])
        claimed = await self._held(claims)
        kept = [entry for entry in vectors if _key(entry.claim) in claimed]
        await self.postgres.remove(space, [entry.claim for entry in kept])
        rows = [
            _row(
                entry.subject,
                _key(entry.claim),
                entry.text_hash,
                (_word(entry.claim), entry.vector),
            )
            for entry in kept
        ]
        await self._collection(space).upsert(rows)
        await self._delete(space, [key for profile in claimed for key in earlier.get(profile, [])])
        still_claimed = await self._held([entry.claim for entry in kept])
        late = [row["profile_key"] for row in rows if _profile(row) not in still_claimed]
        await self._delete(space, late)
        await self._collection(space).wait_until_searched()

    async def remove(self, space: SpaceId, claims: Sequence[ProfileClaim]) -> None:
        earlier = await self._keys_of(space, [claim.subject_id for claim in claims])
        claimed = await self._held(claims)
        await self.postgres.remove(space, [claim for claim in claims if _key(claim) in claimed])
        await self._delete(space, [key for profile in claimed for key in earlier.get(profile, [])])

    async def nearest(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        subject: ProfileSubject,
        *,
        limit: int,
    ) -> list[ProfileHit]:
        if not reader.classes:
            return []
        count, described = await asyncio.gather(
            self._collection(space).count(BOUNDED), self._described()
        )
        expression = f'{among("class_id", reader.classes)} and subject == "{subject}"'
        if count >= described:
            hits, is_late = await self._search(space, vector, reader, (expression, BOUNDED, limit))
            if not is_late:
                return hits
        hits, _ = await self._search(space, vector, reader, (expression, STRONG, limit))
        if count >= described or await self.count(space) >= described:
            return hits
        others = await self.postgres.nearest(space, vector, reader, subject, limit=limit)
        return _best(hits, others)[:limit]

    async def build(self, space: SpaceId) -> bool:
        return await self._collection(space).seal()

    async def vectors(
        self, space: SpaceId, profiles: Sequence[EmbeddedProfile]
    ) -> dict[Key, NDArray[np.float32]]:
        """Return the vectors of those of these profiles that have one of the text with their hash."""
        rows = await self._collection(space).query(
            "subject_id",
            sorted({profile.subject_id for profile in profiles}),
            ["subject_id", "class_id", "text_hash", "vector"],
            level=STRONG,
        )
        vectors = {
            (*_profile(row), row["text_hash"]): np.asarray(row["vector"], np.float32)
            for row in rows
        }
        keys = {profile.key: (*profile.key, profile.text_hash.hex()) for profile in profiles}
        return {key: vectors[hashed] for key, hashed in keys.items() if hashed in vectors}

    async def put_copies(
        self, space: SpaceId, copies: Mapping[EmbeddedProfile, NDArray[np.float32]]
    ) -> None:
        """Insert vectors from another store; ignore those whose profile has changed."""
        rows = [
            _row(profile.subject, profile.key, profile.text_hash, (profile.text_hash.hex(), vector))
            for profile, vector in copies.items()
        ]
        await self._collection(space).upsert(rows)
        columns = _columns([profile.key for profile in copies])
        hashes = [profile.text_hash for profile in copies]
        unchanged = set(await self.database.rows(_UNCHANGED, {**columns, "hashes": hashes}))
        changed = [row["profile_key"] for row in rows if _profile(row) not in unchanged]
        await self._delete(space, changed)

    async def count(self, space: SpaceId) -> int:
        """Return how many rows the space has, also outdated ones; it waits for all that was written."""
        return await self._collection(space).count(STRONG)

    def _collection(self, space: SpaceId) -> MilvusCollection:
        return self.server.collection(self.project_id, space, "_profiles")

    async def _keys_of(self, space: SpaceId, subjects: Sequence[UUID]) -> dict[Key, list[str]]:
        """Return the keys of all rows of these entities and relations, by profile; it waits for what was just written."""
        fields = ["profile_key", "subject_id", "class_id"]
        keys: dict[Key, list[str]] = {}
        for row in await self._collection(space).query(
            "subject_id", sorted(set(subjects)), fields, level=STRONG
        ):
            keys.setdefault(_profile(row), []).append(row["profile_key"])
        return keys

    async def _delete(self, space: SpaceId, keys: Sequence[str]) -> None:
        await self._collection(space).delete("profile_key", keys)

    async def _held(self, claims: Sequence[ProfileClaim]) -> set[Key]:
        columns = _columns([_key(claim) for claim in claims])
        untils = [claim.until for claim in claims]
        rows = await self.database.rows(_HELD, {**columns, "untils": untils})
        return {(subject_id, class_id) for subject_id, class_id in rows}

    async def _described(self) -> int:
        """Return how many rows there are once all is written; profiles that wait for their vectors count, since they may have an earlier one."""
        return await self.database.value(_DESCRIBED, {"project_id": self.project_id})

    async def _search(
        self,
        space: SpaceId,
        vector: NDArray[np.float32],
        reader: Reader,
        wanted: tuple[str, str, int],
    ) -> tuple[list[ProfileHit], bool]:
        """Return what counts among the nearest rows, and whether some are of earlier texts, so that Milvus may be late.

        More rows are read until enough of them count.
        """
        expression, level, limit = wanted
        most = limit * _PROFILES_PER_SUBJECT
        fields = ["subject_id", "class_id", "text_hash"]
        while True:
            rows = await self._collection(space).search(
                vector, expression, most, level=level, fields=fields
            )
            hits, is_late = await self._counting(reader, rows, limit)
            if len(hits) == limit or len(rows) < most or most == MAX_HITS:
                return hits, is_late
            most = min(4 * most, MAX_HITS)

    async def _counting(
        self, reader: Reader, nearest: Sequence[Found], limit: int
    ) -> tuple[list[ProfileHit], bool]:
        parameters = {
            "subjects": [UUID(row.fields["subject_id"]) for row in nearest],
            "of": [row.fields["class_id"] for row in nearest],
            "hashes": [bytes.fromhex(row.fields["text_hash"]) for row in nearest],
            "similarities": [row.similarity for row in nearest],
            **reader.parameters,
            "limit": limit,
        }
        rows = await self.database.rows(_COUNTING, parameters)
        hits = [
            ProfileHit(subject_id=subject_id, similarity=similarity)
            for subject_id, similarity, _ in rows
            if similarity is not None
        ]
        return hits, any(is_late for *_, is_late in rows)


def _best(*some: Sequence[ProfileHit]) -> list[ProfileHit]:
    """Return each entity or relation once with its best similarity, nearest first."""
    best: dict[UUID, float] = {}
    for hit in (hit for hits in some for hit in hits):
        best[hit.subject_id] = max(hit.similarity, best.get(hit.subject_id, hit.similarity))
    hits = [ProfileHit(subject_id=subject, similarity=nearest) for subject, nearest in best.items()]
    return sorted(hits, key=lambda hit: (-hit.similarity, hit.subject_id))


def _row(
    subject: ProfileSubject,
    key: Key,
    text_hash: bytes,
    word_and_vector: tuple[str, NDArray[np.float32]],
) -> MilvusRow:
    """Return a row whose key ends with this word, so that it is another row than earlier ones of the profile."""
    word, vector = word_and_vector
    subject_id, class_id = key
    return {
        "profile_key": f"{subject_id}:{class_id}:{word}",
        "subject": str(subject),
        "subject_id": str(subject_id),
        "class_id": int(class_id),
        "text_hash": text_hash.hex(),
        "vector": vector.astype(np.float32),
    }


def _word(claim: ProfileClaim) -> str:
    """Return what no other claim on the profile has."""
    return f"{claim.until.timestamp():.6f}"


def _key(claim: ProfileClaim) -> Key:
    return claim.subject_id, claim.class_id


def _profile(row: MilvusRow) -> Key:
    return UUID(row["subject_id"]), ClassId(row["class_id"])


def _columns(keys: Sequence[Key]) -> dict[str, object]:
    return {
        "subjects": [subject_id for subject_id, _ in keys],
        "classes": [class_id for _, class_id in keys],
    }
