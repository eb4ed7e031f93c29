"""Chunks that the caller supplies for a document, instead of those that chunking would make."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.documents import Document
from lightwell.domain.ids import ChunkId, JobId, ProjectId, SpaceId
from lightwell.records.database import Connection
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import documents
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.locks import lock_project

_ENQUEUE = """
INSERT INTO ingestion_jobs (id, project_id, document_id, current_step, progress, total_chunks, processed_chunks)
SELECT %(job)s, project_id, document_id, 'embed', 25, %(chunks)s, %(embedded)s
FROM source_documents WHERE document_id = %(document)s
"""

# Without hashes, what the source delivers next counts as changed, and is ingested again.
_PENDING = """
UPDATE source_documents
SET status = 'pending', content_hash = '', body_hash = '', omitted_chunks = 0, error_code = '', error_message = ''
WHERE document_id = %(document)s
"""

_MARK_SUPPLIED = """
UPDATE document_chunks SET is_supplied = true WHERE document_id = %(document)s AND class_id = 0
"""


async def enqueue(
    connection: Connection,
    project_id: ProjectId,
    document: Document,
    job: JobId,
    chunks: Sequence[StagedChunk],
    vectors: tuple[SpaceId, Mapping[ChunkId, NDArray[np.float32]]],
) -> None:
    """Stage the chunks and their vectors, with the job that publishes them."""
    await lock_project(connection, project_id)
    keys = {
        "document": document.id,
        "job": job,
        "chunks": len(chunks),
        "embedded": len(vectors[1]),
    }
    await documents.cancel_jobs(connection, [document.id])
    await connection.execute(_PENDING, keys)
    await staging.stage(connection, {document.id: document.ref}, chunks)
    await connection.execute(_MARK_SUPPLIED, keys)
    await staging.stage_vectors(connection, *vectors)
    await connection.execute(_ENQUEUE, keys)
