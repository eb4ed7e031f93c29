"""What documents are about, by their titles and headings."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.access import Reader
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A document's title, its language ("" where it is not known), and its first headings in order, without the title's own."""

    title: str
    language: str
    headings: Sequence[str]


# Of each class a few documents, so that the cost does not grow with what the reader sees.
_LATEST = """
SELECT document.title, document.language, ARRAY(
    SELECT section.path ->> -1
    FROM document_chunks AS chunk
    CROSS JOIN LATERAL jsonb_array_elements(chunk.layout -> 0) WITH ORDINALITY AS placed (value, place)
    CROSS JOIN LATERAL (SELECT placed.value -> 0 AS path) AS section
    WHERE chunk.document_id = document.document_id AND sees(%(classes)s, chunk.class_id) AND chunk.chunk_index < 3
      AND jsonb_array_length(section.path) = 2
    ORDER BY chunk.chunk_index, placed.place LIMIT 8
) AS headings
FROM unnest(class_ids(%(classes)s)) AS visible (class_id)
CROSS JOIN LATERAL (
    SELECT document_id, title, language, updated_at FROM source_documents
    WHERE class_id = visible.class_id AND sees(%(classes)s, class_id) AND status = 'active' AND NOT is_deleted AND title <> ''
    ORDER BY source_url DESC LIMIT 10
) AS document
ORDER BY document.updated_at DESC, document.document_id LIMIT 40
"""


async def list_outlines(database: Database, reader: Reader) -> list[Outline]:
    """Return the outlines of up to forty of the reader's documents, ten of each access class, the latest first."""
    return await database.rows(_LATEST, reader.parameters, into=Outline)
