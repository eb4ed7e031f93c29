"""Gives back the space on the disk that an ingestion used on its way."""

from lightwell.records.database import Database

# What jobs read, embeddings that were published, passages that were waiting for theirs, profiles that were refreshed.
_VACUUM = "VACUUM original_parts, staged_vectors, chunk_gaps, multi_vector_gaps, stale_profiles"


async def give_back(database: Database) -> None:
    """Free what is left of finished jobs.

    A server frees it by itself within minutes, but one that runs for a command alone has stopped by then.
    """
    await database.execute(_VACUUM, {})
