"""Chunks during ingestion: staged under access class 0, with the vectors computed so far."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from lightwell.domain.documents import ChunkDraft, Layout
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, GlobalRef, ProjectId, SpaceId
from lightwell.ports import ChunkVector
from lightwell.records import chunk_layout
from lightwell.records.database import Connection, Database, copy_rows
from lightwell.records.rows import make


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedChunk:
    """A chunk that no reader sees yet; `hash` is the SHA-256 of the text that is embedded for it."""

    id: ChunkId
    document_id: DocumentId
    hash: bytes
    draft: ChunkDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedChunk:
    """A published chunk with its access class and its document's title."""

    chunk: StagedChunk
    class_id: ClassId
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChange:
    """A chunk that moved to another access class, or was deleted (None), since the indexes were updated."""

    chunk_id: ChunkId
    id: int
    class_id: ClassId | None


_COPIED = """document_chunks (
    chunk_id, chunk_ref, document_id, chunk_index, chunk_text, chunk_hash, token_count, start_offset, end_offset,
    page_number, last_page, section_path, layout, has_code, has_formula, has_table, language)"""

_DELETE_STAGED = (
    "DELETE FROM document_chunks WHERE document_id = ANY(%(documents)s) AND class_id = 0"
)

_COLUMNS: LiteralString = """
chunk.chunk_id AS id, chunk.document_id, chunk.chunk_hash AS hash, chunk.chunk_index AS index, chunk.chunk_text AS text,
chunk.token_count AS tokens, chunk.start_offset AS start, chunk.end_offset AS "end", chunk.section_path, chunk.layout,
chunk.has_code, chunk.has_formula, chunk.has_table, chunk.language
"""

_OF_DOCUMENTS = f"""
SELECT {_COLUMNS} FROM document_chunks AS chunk
WHERE document_id = ANY(%(documents)s) AND (class_id <> 0) = %(is_published)s
ORDER BY document_id, chunk_index
"""  # noqa: S608 - only our own words

_PUBLISHED_BY_ID = f"""
SELECT {_COLUMNS}, chunk.class_id, document.title
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE chunk.chunk_id = ANY(%(chunks)s) AND chunk.class_id <> 0
ORDER BY chunk.chunk_id
"""  # noqa: S608 - only our own words

_TITLES = "SELECT document_id, title FROM source_documents WHERE document_id = ANY(%(documents)s)"

_OMITTED = """
SELECT document_id, omitted_chunks FROM source_documents WHERE document_id = ANY(%(documents)s)
"""

_EMBEDDED = """
SELECT chunk_id FROM staged_vectors WHERE space_id = %(space)s AND chunk_id = ANY(%(chunks)s)
"""

# Whether something is embedded shows in time and usage: only text counts that all readers of the new document see.
_SAME_HASH = """
SELECT DISTINCT ON (sought.class_id, chunk_hash) sought.class_id, chunk_hash, chunk_id
FROM unnest(%(wanted_by)s::integer[], %(hashes)s::bytea[]) AS sought (class_id, chunk_hash)
JOIN access_classes AS own ON own.class_id = sought.class_id
JOIN document_chunks AS chunk USING (chunk_hash)
JOIN access_classes AS class ON class.class_id = chunk.class_id
WHERE class.project_id = %(project_id)s AND class.tags @> own.tags
ORDER BY sought.class_id, chunk_hash, chunk_id
"""

_STAGE_VECTORS = """
INSERT INTO staged_vectors (space_id, chunk_id, embedding)
SELECT %(space)s, given.chunk_id, given.embedding
FROM unnest(%(chunks)s::uuid[], %(vectors)b::halfvec[]) AS given (chunk_id, embedding)
ON CONFLICT (chunk_id, space_id) DO NOTHING
"""

_PUBLISHED_VECTORS = """
SELECT staged.chunk_id, chunk.class_id, staged.embedding
FROM staged_vectors AS staged JOIN document_chunks AS chunk USING (chunk_id)
WHERE staged.space_id = %(space)s AND chunk.document_id = ANY(%(documents)s) AND chunk.class_id <> 0
ORDER BY staged.chunk_id
"""

_UNSTAGE_VECTORS = """
DELETE FROM staged_vectors USING document_chunks AS chunk
WHERE staged_vectors.chunk_id = chunk.chunk_id AND chunk.document_id = ANY(%(documents)s)
"""

_CHANGES = """
SELECT change.chunk_id, change.change_id AS id, chunk.class_id
FROM index_changes AS change LEFT JOIN document_chunks AS chunk USING (chunk_id)
WHERE change.project_id = %(project_id)s
ORDER BY change.chunk_id LIMIT %(limit)s
"""

_DELETE_CHANGES = """
WITH done AS (
    SELECT change.chunk_id
    FROM index_changes AS change
    JOIN unnest(%(chunks)s::uuid[], %(changes)s::bigint[]) AS given (chunk_id, change_id) USING (chunk_id, change_id)
    ORDER BY change.chunk_id FOR UPDATE OF change
)
DELETE FROM index_changes USING done WHERE index_changes.chunk_id = done.chunk_id
"""


async def stage(
    connection: Connection, refs: Mapping[DocumentId, GlobalRef], chunks: Sequence[StagedChunk]
) -> None:
    """Store these documents' chunks as staged, in place of chunks that were staged for them before."""
    await connection.execute(_DELETE_STAGED, {"documents": list(refs)})
    await copy_rows(connection, _COPIED, (_row(chunk, refs[chunk.document_id]) for chunk in chunks))


_PUBLISHED_IDS = """
SELECT chunk.chunk_id, chunk.class_id
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE document.project_id = %(project_id)s AND chunk.class_id <> 0
  AND (%(after)s::uuid IS NULL OR chunk.chunk_id > %(after)s)
ORDER BY chunk.chunk_id LIMIT %(limit)s
"""


async def list_staged(database: Database, documents: Sequence[DocumentId]) -> list[StagedChunk]:
    """Return the staged chunks of these documents, by document and index."""
    return await _list_of(database, documents, is_published=False)


async def list_published(database: Database, documents: Sequence[DocumentId]) -> list[StagedChunk]:
    """Return the published chunks of these documents, by document and index."""
    return await _list_of(database, documents, is_published=True)


async def _list_of(
    database: Database, documents: Sequence[DocumentId], *, is_published: bool
) -> list[StagedChunk]:
    parameters = {"documents": list(documents), "is_published": is_published}
    return await database.rows(_OF_DOCUMENTS, parameters, into=_staged)


async def list_published_by_id(
    database: Database, chunks: Sequence[ChunkId]
) -> list[PublishedChunk]:
    """Return those of these chunks that are published, by id."""
    return await database.rows(_PUBLISHED_BY_ID, {"chunks": list(chunks)}, into=_published)


async def get_titles(database: Database, documents: Sequence[DocumentId]) -> dict[DocumentId, str]:
    """Return the titles of these documents."""
    rows = await database.rows(_TITLES, {"documents": list(documents)})
    return {document: title for document, title in rows}


async def count_omitted(
    database: Database, documents: Sequence[DocumentId]
) -> dict[DocumentId, int]:
    """Return how many chunks of each of these documents were left out."""
    rows = await database.rows(_OMITTED, {"documents": list(documents)})
    return {document: count for document, count in rows}


async def list_embedded(
    database: Database, space: SpaceId, chunks: Sequence[ChunkId]
) -> set[ChunkId]:
    """Return those of the chunks that have a staged vector."""
    return set(await database.values(_EMBEDDED, {"space": space, "chunks": list(chunks)}))


async def find_published_by_hash(
    database: Database, project_id: ProjectId, wanted: Collection[tuple[ClassId, bytes]]
) -> dict[tuple[ClassId, bytes], ChunkId]:
    """Return, for each access class and hash, a published chunk with this hash that all readers of the class see, where there is one.

    Equal hashes mean equal text.
    """
    parameters = {
        "project_id": project_id,
        "wanted_by": [class_id for class_id, _ in wanted],
        "hashes": [hash_ for _, hash_ in wanted],
    }
    rows = await database.rows(_SAME_HASH, parameters)
    return {(class_id, chunk_hash): chunk_id for class_id, chunk_hash, chunk_id in rows}


async def stage_vectors(
    connection: Connection, space: SpaceId, vectors: Mapping[ChunkId, NDArray[np.float32]]
) -> None:
    """Store these vectors until their chunks are published and indexed."""
    if vectors:
        halves = [HalfVector(vector) for vector in vectors.values()]
        parameters = {"space": space, "chunks": list(vectors), "vectors": halves}
        await connection.execute(_STAGE_VECTORS, parameters)


async def list_published_ids(
    database: Database, project_id: ProjectId, *, after: ChunkId | None, limit: int
) -> list[tuple[ChunkId, ClassId]]:
    """Return up to `limit` published chunks of the project with their classes, by id, those after the id `after`."""
    keys = {"project_id": project_id, "after": after, "limit": limit}
    rows = await database.rows(_PUBLISHED_IDS, keys)
    return [(chunk_id, class_id) for chunk_id, class_id in rows]


async def list_published_vectors(
    database: Database, space: SpaceId, documents: Sequence[DocumentId]
) -> list[ChunkVector]:
    """Return the staged vectors of chunks that are published."""
    rows = await database.rows(_PUBLISHED_VECTORS, {"space": space, "documents": list(documents)})
    return [
        ChunkVector(
            chunk_id=chunk_id,
            class_id=class_id,
            vector=embedding.to_numpy().astype(np.float32),
        )
        for chunk_id, class_id, embedding in rows
    ]


async def delete_staged_vectors(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Delete the staged vectors of these documents."""
    await connection.execute(_UNSTAGE_VECTORS, {"documents": list(documents)})


async def list_index_changes(
    database: Database, project_id: ProjectId, *, limit: int
) -> list[IndexChange]:
    """Return up to `limit` changes that the indexes have not applied yet."""
    parameters = {"project_id": project_id, "limit": limit}
    return await database.rows(_CHANGES, parameters, into=IndexChange)


async def delete_index_changes(database: Database, changes: Sequence[IndexChange]) -> None:
    """Delete index changes that have been applied; keep chunks that have changed again since."""
    await database.execute(
        _DELETE_CHANGES,
        {
            "chunks": [change.chunk_id for change in changes],
            "changes": [change.id for change in changes],
        },
    )


def _row(chunk: StagedChunk, ref: GlobalRef) -> tuple[object, ...]:
    draft = chunk.draft
    ids: tuple[UUID, str, UUID] = (chunk.id, f"{ref}#{draft.index}", chunk.document_id)
    return (
        *ids,
        draft.index,
        draft.text,
        chunk.hash,
        draft.tokens,
        draft.start,
        draft.end,
        draft.pages[0].number if draft.pages else None,
        draft.pages[-1].number if draft.pages else None,
        list(draft.section_path),
        chunk_layout.to_json(Layout(sections=draft.sections, pages=draft.pages)),
        draft.has_code,
        draft.has_formula,
        draft.has_table,
        draft.language,
    )


def _staged(
    *, id: ChunkId, document_id: DocumentId, hash: bytes, layout: object, **columns: Any
) -> StagedChunk:
    parts = chunk_layout.from_json(layout)
    draft = make(ChunkDraft, sections=parts.sections, pages=parts.pages, **columns)
    return StagedChunk(id=id, document_id=document_id, hash=hash, draft=draft)


def _published(*, class_id: ClassId, title: str, **columns: Any) -> PublishedChunk:
    return PublishedChunk(chunk=_staged(**columns), class_id=class_id, title=title)
