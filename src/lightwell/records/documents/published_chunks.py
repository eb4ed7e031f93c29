"""Published chunks by reference or id, or all of a document, as far as the reader sees them."""

from collections.abc import Sequence

from lightwell.domain.access import Reader, Tags
from lightwell.domain.documents import Layout
from lightwell.domain.errors import NotFound
from lightwell.domain.ids import ChunkId, DocumentId
from lightwell.records import chunk_layout
from lightwell.records.database import Database

_NAMED = """
SELECT chunk_id, chunk_ref
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE document.project_id = %(project_id)s AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
  AND (chunk.chunk_ref = ANY(%(names)s) AND document.global_ref = ANY(%(documents)s)
       OR chunk.chunk_id::text = ANY(%(names)s))
ORDER BY chunk.chunk_id
"""

_ACCESS = """
SELECT chunk.chunk_ref, class.tags
FROM document_chunks AS chunk JOIN access_classes AS class USING (class_id)
WHERE chunk.chunk_id = ANY(%(chunks)s) AND sees(%(classes)s, class_id)
ORDER BY chunk.chunk_id
"""

_OF_DOCUMENT = """
SELECT chunk_id
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE document_id = %(document)s AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
ORDER BY chunk.chunk_index LIMIT %(limit)s OFFSET %(after)s
"""

_LAYOUTS = """
SELECT layout FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE document_id = %(document)s AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
  AND chunk.start_offset < %(end)s AND chunk.end_offset > %(start)s
ORDER BY chunk.chunk_index
"""


async def resolve_ids(database: Database, reader: Reader, names: Sequence[str]) -> list[ChunkId]:
    """Return the reader's chunks with these references or ids, in order of arrival; raise `NotFound` for the
    first unknown one.
    """
    distinct_names = list(dict.fromkeys(name.strip() for name in names))
    refs = await find_ids(database, reader, distinct_names)
    visible = {str(chunk) for chunk in refs} | set(refs.values())
    for name in distinct_names:
        if name not in visible:
            raise NotFound(f"There is no passage {name!r} that you may see")
    return list(refs)


async def find_ids(database: Database, reader: Reader, names: Sequence[str]) -> dict[ChunkId, str]:
    """Return those of the reader's chunks that have one of these references or ids, in order of arrival, with their references."""
    rows = await database.rows(
        _NAMED,
        {
            **reader.parameters,
            "names": list(names),
            "documents": [name.rpartition("#")[0] for name in names],
        },
    )
    return {chunk_id: ref for chunk_id, ref in rows}


async def list_access_tags(
    database: Database, reader: Reader, chunks: Sequence[ChunkId]
) -> list[tuple[str, Tags]]:
    """Return the reference of each of these chunks that the reader sees, with the access tags of its document."""
    rows = await database.rows(_ACCESS, {"chunks": list(chunks), **reader.parameters})
    return [(ref, frozenset(tags)) for ref, tags in rows]


async def list_by_document(
    database: Database, reader: Reader, document_id: DocumentId, *, after: int, limit: int
) -> list[ChunkId]:
    """Return up to `limit` of the document's chunks by index, after skipping the first `after`."""
    parameters = {"document": document_id, **reader.parameters, "after": after, "limit": limit}
    return await database.values(_OF_DOCUMENT, parameters)


async def list_layouts(
    database: Database, reader: Reader, document_id: DocumentId, start: int, end: int
) -> list[Layout]:
    """Return where the pages and sections lie that the document's chunks between two places touch, in their order."""
    parameters = {"document": document_id, **reader.parameters, "start": start, "end": end}
    layouts = await database.values(_LAYOUTS, parameters)
    return [chunk_layout.from_json(layout) for layout in layouts if layout is not None]
