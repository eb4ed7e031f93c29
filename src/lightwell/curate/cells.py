"""Table cells of exports: columns, values, and text that a spreadsheet cannot mistake for a formula."""

import unicodedata
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.exports import (
    ExportedRelation,
    ExportRecord,
    ExportTable,
    Passage,
    PassageVector,
)
from lightwell.domain.graph import Entity
from lightwell.text.regex import regex

Cell = str | int | float | None | NDArray[np.float32]

COLUMNS: Mapping[ExportTable, tuple[str, ...]] = {
    ExportTable.ENTITIES: tuple(
        "ref name kind description aliases category difficulty tags created_at updated_at chunk_count sources paths".split()
    ),
    ExportTable.RELATIONS: tuple(
        "source source_name predicate target target_name keywords description comparison use_case"
        " weight chunk_count sources paths".split()
    ),
    ExportTable.CHUNKS: tuple(
        "ref document title url index page last_page section start end tokens language topic text".split()
    ),
    ExportTable.VECTORS: tuple("chunk model dimension vector".split()),
}

MAX_CELL_UNITS = 32_767
"""The most that a spreadsheet's cell holds, in UTF-16 code units."""

_CUT_NOTE = " […] cut here; csv, md and txt contain the whole text"
_UNPRINTABLE = regex(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_BREAK = regex("\r\n?")
_FORMULA_PREFIX = regex(r"['\s\u200b-\u200f\u2060\ufeff]*")
_FORMULA_SIGNS = "=+-@"


def record_cells(record: ExportRecord) -> tuple[Cell, ...]:
    """Return the record's values in the order of its table's columns; a list has one line per item."""
    match record:
        case Entity():
            return (
                record.ref,
                record.name,
                record.kind,
                record.description,
                "\n".join(record.concept.aliases),
                record.concept.category,
                record.concept.difficulty,
                "\n".join(record.concept.tags),
                record.created_at.isoformat() if record.created_at else "",
                record.updated_at.isoformat() if record.updated_at else "",
                record.chunk_count,
                "\n".join(record.sources),
                "\n".join(record.paths),
            )
        case ExportedRelation():
            return (
                record.source,
                record.source_name,
                record.predicate.value,
                record.target,
                record.target_name,
                ", ".join(record.keywords),
                record.description,
                record.comparison,
                record.use_case,
                record.weight,
                record.chunk_count,
                "\n".join(record.sources),
                "\n".join(record.paths),
            )
        case Passage():
            locator = record.locator
            return (
                record.ref,
                record.document_ref,
                record.title,
                record.url,
                record.index,
                locator.page,
                locator.last_page,
                " › ".join(locator.section),
                locator.start,
                locator.end,
                record.tokens,
                record.language,
                record.topic,
                record.text,
            )
        case PassageVector():
            return (record.chunk_ref, record.model, record.vector.size, record.vector)


def without_control_characters(text: str) -> str:
    """Return the text without control characters except tabs and line breaks; line breaks become line feeds."""
    return _UNPRINTABLE.sub("", _BREAK.sub("\n", text))


def looks_like_formula(text: str) -> bool:
    """Return whether a spreadsheet might evaluate the text: it begins with = + - @, their wide forms, or a tab.

    Leading blanks, apostrophes and zero-width characters are ignored.
    """
    before = _FORMULA_PREFIX.match(text)
    blanks = before.group() if before else ""
    first = unicodedata.normalize("NFKC", text[len(blanks) : len(blanks) + 1])[:1]
    return first in tuple(_FORMULA_SIGNS) or not {"\t", "\r"}.isdisjoint(blanks)


def escape_formula(text: str) -> str:
    """Return the text, with an apostrophe before it if it looks like a formula.

    Different texts stay different. To undo it, remove the apostrophe where the rest looks like a formula.
    """
    return f"'{text}" if looks_like_formula(text) else text


def fit_cell(text: str) -> str:
    """Return the text; if it is too long for a cell, cut it and append a note."""
    if len(text) * 2 <= MAX_CELL_UNITS or _utf16_units(text) <= MAX_CELL_UNITS:
        return text
    kept = text.encode("utf-16-le")[: 2 * (MAX_CELL_UNITS - _utf16_units(_CUT_NOTE))]
    return kept.decode("utf-16-le", errors="ignore") + _CUT_NOTE


def format_vector(vector: NDArray[np.float32]) -> str:
    """Return the numbers as a JSON list, each with enough digits to restore the exact float32."""
    return f"[{', '.join(vector.astype(np.float32).astype(str).tolist())}]"


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
