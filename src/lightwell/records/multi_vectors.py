"""The vectors of windows and tokens of chunks, and which chunks are still to be encoded."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.access import Reader
from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import MultiVector, join_windows, pack_places, unpack_places
from lightwell.domain.reranking import ENCODED_LANGUAGE
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch_values

_OF_READER = """
SELECT chunk_id, starts, ends, tokens, wholes, head, codes, places
FROM chunk_multi_vectors
JOIN document_chunks AS chunk USING (chunk_id) JOIN source_documents USING (document_id)
WHERE chunk_id = ANY(%(chunks)s) AND model = %(model)s AND sees(%(classes)s, chunk.class_id) AND NOT is_deleted
"""

# Vectors are a function of what is hashed, the access class included.
_COPY = """
INSERT INTO chunk_multi_vectors (chunk_id, model, text_hash, starts, ends, tokens, wholes, head, codes, places)
SELECT chunk.chunk_id, held.model, held.text_hash, held.starts, held.ends, held.tokens, held.wholes, held.head, held.codes, held.places
FROM document_chunks AS chunk
CROSS JOIN (SELECT * FROM chunk_multi_vectors WHERE text_hash = %(hash)s AND model = %(model)s LIMIT 1) AS held
WHERE chunk.chunk_id = %(chunk)s
FOR KEY SHARE OF chunk
ON CONFLICT (chunk_id) DO NOTHING
RETURNING chunk_id
"""

_LACKING = """
SELECT chunk_id FROM document_chunks AS chunk
WHERE chunk_id = ANY(%(chunks)s) AND language = %(language)s
  AND NOT EXISTS (SELECT FROM chunk_multi_vectors AS held WHERE held.chunk_id = chunk.chunk_id AND model = %(model)s)
"""

_ENCODED = """
SELECT DISTINCT text_hash FROM chunk_multi_vectors WHERE text_hash = ANY(%(hashes)s) AND model = %(model)s
"""

_WINDOWS = """
SELECT chunk_id, wholes, starts, ends FROM chunk_multi_vectors
WHERE chunk_id = ANY(%(chunks)s) AND model = %(model)s AND cardinality(starts) > 0
"""

# The lock waits for whoever is deleting the chunk, and then finds none, where the reference would fail.
_PUT = """
INSERT INTO chunk_multi_vectors (chunk_id, model, text_hash, starts, ends, tokens, wholes, head, codes, places)
SELECT chunk_id, %(model)s, %(hash)s, %(starts)s, %(ends)s, %(tokens)s, %(wholes)s, %(head)s, %(codes)s, %(places)s
FROM document_chunks WHERE chunk_id = %(chunk)s
FOR KEY SHARE
ON CONFLICT (chunk_id) DO UPDATE SET model = excluded.model, text_hash = excluded.text_hash,
    starts = excluded.starts, ends = excluded.ends, tokens = excluded.tokens, wholes = excluded.wholes, head = excluded.head,
    codes = excluded.codes, places = excluded.places
"""

_CLOSE_GAP = "DELETE FROM multi_vector_gaps WHERE chunk_id = %(chunk)s"


async def get_multi_vectors(
    database: Database, reader: Reader, model: str, chunks: Sequence[ChunkId]
) -> dict[ChunkId, MultiVector]:
    """Return the vectors that this model made of those of the chunks that the reader sees; what is damaged is left out, as if it were not encoded yet."""
    if not chunks:
        return {}
    keys = {"chunks": list(chunks), "model": model, **reader.parameters}
    rows = await database.rows(_OF_READER, keys, into=_multi_vector, binary=True)
    return {chunk: vectors for chunk, vectors in rows if vectors is not None}


async def copy_equal(connection: Connection, model: str, chunk: ChunkId, hash_: bytes) -> bool:
    """Give a chunk the vectors of one for which the same was encoded, by its hash; return whether there are both still."""
    keys = {"chunk": chunk, "hash": hash_, "model": model}
    return bool(await fetch_values(connection, _COPY, keys))


async def list_lacking(
    database: Database, model: str, chunks: Sequence[ChunkId]
) -> frozenset[ChunkId]:
    """Return those of the chunks that should have vectors of this model, by their language, and have none."""
    keys = {"chunks": list(chunks), "model": model, "language": ENCODED_LANGUAGE}
    return frozenset(await database.values(_LACKING, keys))


async def list_encoded(database: Database, model: str, hashes: Sequence[bytes]) -> frozenset[bytes]:
    """Return those of these hashes of what is encoded with which this model's vectors are stored."""
    return frozenset(
        await database.values(_ENCODED, {"hashes": list(hashes), "model": model}) if hashes else ()
    )


async def join_windows_of(
    database: Database, model: str, chunks: Sequence[ChunkId]
) -> dict[ChunkId, NDArray[np.float32]]:
    """Return the vectors, made of those of their windows, of those of the chunks that this model encoded; takes no reader, since ingestion alone asks."""
    rows = await database.rows(_WINDOWS, {"chunks": list(chunks), "model": model}, binary=True)
    return {
        chunk: join_windows(
            np.frombuffer(wholes, np.int8).reshape(len(starts), -1),
            np.array(ends) - np.array(starts),
        )
        for chunk, wholes, starts, ends in rows
    }


async def put(
    connection: Connection, model: str, chunk: ChunkId, hash_: bytes, vector: MultiVector
) -> None:
    """Store a chunk's vectors with the hash of what was encoded, in place of another model's; do nothing where it is deleted meanwhile."""
    row = {
        "chunk": chunk,
        "model": model,
        "hash": hash_,
        "starts": vector.starts.tolist(),
        "ends": vector.ends.tolist(),
        "tokens": vector.tokens.tolist(),
        "wholes": vector.wholes.tobytes(),
        "head": vector.head.tobytes(),
        "codes": vector.codes.tobytes(),
        "places": pack_places(vector.places),
    }
    await connection.execute(_PUT, row)


async def close_gap(connection: Connection, chunk: ChunkId) -> None:
    """Note that a chunk is encoded, or need not be."""
    await connection.execute(_CLOSE_GAP, {"chunk": chunk})


def _multi_vector(*, chunk_id: ChunkId, **columns: Any) -> tuple[ChunkId, MultiVector | None]:
    try:
        vectors = _unpack(**columns)
    except ValueError:  # the bytes are no rows of equal length
        return chunk_id, None
    return chunk_id, vectors if vectors.is_whole else None


def _unpack(
    *,
    starts: Sequence[int],
    wholes: bytes,
    head: bytes,
    codes: bytes,
    places: bytes,
    **columns: Sequence[int],
) -> MultiVector:
    placed = unpack_places(places)
    width = len(codes) // max(1, len(placed)) or 1
    return MultiVector(
        starts=np.array(starts, np.int32),
        wholes=np.frombuffer(wholes, np.int8).reshape(len(starts), -1 if starts else 0),
        head=np.frombuffer(head, np.uint8).reshape(-1, width),
        codes=np.frombuffer(codes, np.uint8).reshape(-1, width),
        places=placed,
        **{name: np.array(numbers, np.int32) for name, numbers in columns.items()},
    )
