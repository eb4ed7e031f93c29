"""Reads the rows of documents' tables: when they are published, and again where the rules have changed since."""

import asyncio
from bisect import bisect_right
from collections.abc import Sequence

from lightwell.domain.documents import text_between_chunks
from lightwell.ingest.context import IngestContext
from lightwell.records.documents import table_rows
from lightwell.records.documents.table_rows import PlacedRow, TextPart
from lightwell.text.tables.keys import keys_of
from lightwell.text.tables.rows import VERSION, may_have_tables, read_tables

_MOST_ROWS = 200_000


def read_rows(parts: Sequence[TextPart]) -> list[PlacedRow]:
    """Return the rows of the tables in a document's published texts."""
    if not parts or not any(may_have_tables(part.text) for part in parts):
        return []
    text = _joined(parts)
    starts = [part.start for part in parts]
    named = keys_of(f"{parts[0].title} {parts[0].url.rpartition('/')[2]}")
    return [
        PlacedRow(
            chunk_id=parts[max(0, bisect_right(starts, row.start) - 1)].id,
            row=row,
            words=()
            if row.number
            else tuple(sorted({*named, *keys_of(" ".join(row.cells)), *_above(text, row.start)})),
        )
        for row in read_tables(text)[:_MOST_ROWS]
    ]


def _joined(parts: Sequence[TextPart]) -> str:
    """Return the text of a document, in which a row begins a line also where a chunk begins with it."""
    pieces: list[str] = []
    end, last = 0, ""
    for part in parts:
        gap = text_between_chunks(max(0, part.start - end))
        bars = last.rpartition("\n")[2].count("|")
        is_row = bars > 0 and part.text.partition("\n")[0].count("|") == bars
        pieces += "\n" if gap == " " and is_row else gap, part.text
        end, last = part.start + len(part.text), part.text
    return "".join(pieces)


def _above(text: str, start: int) -> list[str]:
    """Return the keys of the line above a table: its heading, or what introduces it."""
    return keys_of(text[max(0, start - 200) : start].rstrip().rpartition("\n")[2])


async def renew_tables(context: IngestContext) -> bool:
    """Read the tables of one published document again whose rows are outdated; return whether there was any."""
    database, project_id = context.database, context.project_id
    document = await table_rows.find_outdated(database, project_id, VERSION)
    if document is None:
        return False
    texts = await table_rows.list_texts(database, document)
    rows = await asyncio.to_thread(read_rows, texts)
    await table_rows.renew(database, project_id, VERSION, document, texts, rows)
    return True
