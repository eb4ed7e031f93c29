"""The result of one question: right, wrong or refused, and the step at which its answer was lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lightwell.answer.reply import reply_text
from lightwell.domain.answers import Answer, AnswerState, Confidence
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.evaluation.collection import CollectionQuestion
from lightwell.evaluation.correctness import (
    AnswerGroup,
    holds_answer,
    is_right,
    missing_groups,
)
from lightwell.ports import Message


class Stage(StrEnum):
    """A part of the retrieved text that may contain the whole answer, from the narrowest to the widest."""

    BEST_SENTENCE = "best sentence"
    THREE_SENTENCES = "three best sentences"
    WINDOW_600 = "600 characters"
    WINDOW_1200 = "1,200 characters"
    BEST_PASSAGE = "best passage"
    ALL_PASSAGES = "five passages"


_WINDOWS = {Stage.WINDOW_600: 600, Stage.WINDOW_1200: 1200}


class TrialOutcome(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    REFUSED = "refused"


class Reason(StrEnum):
    """Why a question was not answered correctly, or not refused although it should have been."""

    NOT_RETRIEVED = "not retrieved"
    BELOW_THRESHOLD = "below threshold"
    LEFT_OUT_OF_CONTEXT = "left out of the context"
    DECLINED = "declined by the model"
    DROPPED = "dropped by verification"
    INCOMPLETE = "incomplete"
    WRONG_SENTENCE = "wrong sentence selected"
    WRONG_REPLY = "wrong reply of the model"
    NOT_REFUSED = "answered what no document says"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The messages sent to a chat model for an answer, and its reply."""

    sent: tuple[Message, ...]
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTime:
    """Milliseconds that one question took: elapsed time, and processor time of this process."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTrial:
    """One question as it was asked through `Questions.ask`.

    `asked` is the question as it was read: a follow-up with what it leaves out. `found` are the URLs of the evidence, best first, each once; `held` the stages that contain the whole answer. `shown` is the text
    of the nearest passages of a refusal, `missing` the groups that the answer lacks. `reason` is None if nothing is wrong. `key_text` are the
    key sentences, "" for a refusal, `words` counts those of the whole answer without citation marks.
    """

    question: CollectionQuestion
    asked: str
    outcome: TrialOutcome
    reason: Reason | None
    state: AnswerState
    confidence: Confidence
    text: str
    key_text: str
    words: int
    shown: str
    missing: tuple[AnswerGroup, ...]
    relevance: float
    found: tuple[str, ...]
    held: frozenset[Stage]
    notes: tuple[str, ...]
    took: AskTime
    tokens: int
    calls: int

    @property
    def is_refused(self) -> bool:
        return self.outcome is TrialOutcome.REFUSED

    @property
    def is_well(self) -> bool:
        """Whether it was answered correctly, or refused if no document answers it."""
        return self.reason is None

    @property
    def is_key_right(self) -> bool:
        """Whether the key sentences alone contain the whole answer."""
        return holds_answer(self.question.groups, self.key_text)

    @property
    def is_answer_shown(self) -> bool:
        """Whether it was refused although the nearest passages contain the whole answer."""
        return self.is_refused and holds_answer(self.question.groups, self.shown)

    @property
    def is_gold_first(self) -> bool:
        return bool(self.found) and self.found[0] in self.question.gold

    @property
    def is_gold_found(self) -> bool:
        """Whether the evidence has the documents that are needed."""
        gold = self.question.gold
        return bool(gold.intersection(self.found)) and (
            self.question.is_one_gold_enough or gold <= set(self.found)
        )


def judge(
    question: CollectionQuestion,
    answer: Answer,
    retrieval: Retrieval,
    exchanges: Sequence[Exchange],
    took: AskTime,
) -> AnswerTrial:
    """Return the result of the question; `retrieval` is the basis of the answer, `exchanges` are those of its model."""
    stages = stages_holding(question.groups, retrieval)
    outcome = TrialOutcome.REFUSED
    if answer.citations:
        right = is_right(question.groups, answer)
        outcome = TrialOutcome.RIGHT if right else TrialOutcome.WRONG
    return AnswerTrial(
        question=question,
        asked=answer.question,
        outcome=outcome,
        reason=_reason(question, answer, outcome, stages, exchanges),
        state=answer.state,
        confidence=answer.confidence,
        text=answer.text if answer.citations else "",
        key_text="\n".join(sentence.text for sentence in answer.sentences),
        words=len(answer.whole_text.split()),
        shown="\n".join(quote.snippet for quote in answer.nearest),
        missing=missing_groups(question.groups, answer.whole_text if answer.citations else ""),
        relevance=answer.relevance,
        found=tuple(dict.fromkeys(passage.chunk.url for passage in retrieval.evidence)),
        held=stages,
        notes=answer.notes,
        took=took,
        tokens=answer.usage.total_input_tokens + answer.usage.total_output_tokens,
        calls=answer.usage.calls,
    )


def stages_holding(groups: Sequence[AnswerGroup], retrieval: Retrieval) -> frozenset[Stage]:
    """Return the stages that contain the whole answer.

    Sentences are those of all passages, the best by its score; windows lie around the best one of the best passage.
    """
    return frozenset(
        stage for stage in Stage if holds_answer(groups, _text_of(stage, retrieval.evidence))
    )


def _text_of(stage: Stage, evidence: Sequence[Evidence]) -> str:
    match stage:
        case Stage.BEST_SENTENCE:
            return "\n".join(_best_sentences(evidence, 1))
        case Stage.THREE_SENTENCES:
            return "\n".join(_best_sentences(evidence, 3))
        case Stage.WINDOW_600 | Stage.WINDOW_1200:
            return _window(evidence[0], _WINDOWS[stage]) if evidence else ""
        case Stage.BEST_PASSAGE:
            return evidence[0].chunk.text if evidence else ""
        case Stage.ALL_PASSAGES:
            return "\n".join(passage.chunk.text for passage in evidence)


def _best_sentences(evidence: Sequence[Evidence], count: int) -> list[str]:
    highlights = [(passage, highlight) for passage in evidence for highlight in passage.highlights]
    ordered = sorted(highlights, key=lambda pair: -pair[1].score)
    return [passage.chunk.text[part.start : part.end] for passage, part in ordered[:count]]


def _window(entry: Evidence, size: int) -> str:
    """Return the characters around the middle of the passage's best sentence; near an end, more of the other side."""
    text = entry.chunk.text
    middle = 0
    if entry.highlights:
        middle = (entry.highlights[0].start + entry.highlights[0].end) // 2
    start = middle - size // 2
    start = max(0, min(start, len(text) - size))
    return text[start : start + size]


def _reason(
    question: CollectionQuestion,
    answer: Answer,
    outcome: TrialOutcome,
    stages: frozenset[Stage],
    exchanges: Sequence[Exchange],
) -> Reason | None:
    if not question.is_answerable:
        return None if outcome is TrialOutcome.REFUSED else Reason.NOT_REFUSED
    if outcome is TrialOutcome.RIGHT:
        return None
    if Stage.ALL_PASSAGES not in stages:
        return Reason.NOT_RETRIEVED
    if exchanges:
        return _reason_of_model(question, answer, exchanges)
    if outcome is TrialOutcome.REFUSED:
        is_below = answer.relevance < SUFFICIENT_RELEVANCE
        return Reason.BELOW_THRESHOLD if is_below else Reason.WRONG_SENTENCE
    return Reason.INCOMPLETE if _is_partial(question, answer) else Reason.WRONG_SENTENCE


def _reason_of_model(
    question: CollectionQuestion, answer: Answer, exchanges: Sequence[Exchange]
) -> Reason:
    """Return why a model's answer is not right although the passages contain it."""
    if any(holds_answer(question.groups, reply_text(exchange.reply)) for exchange in exchanges):
        return Reason.DROPPED
    sent = "\n".join(message.content for exchange in exchanges for message in exchange.sent)
    if not holds_answer(question.groups, sent):
        return Reason.LEFT_OUT_OF_CONTEXT
    if not answer.citations:
        return Reason.DECLINED
    return Reason.INCOMPLETE if _is_partial(question, answer) else Reason.WRONG_REPLY


def _is_partial(question: CollectionQuestion, answer: Answer) -> bool:
    return len(missing_groups(question.groups, answer.whole_text)) < len(question.groups)
