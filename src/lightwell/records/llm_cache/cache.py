"""The cache of model replies: each reply is stored before it is parsed, so that it is paid for only once.

The key is the SHA-256 of the whole request, so a changed prompt, model or schema is another request, and a
changed parser is not. The keywords of a question are found by a hash of the question and of who asks, which could be
guessed: it is stored as a keyed hash.

A cache is a read: whether a reply is there, and so what something costs, tells nobody what others hold or asked. A reply about a
chunk is found for a document only where all readers of that document see another document with the same text.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId, ClassId, ProjectId, new_id
from lightwell.ports import Message, Reply
from lightwell.records.database import Connection, Database, repeatable


class CacheType(StrEnum):
    """What a cached reply was requested for."""

    ENTITY_EXTRACTION = "ENTITY_EXTRACTION"
    GLEANING = "GLEANING"
    SUMMARIZATION = "SUMMARIZATION"
    KEYWORD_EXTRACTION = "KEYWORD_EXTRACTION"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedReply:
    """A cached reply; `complete` is false when it was cut off at its token limit."""

    id: UUID
    text: str
    complete: bool
    model: str
    input_tokens: int
    output_tokens: int
    stored_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """Identifies a reply by its type and the hash of its request; older replies than `max_age` seconds do not count.

    `class_id` is the access class of the document that the reply is for: only a reply counts that a document was extracted from
    which all its readers see. None where that does not matter.
    """

    kind: CacheType
    content_hash: str
    max_age: float | None = None
    class_id: ClassId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReply:
    """A reply to store under its key; `chunk` is the chunk that it is about, None if it is not about one."""

    key: CacheKey
    reply: Reply
    chunk: ChunkId | None


_FIND = """
SELECT sought.place, id, result AS text, is_complete AS complete, model, coalesce(input_tokens, 0) AS input_tokens,
       coalesce(tokens_used, 0) - coalesce(input_tokens, 0) AS output_tokens, kept.created_at AS stored_at
FROM unnest(%(types)s::text[], %(hashes)s::text[], %(ages)s::float8[], %(wanted_by)s::integer[]) WITH ORDINALITY
    AS sought (cache_type, content_hash, max_age, class_id, place)
JOIN extraction_cache AS kept
  ON kept.cache_type = sought.cache_type
 AND kept.content_hash = CASE sought.cache_type WHEN 'KEYWORD_EXTRACTION'
                         THEN keyed_hash(%(project_id)s, sought.content_hash) ELSE sought.content_hash END
WHERE kept.project_id = %(project_id)s
  AND (sought.max_age IS NULL OR kept.created_at > now() - make_interval(secs => sought.max_age))
  AND (sought.class_id IS NULL OR EXISTS (
      SELECT FROM document_chunks AS used JOIN source_documents AS document USING (document_id)
      JOIN access_classes AS class ON class.class_id = document.class_id
      WHERE (used.chunk_id = kept.chunk_id OR used.llm_cache_ids <> '{}' AND used.llm_cache_ids @> ARRAY[kept.id])
        AND class.tags @> (SELECT own.tags FROM access_classes AS own WHERE own.class_id = sought.class_id)))
"""

# The chunk may be deleted while the model works; the reply is stored anyway, because it is paid for.
_STORE = """
WITH given AS (
    SELECT given.*,
           CASE cache_type WHEN 'KEYWORD_EXTRACTION' THEN keyed_hash(%(project_id)s, content_hash)
                ELSE content_hash END AS stored_hash
    FROM unnest(%(ids)s::uuid[], %(types)s::text[], %(chunks)s::uuid[], %(hashes)s::text[], %(results)s::text[],
                         %(complete)s::boolean[], %(models)s::text[], %(inputs)s::integer[], %(used)s::integer[],
                         %(ages)s::float8[])
        AS given (id, cache_type, chunk_id, content_hash, result, is_complete, model, input_tokens, tokens_used, max_age)
), chunk AS (
    SELECT chunk_id FROM document_chunks WHERE chunk_id = ANY(%(chunks)s) FOR KEY SHARE SKIP LOCKED
), kept AS (
    INSERT INTO extraction_cache (
        id, project_id, cache_type, chunk_id, content_hash, result, is_complete, model, input_tokens, tokens_used,
        expires_at)
    SELECT id, %(project_id)s, cache_type, chunk.chunk_id, stored_hash, result, is_complete, model, input_tokens,
           tokens_used, now() + make_interval(secs => max_age)
    FROM given LEFT JOIN chunk USING (chunk_id)
    ORDER BY cache_type, stored_hash
    ON CONFLICT (project_id, cache_type, content_hash)
    DO UPDATE SET chunk_id = coalesce(extraction_cache.chunk_id, excluded.chunk_id)
    RETURNING *
)
SELECT kept.cache_type || ' ' || given.content_hash AS place, kept.id, kept.result AS text, kept.is_complete AS complete,
       kept.model, coalesce(kept.input_tokens, 0) AS input_tokens,
       coalesce(kept.tokens_used, 0) - coalesce(kept.input_tokens, 0) AS output_tokens, kept.created_at AS stored_at
FROM kept JOIN given ON given.cache_type = kept.cache_type AND given.stored_hash = kept.content_hash
"""

_EXPIRE = """
DELETE FROM extraction_cache WHERE id IN (
    SELECT id FROM extraction_cache
    WHERE project_id = %(project_id)s AND cache_type = %(type)s
      AND created_at <= now() - make_interval(secs => %(max_age)s)
    FOR UPDATE SKIP LOCKED)
"""

_DELETE_EXPIRED = """
DELETE FROM extraction_cache WHERE id IN (
    SELECT id FROM extraction_cache
    WHERE project_id = %(project_id)s AND expires_at <= now()
    FOR UPDATE SKIP LOCKED)
"""

_DELETE_KEYWORDS = (
    "DELETE FROM extraction_cache WHERE project_id = %(project_id)s AND expires_at IS NOT NULL"
)

_HOLD_CHUNKS = "SELECT FROM document_chunks WHERE chunk_id = ANY(%(chunks)s) ORDER BY chunk_id FOR NO KEY UPDATE"
_LOCK_REPLIES = "SELECT FROM extraction_cache WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE"

_NOTE = """
UPDATE document_chunks SET llm_cache_ids = noted.ids
FROM (SELECT chunk_id, array_agg(id ORDER BY place) AS ids
      FROM unnest(%(chunks)s::uuid[], %(ids)s::uuid[]) WITH ORDINALITY AS given (chunk_id, id, place)
      GROUP BY chunk_id) AS noted
WHERE document_chunks.chunk_id = noted.chunk_id
"""

_ADOPT = """
UPDATE extraction_cache SET chunk_id = given.chunk_id
FROM unnest(%(chunks)s::uuid[], %(ids)s::uuid[]) AS given (chunk_id, id)
JOIN document_chunks USING (chunk_id)
WHERE extraction_cache.id = given.id
"""


# While jobs or summaries are pending, a reply that seems unused may still be needed.
_DELETE_UNUSED = """
DELETE FROM extraction_cache AS kept
WHERE project_id = %(project_id)s AND chunk_id IS NULL AND cache_type <> 'KEYWORD_EXTRACTION'
  AND NOT EXISTS (SELECT FROM ingestion_jobs AS job
                  WHERE job.project_id = %(project_id)s
                    AND status IN ('queued', 'chunking', 'embedding', 'extracting'))
  AND NOT EXISTS (SELECT FROM long_profiles AS long WHERE long.project_id = %(project_id)s)
  AND NOT EXISTS (SELECT FROM document_chunks AS chunk
                  WHERE llm_cache_ids @> ARRAY[kept.id] AND llm_cache_ids <> '{}')
  AND NOT EXISTS (SELECT FROM profiles AS profile
                  WHERE summary_ids @> ARRAY[kept.id] AND summary_ids <> '{}')
  AND NOT EXISTS (SELECT FROM merge_summaries WHERE reply_ids @> ARRAY[kept.id])
"""


def content_hash(model: str, messages: Sequence[Message], schema: object) -> str:
    """Return the SHA-256, in hexadecimal, of the whole request."""
    request = [model, schema, [[message.role, message.content] for message in messages]]
    request_json = json.dumps(request, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(request_json.encode("utf-8", "surrogatepass")).hexdigest()


async def find(
    database: Database, project_id: ProjectId, keys: Sequence[CacheKey]
) -> list[CachedReply | None]:
    """Return the cached reply for each of these keys, in order, None where there is none.

    If a key has a `max_age`, expired replies are deleted first.
    """
    if any(key.max_age is not None for key in keys):
        await delete_expired(database, project_id)
    parameters = {
        **_key_columns(keys),
        "project_id": project_id,
        "wanted_by": [key.class_id for key in keys],
    }
    replies = dict(await database.rows(_FIND, parameters, into=_placed_reply))
    return [replies.get(place) for place in range(1, len(keys) + 1)]


async def store(
    database: Database, project_id: ProjectId, replies: Sequence[NewReply]
) -> list[CachedReply]:
    """Commit replies together and return them in order. If an equal request was stored meanwhile, its reply is
    returned.

    Replies of the same type that exceed their age are deleted.
    """
    by_name = {_name(reply.key): reply for reply in replies}
    for key in [reply.key for reply in by_name.values() if reply.key.max_age is not None]:
        limits = {"project_id": project_id, "type": key.kind.value, "max_age": key.max_age}
        await database.execute(_EXPIRE, limits)
    columns = _columns(project_id, list(by_name.values()))
    stored = dict(await database.rows(_STORE, columns, into=_placed_reply))
    return [stored[_name(reply.key)] for reply in replies]


def _name(key: CacheKey) -> str:
    return f"{key.kind} {key.content_hash}"


def _key_columns(keys: Sequence[CacheKey]) -> dict[str, object]:
    return {
        "types": [key.kind.value for key in keys],
        "hashes": [key.content_hash for key in keys],
        "ages": [key.max_age for key in keys],
    }


def _columns(project_id: ProjectId, replies: Sequence[NewReply]) -> dict[str, object]:
    usages = [new.reply.usage for new in replies]
    return {
        **_key_columns([new.key for new in replies]),
        "project_id": project_id,
        "ids": [new_id() for _ in replies],
        "chunks": [new.chunk for new in replies],
        "results": [new.reply.text.replace("\0", "") for new in replies],
        "complete": [new.reply.complete for new in replies],
        "models": [usage.model for usage in usages],
        "inputs": [usage.input_tokens for usage in usages],
        "used": [usage.input_tokens + usage.output_tokens for usage in usages],
    }


@repeatable
async def link_replies_to_chunks(
    database: Database, read: Mapping[ChunkId, Sequence[UUID]]
) -> None:
    """Store which replies each chunk's mentions come from, in order: extraction, then gleaning."""
    pairs = [(chunk, reply) for chunk, replies in read.items() for reply in replies]
    parameters = {
        "chunks": [chunk for chunk, _ in pairs],
        "ids": [reply for _, reply in pairs],
    }
    async with database.relaxed_transaction() as connection, connection.pipeline():
        for statement in (_HOLD_CHUNKS, _LOCK_REPLIES, _NOTE, _ADOPT):
            await connection.execute(statement, parameters)


async def delete_unused_replies(database: Database, project_id: ProjectId) -> None:
    """Delete the replies that no chunk, profile or merge uses any more: they may repeat deleted documents."""
    await delete_expired(database, project_id)
    await database.execute(_DELETE_UNUSED, {"project_id": project_id})


async def delete_expired(database: Database, project_id: ProjectId) -> None:
    """Delete the replies that have expired: the keywords of questions."""
    await database.execute(_DELETE_EXPIRED, {"project_id": project_id})


async def delete_keyword_replies(connection: Connection, project_id: ProjectId) -> None:
    """Delete all replies about questions, expired or not."""
    await connection.execute(_DELETE_KEYWORDS, {"project_id": project_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionStatistics:
    """The cost of extraction in a project so far: output tokens per input token, gleaning requests per first request."""

    output_share: float
    gleaning_share: float


# Staged chunks have class 0, so the document's class decides.
_USED_BY_READER = """
EXISTS (SELECT FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
        WHERE chunk.llm_cache_ids <> '{}' AND chunk.llm_cache_ids @> ARRAY[kept.id]
          AND sees(%(classes)s, document.class_id))
"""

_FIND_FOR = f"""
SELECT found.place FROM ({_FIND}) AS found
JOIN extraction_cache AS kept USING (id)
WHERE {_USED_BY_READER}
"""  # noqa: S608 - only our own words

_EXTRACTION_STATISTICS = f"""
SELECT count(*) FILTER (WHERE cache_type = 'ENTITY_EXTRACTION'), count(*) FILTER (WHERE cache_type = 'GLEANING'),
       coalesce(sum(tokens_used - input_tokens), 0)::float8, coalesce(sum(input_tokens), 0)::float8
FROM extraction_cache AS kept
WHERE project_id = %(project_id)s AND cache_type IN ('ENTITY_EXTRACTION', 'GLEANING') AND {_USED_BY_READER}
"""  # noqa: S608 - only our own words


async def find_extracted(
    database: Database, reader: Reader, keys: Sequence[CacheKey]
) -> frozenset[CacheKey]:
    """Return those of the keys with a cached reply that a document which the reader sees was extracted from."""
    parameters = {**reader.parameters, **_key_columns(keys), "wanted_by": [None for _ in keys]}
    places: list[int] = await database.values(_FIND_FOR, parameters)
    return frozenset(keys[place - 1] for place in places)


async def get_extraction_statistics(
    database: Database, reader: Reader, *, min_replies: int
) -> ExtractionStatistics | None:
    """Return the statistics of the reader's documents, None for fewer than `min_replies` replies."""
    ((first, second, written, request),) = await database.rows(
        _EXTRACTION_STATISTICS, reader.parameters
    )
    if first < min_replies or not request:
        return None
    return ExtractionStatistics(output_share=written / request, gleaning_share=second / first)


def _placed_reply(*, place: object, **columns: Any) -> tuple[object, CachedReply]:
    return place, CachedReply(**columns)
