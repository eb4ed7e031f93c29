"""Turns headings into sections, and the beginnings of pages into pages, that cover the whole text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lightwell.domain.documents import Page, Section

_MAX_TITLE_CHARACTERS = 200
"""Characters of a heading that are kept; a longer one is probably a paragraph in heading style."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading at character offset `start`; level 1 is above level 2."""

    level: int
    title: str
    start: int


def build_sections(text: str, headings: Iterable[Heading]) -> tuple[Section, ...]:
    """Return the sections of a text whose headings come in order; none for an empty text."""
    if not text:
        return ()
    starts: list[tuple[tuple[str, ...], int]] = []
    ancestors: list[Heading] = []
    for heading in headings:
        while ancestors and ancestors[-1].level >= heading.level:
            ancestors.pop()
        ancestors.append(heading)
        starts.append(
            (tuple(ancestor.title[:_MAX_TITLE_CHARACTERS] for ancestor in ancestors), heading.start)
        )
    if not starts or text[: starts[0][1]].strip():
        starts.insert(0, ((), 0))
    starts[0] = (starts[0][0], 0)
    ends = [start for _, start in starts[1:]] + [len(text)]
    return tuple(
        Section(path=path, start=start, end=end)
        for (path, start), end in zip(starts, ends, strict=True)
        if start < end
    )


def build_pages(starts: Mapping[int, int], length: int) -> tuple[Page, ...]:
    """Return the pages that begin at these offsets, by their numbers in order; each ends where the next one begins."""
    ends = [*starts.values(), length][1:]
    return tuple(
        Page(number=number, start=start, end=end)
        for (number, start), end in zip(starts.items(), ends, strict=True)
    )
