"""Originals in parts: staged with a document's job, read by it, published with the document, deleted with it.

A reader gets an original of a document that the reader sees, checked again for each part.
"""

from collections.abc import Iterator, Mapping, Sequence

from lightwell.domain.access import Reader
from lightwell.domain.documents import Page
from lightwell.domain.errors import LeaseLost, NotFound
from lightwell.domain.ids import DocumentId, JobId
from lightwell.domain.originals import Original
from lightwell.records import chunk_layout
from lightwell.records.database import Connection, Database

PART_BYTES = 1024 * 1024

NO_ORIGINAL = "There is no original of this document that you may see"
NO_PICTURE = "There is no picture of this page that you may see"

STAGE = """
INSERT INTO document_originals (original_id, document_id, place, byte_count, sha256)
VALUES (%(job)s, %(id)s, %(place)s, %(size)s, %(sha256)s)
"""

STAGE_PART = """
INSERT INTO original_parts (original_id, part, content) VALUES (%(job)s, %(part)s, %(content)s)
"""

_OF_JOB = """
SELECT content FROM document_originals LEFT JOIN original_parts USING (original_id)
WHERE original_id = %(job)s AND NOT is_published ORDER BY part
"""

_COUNT_PAGES = """
UPDATE document_originals SET page_count = given.pages
FROM unnest(%(jobs)s::uuid[], %(pages)s::integer[]) AS given (id, pages)
WHERE original_id = given.id AND given.pages > 0
"""

_FORGET = "DELETE FROM document_originals WHERE original_id = ANY(%(jobs)s) AND place = 'none'"

_EMPTY = """
DELETE FROM original_parts USING document_originals AS original
WHERE original.original_id = ANY(%(jobs)s) AND original.place = 'folder'
  AND original_parts.original_id = original.original_id
"""

_REPLACE = """
DELETE FROM document_originals AS old USING document_originals AS new
WHERE old.document_id = ANY(%(documents)s) AND old.is_published
  AND new.document_id = old.document_id AND NOT new.is_published
"""

_PUBLISH = """
UPDATE document_originals SET is_published = true WHERE document_id = ANY(%(documents)s) AND NOT is_published
"""

_DROP_STAGED = (
    "DELETE FROM document_originals WHERE document_id = ANY(%(documents)s) AND NOT is_published"
)

_DELETE = "DELETE FROM document_originals WHERE document_id = ANY(%(documents)s)"

# What failed to be read has an original that is staged still.
_FIND = """
SELECT original_id AS job, document_id AS document, source_url AS url, title, format, place, byte_count AS size, sha256,
       page_count AS pages
FROM document_originals JOIN source_documents USING (document_id)
WHERE document_id = %(document)s AND sees(%(classes)s, class_id) AND NOT is_deleted AND place <> 'none'
ORDER BY is_published DESC LIMIT 1
"""

_PART = """
SELECT content FROM original_parts JOIN document_originals USING (original_id)
JOIN source_documents USING (document_id)
WHERE original_id = %(original)s AND part = %(part)s AND sees(%(classes)s, class_id) AND NOT is_deleted
"""


# A page is in the layout of each chunk that touches it.
_LAYOUTS = """
SELECT layout FROM document_chunks
WHERE document_id = %(document)s AND sees(%(classes)s, class_id)
  AND page_number <= %(page)s AND last_page >= %(page)s
ORDER BY chunk_index LIMIT 1
"""

_TEXT = """
SELECT document_text(document_id, class_id, %(start)s, %(end)s) FROM source_documents
WHERE document_id = %(document)s AND sees(%(classes)s, class_id) AND NOT is_deleted
"""


def parts_of(job: JobId, content: bytes) -> Iterator[Mapping[str, object]]:
    """Yield the parameters of `STAGE_PART` for the bytes that a job reads."""
    for part, start in enumerate(range(0, len(content), PART_BYTES)):
        yield {"job": job, "part": part, "content": content[start : start + PART_BYTES]}


async def read_staged(database: Database, job: JobId) -> bytes:
    """Return what a job has to read; raise `LeaseLost` where a newer version or a deletion took it away."""
    parts = await database.values(_OF_JOB, {"job": job})
    if not parts:
        raise LeaseLost("What this job reads was replaced or deleted")
    return b"".join(part for part in parts if part is not None)


async def settle(connection: Connection, pages: Mapping[JobId, int]) -> None:
    """Record how many pages these jobs' originals have, and drop the bytes that stay elsewhere or nowhere."""
    keys = {"jobs": list(pages), "pages": list(pages.values())}
    for statement in (_COUNT_PAGES, _EMPTY, _FORGET):
        await connection.execute(statement, keys)


async def publish(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Replace the originals of these documents by the staged ones, where there are any."""
    keys = {"documents": list(documents)}
    await connection.execute(_REPLACE, keys)
    await connection.execute(_PUBLISH, keys)


async def drop_staged(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Delete what open, failed and cancelled jobs of these documents have to read."""
    await connection.execute(_DROP_STAGED, {"documents": list(documents)})


async def delete(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Delete all originals of these documents."""
    await connection.execute(_DELETE, {"documents": list(documents)})


async def find(database: Database, reader: Reader, document: DocumentId) -> Original:
    """Return the original of the reader's document; raise `NotFound`."""
    keys = {**reader.parameters, "document": document}
    original = await database.row(_FIND, keys, into=Original)
    if original is None:
        raise NotFound(NO_ORIGINAL)
    return original


async def read_part(database: Database, reader: Reader, original: Original, part: int) -> bytes:
    """Return a part of an original, b"" after the last one and where the reader does not see it any more."""
    keys = {**reader.parameters, "original": original.job, "part": part}
    content = await database.value(_PART, keys)
    return b"" if content is None else bytes(content)


async def find_page(
    database: Database, reader: Reader, document: DocumentId, number: int
) -> Page | None:
    """Return where a page stands in the published text of the reader's document, None for a page without text."""
    keys = {**reader.parameters, "document": document, "page": number}
    for layout in await database.values(_LAYOUTS, keys):
        for page in chunk_layout.from_json(layout).pages:
            if page.number == number:
                return page
    return None


async def read_text(
    database: Database, reader: Reader, document: DocumentId, start: int, end: int
) -> str:
    """Return what stands from `start` to `end` in the published text of the reader's document; "" where there is none."""
    keys = {**reader.parameters, "document": document, "start": start, "end": end}
    return await database.value(_TEXT, keys) or ""
