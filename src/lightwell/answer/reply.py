"""A chat model's reply: cut into sentences while it arrives, and each sentence verified against the passages it cites."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lightwell.answer.quotes import Quote, SupportedSentence, narrow
from lightwell.answer.verification.active_content import are_quoted
from lightwell.answer.verification.support import (
    Source,
    collect_names,
    source,
    supporting_quotes,
    supporting_quotes_elsewhere,
)
from lightwell.domain.evidence import Evidence
from lightwell.domain.query_analysis import QueryAnalysis, analyze_query
from lightwell.text import facts
from lightwell.text.injection import is_reported_speech
from lightwell.text.markup import strip_bullet
from lightwell.text.terms import terms
from lightwell.text.units import split_into_units

REFUSAL = "INSUFFICIENT"
"""Where a model says this, its reply ends: what it says after it is not believed."""

LONGEST_REPLY = 40_000
"""Characters."""

_REFUSED = re.compile(rf"\b{REFUSAL}\b")

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


@dataclass(slots=True)
class SentenceBuffer:
    """The part of a reply that is no whole sentence yet. However a reply arrives, its sentences are the same."""

    rest: str = ""

    def feed(self, piece: str) -> list[str]:
        """Return what has come to its end with this piece: a sentence with its marks, or several without any."""
        self.rest += piece
        whole: list[str] = []
        while match := _END.search(self.rest, 1):
            whole.append(self.rest[: match.end()])
            self.rest = self.rest[match.end() :]
        return whole

    def flush(self) -> str:
        """Return what is left when the reply has ended."""
        left, self.rest = self.rest, ""
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


def strip_citation_marks(text: str) -> str:
    """Return the text without citation marks."""
    return _MARK.sub("", text)


# ── verification ───────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class ReplyVerifier:
    """Verifies a reply while it arrives.

    A sentence that cites the wrong passage gets the citation of the passage that supports it. A sentence that cites no passage
    is removed, and so is one with an address, an image or HTML that the cited passage does not contain verbatim.
    Injected instructions support nothing, unless the question asks what a message says and the sentence reports it: then
    `whole` supports it, the same passages with the instructions in them.
    """

    sources: tuple[Source, ...]
    whole: tuple[Source, ...]
    known: frozenset[str]
    removed_count: int = 0
    kept_count: int = 0
    _length: int = 0
    _buffer: SentenceBuffer = field(default_factory=SentenceBuffer)
    _has_refused: bool = False
    _has_declined: bool = False

    @property
    def is_unsupported(self) -> bool:
        """Whether the reply was meant as an answer, and verification removed all of it."""
        return bool(self.removed_count) and not (
            self.kept_count or self._has_refused or self._has_declined
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """How many sentences were removed; () for none."""
        if not self.removed_count:
            return ()
        is_one = self.removed_count == 1
        sentences, left_out, them = (
            ("sentence", "was left out", "it") if is_one else ("sentences", "were left out", "them")
        )
        return (
            f"{self.removed_count} {sentences} of the model's reply {left_out}: no cited passage supports {them}.",
        )

    def feed(self, piece: str) -> list[SupportedSentence]:
        """Return the supported sentences that end with this piece; what comes after 40,000 characters is ignored."""
        piece = piece[: max(0, LONGEST_REPLY - self._length)]
        self._length += len(piece)
        return [one for part in self._buffer.feed(piece) for one in self._verify(part)]

    def flush(self) -> list[SupportedSentence]:
        """Return the supported sentences that are left when the reply has ended."""
        return self._verify(self._buffer.flush())

    def _verify(self, part: str) -> list[SupportedSentence]:
        supported: list[SupportedSentence] = []
        for text, numbers in split_citation_marks(part):
            self._has_refused = self._has_refused or _REFUSED.search(text) is not None
            if self._has_refused:
                break
            quotes = self._supporting_quotes(text, numbers)
            if quotes:
                self.kept_count += 1
                wanted = frozenset(terms(text))
                narrowed = tuple(narrow(each, wanted) for each in quotes)
                supported.append(SupportedSentence(text=text, quotes=narrowed))
            else:
                self.removed_count += 1
                # "The evidence does not say it", without a citation, is a refusal in the model's own words.
                self._has_declined = self._has_declined or (
                    facts.has_negation(text) and not numbers
                )
        return supported

    def _supporting_quotes(self, text: str, numbers: Sequence[int]) -> tuple[Quote, ...]:
        given = self.whole if is_reported_speech(text) else self.sources
        passages = [given[number - 1] for number in numbers if 0 < number <= len(given)]
        if not passages:
            return ()
        found = supporting_quotes(text, passages, self.known) or supporting_quotes_elsewhere(
            text, passages, given, self.known
        )
        return found if are_quoted(text, [each.evidence.chunk.text for each in found]) else ()


def reply_verifier(passages: Sequence[Evidence], query: QueryAnalysis) -> ReplyVerifier:
    """Return the verifier of a reply to a question that was sent with these passages, numbered from 1."""
    sources = tuple(source(each) for each in passages)
    whole = sources
    if query.asks_for_message_content:
        whole = tuple(source(each, with_orders=True) for each in passages)
    return ReplyVerifier(sources=sources, whole=whole, known=collect_names(query, sources))


def verify_reply(
    reply: str, passages: Sequence[Evidence], question: str = ""
) -> list[SupportedSentence]:
    """Return the sentences of a whole reply that their citations support, in order."""
    verifier = reply_verifier(passages, analyze_query(question))
    return [*verifier.feed(reply), *verifier.flush()]
