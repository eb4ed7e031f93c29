"""The coherent piece of a text around a place: a paragraph, a list with its lead-in, a table with its head, a question with its answer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from lightwell.text.analysis.chunk import Span
from lightwell.text.analysis.passage import PassageAnalysis
from lightwell.text.blocks import Block, BlockKind, find_outer

LONGEST_SNIPPET = 400
LONGEST_PIECE = 6000
"""Characters of a citation's snippet, with the markup that a piece of a document may have."""

_MAX_QUESTION = 200
_MAX_LEADS = 3
"""Lines in one row that each lead to the next one, as the title of a tab does below a line that ends in a colon."""
_ENDS = ".!?:;"
_NEARLY = 0.75


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

    `row_score` scores a row of a long table, of which it gets the terms, from 0: only rows with nearly the best score are quoted.
    """

    start: int
    end: int
    is_excluded: Callable[[int, int], bool]
    row_score: Callable[[frozenset[str]], float]


def piece_around(
    passage: PassageAnalysis, place: int, bounds: Bounds, size: Size
) -> tuple[Span, ...]:
    """Return the spans of the coherent piece around a place in a passage, in order, mostly one; () where nothing may be quoted.

    A short list, table or procedure is quoted whole, with the line that introduces it. Of a long one, that line and the
    items around the place are quoted, or the rows with the best scores; an item with what stands below it. A question is quoted with
    the text below it, code with the text above it. Where there is room, neighbouring blocks of the same section are added, and the
    heading above. No piece ends with a line that only leads to more. No sentence is cut, and no item but one that is too long by itself,
    as a PDF's last item is with the paragraphs below it; of code lines are left out.
    """
    return _Builder(passage=passage, bounds=bounds, most=size).build(place)


@dataclass(frozen=True)
class _Builder:
    passage: PassageAnalysis
    bounds: Bounds
    most: Size

    @cached_property
    def parts(self) -> list[Block]:
        return [
            block
            for block in self.passage.blocks
            if block.kind is not BlockKind.CLUTTER
            and self.bounds.start <= block.start < self.bounds.end
        ]

    @cached_property
    def sizes(self) -> list[int]:
        return [part.size for part in self.parts]

    def build(self, place: int) -> tuple[Span, ...]:
        index = next(
            (n for n, part in enumerate(self.parts) if part.start <= place < part.end), None
        )
        if index is None or self._is_excluded(index):
            return ()
        first, last = self._group(index)
        size = self._size(first, last)
        if self.parts[index].kind is BlockKind.ROW and size > self.most.unbroken:
            return self._rows(index)
        if size > self.most.unbroken:
            return self._cut(index, place, first, last)
        return (self._span(*self._extend(first, last)),)

    # ── what belongs together ─────────────────────────────────────────────────────────────────────────

    def _group(self, index: int) -> tuple[int, int]:
        """Return the first and the last of the blocks that cannot be read without the one at this place."""
        kind = self.parts[index].kind
        if kind is BlockKind.HEADING:
            return self._below(index)
        first, last = index, index
        if self._is_listed(index):
            first, last = self._run(index, self._is_listed)
        elif kind is BlockKind.ROW:
            first, last = self._run(index, lambda n: self.parts[n].table == self.parts[index].table)
        if self._leads(last):
            last = self._below(last)[1]
        if self._may_take(first - 1) and (kind is BlockKind.CODE or self._leads(first - 1)):
            first -= 1
        return first, last

    def _run(self, index: int, is_alike: Callable[[int], bool]) -> tuple[int, int]:
        """Return the first and the last of the blocks in one row with the one at this place that are alike."""
        first = last = index
        while self._may_take(first - 1) and is_alike(first - 1):
            first -= 1
        while self._may_take(last + 1) and is_alike(last + 1):
            last += 1
        return first, last

    def _below(self, index: int) -> tuple[int, int]:
        """Return a line that leads to something together with that."""
        following = index + 1
        if not self._may_take(following):
            return index, index
        for _ in range(_MAX_LEADS):
            if self._leads(following) and self._may_take(following + 1):
                following += 1
        if self.parts[following].kind is BlockKind.PARAGRAPH:
            return index, following
        return index, max(following, self._group(following)[1])

    def _leads(self, index: int) -> bool:
        """Return whether a paragraph or an item only introduces what stands below it: it ends in a colon, or is a question."""
        part = self.parts[index]
        if part.kind is BlockKind.ITEM:
            return part.last == ":"
        if part.kind is not BlockKind.PARAGRAPH or index + 1 >= len(self.parts):
            return False
        below = self.parts[index + 1]
        is_short = part.size <= _MAX_QUESTION
        if part.last == ":" or (part.last == "?" and is_short):
            return True
        is_label = is_short and part.last not in _ENDS
        return not below.has_gap and (is_label or below.kind is not BlockKind.PARAGRAPH)

    def _is_listed(self, index: int) -> bool:
        part = self.parts[index]
        if part.kind is BlockKind.ITEM:
            return True
        if part.indent <= 1 or part.kind not in (BlockKind.CODE, BlockKind.PARAGRAPH):
            return False
        above = find_outer(self.parts, index, part.indent)
        return above is None or above.kind is BlockKind.ITEM or above.last == ":"

    def _is_excluded(self, index: int) -> bool:
        return self.bounds.is_excluded(self.parts[index].start, self.parts[index].end)

    def _may_take(self, index: int) -> bool:
        if not 0 <= index < len(self.parts) or self._is_excluded(index):
            return False
        return self.parts[index].kind is not BlockKind.HEADING

    # ── what fits ─────────────────────────────────────────────────────────────────────────────────────

    def _size(self, first: int, last: int) -> int:
        return sum(self.sizes[first : last + 1]) + last - first

    def _extend(self, first: int, last: int) -> tuple[int, int]:
        """Return the group with as many neighbours of the same section as there is room for, those below first."""
        while self._may_add(last + 1):
            below = max(last + 1, self._group(last + 1)[1])
            if self._size(first, below) > self.most.extended or self._leads(below):
                break
            last = below
        while self._may_add(first - 1):
            above = min(first - 1, self._group(first - 1)[0])
            if self._size(above, last) > self.most.extended:
                break
            first = above
        above = first - 1
        is_heading = above >= 0 and self.parts[above].kind is BlockKind.HEADING
        if is_heading and not self._is_excluded(above):
            first = above
        return first, last

    def _may_add(self, index: int) -> bool:
        """Return whether a block may be added to a piece: fields are no neighbours, but what they are the fields of is theirs."""
        return self._may_take(index) and self.parts[index].kind is not BlockKind.FIELDS

    def _span(self, first: int, last: int) -> Span:
        return self.parts[first].start, self.parts[last].end

    def _cut(self, index: int, place: int, first: int, last: int) -> tuple[Span, ...]:
        """Return the line that leads to a long group, and of the group what stands at a place, with as much beside it as there is room for."""
        if first == last:
            return (self._part(index, place),)
        entries = self._entries(first, last)
        if not self._is_listed(first) or len(entries) == 1:  # the first one leads to the others
            entries = self._entries(first + 1, last)
        least = entries[0][0]
        low = high = next((n for n, (_, end) in enumerate(entries) if index <= end), 0)
        begun, ended = entries[low]
        room = self.most.unbroken - (self.sizes[first] if least > first else 0)
        if self._size(begun, ended) > self.most.unbroken:
            inside = max(index, begun)
            inner = self._cut(inside, max(place, self.parts[inside].start), begun, ended)
        else:
            while high + 1 < len(entries) and self._size(begun, entries[high + 1][1]) <= room:
                high += 1
            while low and self._size(entries[low - 1][0], entries[high][1]) <= room:
                low -= 1
            inner = (self._span(entries[low][0], entries[high][1]),)
        if least == first:
            return inner
        lead = self._span(first, first)
        is_next = inner[0][0] == self.parts[least].start
        return ((lead[0], inner[0][1]), *inner[1:]) if is_next else (lead, *inner)

    def _entries(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return these blocks in groups of what cannot be read alone: an item with what is indented below it, few lead-ins with that."""
        entries: list[tuple[int, int]] = []
        leads = 0
        base = min(self.parts[n].indent for n in range(first, last + 1))
        for n in range(first, last + 1):
            is_below = self.parts[n].indent > base or self.parts[n].kind is BlockKind.CODE
            leads = leads + 1 if self._leads(n - 1) else 0
            if entries and (is_below or 0 < leads <= _MAX_LEADS):
                entries[-1] = entries[-1][0], n
            else:
                entries.append((n, n))
                leads = 0
        return entries

    def _part(self, index: int, place: int) -> Span:
        """Return a block, of a long one the sentences or the lines of code at a place."""
        if self.sizes[index] <= self.most.unbroken:
            return self._span(index, index)
        if self.parts[index].kind is not BlockKind.CODE:
            return self._sentences(index, place)
        start, end = self._span(index, index)
        text, room = self.passage.text, self.most.extended
        if place - start > room // 2:
            start = text.rfind("\n", start, place) + 1
        cut = text.rfind("\n", start + 1, start + room)
        return start, (cut if cut > place else end) if end - start > room else end

    def _rows(self, index: int) -> tuple[Span, ...]:
        """Return the rows of a long table with nearly the best score, and the row at this place."""
        table = self.parts[index].table
        rows = [n for n, part in enumerate(self.parts) if part.table == table][1:]
        scores = {
            n: self.bounds.row_score(self.passage.terms_within(*self._span(n, n))) for n in rows
        }
        best = max(scores.values(), default=0.0)
        scores[index] = best + 1
        chosen: list[int] = []
        for row in sorted(rows, key=lambda n: (-scores[n], n)):
            size = sum(self.sizes[n] for n in (*chosen, row))
            is_good = scores[row] >= _NEARLY * best and scores[row] > 0
            if row == index or (
                is_good and size <= self.most.extended and not self._is_excluded(row)
            ):
                chosen.append(row)
        return tuple(self._span(row, row) for row in sorted(chosen))

    def _sentences(self, index: int, place: int) -> Span:
        """Return of a long paragraph the sentence at this place with as many of those beside it as fit."""
        block = self.parts[index]
        spans = [
            (unit.start, unit.end)
            for unit in self.passage.units
            if block.start <= unit.start and unit.end <= block.end
        ]
        middle = next((n for n, (start, end) in enumerate(spans) if start <= place < end), None)
        if middle is None:
            return place, block.end
        low = high = middle
        is_growing = True
        while is_growing:
            is_growing = False
            if high + 1 < len(spans) and spans[high + 1][1] - spans[low][0] <= self.most.extended:
                high, is_growing = high + 1, True
            if low > 0 and spans[high][1] - spans[low - 1][0] <= self.most.extended:
                low, is_growing = low - 1, True
        return spans[low][0], spans[high][1]


def shorten(text: str, most: int = LONGEST_SNIPPET) -> str:
    """Return the text, cut at a word when it has more characters than `most`; what is left stands there word for word."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(maxsplit=1)[0]
