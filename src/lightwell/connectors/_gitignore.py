"""What a `.gitignore` leaves out, as git reads it: the last pattern that fits decides, and the nearest file of several.

Who writes it may be anybody, so no pattern takes more than linear time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from lightwell.connectors._path_patterns import Segment, fits, split_pattern

GITIGNORE = ".gitignore"
MAX_GITIGNORE_BYTES = 1_000_000
_MAX_RULES = 5_000
_MAX_PATTERN = 1_000


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line. `name` decides alone where the pattern has no slash."""

    segments: Sequence[Segment]
    name: Segment
    is_negated: bool
    is_for_folders: bool

    def fits(self, path: str, name: str) -> bool:
        if self.name is not None:
            return self.name.fullmatch(name) is not None
        return fits(self.segments, path)


@dataclass(frozen=True, slots=True)
class GitIgnore:
    """The rules of the file in `folder`."""

    folder: PurePath
    rules: Sequence[_Rule]

    def decide(self, path: PurePath, *, is_folder: bool) -> bool | None:
        """Return whether a file or folder below is left out; None where no rule fits.

        A folder above that is left out is the caller's business, since nothing in it can be taken back.
        """
        relative = path.relative_to(self.folder).as_posix()
        for rule in self.rules:  # the last line comes first
            if (is_folder or not rule.is_for_folders) and rule.fits(relative, path.name):
                return not rule.is_negated
        return None


def parse_gitignore(content: bytes, folder: PurePath) -> GitIgnore:
    """Return the rules; lines that are no pattern, or too long, say nothing, as for git."""
    lines = content.decode("utf-8-sig", errors="surrogateescape").split("\n")[:_MAX_RULES]
    rules = [rule for line in lines if len(line) <= _MAX_PATTERN for rule in _parse_line(line)]
    return GitIgnore(folder, rules[::-1])


def is_left_out(path: PurePath, files: Sequence[GitIgnore], *, is_folder: bool) -> bool:
    """Return what the nearest file says that says anything; `files` begin with the outermost."""
    decisions = (file.decide(path, is_folder=is_folder) for file in reversed(files))
    return next((decision for decision in decisions if decision is not None), False)


def _parse_line(line: str) -> Iterator[_Rule]:
    text = _without_trailing_blanks(line.removesuffix("\r"))
    if not text or text.startswith("#"):
        return
    is_negated = text.startswith("!")
    pattern = text[is_negated:]
    is_for_folders = pattern.endswith("/")
    pattern = pattern.rstrip("/") if is_for_folders else pattern
    if not pattern.strip("/"):
        return
    try:
        segments = split_pattern(pattern, is_anchored="/" in pattern, parse=_pieces)
    except _NotAPattern:
        return
    name = None if "/" in pattern else segments[-1]
    yield _Rule(segments, name, is_negated, is_for_folders)


class _NotAPattern(ValueError):
    """A class of characters without an end: git matches nothing with it."""


def _without_trailing_blanks(line: str) -> str:
    stripped = line.rstrip(" ")
    is_escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
    return stripped + " " if is_escaped and len(stripped) < len(line) else stripped


def _pieces(glob: str) -> list[str]:
    """Return the stretches between the stars of one part of a path, as regular expressions of fixed length."""
    pieces, place = [""], 0
    while place < len(glob):
        sign = glob[place]
        place += 1
        match sign:
            case "*":
                pieces.append("")
            case "?":
                pieces[-1] += "."
            case "[":
                expression, place = _class(glob, place)
                pieces[-1] += expression
            case "\\":
                pieces[-1] += re.escape(glob[place : place + 1] or "\\")
                place += 1
            case _:
                pieces[-1] += re.escape(sign)
    return pieces


def _class(glob: str, start: int) -> tuple[str, int]:
    """Return the class of characters that begins here, and the place behind it."""
    place = start + (glob[start : start + 1] in ("!", "^"))
    members, first = list[str](), place
    while place < len(glob) and (glob[place] != "]" or place == first):
        low, place = _member(glob, place)
        if glob[place : place + 1] == "-" and glob[place + 1 : place + 2] not in ("", "]"):
            high, place = _member(glob, place + 1)
            # As for git, of a range whose ends are the wrong way round only the first counts.
            members.append(f"{re.escape(low)}-{re.escape(high if low <= high else low)}")
        else:
            members.append(re.escape(low))
    if place >= len(glob):
        raise _NotAPattern(glob)
    negation = "^" if first > start else ""
    return f"[{negation}{''.join(members)}]", place + 1


def _member(glob: str, place: int) -> tuple[str, int]:
    place += glob[place] == "\\" and place + 1 < len(glob)
    return glob[place], place + 1
