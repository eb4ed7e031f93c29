"""What a passage says by itself, of its chunks' analyses: a question is compared with this."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile

from lightwell.text.analysis.chunk import Span, UnitAnalysis
from lightwell.text.analysis.stored import StoredAnalysis
from lightwell.text.answer_types.facts import Facts, join_facts
from lightwell.text.blocks import Block, BlockKind
from lightwell.text.units import COLON, HEADING, ITEM, PRONOUN, ROW

_MAX_CONTEXT_CHARACTERS = 300

Above = tuple[int, int]
"""The places of the heading that a unit stands under, and of the unit near it that it needs to be understood; -1 for none."""


@dataclass(frozen=True, kw_only=True)
class PassageAnalysis:
    """What was read in the `text` of a passage: of one chunk, or of neighbouring ones, each with the place where it begins in the text."""

    text: str
    chunks: tuple[tuple[int, StoredAnalysis], ...]

    @cached_property
    def units(self) -> tuple[UnitAnalysis, ...]:
        """The units, in order."""
        return tuple(
            replace(unit, start=start + unit.start, end=start + unit.end) if start else unit
            for start, stored in self.chunks
            for unit in stored.analysis.units
        )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, in order. A paragraph or a table that a border divides, where no line is empty, is one."""
        joined: tuple[Block, ...] = ()
        for start, stored in self.chunks:
            joined = _join(joined, [_moved(block, start) for block in stored.analysis.blocks])
        return joined

    @cached_property
    def injections(self) -> tuple[Span, ...]:
        """Where the blocks stand that order something of a machine."""
        spans = [
            (start + first, start + last)
            for start, stored in self.chunks
            for first, last in stored.analysis.injections
        ]
        borders = [start for start, _ in self.chunks if start]
        divided = [
            block
            for block in (self.blocks if spans else ())
            if any(block.start < border < block.end for border in borders)
        ]
        return tuple(_widened(span, divided) for span in spans)

    @cached_property
    def parts(self) -> list[str]:
        """The texts of the units."""
        return [self.text[unit.start : unit.end] for unit in self.units]

    @cached_property
    def above(self) -> list[Above]:
        """What each unit stands under, but for what orders a machine about."""
        places = _above(self.units)
        if not self.injections:
            return places
        orders = {
            place for place, unit in enumerate(self.units) if self.is_inside_injection(unit.start)
        }
        return [
            (-1 if heading in orders else heading, -1 if near in orders else near)
            for heading, near in places
        ]

    @cached_property
    def terms_above(self) -> list[frozenset[str]]:
        """The terms of what each unit stands under."""
        units = self.units
        joined = {
            above: frozenset[str]().union(*(units[place].terms for place in above if place >= 0))
            for above in set(self.above)
        }
        return [joined[above] for above in self.above]

    @cached_property
    def terms(self) -> frozenset[str]:
        """All terms of the text."""
        return frozenset[str]().union(*(unit.terms for unit in self.units))

    @cached_property
    def table_heads(self) -> list[Block]:
        """The first rows of tables that name the columns."""
        return [block for block in self.blocks if block.is_head]

    @cached_property
    def facts(self) -> Facts:
        """What all units hold together."""
        return join_facts(unit.facts for unit in self.units)

    @cached_property
    def folded(self) -> str:
        """All words in order, with a blank before and after each."""
        return "".join(stored.analysis.folded for _, stored in self.chunks).replace("  ", " ")

    def context(self, place: int) -> str:
        """Return what one needs to understand the unit at this place, "" for nothing: the heading and the table's header above it, the line that introduces a list, the sentence before it if it begins with a pronoun."""
        heading, near = self.above[place]
        lines = [self.parts[heading].lstrip("#").lstrip()] if heading >= 0 else []
        lines += [self.parts[near]] if near >= 0 else []
        return " ".join(lines)[:_MAX_CONTEXT_CHARACTERS]

    def units_above(self, place: int) -> tuple[UnitAnalysis, ...]:
        """Return the units that a unit stands under."""
        return tuple(self.units[other] for other in self.above[place] if other >= 0)

    def terms_within(self, start: int, end: int) -> frozenset[str]:
        """Return the terms of the units that reach into `text[start:end]`."""
        first = bisect_right(self.units, start, key=lambda unit: unit.end)
        within = takewhile(lambda unit: unit.start < end, islice(self.units, first, None))
        return frozenset[str]().union(*(unit.terms for unit in within))

    def is_inside_injection(self, start: int) -> bool:
        """Return whether what begins at `text[start]` is an order to a machine, or stands in one block with one."""
        return any(first <= start < last for first, last in self.injections)

    def has_injection(self, start: int, end: int) -> bool:
        """Return whether `text[start:end]` shares a sign with a block that orders something of a machine."""
        return any(first < end and start < last for first, last in self.injections)


# ── what units stand under ────────────────────────────────────────────────────────────────────────────


def _above(units: Sequence[UnitAnalysis]) -> list[Above]:
    """Return for each unit what it stands under, but nothing with no words or with its own."""
    above = _Above()
    places: list[Above] = []
    for place, unit in enumerate(units):
        heading, near = above.heading, above.near(unit.shape)
        if heading >= 0 and units[heading].words in ((), unit.words):
            heading = -1
        if near >= 0 and units[near].words == unit.words:
            near = -1
        places.append((heading, near))
        above.see(place, unit.shape)
    return places


@dataclass(slots=True)
class _Above:
    """The places of the heading and of the lines above the current unit, -1 for none."""

    heading: int = -1
    table: int = -1
    lead: int = -1
    before: int = -1

    def near(self, shape: int) -> int:
        if shape & ROW:
            return self.table
        if shape & ITEM:
            return self.lead
        return self.before if shape & PRONOUN else -1

    def see(self, place: int, shape: int) -> None:
        if shape & HEADING:
            self.heading = place
            self.lead = self.before = -1
        if shape & ROW:
            self.table = self.table if self.table >= 0 else place
        else:
            self.table = -1
            self.before = place
        if shape & COLON:
            self.lead = place


# ── chunks that are joined ────────────────────────────────────────────────────────────────────────────


def _moved(block: Block, by: int) -> Block:
    if not by:
        return block
    table = block.table + by if block.table >= 0 else -1
    return replace(block, start=block.start + by, end=block.end + by, table=table)


def _join(before: tuple[Block, ...], after: Sequence[Block]) -> tuple[Block, ...]:
    if not (before and after) or after[0].start - before[-1].end > 1:
        return (*before, *after)
    last, first = before[-1], after[0]
    if last.kind is BlockKind.ROW and first.kind is BlockKind.ROW:
        return _with_one_table(before, after)
    if last.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM) and first.kind is BlockKind.PARAGRAPH:
        whole = replace(last, end=first.end, size=last.size + 1 + first.size, last=first.last)
        return (*before[:-1], whole, *after[1:])
    return (*before, *after)


def _with_one_table(before: Iterable[Block], following: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks with the first table of the following ones as a part of the last one before."""
    rows = list(before)
    table, divided = rows[-1].table, following[0].table
    return (
        *rows,
        *(
            replace(block, table=table, is_head=False) if block.table == divided else block
            for block in following
        ),
    )


def _widened(span: Span, blocks: Iterable[Block]) -> Span:
    """Return a span with all of these blocks that it touches."""
    first, last = span
    touched = [block for block in blocks if block.start < last and first < block.end]
    return (
        min([first, *(block.start for block in touched)]),
        max([last, *(block.end for block in touched)]),
    )
