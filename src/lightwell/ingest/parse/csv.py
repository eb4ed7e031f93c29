"""Files of separated values: a table with a header, whatever sign separates its cells."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence

from lightwell.domain.documents import ParsedDocument
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._sheets import add_sheet
from lightwell.ingest.parse._text import decode, refuse_long

_SEPARATORS = ",;\t|"
_SAMPLE_LINES = 100
_STATED = "sep="
_STATABLE = frozenset(_SEPARATORS)
_MAX_CELL = 1_000_000
"""Characters: a quotation mark that nothing closes makes one cell of the rest."""


def parse(content: bytes, *, name: str) -> ParsedDocument:
    """Return the document: its lines as rows; a cell may have line breaks where it is quoted."""
    text = decode(content).lstrip("\ufeff").replace("\0", "")
    refuse_long(len(text))
    builder = Builder()
    add_sheet(builder, _rows(text, name))
    return ParsedDocument(
        text=builder.text(),
        title="",
        author="",
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=None,
    )


def _rows(text: str, name: str) -> Iterator[Sequence[str]]:
    first, _, rest = text.partition("\n")
    if (
        first[: len(_STATED)].casefold() == _STATED
        and first[len(_STATED) :].strip("\r") in _STATABLE
    ):
        return _read(rest, first[len(_STATED)])
    if name.lower().endswith(".tsv"):
        return _read(text, "\t")
    return _read(text, _separator(text))


def _separator(text: str) -> str:
    """Return the sign by which most lines have the same number of cells, and of such signs the one that makes more of them."""
    sample = "\n".join(text.splitlines()[:_SAMPLE_LINES])

    def fit(sign: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in _read(sample, sign) if row)
        same = max(((count, width) for width, count in widths.items() if width > 1), default=(0, 0))
        return same

    return max(_SEPARATORS, key=fit)


def _read(text: str, separator: str) -> Iterator[Sequence[str]]:
    """Yield the rows; lines with a quotation mark out of place are rows as they stand."""
    limit = csv.field_size_limit(_MAX_CELL)
    try:
        yield from list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        for line in text.splitlines():
            yield line.split(separator)
    finally:
        csv.field_size_limit(limit)
