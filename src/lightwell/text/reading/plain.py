"""The blocks of a text without markup, as parsers write PDF, Word and HTML, and as plain text files come."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lightwell.text.blocks import INDENT_OF_CODE_BELOW
from lightwell.text.reading.blocks import (
    Cell,
    Kind,
    ReadBlock,
    bare_span,
    is_above_rule,
    item_block,
    pipe_cells,
    split_long,
)
from lightwell.text.reading.runs import Run, code_runs, markdown_runs, plain_runs
from lightwell.text.regex import regex

_LINE = regex(r"[^\n]++")
_BLANK_LINE = regex(r"\n[ \t]*+\n")
_ITEM = regex(r"[ \t]*+(?:[-*•‣●·▪◦–]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)])[ \t]++\S")
_ROW = regex(r"\|[ \t]")
_TABLE_RULE = regex(r"[\s|:+-]*+")
_UNDERLINE = regex(r"([=\-~^\"'*+#])\1{2,}")
_CODE_LINE = regex(
    rf"[ \t]{{{INDENT_OF_CODE_BELOW},}}+\S.*+"
    r"|.*+(?<=[;{}])[ \t]*+$|[ \t]*+(?:\$|>>>|#!|//|/\*)[ \t]?\S|.*\S(?: {3,}|\t)\S"
)
_LINES_OF_CODE = 2
_WRAPPED_AT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """How a text without markup reads. `headings` are those near what is read: where each stands, its level and its words.

    In `are_lines_apart` texts each line is a paragraph of its own.
    `is_wrapped`: its lines may end only because they are long.
    """

    headings: Mapping[int, tuple[int, str]]
    are_lines_apart: bool = False
    is_wrapped: bool = False

    def read(self, document: str, start: int, end: int) -> Iterator[ReadBlock]:
        """Yield the blocks of this part of the document, in order."""
        place = start
        while place < end:
            gap = _BLANK_LINE.search(document, place, end)
            stop = gap.start() if gap else end
            yield from self._stretch(document, place, stop)
            place = gap.end() - 1 if gap else end

    def _stretch(self, document: str, start: int, end: int) -> Iterator[ReadBlock]:
        """Yield the blocks between two empty lines."""
        whole = (line.span() for line in _LINE.finditer(document, start, end) if line[0].strip())
        lines = [part for line in whole for part in self._around_headings(document, *line)]
        while lines:
            count, block = self._first(document, lines)
            lines = lines[count:]
            yield from block

    def _around_headings(self, document: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a line: a heading that stands within one, as a PDF may have it, is a line of its own."""
        place = start
        for heading in [] if not self.are_lines_apart else self._headings_within(start, end):
            yield from ((place, heading),) if document[place:heading].strip() else ()
            place = heading
            title = _title_end(document, heading, self.headings[heading][1])
            if document[title:end].strip():
                yield place, title
                place = title
        if document[place:end].strip():
            yield place, end

    def _headings_within(self, start: int, end: int) -> list[int]:
        return [place for place in sorted(self.headings) if start <= place < end]

    def _first(
        self, document: str, lines: list[tuple[int, int]]
    ) -> tuple[int, Iterator[ReadBlock]]:
        """Return how many lines the first block of these lines has, and the block, in parts where it is long."""
        first = bare_span(document, *lines[0])
        heading = self.headings.get(first[0])
        if heading:
            return _heading(document, lines, heading)
        if _ROW.match(document, *first):
            count = _run_of(document, lines, _ROW)
            return count, _rows(document, lines[:count])
        if self.are_lines_apart or _ITEM.match(document, *first):
            count = 1 if self.are_lines_apart else self._item_lines(document, lines)
            return count, self._paragraph(document, lines[:count])
        count = self._lines_before_another(document, lines)
        return count, self._paragraph(document, lines[:count])

    def _lines_before_another(self, document: str, lines: list[tuple[int, int]]) -> int:
        for index, (start, end) in enumerate(lines[1:], start=1):
            first, last = bare_span(document, start, end)
            if (
                first in self.headings
                or _ROW.match(document, first, last)
                or _ITEM.match(document, first, last)
            ):
                return index
        return len(lines)

    def _item_lines(self, document: str, lines: list[tuple[int, int]]) -> int:
        """Return how many lines an item has: where lines are wrapped, those that are indented, or that go on with a full one."""
        count = self._lines_before_another(document, lines)
        if not self.is_wrapped:
            return count
        widest = max(end - start for start, end in lines[:count])
        for index in range(1, count):
            is_indented = document[lines[index][0]].isspace()
            if not is_indented and not _goes_on(document, lines[index - 1], lines[index], widest):
                return index
        return count

    def _paragraph(self, document: str, lines: list[tuple[int, int]]) -> Iterator[ReadBlock]:
        start, end = bare_span(document, lines[0][0], lines[-1][1])
        is_item = _ITEM.match(document, start, end) is not None
        code = [span for span in lines if _CODE_LINE.fullmatch(document, *span)]
        is_code = (
            not self.are_lines_apart
            and len(lines) >= _LINES_OF_CODE
            and 2 * len(code) >= len(lines)
        )
        widest = max(last - first for first, last in lines)
        for first, last in split_long(document, start, end):
            if is_item:
                yield item_block(
                    document,
                    first,
                    last,
                    lambda start, end: self._runs(document, start, end, widest),
                )
                continue
            kind = Kind.CODE if is_code else Kind.PARAGRAPH
            runs = (
                code_runs(document, first, last)
                if is_code
                else self._runs(document, first, last, widest)
            )
            yield ReadBlock(kind=kind, start=first, end=last, text=document[first:last], runs=runs)

    def _runs(self, document: str, start: int, end: int, widest: int) -> tuple[Run, ...]:
        """Return the text; where its lines are wrapped, a long line goes on in the next one."""
        if not self.is_wrapped or widest < _WRAPPED_AT:
            return plain_runs(document, start, end)
        runs: list[Run] = []
        last: tuple[int, int] | None = None
        for match in _LINE.finditer(document, start, end):
            line = bare_span(document, *match.span())
            if last is not None:
                sign = " " if _goes_on(document, last, line, widest) else "\n"
                runs.append(Run(start=last[1], end=line[0], text=sign))
            runs += plain_runs(document, *line)
            last = line
        return tuple(runs)


def _goes_on(document: str, line: tuple[int, int], below: tuple[int, int], widest: int) -> bool:
    """Return whether a line ends only because the first word of the one below had no room in it."""
    start, end = bare_span(document, *below)
    word = document[start : min(end, start + widest)].split(maxsplit=1)[0]
    first, last = bare_span(document, *line)
    return last - first + 1 + len(word) > widest


def _title_end(document: str, start: int, title: str) -> int:
    """Return where the words of a title end that stand here, with any white space between them."""
    place = start
    for word in title.split():
        while document[place : place + 1].isspace():
            place += 1
        place += len(word)
    return place


def _heading(
    document: str, lines: list[tuple[int, int]], heading: tuple[int, str]
) -> tuple[int, Iterator[ReadBlock]]:
    start, end = bare_span(document, *lines[0])
    is_underlined = len(lines) > 1 and _UNDERLINE.fullmatch(document[slice(*lines[1])].strip())
    last = lines[1][1] if is_underlined else end
    block = ReadBlock(
        kind=Kind.HEADING,
        start=start,
        end=last,
        text=document[start:last],
        level=heading[0],
        runs=plain_runs(document, start, end),
    )
    return (2 if is_underlined else 1), iter((block,))


def _run_of(document: str, lines: list[tuple[int, int]], pattern: re.Pattern[str]) -> int:
    return next(
        (
            index
            for index, span in enumerate(lines)
            if not pattern.match(document, *bare_span(document, *span))
        ),
        len(lines),
    )


def _rows(document: str, lines: list[tuple[int, int]]) -> Iterator[ReadBlock]:
    """Yield the rows of a table; the first is its header."""
    table, _ = bare_span(document, *lines[0])
    for line in lines:
        start, end = bare_span(document, *line)
        text = document[start:end]
        if _TABLE_RULE.fullmatch(text):
            continue
        cells = tuple(
            Cell(start=first, end=last, runs=_cell_runs(document, first, last))
            for first, last in pipe_cells(document, start, end)
        )
        yield ReadBlock(
            kind=Kind.ROW,
            start=start,
            end=end,
            text=text,
            cells=cells,
            table=table,
            is_header=is_above_rule(document, end),
        )


def _cell_runs(document: str, start: int, end: int) -> tuple[Run, ...]:
    """Return a cell's text; only pipes are escaped there."""
    if "\\|" not in document[start:end]:
        return plain_runs(document, start, end)
    return markdown_runs(document, start, end)
