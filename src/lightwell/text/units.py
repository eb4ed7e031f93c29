"""Quotable units of a text: sentences, list items and table rows, each with its context."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from itertools import pairwise

from lightwell.text.markup import find_links
from lightwell.text.regex import regex
from lightwell.text.sentences import sentence_spans
from lightwell.text.terms import STOP_WORDS

_BREAK = regex(
    r"\n(?=[^\S\n]*(?:[-*+•]\s|\d+[.)]\s|\||#{1,6}\s|>|</?t(?:r|able)\b|$))|(?<=\|)\n|\n[ \t]*\n"
)
_RULE = regex(r"[\s|:\-=_*#>+•.]*")
_HEADING = regex(r"#{1,6}\s+")
_PRONOUN = regex(
    r"(?:He|She|It|They|This|That|These|Those|His|Her|Its|Their|Er|Sie|Es|Diese[rs]?|Il|Elle|Ils|Elles|Cela)\b"
)
_LINE = regex(r"[^\n]+")
_ROWS = ("|", "<tr")
_OPENING = regex(r"[A-Z\d€$£¥]")
_FULL_LINE_SHARE = 0.7
_MAX_CONTEXT_CHARACTERS = 300


class Shape(IntFlag):
    """How a unit begins and ends, as far as its context depends on it. The numbers are stored: do not change them."""

    HEADING = 1
    ROW = 2
    ITEM = 4
    PRONOUN = 8
    COLON = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part of a chunk that can be quoted: `text[start:end]`.

    `context` is what one needs to understand it: the heading and the table's header above it, the line that
    introduces a list, the sentence before it if it begins with a pronoun. It may be "".
    """

    start: int
    end: int
    context: str


def split_into_units(text: str) -> tuple[Unit, ...]:
    """Return the units in order, without surrounding white space, horizontal rules and empty cells."""
    spans = unit_spans(text)
    parts = [text[start:end] for start, end in spans]
    above = units_above(parts, [shape_of(part) for part in parts])
    return tuple(
        Unit(start=start, end=end, context=context_text(parts, over))
        for (start, end), over in zip(spans, above, strict=True)
    )


def shape_of(part: str) -> Shape:
    """Return the shape of a unit."""
    shape = Shape(0)
    if _HEADING.match(part):
        shape |= Shape.HEADING
    if part.startswith(_ROWS):
        shape |= Shape.ROW
    elif part[:1] in "-*+•" or part[:1].isdigit():
        shape |= Shape.ITEM
    elif _PRONOUN.match(part):
        shape |= Shape.PRONOUN
    return shape | Shape.COLON if part.endswith(":") else shape


Above = tuple[int, int]
"""The places, among the units of a text, of the heading that a unit stands under, and of the unit near it that it needs; -1 for none."""


def units_above(parts: Sequence[str], shapes: Sequence[Shape]) -> list[Above]:
    """Return for each unit of a text, of which these are all in order, what it stands under."""
    above = _Above()
    places: list[Above] = []
    for place, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
        heading, near = above.heading, above.near(shape)
        if heading >= 0 and without_hashes(parts[heading]) in ("", part):
            heading = -1
        if near >= 0 and parts[near] == part:
            near = -1
        places.append((heading, near))
        above.see(place, shape)
    return places


def context_text(parts: Sequence[str], above: Above) -> str:
    """Return the context that consists of these units, cut where it is long."""
    heading, near = above
    lines = [without_hashes(parts[heading])] if heading >= 0 else []
    if near >= 0:
        lines.append(parts[near])
    return " ".join(lines)[:_MAX_CONTEXT_CHARACTERS]


def without_hashes(part: str) -> str:
    """Return a unit without the marks of a heading."""
    return part.lstrip("#").lstrip() if _HEADING.match(part) else part


@dataclass(slots=True)
class _Above:
    """The places of the heading and of the lines above the current one, -1 for none."""

    heading: int = -1
    table: int = -1
    lead: int = -1
    before: int = -1

    def near(self, shape: Shape) -> int:
        if Shape.ROW in shape:
            return self.table
        if Shape.ITEM in shape:
            return self.lead
        return self.before if Shape.PRONOUN in shape else -1

    def see(self, place: int, shape: Shape) -> None:
        if Shape.HEADING in shape:
            self.heading = place
            self.lead = self.before = -1
        if Shape.ROW in shape:
            self.table = self.table if self.table >= 0 else place
        else:
            self.table = -1
            self.before = place
        if Shape.COLON in shape:
            self.lead = place


def unit_spans(text: str) -> list[tuple[int, int]]:
    """Return where the units stand, in order."""
    spans: list[tuple[int, int]] = []
    rows = _row_ends(text)
    for start, end in _with_whole_links(text, sentence_spans(text)):
        place = start
        breaks = {match.start(): match.end() for match in _BREAK.finditer(text, start, end)}
        breaks |= {row: row + 1 for row in rows if start < row < end and row not in breaks}
        for stop, following in [*sorted(breaks.items()), (end, end)]:
            part = text[place:stop]
            if not _RULE.fullmatch(part):
                left = place + len(part) - len(part.lstrip())
                spans.append((left, place + len(part.rstrip())))
            place = max(place, following)
    return spans


def _with_whole_links(text: str, sentences: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the sentences, joined where one ends within a link, as in `[Who may?](#who)`."""
    links = iter(find_links(text))
    begun, ended = next(links, (len(text), len(text)))
    joined: list[tuple[int, int]] = []
    for start, end in sentences:
        while ended <= start:
            begun, ended = next(links, (len(text), len(text)))
        if joined and begun < start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _row_ends(text: str) -> list[int]:
    """Return the ends of short lines: rows of a table that lost its rules, as opposed to wrapped prose."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text)]
    longest = max((end - start for start, end in lines), default=0)
    return [
        end
        for (start, end), (begun, _) in pairwise(lines)
        if begun == end + 1
        and end - start < _FULL_LINE_SHARE * longest
        and _OPENING.match(text, begun)
        and not _continues(text[start:end])
    ]


def _continues(line: str) -> bool:
    """Return whether a line ends as no row does: with a stop word, or with punctuation that announces more."""
    last = line.rsplit(maxsplit=1)[-1:]
    return not last or last[0].casefold() in STOP_WORDS or last[0][-1] in ",;:–—-"
