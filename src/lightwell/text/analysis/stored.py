"""The bytes of an analysis: JSON, compressed: some six tenths of those of its text.

Words stand once in a table, in order; a text's words are its indexes, a character each. Stop words come first, and are not written.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from lightwell.text.analysis.chunk import ChunkAnalysis, UnitAnalysis, analyse
from lightwell.text.answer_types.facts import NO_FACTS, Facts, Mark
from lightwell.text.blocks import Block, BlockKind
from lightwell.text.dates import PartialDate
from lightwell.text.figures import Figure
from lightwell.text.terms import STOP_WORDS, term_of
from lightwell.text.units import Shape

VERSION = 1
"""What `analyse` says changes with the rules of `lightwell.text`; then this number does, and stored analyses are made again.

`tests/unit/test_analysis.py` fails where a rule has changed and this has not.
"""

_STOP_WORDS = tuple(sorted(STOP_WORDS))
_KINDS = tuple(BlockKind)
_FIRST = 32
"""The character of index 0: control characters would be escaped."""

_SURROGATES, _SURROGATE_COUNT = 0xD800, 0x800
_PER_UNIT, _PER_BLOCK = 4, 7

_Fields = list[Any]


def encode(analysis: ChunkAnalysis) -> bytes:
    """Return an analysis as bytes of this `VERSION`."""
    used = frozenset(chain.from_iterable(unit.words for unit in analysis.units))
    table = sorted(used - STOP_WORDS)
    index = {word: place for place, word in enumerate((*_STOP_WORDS, *table))}
    fields: _Fields = [
        analysis.length,
        " ".join(table),
        "".join(_character(index[word]) for unit in analysis.units for word in unit.words),
        [*_encode_units(analysis.units)],
        [
            [place, *_encode_facts(unit.facts)]
            for place, unit in enumerate(analysis.units)
            if unit.facts != NO_FACTS
        ],
        [*_encode_blocks(analysis.blocks)],
        "".join(block.last or " " for block in analysis.blocks),
        [*chain.from_iterable(analysis.injections)],
    ]
    return zlib.compress(json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode())


@dataclass(frozen=True, kw_only=True)
class StoredAnalysis:
    """The stored analysis of a text, b"" for none; it is decoded once, when it is asked for."""

    text: str
    data: bytes = b""

    @cached_property
    def analysis(self) -> ChunkAnalysis:
        """The analysis, made now where none is stored that can be read."""
        return decode(self.data, self.text)


def decode(data: bytes, text: str) -> ChunkAnalysis:
    """Return what `encode` has written for this text; where there is nothing, or nothing that can be read, the text is analysed."""
    if data:
        try:
            analysis = _decode(json.loads(zlib.decompress(data)))
        except (zlib.error, ValueError, TypeError, IndexError, KeyError, OverflowError):
            return analyse(text)
        if analysis.length == len(text):
            return analysis
    return analyse(text)


def _decode(fields: _Fields) -> ChunkAnalysis:
    length, table, sequence, units, facts, blocks, lasts, injections = fields
    words = [*_STOP_WORDS, *table.split()]
    terms = [term_of(word) for word in words]
    facts_of = {place: _decode_facts(entry) for place, *entry in facts}
    return ChunkAnalysis(
        length=length,
        units=tuple(_decode_units(units, _indexes(sequence), words, terms, facts_of)),
        blocks=tuple(_decode_blocks(blocks, lasts)),
        injections=tuple(zip(injections[::2], injections[1::2], strict=True)),
    )


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────


def _character(index: int) -> str:
    number = _FIRST + index
    return chr(number + _SURROGATE_COUNT if number >= _SURROGATES else number)


def _indexes(sequence: str) -> list[int]:
    return [
        number - _FIRST - (_SURROGATE_COUNT if number >= _SURROGATES else 0)
        for number in map(ord, sequence)
    ]


# ── units ─────────────────────────────────────────────────────────────────────────────────────────────


def _encode_units(units: Iterable[UnitAnalysis]) -> Iterator[int]:
    place = 0
    for unit in units:
        yield from (unit.start - place, unit.end - unit.start, int(unit.shape), len(unit.words))
        place = unit.end


def _decode_units(
    numbers: Sequence[int],
    sequence: Sequence[int],
    words: Sequence[str],
    terms: Sequence[str],
    facts_of: dict[int, Facts],
) -> Iterator[UnitAnalysis]:
    end = taken = 0
    for place, (gap, length, shape, count) in enumerate(_rows(numbers, _PER_UNIT)):
        start, end = end + gap, end + gap + length
        indexes = sequence[taken : taken + count]
        taken += count
        yield UnitAnalysis(
            start=start,
            end=end,
            shape=Shape(shape),
            words=tuple([words[index] for index in indexes]),
            terms=frozenset([terms[index] for index in indexes]) - {""},
            facts=facts_of.get(place, NO_FACTS),
        )


def _rows(numbers: Sequence[int], width: int) -> Iterator[tuple[int, ...]]:
    return zip(*(numbers[place::width] for place in range(width)), strict=True)


# ── facts ─────────────────────────────────────────────────────────────────────────────────────────────


def _encode_facts(facts: Facts) -> _Fields:
    figures = _encode_figures(facts.figures)
    rows = _encode_figures(facts.row_figures)
    fields: _Fields = [
        int(facts.marks),
        [*facts.names],
        [*facts.persons],
        figures,
        1 if rows and rows == figures else rows,
        sorted(facts.date_texts),
        [number for date in facts.dates for number in (date.year, date.month, date.day)],
    ]
    while not fields[-1] and len(fields) > 1:
        fields.pop()
    return fields


def _decode_facts(fields: _Fields) -> Facts:
    lacking: _Fields = [[] for _ in range(7 - len(fields))]
    marks, names, persons, figures, rows, date_texts, dates = (*fields, *lacking)
    quantities = _decode_figures(figures)
    return Facts(
        figures=quantities,
        row_figures=quantities if rows == 1 else _decode_figures(rows),
        date_texts=frozenset(date_texts),
        dates=tuple(
            PartialDate(year=year, month=month, day=day) for year, month, day in _rows(dates, 3)
        ),
        names=tuple(names),
        persons=tuple(persons),
        marks=Mark(marks),
    )


def _encode_figures(figures: Iterable[Figure]) -> list[str]:
    return sorted(f"{figure.value} {figure.unit}" for figure in figures)


def _decode_figures(written: Iterable[str]) -> frozenset[Figure]:
    pairs = (figure.partition(" ") for figure in written)
    return frozenset(Figure(value=value, unit=unit) for value, _, unit in pairs)


# ── blocks ────────────────────────────────────────────────────────────────────────────────────────────


def _encode_blocks(blocks: Iterable[Block]) -> Iterator[int]:
    place = 0
    for block in blocks:
        length = block.end - block.start
        yield from (block.start - place, length, _KINDS.index(block.kind), block.indent)
        yield block.start - block.table if block.table >= 0 else -1
        yield block.has_gap + 2 * block.is_head
        yield length - block.size
        place = block.end


def _decode_blocks(numbers: Sequence[int], lasts: str) -> Iterator[Block]:
    end = 0
    rows = _rows(numbers, _PER_BLOCK)
    for (gap, length, kind, indent, table, marks, markup), last in zip(rows, lasts, strict=True):
        start, end = end + gap, end + gap + length
        yield Block(
            kind=_KINDS[kind],
            start=start,
            end=end,
            indent=indent,
            table=start - table if table >= 0 else -1,
            has_gap=bool(marks & 1),
            is_head=bool(marks & 2),
            size=length - markup,
            last=last.strip(),
        )
