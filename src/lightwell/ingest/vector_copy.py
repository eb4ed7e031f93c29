"""Copies a project's vectors from one store to another, without a model."""

from collections.abc import Callable

from lightwell.domain.ids import ChunkId, ProjectId
from lightwell.ports import ChunkVector, VectorIndex
from lightwell.records.database import Database
from lightwell.records.documents import chunks
from lightwell.records.embedding_spaces import Space

_CHUNKS_PER_BATCH = 1000


async def copy_vectors(
    database: Database,
    project_id: ProjectId,
    space: Space,
    source_and_target: tuple[VectorIndex, VectorIndex],
    progress: Callable[[int], None],
) -> tuple[int, int]:
    """Copy the vectors of all published chunks; return how many were copied, and how many the source lacks.

    Chunks that are published meanwhile are written to the store that the writing process uses. It may be repeated.
    """
    source, target = source_and_target
    await target.prepare(space.id, space.dimension)
    copied = missing = 0
    after: ChunkId | None = None
    while batch := await chunks.list_published_ids(
        database, project_id, after=after, limit=_CHUNKS_PER_BATCH
    ):
        after = ChunkId(batch[-1][0])
        vectors = await source.vectors(space.id, [chunk for chunk, _ in batch])
        found = [
            ChunkVector(chunk_id=chunk, class_id=class_id, vector=vectors[chunk])
            for chunk, class_id in batch
            if chunk in vectors
        ]
        await target.put(space.id, found)
        copied += len(found)
        missing += len(batch) - len(found)
        progress(copied)
    await target.build(space.id)
    return copied, missing
