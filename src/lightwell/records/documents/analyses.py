"""What was read in the texts of chunks, in versions; `search` reads it with the texts."""

from collections.abc import Mapping

from lightwell.domain.ids import ChunkId, ProjectId
from lightwell.records.database import Connection, Database

_STORE = """
INSERT INTO chunk_analyses (chunk_id, version, analysis)
SELECT given.chunk_id, %(version)s, given.analysis
FROM unnest(%(chunks)s::uuid[], %(analyses)s::bytea[]) AS given (chunk_id, analysis)
JOIN document_chunks USING (chunk_id)
ON CONFLICT (chunk_id) DO UPDATE SET version = excluded.version, analysis = excluded.analysis
"""

_OUTDATED = """
SELECT chunk_id, chunk_text
FROM chunk_analyses AS analysed JOIN document_chunks AS chunk USING (chunk_id)
JOIN source_documents USING (document_id)
WHERE project_id = %(project_id)s AND chunk.class_id <> 0 AND analysed.version < %(version)s
LIMIT %(limit)s
"""

_RENEW = """
UPDATE chunk_analyses SET version = %(version)s, analysis = %(analysis)s
WHERE chunk_id = %(chunk)s AND version < %(version)s
"""


async def store(connection: Connection, version: int, analyses: Mapping[ChunkId, bytes]) -> None:
    """Store the analyses of these chunks; chunks that are deleted are left out."""
    keys = {"version": version, "chunks": list(analyses), "analyses": list(analyses.values())}
    await connection.execute(_STORE, keys)


async def list_outdated(
    database: Database, project_id: ProjectId, version: int, *, limit: int
) -> dict[ChunkId, str]:
    """Return up to `limit` published chunks whose analysis is of a lower version, with their texts."""
    keys = {"project_id": project_id, "version": version, "limit": limit}
    return dict(await database.rows(_OUTDATED, keys))


async def renew(database: Database, version: int, chunk: ChunkId, analysis: bytes) -> None:
    """Store the analysis of a chunk in place of one of a lower version; nothing where the chunk is deleted meanwhile."""
    await database.execute(_RENEW, {"version": version, "chunk": chunk, "analysis": analysis})
