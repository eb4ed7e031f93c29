"""What was asked, what was found, and what goes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lightwell.domain.documents import Chunk, Locator
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import QueryId

ENOUGH = 0.6
"""The calibrated relevance that the best evidence must reach before anything is answered."""

LONGEST_QUESTION = 2000
INSUFFICIENT = "Insufficient evidence: the documents you may see do not answer this."


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A validated question; `topic` filters by topic tag, "" for all; `limit` is S3's topK."""

    text: str
    topic: str = ""
    limit: int = 5
    include_graph: bool = True


def question(text: str, *, topic: str = "", limit: int = 5, include_graph: bool = True) -> Question:
    """Return a question, or raise `Invalid` with S3's message."""
    if not text.strip():
        raise Invalid("Query cannot be empty")
    if len(text) > LONGEST_QUESTION:
        raise Invalid("Query exceeds maximum length")
    if not 1 <= limit <= 20:
        raise Invalid("topK must be between 1 and 20")
    return Question(text=text.strip(), topic=topic, limit=limit, include_graph=include_graph)


class Channel(StrEnum):
    """Where a candidate came from."""

    DENSE = "dense"
    WORDS = "words"
    ENTITIES = "entities"
    NEIGHBOURS = "neighbours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """A unit of a passage that speaks to the question: `chunk.text[start:end]`.

    `cover` is the share of the question's term weights it holds, `similarity` its likeness in meaning; both 0 to 1.
    """

    start: int
    end: int
    cover: float
    similarity: float

    @property
    def worth(self) -> float:
        return 0.5 * self.cover + 0.5 * self.similarity


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A chunk that bears on the question, with why.

    `highlights` are its best units, best first. `relevance` is calibrated to [0, 1]; `score` is the fusion's own and orders the evidence; `ranks` are
    the places, from 0, that each channel gave it; `cosine_distance` lies in [0, 1].
    """

    chunk: Chunk
    relevance: float
    score: float
    cosine_distance: float | None
    ranks: Mapping[Channel, int] = field(default_factory=dict[Channel, int])
    highlights: tuple[Highlight, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """How a retrieval went: milliseconds and hits per stage (S3 retrieval_metrics)."""

    vector_ms: int
    vector_hits: int
    vector_top: float
    vector_mean: float
    graph_ms: int
    graph_hits: int
    graph_depth: int
    concepts: int
    fusion_ms: int
    overlap: int
    fused_top: float
    rerank_ms: int
    rerank_top: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Evidence, best first, and how it was found.

    `weights` are the question's terms with the weight (inverse document frequency over what the reader sees) of
    each; `best` is the best calibrated relevance, 0.0 when there is no evidence.
    """

    question: Question
    weights: Mapping[str, float]
    evidence: tuple[Evidence, ...]
    best: float
    metrics: Metrics

    @property
    def is_enough(self) -> bool:
        return self.best >= ENOUGH


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """S2's eight fields, S3's id and title, and where exactly it stands.

    `id` is the mark in the answer, `[1]`; `snippet` is found word for word in the document.
    """

    id: str
    source_url: str
    source_system: str
    source_type: str
    document_ref: str
    chunk_ref: str
    chunk_id: str
    document_title: str
    created_at: datetime
    snippet: str
    score: float
    locator: Locator


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INSUFFICIENT = "insufficient"


def confidence(relevance: float) -> Confidence:
    """Return S3's word for the best relevance: from 0.85 high, from 0.7 medium, from 0.6 low."""
    if relevance >= 0.85:
        return Confidence.HIGH
    if relevance >= 0.7:
        return Confidence.MEDIUM
    return Confidence.LOW if relevance >= ENOUGH else Confidence.INSUFFICIENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back: text whose every sentence ends in its citation marks, or insufficient evidence.

    No citations, no answer: `citations` is empty exactly when `confidence` is insufficient. `nearest` then
    holds what came closest among what the reader may see.
    """

    query_id: QueryId
    question: str
    text: str
    citations: tuple[Citation, ...]
    confidence: Confidence
    relevance: float
    nearest: tuple[Citation, ...]
    model: str
    metrics: Metrics
