"""Encodes published chunks: the network reads a passage once, for late interaction and for its vector as a whole.

Where the model fails, or there is none, the gap stays: search orders the chunk without that comparison.
"""

import hashlib
from collections.abc import Mapping, Sequence

from lightwell.domain.ids import ChunkId, ProjectId
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import HeadedPassage
from lightwell.ingest.chunking import headed_passage
from lightwell.ports import LateInteraction
from lightwell.records import multi_vectors
from lightwell.records.database import Database
from lightwell.records.documents.chunks import PublishedChunk


async def encode_published(
    database: Database,
    project_id: ProjectId,
    model: LateInteraction,
    entries: Sequence[PublishedChunk],
) -> None:
    """Store the vectors that these chunks lack, and close their gaps; what was encoded for the same access class before is copied.

    Raises `ModelFailed`.
    """
    ids = [entry.chunk.id for entry in entries]
    without = await multi_vectors.list_lacking(database, model.model, ids)
    lacking = [entry for entry in entries if entry.chunk.id in without]
    passages = {entry.chunk.id: headed_passage(entry.title, entry.chunk.draft) for entry in lacking}
    hashes = {
        entry.chunk.id: _hash(project_id, entry, passages[entry.chunk.id]) for entry in lacking
    }
    encoded = await _encode(database, model, passages, hashes)
    # One lock at a time: documents may be deleted meanwhile, in any order.
    for chunk in sorted(ids):
        async with database.relaxed_transaction() as connection:
            hash_ = hashes.get(chunk)
            if hash_ is not None and (vector := encoded.get(hash_)) is not None:
                await multi_vectors.put(connection, model.model, chunk, hash_, vector)
            elif hash_ is not None and not await multi_vectors.copy_equal(
                connection, model.model, chunk, hash_
            ):
                continue  # what was to be copied is deleted: it stays a gap
            await multi_vectors.close_gap(connection, chunk)


async def _encode(
    database: Database,
    model: LateInteraction,
    passages: Mapping[ChunkId, HeadedPassage],
    hashes: Mapping[ChunkId, bytes],
) -> dict[bytes, MultiVector]:
    """Return the vectors by hash, each computed once, of what is not stored with this hash."""
    stored = await multi_vectors.list_encoded(database, model.model, list(hashes.values()))
    wanted = {
        hash_: passages[chunk] for chunk, hash_ in sorted(hashes.items()) if hash_ not in stored
    }
    encoded = await model.encode(list(wanted.values())) if wanted else []
    return dict(zip(wanted, encoded, strict=True))


def _hash(project_id: ProjectId, entry: PublishedChunk, passage: HeadedPassage) -> bytes:
    """Return the SHA-256 of the project, the access class and exactly what is encoded.

    Whether something is encoded shows in time, so nothing is copied from one class to another. The hash of the text to
    embed would not do: it is the same for a title and for a text that begins with it.
    """
    encoded = "\0".join((str(project_id), str(entry.class_id), passage.head, passage.text))
    return hashlib.sha256(encoded.encode()).digest()
