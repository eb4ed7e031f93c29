"""Answers by a model: what it is sent, and what is left of its reply when each sentence has been checked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources

from lightwell.answer.active import are_quoted
from lightwell.answer.context import Context, entity_line, passage_text, relation_line
from lightwell.answer.quotes import Quote, narrow
from lightwell.answer.reply_sentences import SentenceBuffer, split_citation_marks
from lightwell.answer.verification.support import (
    Source,
    collect_names,
    source,
    supporting_quotes,
    supporting_quotes_elsewhere,
)
from lightwell.domain.evidence import Evidence
from lightwell.domain.fences import fence
from lightwell.domain.query_analysis import QueryAnalysis, analyze_query
from lightwell.ports import Message
from lightwell.text import facts
from lightwell.text.injection import is_reported_speech
from lightwell.text.terms import terms

REFUSAL = "INSUFFICIENT"
"""Where a model says this, its reply ends: what it says after it is not believed."""

LONGEST_REPLY = 40_000
"""Characters."""

_REFUSED = re.compile(rf"\b{REFUSAL}\b")


class Prompt(StrEnum):
    """What a model is asked for; each is a file in `prompts/`."""

    ANSWER = "answer"
    STATEMENTS = "statements"
    BYPASS = "bypass"

    @property
    def text(self) -> str:
        home = resources.files("lightwell.answer") / "prompts" / f"{self.value}.md"
        return home.read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedSentence:
    """A sentence that stood the check, without marks, and the quotes it stands on: at least one.

    Where it is a quotation of several sentences, `highlight` is the part of `text` that bears on the question most, else (0, 0).
    """

    text: str
    quotes: tuple[Quote, ...]
    highlight: tuple[int, int] = (0, 0)


def build_messages(
    question: str, context: Context, prompt: Prompt = Prompt.ANSWER
) -> list[Message]:
    """Return what the model is sent: background that cannot be cited, passages numbered from 1, the question."""
    background = "\n".join(
        (*map(entity_line, context.entities), *map(relation_line, context.relations))
    )
    blocks = [
        f"[{number}]\n{fence(passage_text(each))}"
        for number, each in enumerate(context.passages, 1)
    ]
    parts = [f"Background:\n\n{fence(background)}"] if background else []
    parts.extend(("Evidence:\n\n" + "\n\n".join(blocks), f"Question: {question}"))
    return [
        Message(role="system", content=prompt.text),
        Message(role="user", content="\n\n".join(parts)),
    ]


@dataclass(slots=True, kw_only=True)
class ReplyVerifier:
    """Checks a reply while it comes; `dropped` counts the sentences that fell.

    A sentence with the number of the wrong passage cites the one that carries it; one that cites no passage falls, and so does
    one with an address, an image or HTML that the cited passage has not word for word.
    What only an order to a machine carries falls, unless the question asks what is said there and the sentence reports
    it: then it is checked against `whole`, the same passages with the orders in them.
    """

    sources: tuple[Source, ...]
    whole: tuple[Source, ...]
    known: frozenset[str]
    removed_count: int = 0
    stood: int = 0
    _length: int = 0
    _pieces: SentenceBuffer = field(default_factory=SentenceBuffer)
    _refused: bool = False
    _gave_up: bool = False

    @property
    def failed(self) -> bool:
        """Whether all of a reply fell that was meant as an answer."""
        return bool(self.removed_count) and not (self.stood or self._refused or self._gave_up)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth telling of the check."""
        if not self.removed_count:
            return ()
        one = self.removed_count == 1
        sentences, left_out, them = (
            ("sentence", "was left out", "it") if one else ("sentences", "were left out", "them")
        )
        return (
            f"{self.removed_count} {sentences} of the model's reply {left_out}: no cited passage supports {them}.",
        )

    def feed(self, piece: str) -> list[VerifiedSentence]:
        """Return the statements that have come to their end with this piece and stand.

        What comes after 40,000 characters is not read: no answer is that long.
        """
        piece = piece[: max(0, LONGEST_REPLY - self._length)]
        self._length += len(piece)
        return [one for whole in self._pieces.feed(piece) for one in self._verify(whole)]

    def flush(self) -> list[VerifiedSentence]:
        """Return the statements that are left when the reply has ended."""
        return self._verify(self._pieces.flush())

    def _verify(self, part: str) -> list[VerifiedSentence]:
        stood: list[VerifiedSentence] = []
        for text, numbers in split_citation_marks(part):
            self._refused = self._refused or _REFUSED.search(text) is not None
            if self._refused:
                break
            if found := self._supporting_quotes(text, numbers):
                self.stood += 1
                wanted = frozenset(terms(text))
                stood.append(
                    VerifiedSentence(text=text, quotes=tuple(narrow(one, wanted) for one in found))
                )
            else:
                self.removed_count += 1
                self._gave_up = self._gave_up or (facts.has_negation(text) and not numbers)
        return stood

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
    """Return what verifies a reply to a question that was sent with these passages, numbered from 1."""
    sources = tuple(source(each) for each in passages)
    whole = sources
    if query.asks_for_message_content:
        whole = tuple(source(each, with_orders=True) for each in passages)
    return ReplyVerifier(sources=sources, whole=whole, known=collect_names(query, sources))


def verify_reply(
    reply: str, passages: Sequence[Evidence], question: str = ""
) -> list[VerifiedSentence]:
    """Return the statements of a whole reply that their citations carry, in order."""
    checking = reply_verifier(passages, analyze_query(question))
    return [*checking.feed(reply), *checking.flush()]
