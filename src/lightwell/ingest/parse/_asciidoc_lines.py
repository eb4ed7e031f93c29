"""The lines of AsciiDoc: what stands above a block, items of lists, and where blocks end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lightwell.text.regex import regex

DEEPEST = 12
"""Blocks in blocks; what is deeper reads as text."""

MARGIN = " " * 4
"""Of what stands in a list item: enough for every mark, and too little for code."""

HEADING = regex(r"(={1,6}|#{1,6})[ ]++(\S.*+)")
DELIMITER = regex(
    r"(-{4,}+|\.{4,}+|={4,}+|\*{4,}+|_{4,}+|\+{4,}+|/{4,}+|--|`{3,}+|[|,:!]={3,}+)(?:[\w+-]{0,40}+)[ ]*+"
)
ATTRIBUTE = regex(r":(!?[\w-]{1,80}+!?):(?:[ ]++(.*+))?")
ATTRIBUTES = regex(r"\[((?:[^\[\]\n]|\[[^\[\]\n]{0,200}+\]){0,600}+)\]")
_ANCHOR = regex(r"\[\[[^\[\]\n]{1,200}+\]\]")
_TITLE = regex(r"\.([^\s.].{0,400}+)")
LINE_MACRO = regex(r"([a-z][\w-]{0,40}+)::([^\s\[\]]{0,500}+)\[([^\n]{0,500})\]")
_CONDITION = regex(r"(ifn?def|ifeval|endif)::([^\[\]]{0,200}+)\[([^\n]{0,1000})\]")
_ITEM = regex(
    r"[ \t]*+(\*{1,6}+|-{1}|\.{1,6}+|\d{1,4}\.|[a-zA-Z]\.|<(?:\d{1,3}|\.)>)[ ]++(?=\S)(.*+)"
)
_TERM = regex(r"[ \t]*+(\S(?:(?!::)[^\n]){0,300}?)(:{2,4}|;;)(?:[ ]++(.*+))?")
DATE = regex(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")


@dataclass(slots=True)
class Block:
    """What stands above a block: its style, such as `source`, its other attributes, and its title."""

    style: str = ""
    words: list[str] = field(default_factory=list[str])
    named: dict[str, str] = field(default_factory=dict[str, str])
    title: str = ""

    def read(self, line: str) -> bool:
        """Take a line that says something of the block below; return whether it is one."""
        if _ANCHOR.fullmatch(line):
            return True
        if attributes := ATTRIBUTES.fullmatch(line):
            self._take(attributes[1])
            return True
        if title := _TITLE.fullmatch(line):
            self.title = title[1]
            return True
        return False

    def _take(self, attributes: str) -> None:
        for place, part in enumerate(split_attributes(attributes)):
            name, equals, value = part.partition("=")
            if equals and name.strip().replace("-", "").isalnum():
                self.named[name.strip()] = value.strip().strip("\"'")
                continue
            if place == 0:
                style, *options = part.replace("#", "%").replace(".", "%").split("%")
                self.style = style.strip() or self.style
                self.words += options
            else:
                self.words.append(part.strip().strip("\"'"))


@dataclass(slots=True)
class Levels:
    """The marks of the list items around a line, with the number of items that each has had."""

    _marks: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def depth(self) -> int:
        return len(self._marks)

    def enter(self, mark: str) -> int:
        """Begin an item with this mark, and return which one of its list it is."""
        while mark in self._marks and mark != next(reversed(self._marks)):
            self._marks.popitem()
        if mark in self._marks or len(self._marks) < DEEPEST:
            self._marks[mark] = self._marks.get(mark, 0) + 1
        return self._marks.get(mark, 1)


def without_conditions(lines: Sequence[str]) -> list[str]:
    """Return the lines of all conditions: which of them hold is decided where the document is published."""
    kept: list[str] = []
    for line in lines:
        condition = _CONDITION.fullmatch(line.rstrip())
        if condition is None:
            kept.append(line)
        elif condition[1] in ("ifdef", "ifndef") and condition[3]:
            kept.append(condition[3])
    return kept


def is_of_body(line: str) -> bool:
    bare = line.strip()
    return bool(bare) and not (
        bare.startswith("//")
        or ATTRIBUTE.fullmatch(bare)
        or _ANCHOR.fullmatch(bare)
        or (ATTRIBUTES.fullmatch(bare) and bare.startswith(("[#", "[.")))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """The first line of a list item. `kind` tells its level: the sign as often as it stands, numbers and letters as one."""

    kind: str
    text: str
    term: str = ""
    number: str = ""
    is_numbered: bool = False


def read_item(line: str) -> Item | None:
    """Return the item that begins with this line: of a list, or a term with its definition."""
    if match := _ITEM.match(line):
        mark, text = match[1], match[2]
        if mark[0] in "*-":
            return Item(kind=mark, text=text)
        number = mark.strip("<.>")
        kind = "<" if mark[0] == "<" else mark if not number else "1" if number.isdigit() else "a"
        digits = number if number.isdigit() else ""
        return Item(kind=kind, text=text, number=digits, is_numbered=True)
    match = _TERM.fullmatch(line.rstrip())
    if match is None or match[1].startswith(("//", "|")) or LINE_MACRO.fullmatch(line.strip()):
        return None
    return Item(kind=match[2], text=match[3] or "", term=match[1])


def ends_item(line: str) -> bool:
    bare = line.rstrip()
    return bool(
        bare == "+"
        or read_item(line)
        or DELIMITER.fullmatch(bare)
        or ATTRIBUTES.fullmatch(bare)
        or HEADING.fullmatch(bare)
        or bare.startswith("//")
    )


def skip_empty(lines: Sequence[str], place: int) -> int:
    while place < len(lines) and not lines[place].strip():
        place += 1
    return place


def indented(lines: Sequence[str], levels: int) -> list[str]:
    margin = MARGIN * levels
    return [f"{margin}{line}" if line.strip() else "" for line in lines]


def split_attributes(text: str) -> list[str]:
    """Return the attributes of a block: commas part them, but not those in quotation marks."""
    parts = [""]
    quote = ""
    for sign in text:
        if sign in "\"'" and quote in ("", sign):
            quote = "" if quote else sign
        if sign == "," and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def day(text: str) -> datetime | None:
    match = DATE.search(text)
    try:
        return datetime(*map(int, match.groups()), tzinfo=UTC) if match else None
    except ValueError:
        return None
