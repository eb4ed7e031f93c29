"""The rows of documents' tables: stored with the chunks in which they begin, read for computing over those that a reader sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.ids import ChunkId, DocumentId, ProjectId
from lightwell.records.database import Connection, Database, copy_rows, repeatable
from lightwell.records.locks import lock_project
from lightwell.records.rows import fetch_values
from lightwell.text.tables.rows import Row

_COPIED = """table_rows (
    chunk_id, start_offset, end_offset, document_id, table_number, row_number, cells, keys, words, amounts, units, is_total)"""

_READ = """
UPDATE source_documents SET tables_version = %(version)s
WHERE document_id = ANY(%(documents)s) AND tables_version <> %(version)s
"""

_OUTDATED = """
SELECT document_id FROM source_documents AS document
WHERE document.project_id = %(project_id)s AND tables_version < %(version)s AND NOT is_deleted AND chunk_count > 0
LIMIT 1
"""

_TEXTS = """
SELECT chunk_id AS id, start_offset AS start, chunk_text AS text, title, source_url AS url
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE document_id = %(document)s AND chunk.class_id <> 0
ORDER BY chunk_index
"""

_PUBLISHED = """
SELECT chunk_id FROM document_chunks AS chunk
WHERE document_id = %(document)s AND chunk.class_id <> 0 ORDER BY chunk_index
"""

_REMOVE = "DELETE FROM table_rows WHERE document_id = %(document)s"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A published chunk's text, which begins at character `start` of its document."""

    id: ChunkId
    start: int
    text: str
    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """A row with the chunk in which it begins; `words` are those by which a question may mean its table, of a header."""

    chunk_id: ChunkId
    row: Row
    words: tuple[str, ...] = ()


async def store(
    connection: Connection, version: int, rows: Mapping[DocumentId, Sequence[PlacedRow]]
) -> None:
    """Store the rows of documents whose chunks have just been published, and by which rules they were read."""
    await copy_rows(
        connection,
        _COPIED,
        (_columns(document, placed) for document, of_one in rows.items() for placed in of_one),
    )
    await connection.execute(_READ, {"version": version, "documents": list(rows)})


async def find_outdated(
    database: Database, project_id: ProjectId, version: int
) -> DocumentId | None:
    """Return a published document whose tables were read by older rules or not at all, None where there is none."""
    keys = {"project_id": project_id, "version": version}
    return next(iter(await database.values(_OUTDATED, keys)), None)


async def list_texts(database: Database, document: DocumentId) -> list[TextPart]:
    """Return the published texts of a document, in their order."""
    return await database.rows(_TEXTS, {"document": document}, into=TextPart)


@repeatable
async def renew(
    database: Database,
    project_id: ProjectId,
    version: int,
    document: DocumentId,
    texts: Sequence[TextPart],
    rows: Sequence[PlacedRow],
) -> None:
    """Store what was read in these texts in place of the document's rows; nothing where it shows others by now."""
    async with database.transaction() as connection:
        await lock_project(connection, project_id)
        keys = {"document": document}
        if await fetch_values(connection, _PUBLISHED, keys) != [part.id for part in texts]:
            return
        await connection.execute(_REMOVE, keys)
        await store(connection, version, {document: rows})


def _columns(document: DocumentId, placed: PlacedRow) -> Sequence[object]:
    row = placed.row
    units = row.kinds or tuple(amount.unit if amount else "" for amount in row.amounts)
    return (
        placed.chunk_id,
        row.start,
        row.end,
        document,
        row.table,
        row.number,
        list(row.cells),
        list(row.keys),
        list(placed.words) if row.number == 0 else None,
        [amount.value if amount else None for amount in row.amounts],
        list(units),
        row.is_total,
    )
