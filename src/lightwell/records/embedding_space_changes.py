"""The record of a change of the embedding model: its spaces, and what each still lacks.

Chunks and profiles without a vector in a space are rows of `chunk_gaps` and `profile_gaps`. Publishing and refreshing add rows,
whoever embeds removes them, and the deletion of a chunk or a profile removes them by cascade. A space without rows is complete.
What starts or swaps a space holds the project's publishing lock, so that nothing is published or refreshed meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ChunkId, ProjectId, SpaceId
from lightwell.ports import ProfileClaim
from lightwell.records.database import Database, repeatable
from lightwell.records.embedding_spaces import SpaceStatus
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.passage_gaps import ROUND
from lightwell.records.rows import fetch_values

CLAIM_SECONDS = 60.0
"""After this time without an end, another process embeds what a process that died had claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedText:
    """What a project embeds: distinct texts of chunks with their tokens, and profiles with the characters of their texts."""

    chunks: int
    chunk_tokens: int
    profiles: int
    profile_characters: int


_TEXT = """
SELECT count(*) AS chunks, coalesce(sum(token_count), 0)::bigint AS chunk_tokens,
       (SELECT count(*) FROM profiles JOIN described_profiles USING (subject_id, class_id)
        WHERE project_id = %(project_id)s AND description || comparison || use_case <> '') AS profiles,
       (SELECT coalesce(sum(least(length(description || comparison || use_case), %(most)s)), 0)::bigint
        FROM profiles JOIN described_profiles USING (subject_id, class_id)
        WHERE project_id = %(project_id)s AND description || comparison || use_case <> '') AS profile_characters
FROM (
    SELECT DISTINCT ON (chunk_hash) token_count
    FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
    WHERE document.project_id = %(project_id)s AND chunk.class_id <> 0
    ORDER BY chunk_hash, chunk_id
) AS distinct_texts
"""

_PREPARE = """
INSERT INTO embedding_spaces (project_id, model, dimension, status, is_queued, started_at)
VALUES (%(project_id)s, %(model)s, %(dimension)s, 'preparing', false, now())
ON CONFLICT DO NOTHING
RETURNING space_id
"""

_REUSE = """
UPDATE embedding_spaces SET status = 'building', started_at = now(), ended_at = NULL, tokens = 0
WHERE space_id = (
    SELECT space_id FROM embedding_spaces
    WHERE project_id = %(project_id)s AND model = %(model)s AND dimension = %(dimension)s AND status = 'retired'
    ORDER BY space_id DESC LIMIT 1)
RETURNING space_id
"""

_START = "UPDATE embedding_spaces SET status = 'building' WHERE space_id = %(space)s AND status = 'preparing'"

_QUEUE: tuple[LiteralString, ...] = (
    """
    INSERT INTO chunk_gaps (chunk_id, space_id, document_id, round)
    SELECT chunk_id, %(space)s, document_id, chunk_index / %(round)s FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
    WHERE document.project_id = %(project_id)s AND chunk.class_id <> 0
    ORDER BY chunk_id ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO profile_gaps (subject_id, class_id, space_id)
    SELECT subject_id, class_id, %(space)s FROM described_profiles WHERE project_id = %(project_id)s
    ORDER BY subject_id, class_id ON CONFLICT DO NOTHING
    """,
    "UPDATE embedding_spaces SET is_queued = true WHERE space_id = %(space)s",
)

# A row that is locked is being deleted with its chunk.
_CLOSE_CHUNKS = """
WITH done AS (
    SELECT chunk_id FROM chunk_gaps WHERE space_id = %(space)s AND chunk_id = ANY(%(chunks)s)
    ORDER BY chunk_id FOR UPDATE SKIP LOCKED
)
DELETE FROM chunk_gaps AS gap USING done WHERE gap.chunk_id = done.chunk_id AND gap.space_id = %(space)s
"""

_RELEASE_CHUNKS = """
WITH held AS (
    SELECT chunk_id FROM chunk_gaps WHERE space_id = %(space)s AND chunk_id = ANY(%(chunks)s)
    ORDER BY chunk_id FOR UPDATE SKIP LOCKED
)
UPDATE chunk_gaps AS gap SET taken_until = NULL
FROM held WHERE gap.chunk_id = held.chunk_id AND gap.space_id = %(space)s
"""

_ADD_TOKENS = "UPDATE embedding_spaces SET tokens = tokens + %(tokens)s WHERE space_id = %(space)s"

_CLAIM_PROFILES = """
WITH next AS (
    SELECT described.subject_id, described.class_id
    FROM profile_gaps AS gap JOIN described_profiles AS described USING (subject_id, class_id)
    WHERE gap.space_id = %(space)s AND (described.taken_until IS NULL OR described.taken_until < now())
    ORDER BY described.subject_id, described.class_id LIMIT %(limit)s FOR UPDATE OF described SKIP LOCKED
)
UPDATE described_profiles AS described SET taken_until = now() + make_interval(secs => %(seconds)s)
FROM next WHERE described.subject_id = next.subject_id AND described.class_id = next.class_id
RETURNING described.subject_id, described.class_id, described.taken_until AS until
"""

_CLOSE_PROFILES = """
WITH own AS (
    SELECT described.subject_id, described.class_id
    FROM described_profiles AS described
    JOIN unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(untils)s::timestamptz[])
        AS given (subject_id, class_id, taken_until) USING (subject_id, class_id, taken_until)
    ORDER BY described.subject_id, described.class_id FOR UPDATE OF described
)
DELETE FROM profile_gaps AS gap USING own
WHERE gap.space_id = %(space)s AND gap.subject_id = own.subject_id AND gap.class_id = own.class_id
"""

_IS_COMPLETE = """
SELECT status = 'building' AND is_queued
       AND NOT EXISTS (SELECT FROM chunk_gaps AS gap WHERE gap.space_id = space.space_id)
       AND NOT EXISTS (SELECT FROM profile_gaps AS gap WHERE gap.space_id = space.space_id)
FROM embedding_spaces AS space WHERE space_id = %(space)s FOR UPDATE
"""

# What the retired space lacks is what `changed` said. A claim on a profile is for the space that was active, so it ends.
_SWAP: tuple[LiteralString, ...] = (
    """
    INSERT INTO profile_gaps (subject_id, class_id, space_id)
    SELECT described.subject_id, described.class_id, space.space_id
    FROM embedding_spaces AS space JOIN described_profiles AS described USING (project_id)
    WHERE space.project_id = %(project_id)s AND space.status = 'active' AND described.changed
    ORDER BY described.subject_id, described.class_id ON CONFLICT DO NOTHING
    """,
    """
    UPDATE described_profiles AS described
    SET taken_until = NULL, text_hash = CASE WHEN described.changed THEN NULL ELSE described.text_hash END
    FROM (SELECT subject_id, class_id FROM described_profiles
          WHERE project_id = %(project_id)s AND (changed OR taken_until IS NOT NULL)
          ORDER BY subject_id, class_id FOR UPDATE) AS held
    WHERE described.subject_id = held.subject_id AND described.class_id = held.class_id
    """,
    "UPDATE embedding_spaces SET status = 'retired', ended_at = now() WHERE project_id = %(project_id)s AND status = 'active'",
    "UPDATE embedding_spaces SET status = 'active', ended_at = NULL WHERE space_id = %(space)s",
)

_TO_DROP = """
UPDATE embedding_spaces SET status = 'dropping', ended_at = now()
WHERE project_id = %(project_id)s AND status = ANY(%(statuses)s)
  AND (ended_at IS NULL OR ended_at <= now() - make_interval(secs => %(seconds)s))
"""

_DROPPING = """
SELECT space_id FROM embedding_spaces WHERE project_id = %(project_id)s AND status = 'dropping' ORDER BY space_id
"""

_FORGET = "DELETE FROM embedding_spaces WHERE space_id = %(space)s AND status = 'dropping'"


async def measure_text(
    database: Database, project_id: ProjectId, max_characters: int
) -> EmbeddedText:
    """Return how much text a new space would embed, with `max_characters` of each profile."""
    parameters = {"project_id": project_id, "most": max_characters}
    return (await database.rows(_TEXT, parameters, into=EmbeddedText))[0]


async def prepare(
    database: Database, project_id: ProjectId, model: str, dimension: int
) -> SpaceId | None:
    """Record a space whose tables are still to be made; None where the project has one that is being built."""
    key = {"project_id": project_id, "model": model, "dimension": dimension}
    return await database.value(_PREPARE, key)


@repeatable
async def reuse_retired(
    database: Database, project_id: ProjectId, model: str, dimension: int
) -> SpaceId | None:
    """Let the retired space of this model be built again, None where there is none; it needs only what is missing since."""
    key = {"project_id": project_id, "model": model, "dimension": dimension}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, key)
        spaces = await fetch_values(connection, _REUSE, key)
    return spaces[0] if spaces else None


async def start(database: Database, project_id: ProjectId, space: SpaceId) -> None:
    """Let what is published from now on count for a prepared space, then queue all that is published already.

    It may be repeated. A crash between the two leaves a space that is not queued, and is never swapped in before it is.
    """
    await _start(database, project_id, space)
    await queue(database, project_id, space)


@repeatable
async def _start(database: Database, project_id: ProjectId, space: SpaceId) -> None:
    key = {"project_id": project_id, "space": space}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, key)
        await connection.execute(_START, key)


@repeatable
async def queue(database: Database, project_id: ProjectId, space: SpaceId) -> None:
    """Queue all published chunks and described profiles for a space that is being built; it may be repeated."""
    key = {"project_id": project_id, "space": space, "round": ROUND}
    async with database.transaction() as connection:
        for statement in _QUEUE:
            await connection.execute(statement, key)


async def close_chunks(
    database: Database, space: SpaceId, chunks: Sequence[ChunkId], tokens: int
) -> None:
    """Record that these chunks have their vectors, which took so many tokens of a change of the model."""
    await database.execute(_CLOSE_CHUNKS, {"space": space, "chunks": list(chunks)})
    if tokens:
        await add_tokens(database, space, tokens)


async def release_chunks(database: Database, space: SpaceId, chunks: Sequence[ChunkId]) -> None:
    """Give up claims on chunks that still lack a vector."""
    await database.execute(_RELEASE_CHUNKS, {"space": space, "chunks": list(chunks)})


async def add_tokens(database: Database, space: SpaceId, tokens: int) -> None:
    """Add to the tokens that the change to this space took."""
    await database.execute(_ADD_TOKENS, {"space": space, "tokens": tokens})


async def claim_profiles(database: Database, space: SpaceId, limit: int) -> list[ProfileClaim]:
    """Claim up to `limit` profiles without a vector in this space, which is not active, that nobody else has claimed."""
    claim = {"space": space, "limit": limit, "seconds": CLAIM_SECONDS}
    return await database.rows(_CLAIM_PROFILES, claim, into=ProfileClaim)


async def close_profiles(
    database: Database, space: SpaceId, claims: Sequence[ProfileClaim]
) -> None:
    """Record that these profiles have their vectors; those that changed after their claim stay queued."""
    columns = {
        "space": space,
        "subjects": [claim.subject_id for claim in claims],
        "classes": [claim.class_id for claim in claims],
        "untils": [claim.until for claim in claims],
    }
    await database.execute(_CLOSE_PROFILES, columns)


@repeatable
async def swap(database: Database, project_id: ProjectId, space: SpaceId) -> bool:
    """Make a space that lacks nothing the active one, and retire the other; return whether it lacked nothing."""
    key = {"project_id": project_id, "space": space}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, key)
        if await fetch_values(connection, _IS_COMPLETE, key) != [True]:
            return False
        for statement in _SWAP:
            await connection.execute(statement, key)
    return True


@repeatable
async def mark_for_dropping(
    database: Database,
    project_id: ProjectId,
    statuses: Sequence[SpaceStatus],
    *,
    seconds: float = 0.0,
) -> list[SpaceId]:
    """Mark spaces in these states that ended so long ago, and return all whose vectors are to be dropped; raise `Invalid` for the active one."""
    if SpaceStatus.ACTIVE in statuses:
        raise Invalid("The active space cannot be dropped")
    key = {
        "project_id": project_id,
        "statuses": [status.value for status in statuses],
        "seconds": seconds,
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, key)
        await connection.execute(_TO_DROP, key)
        return await fetch_values(connection, _DROPPING, key)


async def forget(database: Database, space: SpaceId) -> None:
    """Delete the record of a space whose vectors are dropped."""
    await database.execute(_FORGET, {"space": space})
