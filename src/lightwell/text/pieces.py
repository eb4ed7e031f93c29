"""The coherent piece of a text around a place: a paragraph, a list with its lead-in, a table with its head, a question with its answer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from lightwell.text.blocks import Block, BlockKind, blocks
from lightwell.text.markup import strip_markup
from lightwell.text.units import split_into_units

LONGEST_SNIPPET = 400
LONGEST_PIECE = 6000
"""Characters of a citation's snippet, with the markup that a piece of a document may have."""

_MAX_QUESTION = 200
_LISTED = frozenset({BlockKind.ITEM, BlockKind.CODE})
_ENDS = ".!?:;"
_NEARLY = 0.75

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long a piece may be, in characters as they are read, without markup.

    It is `extended` with its neighbours to this many; a list or a table of at most `unbroken` comes whole.
    """

    extended: int
    unbroken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where a piece may reach: within `text[start:end]`, without the blocks that `is_excluded` names by start and end.

    `row_score` scores a row of a long table, from 0: only rows with nearly the best score are quoted.
    """

    start: int
    end: int
    is_excluded: Callable[[int, int], bool]
    row_score: Callable[[str], float]


def piece_around(text: str, place: int, bounds: Bounds, size: Size) -> tuple[Span, ...]:
    """Return the spans of the coherent piece around `text[place]`, in order, mostly one; () where nothing may be quoted.

    A short list, table or procedure is quoted whole, with the line that introduces it. Of a long one, that line and the
    items around the place are quoted, or the rows with the best scores. A question is quoted with the text below it. Where there
    is room, neighbouring blocks of the same section are added, and the heading above. No sentence and no item is cut.
    """
    return _Builder(text=text, bounds=bounds, most=size).build(place)


@dataclass(frozen=True)
class _Builder:
    text: str
    bounds: Bounds
    most: Size

    @cached_property
    def parts(self) -> list[Block]:
        return [
            each
            for each in blocks(self.text)
            if each.kind is not BlockKind.CLUTTER
            and self.bounds.start <= each.start < self.bounds.end
        ]

    @cached_property
    def sizes(self) -> list[int]:
        return [len(strip_markup(self.text[each.start : each.end])) for each in self.parts]

    def build(self, place: int) -> tuple[Span, ...]:
        at = next((n for n, each in enumerate(self.parts) if each.start <= place < each.end), None)
        if at is None or self._is_excluded(at):
            return ()
        first, last = self._group(at)
        size = self._size(first, last)
        if self.parts[at].kind is BlockKind.ROW and size > self.most.unbroken:
            return self._rows(at)
        if size > self.most.unbroken and last > first:
            return self._items(at, first, last)
        if size > self.most.unbroken:
            return (self._sentences(at, place),)
        return (self._span(*self._extend(first, last)),)

    # ── what belongs together ─────────────────────────────────────────────────────────────────────────

    def _group(self, at: int) -> tuple[int, int]:
        """Return the first and the last of the blocks that cannot be read without the one at this place."""
        kind = self.parts[at].kind
        if kind is BlockKind.HEADING:
            return self._below(at)
        first, last = at, at
        if self._is_listed(at):
            first, last = self._run(at, self._is_listed)
        elif kind is BlockKind.ROW:
            first, last = self._run(at, lambda n: self.parts[n].table == self.parts[at].table)
        elif self._leads(at):
            first, last = self._below(at)
        if self._may_take(first - 1) and self._leads(first - 1):
            first -= 1
        return first, last

    def _run(self, at: int, is_alike: Callable[[int], bool]) -> tuple[int, int]:
        """Return the first and the last of the blocks in one row with the one at this place that are alike."""
        first = last = at
        while self._may_take(first - 1) and is_alike(first - 1):
            first -= 1
        while self._may_take(last + 1) and is_alike(last + 1):
            last += 1
        return first, last

    def _below(self, at: int) -> tuple[int, int]:
        """Return a line that leads to something together with that."""
        following = at + 1
        if not self._may_take(following):
            return at, at
        if self._leads(following) and self.parts[at].kind is BlockKind.HEADING:
            return at, self._below(following)[1]
        if self._leads(following) or self.parts[following].kind is BlockKind.PARAGRAPH:
            return at, following
        return at, max(following, self._group(following)[1])

    def _leads(self, at: int) -> bool:
        """Return whether a paragraph only introduces what stands below it: it ends in a colon, or is a question."""
        each = self.parts[at]
        if each.kind is not BlockKind.PARAGRAPH or at + 1 >= len(self.parts):
            return False
        said = strip_markup(self.text[each.start : each.end])
        below = self.parts[at + 1]
        if said.endswith(":") or (said.endswith("?") and len(said) <= _MAX_QUESTION):
            return True
        is_label = len(said) <= _MAX_QUESTION and said[-1:] not in _ENDS
        return not below.has_gap and (is_label or below.kind is not BlockKind.PARAGRAPH)

    def _is_listed(self, at: int) -> bool:
        each = self.parts[at]
        if each.kind is BlockKind.ITEM:
            return True
        return each.indent > 1 and each.kind in (BlockKind.CODE, BlockKind.PARAGRAPH)

    def _is_excluded(self, at: int) -> bool:
        return self.bounds.is_excluded(self.parts[at].start, self.parts[at].end)

    def _may_take(self, at: int) -> bool:
        if not 0 <= at < len(self.parts) or self._is_excluded(at):
            return False
        return self.parts[at].kind is not BlockKind.HEADING

    def _is_heading_to_quote(self, at: int) -> bool:
        return self.parts[at].kind is BlockKind.HEADING and not self._is_excluded(at)

    # ── what fits ─────────────────────────────────────────────────────────────────────────────────────

    def _size(self, first: int, last: int) -> int:
        return sum(self.sizes[first : last + 1]) + last - first

    def _extend(self, first: int, last: int) -> tuple[int, int]:
        """Return the group with as many neighbours of the same section as there is room for, those below first."""
        while self._may_take(last + 1):
            below = max(last + 1, self._group(last + 1)[1])
            if self._size(first, below) > self.most.extended:
                break
            last = below
        while self._may_take(first - 1):
            above = min(first - 1, self._group(first - 1)[0])
            if self._size(above, last) > self.most.extended:
                break
            first = above
        if first > 0 and self._is_heading_to_quote(first - 1):
            first -= 1
        return first, last

    def _span(self, first: int, last: int) -> Span:
        return self.parts[first].start, self.parts[last].end

    def _items(self, at: int, first: int, last: int) -> tuple[Span, ...]:
        """Return the lead-in of a long list, and the item at this place with as many of those beside it as fit."""
        has_lead = not self._is_listed(first)
        least = first + has_lead
        room = self.most.extended - (self.sizes[first] if has_lead else 0)
        low = high = at
        while low > least and self.parts[low].indent > self.parts[least].indent:
            low -= 1
        while high < last and self._size(low, high + 1) <= room:
            high += 1
        while low > least and self._size(low - 1, high) <= room:
            low -= 1
        if not has_lead or low == least:
            return (self._span(first if low == least else low, high),)
        return self._span(first, first), self._span(low, high)

    def _rows(self, at: int) -> tuple[Span, ...]:
        """Return the rows of a long table with nearly the best score, and the row at this place."""
        table = self.parts[at].table
        rows = [n for n, each in enumerate(self.parts) if each.table == table][1:]
        scores = {n: self.bounds.row_score(self.text[slice(*self._span(n, n))]) for n in rows}
        best = max(scores.values(), default=0.0)
        scores[at] = best + 1
        chosen: list[int] = []
        for row in sorted(rows, key=lambda n: (-scores[n], n)):
            size = sum(self.sizes[n] for n in (*chosen, row))
            is_good = scores[row] >= _NEARLY * best and scores[row] > 0
            if row == at or (is_good and size <= self.most.extended and not self._is_excluded(row)):
                chosen.append(row)
        return tuple(self._span(row, row) for row in sorted(chosen))

    def _sentences(self, at: int, place: int) -> Span:
        """Return of a long paragraph the sentence at this place with as many of those beside it as fit."""
        block = self.parts[at]
        found = [
            (each.start, each.end)
            for each in split_into_units(self.text)
            if block.start <= each.start and each.end <= block.end
        ]
        own = next((n for n, (start, end) in enumerate(found) if start <= place < end), None)
        if own is None:
            return place, block.end
        low = high = own
        is_growing = True
        while is_growing:
            is_growing = False
            if high + 1 < len(found) and found[high + 1][1] - found[low][0] <= self.most.extended:
                high, is_growing = high + 1, True
            if low > 0 and found[high][1] - found[low - 1][0] <= self.most.extended:
                low, is_growing = low - 1, True
        return found[low][0], found[high][1]


def shorten(text: str, most: int = LONGEST_SNIPPET) -> str:
    """Return the text, cut at a word when it has more characters than `most`; what is left stands there word for word."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(maxsplit=1)[0]
