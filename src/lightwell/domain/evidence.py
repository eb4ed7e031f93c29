"""Results of retrieval: passages with their scores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from lightwell.domain.documents import Chunk, Locator, document_address
from lightwell.domain.ids import QueryId, new_query_id
from lightwell.domain.questions import (
    GRAPH_CHANNELS,
    PASSAGE_CHANNELS,
    SUFFICIENT_RELEVANCE,
    Channel,
    Question,
    UnderstoodFilter,
)
from lightwell.domain.similarity import CosineScale
from lightwell.domain.usage import NO_USAGE, TokenSummary
from lightwell.text.analysis.passage import PassageAnalysis
from lightwell.text.analysis.stored import StoredAnalysis
from lightwell.text.pieces import LONGEST_PIECE, shorten

if TYPE_CHECKING:
    from lightwell.domain.graph import Entity, Relation
    from lightwell.domain.graph_views import Candidates
    from lightwell.domain.question_analysis import QuestionAnalysis
    from lightwell.domain.reranking import EncodedChunk, EncodedSpan, WindowMatch

RANK_OFFSET = 60
"""The k of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""

_WINDOW_COUNTS = 0.6
_OF_TOKENS = CosineScale(factor=2.2, offset=-0.9)
"""Makes of a token match what is about as large, and varies as much, as the similarity of the same units."""


def match_score(
    *, coverage: float, similarity: float, token_match: float, window_match: float
) -> float:
    """Return how well a unit matches the question: a half each of its coverage and its meaning, and some of its window's match.

    Its meaning is told by its token match, or by its similarity where its tokens were not compared.
    """
    meaning = _OF_TOKENS.similarity(token_match) if token_match else similarity
    return 0.5 * coverage + 0.5 * meaning + _WINDOW_COUNTS * window_match


def missing_share(
    names: frozenset[str], weights: Mapping[str, float], held_terms: frozenset[str]
) -> float:
    """Return which share of a question's proper names, by weight, is not among the terms of a passage: 0 to 1."""
    named = {word: weight for word, weight in weights.items() if word in names}
    whole = sum(named.values())
    missing = sum(weight for word, weight in named.items() if word not in held_terms)
    return missing / whole if whole else 0.0


def rrf_score(ranks: Iterable[int]) -> float:
    """Return the score of reciprocal rank fusion: the sum over these positions, from 0, in the channels."""
    return sum(1 / (RANK_OFFSET + rank + 1) for rank in ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """A sentence, list item or table row of a passage that matches the question: `chunk.text[start:end]`.

    `coverage` is the share of the question's term weights that occur in it, `similarity` the cosine similarity
    in meaning, `token_match` how well it matches token by token (both 0 where it was not compared), `window_match` how well the window around it matches, 1 for the best window of the
    passages that were found and 0 for the worst (and for one that is not encoded); each 0 to 1.
    """

    start: int
    end: int
    coverage: float
    similarity: float
    token_match: float = 0.0
    window_match: float = 0.0

    @property
    def score(self) -> float:
        return match_score(
            coverage=self.coverage,
            similarity=self.similarity,
            token_match=self.token_match,
            window_match=self.window_match,
        )


_UNREAD = PassageAnalysis(text="", chunks=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A passage that is relevant to the question, with its scores.

    `chunk` is a published chunk, or several neighbouring `members` of one document joined to one passage.
    `highlights` are its best sentences, list items or rows, best first; `windows` are its parts in their order, where it was encoded
    for late interaction, and `encoded` its chunks' vectors. `relevance` is calibrated to [0, 1];
    `score` is the fusion's own; `ranks` are the positions, from 0, in each channel; `cosine_distance` lies in
    [0, 1]. `original_rank` and `new_rank` are its positions, from 0, before and after reranking. `is_near`: it
    stands near what the last answer of the conversation cites. `analysis` is what was read in the
    text of `chunk`: what is stored, else it is read when it is asked for.
    """

    chunk: Chunk
    relevance: float
    score: float
    cosine_distance: float | None
    ranks: Mapping[Channel, int] = field(default_factory=dict[Channel, int])
    highlights: tuple[Highlight, ...] = ()
    windows: "tuple[WindowMatch, ...]" = ()
    encoded: "tuple[EncodedChunk, ...]" = ()
    members: tuple[Chunk, ...] = ()
    original_rank: int = 0
    new_rank: int = 0
    is_near: bool = False
    analysis: PassageAnalysis = field(default=_UNREAD, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.analysis.text != self.chunk.text:
            stored = self.chunk.analysis
            if stored is None or stored.text != self.chunk.text:  # a part of the chunk is shown
                stored = StoredAnalysis(text=self.chunk.text)
            analysis = PassageAnalysis(text=self.chunk.text, chunks=((0, stored),))
            object.__setattr__(self, "analysis", analysis)

    @property
    def published_chunks(self) -> tuple[Chunk, ...]:
        """The published chunks that the passage consists of, in the order of the document."""
        return self.members or (self.chunk,)

    def spans(self, start: int, end: int) -> "tuple[EncodedSpan, ...]":
        """Return a part of the passage, `chunk.text[start:end]`, by the vectors of its chunks; () where it is not encoded."""
        return tuple(chunk.span(start, end) for chunk in self.encoded)

    @property
    def is_sufficient(self) -> bool:
        return self.relevance >= SUFFICIENT_RELEVANCE

    @property
    def rrf_score(self) -> float:
        """The score of reciprocal rank fusion, of the ranks in the channels."""
        return round(rrf_score(self.ranks.values()), 6)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels that found it, by name."""
        return tuple(sorted(self.ranks))

    @property
    def vector_rank(self) -> int | None:
        """The best rank by passages, from 0; None where only the graph found it."""
        return self._best_rank(PASSAGE_CHANNELS)

    @property
    def graph_rank(self) -> int | None:
        """The best rank by the graph, from 0; None where the graph did not find it."""
        return self._best_rank(GRAPH_CHANNELS)

    @property
    def is_in_both_sources(self) -> bool:
        return self.vector_rank is not None and self.graph_rank is not None

    @property
    def chunk_refs(self) -> tuple[str, ...]:
        return tuple(chunk.ref for chunk in self.published_chunks)

    @property
    def snippet(self) -> str:
        """The best unit, else the beginning."""
        start, end = self._best_unit
        return shorten(self.chunk.text[start:end], LONGEST_PIECE)

    @property
    def snippet_locator(self) -> Locator:
        """Where in the document the best unit stands."""
        start, end = self._best_unit
        offset = self.chunk.locator.start
        return self.chunk.layout.locate(offset + start, offset + end)

    @property
    def address(self) -> str:
        """Where this server shows the best unit: the path of a page, with the unit as its fragment."""
        place = self.snippet_locator
        return document_address(self.chunk.document_id, place.start, place.end)

    @property
    def _best_unit(self) -> tuple[int, int]:
        if not self.highlights:
            return 0, len(self.chunk.text)
        return self.highlights[0].start, self.highlights[0].end

    def _best_rank(self, channels: frozenset[Channel]) -> int | None:
        ranks = (rank for channel, rank in self.ranks.items() if channel in channels)
        return min(ranks, default=None)

    def member_at(self, start: int) -> Chunk:
        """Return the published chunk that contains the position `chunk.text[start]`."""
        place = self.chunk.locator.start + start
        return next((member for member in self.members if member.locator.end > place), self.chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """Something that we owe: `text` says what, who and by when, in words of the document, of which `evidence.chunk.text[start:end]` is quoted.

    `due` is None where it names no day of the calendar.
    """

    evidence: Evidence
    start: int
    end: int
    text: str
    due: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedRow:
    """A row of a table, `evidence.chunk.text[start:end]`; `text` has it with the names of its columns."""

    evidence: Evidence
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedLine:
    """A sentence about what rows of tables come to, and the rows that it cites, at least one."""

    text: str
    rows: tuple[QuotedRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """What was computed over rows of tables, or the `refusal` that says why nothing was."""

    lines: tuple[ComputedLine, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMetrics:
    """How long a channel took, in milliseconds of wall time (channels run concurrently), and how many chunks it found."""

    ms: int
    hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Durations in milliseconds and hits, per stage and per channel.

    `graph_depth` is the number of graph edges (mentions, relations and links) on the longest path to a chunk
    that was found. `rrf_top` is the best score that reciprocal rank fusion gives, whatever ranks the evidence. `total_ms` begins with the question's embedding;
    of what a search returns, it is the whole time.
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
    rrf_top: float
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
    rrf_top=0.0,
    rerank_ms=0,
    rerank_top=0.0,
)
"""The metrics of a question for which nothing was searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Evidence, best first, and how it was found.

    `analysis` is that of the question as it was read, with its spelling corrected, and has the keywords for the graph search. `weights` are the question's
    terms with their weights: inverse document frequencies over what the reader sees. `best_relevance` is 0.0
    without evidence. `entities` and `relations` are what the graph states, as the reader sees it: named entities
    first, then the nearest; relations by weight. `notes` report corrected words and what failed, such as a reranker that did not
    answer. `usage` is the cost of model calls. `ambiguous_names` lists the candidates of each name in the question
    that several entities have. `parts` is what was found for each part of a question that asks several things, where the parts
    were searched one by one; `best_relevance` is then that of the least relevant part. `at_first` is what was found before a model
    looked further, None where none did: `evidence` is what it read, and extracts are made of what was found at first.
    `understood` are filters that words of the question mean;
    `asks_for_documents` is whether it says nothing else, as in "messages from last month".
    `is_elsewhere`: nothing in the documents that the question named answers, so this is of others. `owed` is what business systems say that we owe, or that is open, where
    the question asks for that, and None where it does not, or where no system knows with whom something is open. `computation` is what rows of
    tables come to, where the question asks for that, and then all that is said.
    """

    question: Question
    analysis: "QuestionAnalysis"
    weights: Mapping[str, float]
    evidence: tuple[Evidence, ...]
    best_relevance: float
    metrics: Metrics
    entities: "tuple[Entity, ...]" = ()
    relations: "tuple[Relation, ...]" = ()
    notes: tuple[str, ...] = ()
    usage: TokenSummary = NO_USAGE
    query_id: QueryId = field(default_factory=new_query_id)
    ambiguous_names: "tuple[Candidates, ...]" = ()
    parts: tuple["Retrieval", ...] = ()
    at_first: "Retrieval | None" = None
    understood: tuple[UnderstoodFilter, ...] = ()
    asks_for_documents: bool = False
    is_elsewhere: bool = False
    owed: tuple[Commitment, ...] | None = None
    computation: Computation | None = None

    @property
    def is_sufficient(self) -> bool:
        return self.best_relevance >= SUFFICIENT_RELEVANCE

    @property
    def has_insufficient_evidence(self) -> bool:
        return not self.is_sufficient
