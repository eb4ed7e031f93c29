"""Sentences, list items and table rows: the units that are quoted."""

import re

import nupunkt

_BREAK = re.compile(
    r"\n(?=\s*(?:[-*+•]\s|\d+[.)]\s|\||#{1,6}\s|>|$))|(?<=\|)\n|(?<=\n)(?=\S)(?<=\n\n)"
)
_RULE = re.compile(r"[\s|:\-=_*#>+•]*")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the text's units in order, without the white space around them.

    A heading, a list item and a table row each stand alone; rules and empty cells are left out.
    """
    units: list[tuple[int, int]] = []
    for start, end in nupunkt.sent_spans(text):
        at = start
        for match in [*_BREAK.finditer(text, start, end), None]:
            stop = match.start() if match else end
            _add(units, text, at, stop)
            at = match.end() if match else end
    return units


def _add(units: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    part = text[start:end]
    if _RULE.fullmatch(part):
        return
    left = start + len(part) - len(part.lstrip())
    units.append((left, start + len(part.rstrip())))
