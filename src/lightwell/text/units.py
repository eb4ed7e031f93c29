"""Quotable units of a text: sentences, list items and table rows."""

from itertools import pairwise

from lightwell.text.markup import find_links
from lightwell.text.regex import regex
from lightwell.text.sentences import sentence_spans
from lightwell.text.terms import STOP_WORDS

_BREAK = regex(
    r"\n(?=[^\S\n]*(?:[-*+•]\s|\d+[.)]\s|\||#{1,6}\s|>|</?(?:t(?:r|able)\b|[A-Z][a-z][\w.]{0,60}+[\s/>])|$))|(?<=\|)\n|\n[ \t]*\n"
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
_UNBROKEN = regex(r"\]\([^()\n]{0,500}+\)|\S{30,}+")
"""Targets of links and other long words, which no line can be broken in: by them a line is longer than others are wide."""


HEADING, ROW, ITEM, PRONOUN, COLON = 1, 2, 4, 8, 16
"""How a unit begins and ends, as far as its context depends on it, a bit each. The numbers are stored: do not change them."""


def shape_of(part: str) -> int:
    """Return the shape of a unit."""
    shape = COLON if part.endswith(":") else 0
    if _HEADING.match(part):
        shape |= HEADING
    if part.startswith(_ROWS):
        return shape | ROW
    if part[:1] in "-*+•" or part[:1].isdigit():
        return shape | ITEM
    return shape | PRONOUN if _PRONOUN.match(part) else shape


def unit_spans(text: str) -> list[tuple[int, int]]:
    """Return where the units stand, in order, without surrounding white space, horizontal rules and empty cells."""
    spans: list[tuple[int, int]] = []
    links = find_links(text)
    rows = _row_ends(text, links)
    for start, end in _with_whole_links(sentence_spans(text), links, len(text)):
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


def _with_whole_links(
    sentences: list[tuple[int, int]], links: list[tuple[int, int]], length: int
) -> list[tuple[int, int]]:
    """Return the sentences of a text of this length, joined where one ends within a link, as in `[Who may?](#who)`."""
    rest = iter(links)
    begun, ended = next(rest, (length, length))
    joined: list[tuple[int, int]] = []
    for start, end in sentences:
        while ended <= start:
            begun, ended = next(rest, (length, length))
        if joined and begun < start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _row_ends(text: str, links: list[tuple[int, int]]) -> list[int]:
    """Return the ends of short lines: rows of a table that lost its rules, as opposed to wrapped prose."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text)]
    widths = (len(_UNBROKEN.sub("", text[start:end])) for start, end in lines)
    longest = max(widths, default=0)
    inside = {place for start, end in links for place in range(start, end)}
    return [
        end
        for (start, end), (begun, _) in pairwise(lines)
        if begun == end + 1
        and end not in inside
        and end - start < _FULL_LINE_SHARE * longest
        and _OPENING.match(text, begun)
        and not _continues(text[start:end])
    ]


def _continues(line: str) -> bool:
    """Return whether a line ends as no row does: with a stop word, or with punctuation that announces more."""
    last = line.rsplit(maxsplit=1)[-1:]
    return not last or last[0].casefold() in STOP_WORDS or last[0][-1] in ",;:–—-"
