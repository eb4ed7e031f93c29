"""From headings to sections that cover the text."""

from collections.abc import Iterable
from dataclasses import dataclass

from lightwell.domain.documents import Section

_LONGEST_TITLE = 200
"""Characters; what is longer is a paragraph that somebody made bold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading at character `start`; a smaller `level` stands higher."""

    level: int
    title: str
    start: int


def build_sections(text: str, headings: Iterable[Heading]) -> tuple[Section, ...]:
    """Return the sections of a text whose headings come in order; none for an empty text."""
    if not text:
        return ()
    starts: list[tuple[tuple[str, ...], int]] = []
    above: list[Heading] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        starts.append((tuple(each.title[:_LONGEST_TITLE] for each in above), heading.start))
    if not starts or text[: starts[0][1]].strip():
        starts.insert(0, ((), 0))
    starts[0] = (starts[0][0], 0)
    ends = [start for _, start in starts[1:]] + [len(text)]
    return tuple(
        Section(path=path, start=start, end=end)
        for (path, start), end in zip(starts, ends, strict=True)
        if start < end
    )
