"""Counts the terms of chunks for full-text search."""

from collections.abc import Sequence

from lightwell.ingest.chunking import text_to_embed
from lightwell.records.documents.chunks import StagedChunk
from lightwell.records.documents.publishing import PublishedTerms
from lightwell.text.terms import count_terms


def list_terms(titled: Sequence[tuple[str, StagedChunk]]) -> list[PublishedTerms]:
    """Return the terms of each chunk with the title of its document; those of equal text are counted once."""
    text_by_hash = {chunk.hash: text_to_embed(title, chunk.draft) for title, chunk in titled}
    counts = {hash_: count_terms(text) for hash_, text in text_by_hash.items()}
    return [
        PublishedTerms(
            chunk_id=chunk.id,
            length=sum(counts[chunk.hash].values()),
            frequencies=counts[chunk.hash],
        )
        for _, chunk in titled
    ]
