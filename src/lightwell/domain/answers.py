"""An answer: what became of a question, in cited sentences. Text, chat, stream and statements are rendered from this one value."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from lightwell.domain.documents import Locator, document_address
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import ConversationId, QueryId
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, UnderstoodFilter
from lightwell.domain.usage import NO_USAGE, TokenSummary

if TYPE_CHECKING:
    from lightwell.domain.evidence import Metrics
    from lightwell.domain.graph_views import Candidates

INSUFFICIENT = "Insufficient evidence: the documents you may see do not answer this."
"""The text of an answer without evidence."""

NOT_FROM_DOCUMENTS = (
    "This does not come from your documents: it is what the model says by itself, unchecked."
)
"""How an answer of mode `bypass` begins."""

MAY_NOT_ANSWER = "This may not answer it:"
"""How an answer of state `possibly` begins."""

DOUBT_LINE = f"{MAY_NOT_ANSWER}\n"
"""The same as a line of its own, by which a stream tells the state before the first sentence."""

EXTRACTS = "extracts"
"""The model's name in answers that no model wrote."""

MEDIUM_RELEVANCE, HIGH_RELEVANCE = 0.7, 0.85
"""The relevance from which an answer is of medium and of high confidence: as often as 75 and 90 times of 100 it is right."""

_UNANSWERABLE_SCALE = 0.99

MOST_DOUBTFUL = 0.69
"""The relevance at most of what is right only possibly, such as an answer from other documents than the question named."""

RELEVANCE_DIGITS = 4
"""Digits of a relevance behind the point: its word is that of the number which is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A numbered quote with its document and exact position.

    `id` is its number in the answer, as in `[1]`; `snippet` occurs verbatim in the document, at `locator`.
    `highlight` is the part of it that answers the question best, `snippet[start:end]`, where the snippet is a longer piece,
    else (0, 0). `created_at` is when the source made the document, else when it was ingested, so it is no date of what the document says:
    `dated_at` is, None where the document states none. `is_supplied`: somebody handed the passage in, in place of what
    the document's source says. `source_address` is where a browser finds the document at its source, "" where it finds nothing.
    """

    id: str
    source_url: str
    source_system: str
    source_type: str
    document_ref: str
    document_id: str
    chunk_ref: str
    chunk_id: str
    document_title: str
    created_at: datetime
    dated_at: datetime | None
    snippet: str
    score: float
    locator: Locator
    highlight: tuple[int, int] = (0, 0)
    is_supplied: bool = False
    source_address: str = ""

    @property
    def address(self) -> str:
        """Where this server shows it: the path of a page, with the key sentence as its fragment."""
        start, end = self.highlight if any(self.highlight) else (0, len(self.snippet))
        place = self.locator.start
        return document_address(self.document_id, place + start, place + end)

    def link_from(self, server: str) -> str:
        """Return the URL to which somebody who reads it elsewhere is led: on the server of this address, "" without one at its source."""
        return server + self.address if server else self.source_address or self.source_url


class AnswerState(StrEnum):
    """What became of a question, as a page says it: `possibly` is an answer of low confidence, `courtesy` the reply to a greeting."""

    ANSWERED = "answered"
    POSSIBLY = "possibly"
    INSUFFICIENT = "insufficient"
    COURTESY = "courtesy"


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INSUFFICIENT = "insufficient"


def confidence(relevance: float) -> Confidence:
    """Return the word for the relevance of an answer: from 0.85 high, from 0.7 medium, from 0.6 low."""
    if relevance >= HIGH_RELEVANCE:
        return Confidence.HIGH
    if relevance >= MEDIUM_RELEVANCE:
        return Confidence.MEDIUM
    return Confidence.LOW if relevance >= SUFFICIENT_RELEVANCE else Confidence.INSUFFICIENT


def judged_relevance(relevance: float, *, is_answerable: bool) -> float:
    """Return the relevance of evidence that a model has read and judged: at least 0.6 exactly where it answers.

    `relevance`, 0 to 1, is what retrieval gave. It keeps the order within each of the two halves.
    """
    if is_answerable:
        return SUFFICIENT_RELEVANCE + (1 - SUFFICIENT_RELEVANCE) * relevance
    return SUFFICIENT_RELEVANCE * _UNANSWERABLE_SCALE * relevance


def agreeing_relevance(relevance: float, *, is_answered: bool) -> float:
    """Return the relevance that says what became of the question: at least 0.6 exactly where it is answered.

    Some answers have another reason than the relevance of what was found, such as a list of all that is open; and from relevant evidence
    nothing may be quotable.
    """
    shown = round(relevance, RELEVANCE_DIGITS)
    if is_answered:
        return max(shown, SUFFICIENT_RELEVANCE)
    return min(shown, SUFFICIENT_RELEVANCE * _UNANSWERABLE_SCALE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSentence:
    """What answers in a sentence, or a quotation of a few, without citation numbers, and every citation that supports it.

    `context` is the piece that a quotation is a part of, "" where it is no part of one; the quotation is its `highlight`,
    `context[start:end]`, (0, 0) where it reads otherwise there. Raises `Invalid` without a citation.
    """

    text: str
    citations: tuple[Citation, ...]
    context: str = ""
    highlight: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if not self.citations:
            raise Invalid("A sentence of an answer has at least one citation")

    @property
    def marked_text(self) -> str:
        """The sentence with the numbers of its citations."""
        return f"{self.text} {self.marks}"

    @property
    def ids(self) -> tuple[str, ...]:
        """The numbers of its citations, each once."""
        return tuple(dict.fromkeys(citation.id for citation in self.citations))

    @property
    def marks(self) -> str:
        """The numbers of its citations, such as `[1][2]`."""
        return "".join(self.ids)

    def placed(self, start: int) -> "PlacedSentence":
        """Return the sentence where it begins at `start` of an answer's text."""
        return PlacedSentence(
            text=self.text, start=start, end=start + len(self.text), citations=self.ids
        )

    @property
    def said_at(self) -> datetime | None:
        """The date of the newest document that supports it, None where none states a date."""
        dates = (citation.dated_at for citation in self.citations)
        return max(filter(None, dates), default=None)

    @property
    def dates(self) -> tuple[str, ...]:
        """The dates in the text, verbatim, in order."""
        from lightwell.text.dates import find_date_texts

        return find_date_texts(self.text)

    @property
    def source_chunk_id(self) -> str:
        """The chunk that the first citation quotes."""
        return self.citations[0].chunk_id


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSentence:
    """A sentence without citation numbers, `text[start:end]` of an answer's text, and the numbers of its citations."""

    text: str
    start: int
    end: int
    citations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPiece:
    """What a document says around a sentence of an answer: it is `text[start:end]` for its `highlight`, (0, 0) where it reads otherwise there."""

    text: str
    highlight: tuple[int, int]
    citations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The question is answered by these sentences, at least one; their citations are numbered through all of them."""

    sentences: tuple[CitedSentence, ...]

    def __post_init__(self) -> None:
        if not self.sentences:
            raise Invalid("An answer has at least one sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class InsufficientEvidence:
    """Nothing that the reader may see answers the question.

    `nearest` are the closest pieces, best first; `missing_words` the question's words that no passage found has.
    """

    nearest: tuple[Citation, ...] = ()
    missing_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FromModelAlone:
    """What a model says by itself in mode `bypass`, unchecked and without citations."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Courtesy:
    """A reply to a greeting or to thanks, which ask nothing."""

    text: str


Outcome = Answered | InsufficientEvidence | FromModelAlone | Courtesy


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a question; everything else that is shown of an answer is derived from this.

    `relevance`, 0 to 1, is how likely what was chosen answers the question; it is 0.6 or more exactly where the question is answered. `author` is the chat model whose reply became the answer or the refusal, None where no model was asked
    or it failed, and where documents are quoted instead. `unsupported` are the sentences of its reply that no quote supports, where the
    question asks for them. `remarks` report what failed. `usage` is the cost of model calls, including
    those of retrieval, and `latency_ms` the time from the question on. `ambiguous_names` lists the candidates of each name in the
    question that several entities have; `filters` those that words of the question mean.
    """

    query_id: QueryId
    question: str
    outcome: Outcome
    relevance: float
    author: str | None
    metrics: "Metrics"
    context_tokens: int = 0
    remarks: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
    latency_ms: int = 0
    ambiguous_names: "tuple[Candidates, ...]" = ()
    unsupported: tuple[str, ...] = ()
    filters: tuple[UnderstoodFilter, ...] = ()

    @property
    def is_answered(self) -> bool:
        return isinstance(self.outcome, Answered)

    @property
    def sentences(self) -> tuple[CitedSentence, ...]:
        """The cited sentences in order; () where the evidence is insufficient, and in mode `bypass`."""
        return self.outcome.sentences if isinstance(self.outcome, Answered) else ()

    @property
    def state(self) -> AnswerState:
        """What became of the question; what a model says by itself leaves it insufficient."""
        if isinstance(self.outcome, Courtesy):
            return AnswerState.COURTESY
        if not self.is_answered:
            return AnswerState.INSUFFICIENT
        is_doubtful = self.confidence is Confidence.LOW
        return AnswerState.POSSIBLY if is_doubtful else AnswerState.ANSWERED

    @property
    def context(self) -> tuple[CitedPiece, ...]:
        """The pieces of documents that sentences are parts of, in order."""
        return tuple(
            CitedPiece(text=sentence.context, highlight=sentence.highlight, citations=sentence.ids)
            for sentence in self.sentences
            if sentence.context
        )

    @property
    def whole_text(self) -> str:
        """All that is quoted, without citation numbers: the pieces of documents in place of the sentences that are parts of them."""
        return "\n".join(sentence.context or sentence.text for sentence in self.sentences)

    @property
    def lines_before(self) -> str:
        """What the text says before its sentences, with the line break behind it: "" but where they may not answer."""
        return DOUBT_LINE if self.state is AnswerState.POSSIBLY else ""

    @property
    def placed_sentences(self) -> tuple[PlacedSentence, ...]:
        """The cited sentences with their places in `text`, in order."""
        placed = zip(self.sentences, self.sentence_spans, strict=True)
        return tuple(sentence.placed(start) for sentence, (start, _) in placed)

    @property
    def text(self) -> str:
        """The answer as text: a line for each sentence, which ends with citation numbers, below `MAY_NOT_ANSWER` where they may not answer; or a fixed sentence."""
        match self.outcome:
            case Answered(sentences=sentences):
                lines = "\n".join(sentence.marked_text for sentence in sentences)
                return self.lines_before + lines
            case InsufficientEvidence():
                return INSUFFICIENT
            case FromModelAlone(text=text):
                return f"{NOT_FROM_DOCUMENTS}\n\n{text}"
            case Courtesy(text=text):
                return text

    @property
    def sentence_spans(self) -> tuple[tuple[int, int], ...]:
        """Where each sentence with its citation numbers stands in `text`: start and end characters, in order."""
        lengths = [len(sentence.marked_text) for sentence in self.sentences]
        begin = len(self.lines_before)
        starts = accumulate((length + len("\n") for length in lengths), initial=begin)
        return tuple(
            (start, start + length) for start, length in zip(starts, lengths, strict=False)
        )

    @property
    def citations(self) -> tuple[Citation, ...]:
        """All citations, each once, in the order of their numbers; empty exactly when `confidence` is insufficient."""
        return tuple(
            dict.fromkeys(
                citation for sentence in self.sentences for citation in sentence.citations
            )
        )

    @property
    def nearest(self) -> tuple[Citation, ...]:
        """The closest pieces where the evidence is insufficient, best first; their ids do not occur in the text."""
        return self.outcome.nearest if isinstance(self.outcome, InsufficientEvidence) else ()

    @property
    def missing_words(self) -> tuple[str, ...]:
        """The question's words that no passage found has, where the evidence is insufficient."""
        outcome = self.outcome
        return outcome.missing_words if isinstance(outcome, InsufficientEvidence) else ()

    @property
    def confidence(self) -> Confidence:
        """The word for the relevance, at least low where the question is answered."""
        return confidence(agreeing_relevance(self.relevance, is_answered=self.is_answered))

    @property
    def threshold(self) -> float:
        """The relevance below which the evidence is insufficient."""
        return SUFFICIENT_RELEVANCE

    @property
    def model(self) -> str:
        """The chat model's name, or `extracts`."""
        return self.author or EXTRACTS

    @property
    def notes(self) -> tuple[str, ...]:
        """What failed, and which words of the question nothing mentions."""
        if self.missing_words:
            missing = ", ".join(self.missing_words)
            return (*self.remarks, f"None of the closest passages mentions: {missing}.")
        return self.remarks

    @property
    def metadata(self) -> "ResponseMetadata":
        from lightwell.text.tokens import token_count

        return ResponseMetadata(
            query_id=self.query_id,
            total_tokens=self.context_tokens + token_count(self.text),
            citation_count=len(self.citations),
            confidence=self.confidence,
            vector_result_count=self.metrics.vector_hits,
            graph_result_count=self.metrics.graph_hits,
            latency_ms=self.latency_ms,
        )


# ── events ────────────────────────────────────────────────────────────────────────────────────────────


class StreamType(StrEnum):
    STEP = "step"
    TOKEN = "token"  # noqa: S105 - the name of an event
    CITATION = "citation"
    METADATA = "metadata"
    DONE = "done"
    ERROR = "error"


class StepKind(StrEnum):
    SEARCHING = "searching"
    READING = "reading"
    CHECKING = "checking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is done before the first sentence: `titles` of the documents that are read, or the `count` of the passages that are checked.

    `query` is what a model searches for that looks twice, "" for the question itself.
    """

    kind: StepKind
    query: str = ""
    titles: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExchange:
    """Where an exchange is stored: `place` is the number of its first message, None where one of its sources is gone."""

    conversation: ConversationId
    place: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseMetadata:
    """Figures of one answer; `total_tokens` counts the evidence shown to the model and the answer."""

    query_id: QueryId
    total_tokens: int
    citation_count: int
    confidence: Confidence
    vector_result_count: int
    graph_result_count: int
    latency_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChunk:
    """One event: a `step` says what is done, a `token` has content, a `citation` its citation, `metadata` the figures, an `error` its message.

    The concatenated contents of the tokens are the answer's text. `sentence` is what a token says, where it has citations, and
    `placed` where that stands in the answer's text. `state` is told before the first sentence where that may not answer. `answer` is the whole
    answer, on `done` only, and `stored` where its conversation has it.
    """

    type: StreamType
    step: Step | None = None
    content: str = ""
    sentence: CitedSentence | None = None
    placed: PlacedSentence | None = None
    state: AnswerState | None = None
    citation: Citation | None = None
    metadata: ResponseMetadata | None = None
    error: str = ""
    answer: Answer | None = None
    stored: StoredExchange | None = None
