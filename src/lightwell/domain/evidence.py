"""What was found, and what goes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lightwell.domain.candidates import Candidates
from lightwell.domain.documents import Chunk, Locator
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.ids import QueryId, new_query_id
from lightwell.domain.query_analysis import QueryAnalysis
from lightwell.domain.questions import Channel, Question
from lightwell.domain.usage import NO_USAGE, TokenSummary

SUFFICIENT_RELEVANCE = 0.6
"""The calibrated relevance that the best evidence must reach before anything is answered."""

INSUFFICIENT = "Insufficient evidence: the documents you may see do not answer this."


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
    """A passage that bears on the question, with why.

    `chunk` is a published chunk, or several neighbouring `members` of one document joined to one passage.
    `highlights` are its best units, best first. `relevance` is calibrated to [0, 1]; `score` is the fusion's own;
    `ranks` are the places, from 0, that each channel gave it; `cosine_distance` lies in [0, 1]. `original_rank` and
    `new_rank` are its places, from 0, before and after reranking.
    """

    chunk: Chunk
    relevance: float
    score: float
    cosine_distance: float | None
    ranks: Mapping[Channel, int] = field(default_factory=dict[Channel, int])
    highlights: tuple[Highlight, ...] = ()
    members: tuple[Chunk, ...] = ()
    original_rank: int = 0
    new_rank: int = 0

    @property
    def published(self) -> tuple[Chunk, ...]:
        """The published chunks that it is made of, in the order of the document."""
        return self.members or (self.chunk,)

    def member_at(self, start: int) -> Chunk:
        """Return the published chunk that holds the place `chunk.text[start]`."""
        at = self.chunk.locator.start + start
        return next((each for each in self.members if each.locator.end > at), self.chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMetrics:
    """How long a channel took, in milliseconds of wall time beside the others, and how many chunks it found."""

    ms: int
    hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """How a retrieval went: milliseconds and hits per stage (S3 retrieval_metrics) and per channel.

    `graph_depth` is how many edges of the graph, of mentions, statements and links, lie on the longest way to a chunk that
    was found. `total_ms` is all of it, from the question's embedding on.
    """

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
    channels: Mapping[Channel, ChannelMetrics] = field(
        default_factory=dict[Channel, ChannelMetrics]
    )
    total_ms: int = 0


NO_METRICS = Metrics(
    vector_ms=0,
    vector_hits=0,
    vector_top=0.0,
    vector_mean=0.0,
    graph_ms=0,
    graph_hits=0,
    graph_depth=0,
    concepts=0,
    fusion_ms=0,
    overlap=0,
    fused_top=0.0,
    rerank_ms=0,
    rerank_top=0.0,
)
"""Of a question for which nothing was looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Evidence, best first, and how it was found.

    `analysis` is the question's, with the keywords that led to the graph. `weights` are the question's terms with the weight (inverse document frequency over what the reader sees) of
    each; `best` is the best calibrated relevance, 0.0 when there is no evidence. `entities` and `relations` are what
    the graph says, as the reader sees it: entities that are named, then the nearest; the weightiest relations first.
    `notes` tell of what did not go as it should, such as a
    reranker that did not answer. `usage` is what the calls to endpoints cost.
    `ambiguous_names` are the pick lists of the question's names that fit several entities.
    """

    question: Question
    analysis: QueryAnalysis
    weights: Mapping[str, float]
    evidence: tuple[Evidence, ...]
    best: float
    metrics: Metrics
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    notes: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
    query_id: QueryId = field(default_factory=new_query_id)
    ambiguous_names: tuple[Candidates, ...] = ()

    @property
    def is_enough(self) -> bool:
        return self.best >= SUFFICIENT_RELEVANCE


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
    return Confidence.LOW if relevance >= SUFFICIENT_RELEVANCE else Confidence.INSUFFICIENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back: text whose every sentence ends in its citation marks, or insufficient evidence.

    No citations, no answer: `citations` is empty exactly when `confidence` is insufficient. `nearest` then
    holds what came closest among what the reader may see, by score; its ids are no marks in the text. In mode `bypass`
    the text is the model's own, after a sentence that says so; it has no citations, its confidence is insufficient and
    `nearest` is empty. `usage` is what the calls to endpoints cost, those of the retrieval included. `ambiguous_names`
    are the pick lists of the question's names that fit several entities.
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
    context_tokens: int = 0
    notes: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
    ambiguous_names: tuple[Candidates, ...] = ()
