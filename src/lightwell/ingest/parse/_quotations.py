"""What a message says that those before it did not: mails repeat the history of their thread."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from lightwell.text.regex import regex

_WORDS_TOGETHER = 4
_KNOWN_SHARE = 0.8
"""Of the words that stand together in a quotation. What nobody marked as quoted is new with the first word that is."""

_LEAST_REPEATED_WORDS = 8
"""Shorter paragraphs that nobody marked as quoted may be said twice."""

_MAX_KEPT_LINES = 6
"""Lines of a quotation that the answer below it needs."""

_MARK = regex(r"\A[ \t]*+(?:>[ \t]?+){1,20}+")
_WORD = regex(r"\w+")
_SIGNATURE = regex(r"--[ ]?+\n")
_RULE = regex(r"[ \t]*+(?:-{2,10}+[^\n-]{1,60}+-{2,10}+|_{20,}+)[ \t]*+")
_SAYS = regex(r"\b(?:wrote|writes|schrieb|écrit|escribió|scritto|skrev|schreef)\b", re.I)
_HEADER = regex(
    r"[*]?(?:from|sent|to|cc|date|subject|von|gesendet|an|betreff|datum|de|à|envoyé|objet)[*]?[ ]?:[^\n]*+",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Paragraph:
    lines: tuple[str, ...]
    is_quoted: bool

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def shingles(self) -> set[tuple[str, ...]]:
        """The words that stand together, without the marks of quotations and where lines end."""
        text = " ".join(_MARK.sub("", line) for line in self.lines)
        words = _WORD.findall(text.casefold())
        last = max(1, len(words) - _WORDS_TOGETHER + 1)
        return {tuple(words[start : start + _WORDS_TOGETHER]) for start in range(last)} - {()}

    @property
    def is_short(self) -> bool:
        """Whether its words are too few to tell that they were said before."""
        return len(_WORD.findall(self.text)) < _WORDS_TOGETHER

    @property
    def is_signature(self) -> bool:
        return _SIGNATURE.match(self.text) is not None

    @property
    def leads_to_quotation(self) -> bool:
        """Whether it only says who wrote what is below it."""
        if all(_RULE.fullmatch(line) or _HEADER.fullmatch(line) for line in self.lines):
            return True
        *_, last = self.lines
        return (
            len(self.lines) <= 2 and last.rstrip().endswith(":") and bool(_SAYS.search(self.text))
        )


@dataclass(frozen=True, slots=True)
class History:
    """What the messages of a thread have said so far."""

    _known: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])

    def read(self, body: str) -> list[str]:
        """Return the paragraphs that are new, and what they answer; a quotation of something else stays."""
        paragraphs = [*_paragraphs(body)]
        kept: list[_Paragraph] = []
        below: _Paragraph | None = None
        for paragraph in reversed(paragraphs):
            if self._is_kept(paragraph, below, kept):
                kept.append(paragraph)
            below = paragraph
        for paragraph in kept:
            if not paragraph.is_quoted:
                self._known.update(paragraph.shingles)
        return [paragraph.text for paragraph in reversed(kept)]

    def _is_kept(
        self, paragraph: _Paragraph, below: _Paragraph | None, kept: Sequence[_Paragraph]
    ) -> bool:
        is_below_kept = below is None or (bool(kept) and kept[-1] is below)
        if not is_below_kept and paragraph.leads_to_quotation:
            return False
        shingles = paragraph.shingles
        if not shingles:
            return not paragraph.is_quoted and bool(_WORD.search(paragraph.text))
        least = _KNOWN_SHARE if paragraph.is_quoted else 1.0
        is_known = len(shingles & self._known) >= least * len(shingles)
        if not is_known and not (paragraph.is_quoted and paragraph.is_short):
            return True
        if paragraph.is_quoted:
            is_answered = below is not None and is_below_kept and not below.is_quoted
            return is_answered and len(paragraph.lines) <= _MAX_KEPT_LINES
        is_short = len(shingles) <= _LEAST_REPEATED_WORDS - _WORDS_TOGETHER
        return is_short and not paragraph.is_signature


def _paragraphs(body: str) -> Iterator[_Paragraph]:
    """Yield the paragraphs: lines without an empty one between them, all quoted or none.

    What stands below the header of another message is its text, with or without marks. A quoted signature is no text.
    """
    is_history = is_signature = is_led_to = False
    for kind, run in groupby(body.split("\n"), _kind):
        for lines in _cut_at_signature([*run]) if kind != "empty" else ():
            is_history = is_history or (is_led_to and kind == "own")
            paragraph = _Paragraph(lines, is_history or kind == "quoted")
            starts_signature = _MARK.sub("", lines[0]).strip() == "--"
            is_signature = starts_signature or (is_signature and paragraph.is_quoted)
            if is_signature and paragraph.is_quoted:
                continue
            yield paragraph
            is_led_to = kind == "own" and paragraph.leads_to_quotation
        if kind == "own":
            is_signature = False


def _cut_at_signature(lines: Sequence[str]) -> list[tuple[str, ...]]:
    places = [place for place, line in enumerate(lines) if _MARK.sub("", line).rstrip() == "--"]
    if not places or places[-1] == 0:
        return [tuple(lines)]
    return [tuple(lines[: places[-1]]), tuple(lines[places[-1] :])]


def _kind(line: str) -> str:
    if not _MARK.sub("", line).strip():
        return "empty"
    return "quoted" if _MARK.match(line) else "own"
