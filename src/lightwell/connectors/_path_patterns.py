"""Patterns of paths. They are untrusted, so the time grows only with the product of the lengths."""

import re
from collections.abc import Callable, Sequence

Segment = re.Pattern[str] | None
"""The pattern for one part of a path; None (`**`) matches any number of parts."""


def split_pattern(
    pattern: str, *, is_anchored: bool, parse: Callable[[str], Sequence[str]]
) -> Sequence[Segment]:
    """Return a pattern for each part of a path, None for `**`: any number of parts, but at least one at the end.

    One that is not anchored applies at any depth. `parse` returns the stretches between the stars of a part, each as a
    regular expression of fixed length.
    """
    parts = pattern.strip("/").split("/")
    if not is_anchored:
        parts = ["**", *parts]
    if parts[-1] == "**":
        parts = [*parts[:-1], "**", "*"]
    merged = [
        part
        for index, part in enumerate(parts)
        if part != "**" or parts[index - 1 : index] != ["**"]
    ]
    return tuple(None if part == "**" else _join(parse(part)) for part in merged)


def _join(pieces: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of pieces with any run of characters between them.

    Each star takes the shortest run before the next piece and is never retried, so matching cannot backtrack.
    """
    first, *others = pieces
    if not others:
        return re.compile(first, re.S)
    middle = "".join(f"(?>.*?{piece})" for piece in others[:-1] if piece)
    return re.compile(f"{first}{middle}.*{others[-1]}", re.S)


def starts_with(segments: Sequence[Segment], path: str) -> bool:
    """Return whether the path or a folder above it matches."""
    places = _advance_past_stars(segments, {0})
    for part in path.split("/"):
        places = _advance_past_stars(segments, _advance(segments, places, part))
        if len(segments) in places:
            return True
    return False


def fits(segments: Sequence[Segment], path: str) -> bool:
    """Return whether the path itself matches."""
    places = _advance_past_stars(segments, {0})
    for part in path.split("/"):
        places = _advance_past_stars(segments, _advance(segments, places, part))
    return len(segments) in places


def _advance(segments: Sequence[Segment], places: set[int], part: str) -> set[int]:
    """Return the pattern positions that one more part of the path leads to."""
    next_places: set[int] = set()
    for place in places - {len(segments)}:
        segment = segments[place]
        if segment is None:
            next_places.add(place)
        elif segment.fullmatch(part):
            next_places.add(place + 1)
    return next_places


def _advance_past_stars(segments: Sequence[Segment], places: set[int]) -> set[int]:
    """Return these positions and those after each `**`, which may also match no part."""
    behind = (place + 1 for place in places if place < len(segments) and segments[place] is None)
    return places.union(behind)
