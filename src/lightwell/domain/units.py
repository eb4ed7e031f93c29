"""What can be quoted: sentences, list items and table rows, each with what it stands under."""

import re
from dataclasses import dataclass
from functools import lru_cache

import nupunkt

_BREAK = re.compile(r"\n(?=\s*(?:[-*+•]\s|\d+[.)]\s|\||#{1,6}\s|>|$))|(?<=\|)\n|\n[ \t]*\n")
_RULE = re.compile(r"[\s|:\-=_*#>+•.]*")
_HEADING = re.compile(r"#{1,6}\s+")
_LEANS = re.compile(
    r"(?:He|She|It|They|This|That|These|Those|His|Her|Its|Their|Er|Sie|Es|Diese[rs]?|Il|Elle|Ils|Elles|Cela)\b"
)
_LONGEST_CONTEXT = 300
_KEPT = 256  # passages are read to be judged, and again to be quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part of a chunk that can be quoted: `text[start:end]`.

    `context` is what one must know to read it: the heading and the table's head above it, the line that a list
    belongs to, the sentence before it where it begins with a pronoun. It may be "".
    """

    start: int
    end: int
    context: str


@lru_cache(maxsize=_KEPT)
def units(text: str) -> tuple[Unit, ...]:
    """Return the units in order, without the white space around them; rules and empty cells are left out."""
    found: list[Unit] = []
    above = _Above()
    for start, end in _spans(text):
        part = text[start:end]
        found.append(Unit(start=start, end=end, context=above.of(part)[:_LONGEST_CONTEXT]))
        above.see(part)
    return tuple(found)


@dataclass(slots=True)
class _Above:
    """What stands above the place where one reads."""

    heading: str = ""
    table: str = ""
    lead: str = ""
    before: str = ""

    def of(self, part: str) -> str:
        near = ""
        if part.startswith("|"):
            near = self.table
        elif part[:1] in "-*+•" or part[:1].isdigit():
            near = self.lead
        elif _LEANS.match(part):
            near = self.before
        return " ".join(each for each in (self.heading, near) if each and each != part)

    def see(self, part: str) -> None:
        if _HEADING.match(part):
            self.heading = _HEADING.sub("", part)
            self.lead = self.before = ""
        if part.startswith("|"):
            self.table = self.table or part
        else:
            self.table = ""
            self.before = part
        if part.endswith(":"):
            self.lead = part


def _spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for start, end in nupunkt.sent_spans(text):
        at = start
        for match in [*_BREAK.finditer(text, start, end), None]:
            stop = match.start() if match else end
            part = text[at:stop]
            if not _RULE.fullmatch(part):
                left = at + len(part) - len(part.lstrip())
                spans.append((left, at + len(part.rstrip())))
            at = match.end() if match else end
    return spans
