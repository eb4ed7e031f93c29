"""A reply cut where its sentences end, while it is still being written."""

import re
from dataclasses import dataclass

from lightwell.text.units import split_into_units

_BLANKS = r"[^\S\n]{0,9}"
_MARKS = r"(?:\s{0,9}\[\d[\d,; ]{0,60}\]){1,20}"
_STOP = r"[.!?…。！？]{1,9}[\"'”’)»*_]{0,9}"
_END = re.compile(
    rf"(?:{_STOP}{_MARKS}|{_MARKS}\s{{0,9}}{_STOP}|{_MARKS}(?={_BLANKS}\n)|(?:{_STOP}|:)(?={_BLANKS}\n)"
    rf"|(?=\n{_BLANKS}\n)|(?=\n{_BLANKS}(?:[-*+•]\s|\d+[.)]\s|\||\#)))(?=\s{{1,80}}(?:[^\s\[]|\[[^\d]))"
)
_MARK = re.compile(r"(?<!\s)\s*\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_DIGITS = re.compile(r"\d+")
_MOVED = re.compile(rf"([.!?])({_MARKS})")
_BULLET = re.compile(r"^(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")


@dataclass(slots=True)
class SentenceBuffer:
    """What has come of a reply and is not handed out yet. However a reply is cut, its sentences are the same."""

    held: str = ""

    def feed(self, piece: str) -> list[str]:
        """Return what has come to its end with this piece: a sentence with its marks, or several without any."""
        self.held += piece
        whole: list[str] = []
        while match := _END.search(self.held, 1):
            whole.append(self.held[: match.end()])
            self.held = self.held[match.end() :]
        return whole

    def flush(self) -> str:
        """Return what is left when the reply has ended."""
        left, self.held = self.held, ""
        return left


def split_citation_marks(part: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return each sentence without its marks and its bullet, with the numbers in them.

    Marks at the end of several sentences, as models set them, stand for all of these.
    """
    moved = _MOVED.sub(r"\2\1", part)
    found: list[tuple[str, tuple[int, ...]]] = []
    after: tuple[int, ...] = ()
    for unit in reversed(split_into_units(moved)):
        sentence = moved[unit.start : unit.end]
        own = [int(n) for mark in _MARK.findall(sentence) for n in _DIGITS.findall(mark)]
        after = tuple(dict.fromkeys(own)) or after
        found.append((strip_bullet(strip_citation_marks(sentence)).strip(), after))
    return found[::-1]


def strip_bullet(text: str) -> str:
    """Return a list item without its bullet or number, and without its box."""
    return _BULLET.sub("", text)


def strip_citation_marks(text: str) -> str:
    """Return the text without citation marks."""
    return _MARK.sub("", text)
