"""What the text of one chunk says by itself, in the form in which it is stored."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from lightwell.text.analysis.stored_facts import facts_from_fields, facts_to_fields
from lightwell.text.answer_types.facts import NO_FACTS, Facts, read_facts
from lightwell.text.blocks import Block, BlockKind, blocks
from lightwell.text.injection import find_injections
from lightwell.text.terms import STOP_WORDS, stem_words, words
from lightwell.text.units import ROW, shape_of, unit_spans

Span = tuple[int, int]

_STOP_WORDS = sorted(STOP_WORDS)
_KINDS = tuple(BlockKind)
_FIRST = 32
"""The character of index 0: control characters would be escaped."""

_SURROGATES, _SURROGATE_COUNT = 0xD800, 0x800
_PER_UNIT, _PER_BLOCK = 4, 7


@dataclass(frozen=True, kw_only=True)
class UnitAnalysis:
    """A unit of a text, `text[start:end]`: its shape, its folded words in order, its distinct terms; `fields` are what it holds, as it is stored."""

    start: int
    end: int
    shape: int
    words: tuple[str, ...]
    terms: frozenset[str]
    fields: Sequence[Any] = ()

    @cached_property
    def facts(self) -> Facts:
        """What it holds of what questions ask for."""
        return facts_from_fields(self.fields) if self.fields else NO_FACTS


NO_UNIT = UnitAnalysis(start=0, end=0, shape=0, words=(), terms=frozenset())
"""The unit of what is none."""


@dataclass(frozen=True, kw_only=True)
class ChunkAnalysis:
    """What was read in the text of a chunk, of `length` characters.

    `vocabulary` has its distinct words in order, without stop words; each character of `sequence` is one of its words, as an index of the
    vocabulary behind the stop words. `unit_numbers` and `block_numbers` are rows of numbers, `facts` the fields of units that hold something,
    behind their places, `endings` the last character of each block as it reads, `orders` where injections begin and end.
    """

    length: int
    vocabulary: str
    sequence: str
    unit_numbers: Sequence[int]
    facts: Sequence[Sequence[Any]]
    block_numbers: Sequence[int]
    endings: str
    orders: Sequence[int]

    @cached_property
    def _words(self) -> list[str]:
        """All words in order."""
        return _look_up(self.sequence, [*_STOP_WORDS, *self.vocabulary.split()])

    @cached_property
    def folded(self) -> str:
        """All words in order, with a blank before and after each."""
        return f" {' '.join(self._words)} "

    @cached_property
    def units(self) -> tuple[UnitAnalysis, ...]:
        """The units, in order."""
        stems = stem_words(self.vocabulary.split())
        terms = _look_up(self.sequence, [*("" for _ in _STOP_WORDS), *stems])
        fields = {place: rest for place, *rest in self.facts}
        units: list[UnitAnalysis] = []
        end = first = 0
        for place, (gap, length, shape, count) in enumerate(_rows(self.unit_numbers, _PER_UNIT)):
            start, end = end + gap, end + gap + length
            last = first + count
            units.append(
                UnitAnalysis(
                    start=start,
                    end=end,
                    shape=shape,
                    words=tuple(self._words[first:last]),
                    terms=frozenset(filter(None, terms[first:last])),
                    fields=fields.get(place, ()),
                )
            )
            first = last
        return tuple(units)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, in order."""
        return tuple(_blocks_from_numbers(self.block_numbers, self.endings))

    @property
    def injections(self) -> tuple[Span, ...]:
        """Where the blocks stand that order something of a machine."""
        return tuple(zip(self.orders[::2], self.orders[1::2], strict=True))

    @property
    def is_whole(self) -> bool:
        """Whether its parts fit together, as those of one that was stored and read back do."""
        counts = sum(self.unit_numbers[3::_PER_UNIT])
        most = len(_STOP_WORDS) + self.vocabulary.count(" ") + 1
        return (
            counts == len(self.sequence)
            and not len(self.unit_numbers) % _PER_UNIT
            and len(self.block_numbers) == _PER_BLOCK * len(self.endings)
            and not len(self.orders) % 2
            and max(map(ord, self.sequence), default=0) <= ord(_character(most))
        )


def analyse(text: str) -> ChunkAnalysis:
    """Return what a text says by itself."""
    read_blocks = blocks(text)
    rows = [block for block in read_blocks if block.kind is BlockKind.ROW]
    spans = _with_rows(text, unit_spans(text), rows)
    starts = {row.start for row in rows}
    parts = [text[start:end] for start, end in spans]
    unit_words = [words(part) for part in parts]
    vocabulary = sorted(frozenset(chain.from_iterable(unit_words)) - STOP_WORDS)
    index = {word: _character(place) for place, word in enumerate((*_STOP_WORDS, *vocabulary))}
    ends = [0, *(end for _, end in spans)]
    return ChunkAnalysis(
        length=len(text),
        vocabulary=" ".join(vocabulary),
        sequence="".join(index[word] for word in chain.from_iterable(unit_words)),
        unit_numbers=[
            number
            for (start, end), before, part, own_words in zip(
                spans, ends, parts, unit_words, strict=False
            )
            for number in (
                start - before,
                end - start,
                shape_of(part) | (ROW if start in starts else 0),
                len(own_words),
            )
        ],
        facts=[
            [place, *facts_to_fields(facts)]
            for place, facts in enumerate(map(read_facts, parts))
            if facts is not NO_FACTS
        ],
        block_numbers=[*_numbers_of_blocks(read_blocks)],
        endings="".join(block.last or " " for block in read_blocks),
        orders=[*chain.from_iterable(find_injections(text))],
    )


def _with_rows(text: str, spans: Iterable[Span], rows: Iterable[Block]) -> list[Span]:
    """Return the units, with each row of a table as one of its own, also where no sign stands at its edges."""
    bare = (row for row in rows if text[row.start] not in "|<")
    edges = sorted({place for row in bare for place in (row.start, row.end)})
    divided: list[Span] = []
    for start, end in spans:
        inside = edges[bisect_right(edges, start) : bisect_left(edges, end)]
        for first, last in pairwise([start, *inside, end]):
            part = text[first:last]
            if not inside or any(map(str.isalnum, part)):
                left = first + len(part) - len(part.lstrip())
                divided.append((left, first + len(part.rstrip())))
    return divided


def _character(index: int) -> str:
    number = _FIRST + index
    return chr(number + _SURROGATE_COUNT if number >= _SURROGATES else number)


def _look_up(sequence: str, table: Sequence[str]) -> list[str]:
    padded = [*("" for _ in range(_FIRST)), *table]
    if len(padded) > _SURROGATES:
        padded[_SURROGATES:_SURROGATES] = ["" for _ in range(_SURROGATE_COUNT)]
    return [padded[number] for number in map(ord, sequence)]


def _rows(numbers: Sequence[int], width: int) -> Iterator[tuple[int, ...]]:
    return zip(*(numbers[place::width] for place in range(width)), strict=True)


def _numbers_of_blocks(read_blocks: Iterable[Block]) -> Iterator[int]:
    end = 0
    for block in read_blocks:
        length = block.end - block.start
        yield from (block.start - end, length, _KINDS.index(block.kind), block.indent)
        yield block.start - block.table if block.table >= 0 else -1
        yield block.has_gap + 2 * block.is_head
        yield length - block.size
        end = block.end


def _blocks_from_numbers(numbers: Sequence[int], endings: str) -> Iterator[Block]:
    end = 0
    rows = _rows(numbers, _PER_BLOCK)
    for (gap, length, kind, indent, table, marks, markup), last in zip(rows, endings, strict=True):
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
