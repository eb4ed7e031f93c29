"""Counts of what a reader sees: documents by state, chunks, entities and relations."""

from dataclasses import dataclass

from lightwell.domain.access import Reader
from lightwell.domain.documents import DocumentState
from lightwell.records.database import Database

_COUNTS = """
SELECT status, count(*) FROM source_documents
WHERE class_id = ANY(%(classes)s) AND NOT is_deleted GROUP BY status ORDER BY status
"""

_VISIBLE = """
SELECT (SELECT coalesce(sum(chunks), 0) FROM class_totals WHERE class_id = ANY(%(classes)s)),
       entities, relations
FROM graph_size(%(classes)s)
"""


async def count_by_state(database: Database, reader: Reader) -> dict[DocumentState, int]:
    """Return how many of the reader's documents are in each state."""
    rows = await database.rows(_COUNTS, {"classes": list(reader.classes)})
    return {DocumentState(state): count for state, count in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """How many chunks, entities and relations a reader sees."""

    chunks: int
    entities: int
    relations: int


async def count_visible(database: Database, reader: Reader) -> StoreCounts:
    """Return how many chunks, entities and relations the reader sees."""
    rows = await database.rows(_VISIBLE, {"classes": list(reader.classes)})
    chunks, entities, relations = rows[0]
    return StoreCounts(chunks=int(chunks), entities=entities, relations=relations)
