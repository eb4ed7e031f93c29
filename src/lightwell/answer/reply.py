"""A chat model's reply: parsed while it arrives, and each sentence verified by the words that it quotes.

The model replies with one JSON object of `REPLY_SCHEMA`. A weak model that quotes nothing but names passages, in `citations` or by marks such as
`[1]` in plain sentences, or that writes the word INSUFFICIENT, is understood too.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ValidationError

from lightwell.answer.quotes import Quote, SupportedSentence
from lightwell.answer.verification.support import (
    MIN_SHARE,
    CheckedPassage,
    Claim,
    choose_quotes,
    cite,
    collect_names,
    find_quotes,
    is_supported,
)
from lightwell.domain.evidence import Evidence
from lightwell.domain.question_analysis import QuestionAnalysis, analyze_question
from lightwell.text.injection import is_reported_speech
from lightwell.text.injection.disguises import strip_unseen
from lightwell.text.markup import find_addresses, strip_active_markup, strip_bullet
from lightwell.text.negation import has_negation
from lightwell.text.regex import regex
from lightwell.text.units import unit_spans

REPLY_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "answerable": {"type": "boolean"},
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "quotes": {"type": "array", "items": {"type": "string"}},
                    "text": {"type": "string"},
                },
                "required": ["quotes", "text"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["answerable", "sentences"],
    "additionalProperties": False,
}
"""Quotes come first, so that a model looks for the words before it says something."""

REFUSAL = "INSUFFICIENT"
"""Where a model says this, its reply ends: what it says after it is not believed."""

LONGEST_REPLY = 40_000
"""Characters."""

_REFUSED = regex(rf"\b{REFUSAL}\b")

_THOUGHT_BEGIN, _THOUGHT_END = "<think>", "</think>"
_JSON_START = regex(r"\s*(?:```\w{0,9}\s*)?(?=\{)")
_MAYBE_JSON = regex(r"\s*(?:`{1,3}\w{0,9}\s*|<think>.*|<[^>]*)?\Z", re.DOTALL)
_ANSWERABLE = regex(r'"answerable"\s*:\s*"?(true|false)', re.IGNORECASE)
_SENTENCES = regex(r'"sentences"\s*:\s*\[')
_PASSAGE_NUMBER = regex(r"(?<!\d)\d{1,3}(?!\d)")
_BETWEEN = regex(r"[\s,]*")
_BLANKS = r"[^\S\n]{0,9}"
_MARKS = r"(?:\s{0,9}\[\d[\d,; ]{0,60}\]){1,20}"
_STOP = r"[.!?…。！？]{1,9}[\"'”’)»*_]{0,9}"
_END = regex(
    rf"(?:{_STOP}{_MARKS}|{_MARKS}\s{{0,9}}{_STOP}|{_MARKS}(?={_BLANKS}\n)|(?:{_STOP}|:)(?={_BLANKS}\n)"
    rf"|(?=\n{_BLANKS}\n)|(?=\n{_BLANKS}(?:[-*+•]\s|\d+[.)]\s|\||\#)))(?=\s{{1,80}}(?:[^\s\[]|\[[^\d]))"
)
_MARK = regex(r"(?<!\s)\s*\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_DIGITS = regex(r"\d+")
_MOVED = regex(rf"([.!?])({_MARKS})")


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
    sentences: list[tuple[str, tuple[int, ...]]] = []
    after: tuple[int, ...] = ()
    for start, end in reversed(unit_spans(moved)):
        sentence = moved[start:end]
        numbers = [int(n) for mark in _MARK.findall(sentence) for n in _DIGITS.findall(mark)]
        after = tuple(dict.fromkeys(numbers)) or after
        sentences.append((strip_bullet(strip_citation_marks(sentence)).strip(), after))
    return sentences[::-1]


def strip_citation_marks(text: str) -> str:
    """Return the text without citation marks."""
    return _MARK.sub("", text)


# ── parsing ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySentence:
    """A sentence as the model wrote it, without marks, the words that it copied for it, and the numbers of the passages that it cites."""

    text: str
    numbers: tuple[int, ...] = ()
    quotes: tuple[str, ...] = ()

    @property
    def is_quoting(self) -> bool:
        return any(map(str.strip, self.quotes))


class _JsonSentence(BaseModel):
    """A sentence as a model may write it: some write `"[1]"` or `1` for `[1]`, or one quote for a list of quotes."""

    text: str
    quotes: tuple[str, ...] | str = ()
    citations: tuple[int | str, ...] | int | str = ()

    @property
    def copies(self) -> tuple[str, ...]:
        return (self.quotes,) if isinstance(self.quotes, str) else self.quotes

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(int(number) for number in _PASSAGE_NUMBER.findall(str(self.citations)))


@dataclass(slots=True)
class JsonReply:
    """A reply in JSON while it arrives; `is_answerable` is the model's judgement, None while it has given none.

    Sentences wait until the judgement is known, and are dropped where it is negative.
    """

    is_answerable: bool | None = None
    _text: str = ""
    _at: int = 0
    _is_in_list: bool = False
    _waiting: list[ReplySentence] = field(default_factory=list[ReplySentence])

    def feed(self, piece: str) -> list[ReplySentence]:
        """Return the sentences that are complete with this piece."""
        self._text += piece
        if not self._is_in_list:
            self._enter_list()
        if self._is_in_list and ("}" in piece or '"' in piece):
            self._waiting.extend(self._complete_sentences())
        return self._release() if self.is_answerable is not None else []

    def flush(self) -> list[ReplySentence]:
        """Return the sentences that are left when the reply has ended; one that was cut off is dropped."""
        if self.is_answerable is None:
            self._judge(self._text[self._at :])
        return self._release()

    def _enter_list(self) -> None:
        match = _SENTENCES.search(self._text)
        if self.is_answerable is None:
            self._judge(self._text[: match.start()] if match else self._text)
        if match:
            self._is_in_list, self._at = True, match.end()

    def _judge(self, text: str) -> None:
        match = _ANSWERABLE.search(text)
        if match:
            self.is_answerable = match[1].casefold() == "true"

    def _complete_sentences(self) -> Iterator[ReplySentence]:
        decoder = json.JSONDecoder()
        while True:
            start = _between(self._text, self._at)
            try:
                item, end = decoder.raw_decode(self._text, start)
            except (ValueError, RecursionError):
                return  # the item has not arrived completely, or the list has ended
            if type(item) not in (str, dict):
                return  # a number may still grow, and is no sentence
            self._at = end
            yield from _sentences_of(item)

    def _release(self) -> list[ReplySentence]:
        ready, self._waiting = self._waiting, []
        return [] if self.is_answerable is False else ready


def _between(text: str, start: int) -> int:
    match = _BETWEEN.match(text, start)
    return match.end() if match else start


def _sentences_of(item: object) -> Iterator[ReplySentence]:
    """Yield the sentences of one item of the list; a text alone may hold marks."""
    try:
        parsed = _JsonSentence.model_validate({"text": item} if isinstance(item, str) else item)
    except (ValidationError, RecursionError):
        yield ReplySentence(text="")  # nothing that could be verified
        return
    for text, numbers in split_citation_marks(parsed.text):
        yield ReplySentence(
            text=text,
            numbers=tuple(dict.fromkeys((*parsed.numbers, *numbers))),
            quotes=parsed.copies,
        )


@dataclass(slots=True)
class ReplyParser:
    """A reply while it arrives, in JSON or in plain sentences. However it is cut, its sentences are the same."""

    json: JsonReply | None = None
    _is_plain: bool = False
    _start: str = ""
    _buffer: SentenceBuffer = field(default_factory=SentenceBuffer)

    def feed(self, piece: str) -> list[ReplySentence]:
        """Return the sentences that are complete with this piece."""
        if self.json is None and not self._is_plain:
            self._start += piece
            piece = self._decide()
        if self.json is not None:
            return self.json.feed(piece)
        return [
            sentence for part in self._buffer.feed(piece) for sentence in _plain_sentences(part)
        ]

    def flush(self) -> list[ReplySentence]:
        """Return the sentences that are left when the reply has ended."""
        if self.json is not None:
            return self.json.flush()
        undecided = "" if self._is_plain else self._start
        parts = [*self._buffer.feed(undecided), self._buffer.flush()]
        return [sentence for part in parts for sentence in _plain_sentences(part)]

    def _decide(self) -> str:
        """Decide between JSON and plain text as soon as the start tells; return what is to be read now."""
        self._start = _without_thought(self._start)
        match = _JSON_START.match(self._start)
        if match:
            self.json = JsonReply()
            return self._start[match.end() :]
        if _MAYBE_JSON.match(self._start):
            return ""
        self._is_plain = True
        return self._start


def _without_thought(start: str) -> str:
    """Return the start of a reply without the reasoning that precedes the answer; only its tag while it goes on."""
    if not start.lstrip().startswith(_THOUGHT_BEGIN):
        return start
    before, end, after = start.partition(_THOUGHT_END)
    return after if end else before


def _plain_sentences(part: str) -> list[ReplySentence]:
    return [
        ReplySentence(text=text, numbers=numbers) for text, numbers in split_citation_marks(part)
    ]


def reply_text(reply: str) -> str:
    """Return what a whole reply says, one sentence a line, without marks."""
    parser = ReplyParser()
    return "\n".join(sentence.text for sentence in (*parser.feed(reply), *parser.flush()))


# ── verification ───────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class ReplyVerifier:
    """Verifies a reply while it arrives.

    A sentence cites where the words stand that the model copied for it or in it, in whichever of the passages; where it copied none, what supports
    it in those that it names. Any other is removed, and so is one with an address that no cited passage has. Images and HTML are dropped, links become text.
    Injected instructions support nothing, unless the question asks what a message says and the sentence reports it: then
    `whole` supports it, the same passages with the instructions in them.
    """

    sources: tuple[CheckedPassage, ...]
    whole: tuple[CheckedPassage, ...]
    known: frozenset[str]
    removed: list[str] = field(default_factory=list[str])
    kept_count: int = 0
    _length: int = 0
    _parser: ReplyParser = field(default_factory=ReplyParser)
    _has_refused: bool = False
    _has_declined: bool = False

    @property
    def is_declined(self) -> bool:
        """Whether the model judged that the passages do not answer the question."""
        judgement = self._parser.json.is_answerable if self._parser.json else None
        return self._has_refused or self._has_declined or judgement is False

    @property
    def is_unsupported(self) -> bool:
        """Whether the reply was meant as an answer, and no sentence of it is supported."""
        claims = self.removed_count > 0 or self._parser.json is not None
        return claims and not (self.kept_count or self.is_declined)

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
            f"{self.removed_count} {sentences} of the model's reply {left_out}: no quote of the documents supports {them}.",
        )

    def feed(self, piece: str) -> list[SupportedSentence]:
        """Return the supported sentences that end with this piece; what comes after 40,000 characters is ignored."""
        piece = piece[: max(0, LONGEST_REPLY - self._length)]
        self._length += len(piece)
        return self._verify(self._parser.feed(piece))

    def flush(self) -> list[SupportedSentence]:
        """Return the supported sentences that are left when the reply has ended."""
        return self._verify(self._parser.flush())

    @property
    def removed_count(self) -> int:
        return len(self.removed)

    def withdraw(self, sentence: SupportedSentence) -> None:
        """Count a sentence that was supported as removed: a second judge has rejected it."""
        self.kept_count -= 1
        self.removed.append(sentence.text)

    def _verify(self, sentences: Sequence[ReplySentence]) -> list[SupportedSentence]:
        supported: list[SupportedSentence] = []
        for sentence in sentences:
            self._has_refused = self._has_refused or _REFUSED.search(sentence.text) is not None
            if self._has_refused:
                break
            text = strip_active_markup(strip_unseen(sentence.text)).strip()
            claim = Claim(text=text, known=self.known)
            quotes = self._find_supporting_quotes(claim, sentence)
            if quotes:
                self.kept_count += 1
                cited = tuple(cite(quote, claim) for quote in quotes)
                supported.append(SupportedSentence(text=text, quotes=cited))
            else:
                self.removed.append(text)
                # "The evidence does not say it", without a citation, is a refusal in the model's own words.
                is_based = sentence.numbers or sentence.is_quoting
                is_refusal = has_negation(sentence.text) and not is_based
                self._has_declined = self._has_declined or is_refusal
        return supported

    def _find_supporting_quotes(self, claim: Claim, sentence: ReplySentence) -> list[Quote]:
        sources = self.whole if is_reported_speech(claim.text) else self.sources
        named = [sources[number - 1] for number in sentence.numbers if 0 < number <= len(sources)]
        named_first = [*named, *(source for source in sources if source not in named)]
        # A sentence that is copied is its own quote; where nothing is quoted, what is named may support it.
        quotes = (
            _find_support(claim, sentence.quotes, named_first)
            or _find_support(claim, [sentence.text], named_first)
            or ([] if sentence.is_quoting else choose_quotes(claim, named))
        )
        cited = "\n".join(quote.evidence.chunk.text for quote in quotes).casefold()
        is_known = all(address.casefold() in cited for address in find_addresses(claim.text))
        return quotes if is_known else []


def _find_support(
    claim: Claim, copies: Sequence[str], passages: Sequence[CheckedPassage]
) -> list[Quote]:
    """Return where the words of copies stand; [] where they do not support the sentence."""
    quotes = find_quotes(claim, copies, passages)
    return quotes if is_supported(claim, quotes, MIN_SHARE) else []


def reply_verifier(passages: Sequence[Evidence], analysis: QuestionAnalysis) -> ReplyVerifier:
    """Return the verifier of a reply to a question that was sent with these passages, numbered from 1."""
    sources = tuple(CheckedPassage(evidence=passage) for passage in passages)
    whole = sources
    if analysis.asks_for_message_content:
        whole = tuple(CheckedPassage(evidence=passage, with_orders=True) for passage in passages)
    return ReplyVerifier(sources=sources, whole=whole, known=collect_names(analysis, sources))


def verify_reply(
    reply: str, passages: Sequence[Evidence], question: str = ""
) -> list[SupportedSentence]:
    """Return the sentences of a whole reply that their quotes support, in order."""
    verifier = reply_verifier(passages, analyze_question(question))
    return [*verifier.feed(reply), *verifier.flush()]
