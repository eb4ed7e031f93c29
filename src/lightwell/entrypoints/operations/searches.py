"""Searches: the passages that are relevant to a question with what the graph states about it, and a question's keywords."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field, field_validator

from lightwell.domain.graph import Predicate
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, Channel, Mode
from lightwell.entrypoints.operations.citations import AmbiguousName, Usage
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.documents import ChunkMetadata
from lightwell.entrypoints.operations.questions import (
    ANY_DOCUMENT,
    DocumentFilters,
    QuestionText,
    SearchMode,
    Topic,
    TopK,
    UnderstoodFilter,
)
from lightwell.entrypoints.operations.replies import (
    Locator,
    Moment,
    OnServer,
    Reply,
    Rounded,
    SourceAddress,
    read_from,
)

searches = Subject(prefix="/v1", tag="questions")


class Passage(Reply):
    """A passage, the specification's RankedResult: `relevanceScore` is calibrated, `score` orders the passages.

    `ranks` are its places in the channels that found it, from 0; `snippet` is its best sentence, which stands at `snippetLocator`.
    """

    rank: Annotated[int, read_from("rank", "new_rank")]
    chunk_id: Annotated[UUID, read_from("chunkId", "chunk.id")]
    content: Annotated[str, read_from("content", "chunk.text")]
    chunk_ref: Annotated[str, read_from("chunkRef", "chunk.ref")]
    document_ref: Annotated[str, read_from("documentRef", "chunk.document_ref")]
    source_url: Annotated[str, read_from("sourceUrl", "chunk.url")]
    address: OnServer
    source_address: Annotated[SourceAddress, read_from("sourceAddress", "chunk.source_address")]
    source_system: Annotated[str, read_from("sourceSystem", "chunk.system")]
    source_type: Annotated[str, read_from("sourceType", "chunk.kind")]
    created_at: Annotated[Moment | None, read_from("createdAt", "chunk.created_at")]
    snippet: str
    snippet_locator: Locator
    relevance_score: Annotated[Rounded, read_from("relevanceScore", "relevance")]
    is_above_threshold: Annotated[bool, read_from("isAboveThreshold", "is_sufficient")]
    score: float
    rrf_score: float
    vector_rank: int | None
    graph_rank: int | None
    in_both_sources: Annotated[bool, read_from("inBothSources", "is_in_both_sources")]
    distance: Annotated[Rounded | None, read_from("distance", "cosine_distance")]
    sources: Annotated[list[Channel], read_from("sources", "channels")]
    ranks: Annotated[dict[Channel, int], AfterValidator(lambda ranks: dict(sorted(ranks.items())))]
    original_rank: int | None
    new_rank: int | None
    chunk_refs: list[str]
    locator: Annotated[Locator, read_from("locator", "chunk.locator")]
    metadata: Annotated[ChunkMetadata, read_from("metadata", "chunk")]


class FoundEntity(Reply):
    """An entity that the question concerns, as your documents describe it."""

    ref: str
    name: str
    kind: str
    description: str
    aliases: Annotated[list[str], read_from("aliases", "concept.aliases")]
    category: Annotated[str, read_from("category", "concept.category")]
    difficulty: Annotated[str, read_from("difficulty", "concept.difficulty")]
    tags: Annotated[list[str], read_from("tags", "concept.tags")]
    sources: list[str]


class FoundRelation(Reply):
    """A relation that the question concerns, as your documents state it; `comparison` and `useCase` only of COMPARED_TO."""

    source: str
    target: str
    predicate: Predicate
    keywords: str
    description: str
    comparison: str
    use_case: str
    weight: float
    sources: list[str]


class Keywords(Reply):
    """The keywords of a question: themes find relations, names and terms find entities."""

    high_level_keywords: Annotated[
        list[str],
        read_from("highLevelKeywords", "high"),
        Field(examples=[["purchasing conditions"]]),
    ]
    low_level_keywords: Annotated[
        list[str],
        read_from("lowLevelKeywords", "low"),
        Field(examples=[["Nordwind Energie", "discount"]]),
    ]
    query_hash: Annotated[str, read_from("queryHash", "question_hash")]
    cached_at: Moment | None
    by_model: bool


class ChannelFigures(Reply):
    ms: int
    hits: int


def _in_order(channels: dict[Channel, ChannelFigures]) -> dict[Channel, ChannelFigures]:
    return {channel: channels[channel] for channel in Channel if channel in channels}


class SearchMetadata(Reply):
    """How much each channel found, and how long it took."""

    vector_result_count: Annotated[int, read_from("vectorResultCount", "vector_hits")]
    graph_result_count: Annotated[int, read_from("graphResultCount", "graph_hits")]
    latency_ms: Annotated[int, read_from("latencyMs", "total_ms")]
    channels: Annotated[dict[Channel, ChannelFigures], AfterValidator(_in_order)]


class Passages(Reply):
    """The passages that are relevant to a question, best first, with what the graph states about it."""

    query_id: UUID
    query: Annotated[str, read_from("query", "question.text")]
    mode: Annotated[Mode, read_from("mode", "question.mode")]
    has_insufficient_evidence: bool
    relevance: Annotated[Rounded, read_from("relevance", "best_relevance")]
    threshold: float = SUFFICIENT_RELEVANCE
    results: Annotated[list[Passage], read_from("results", "evidence")]
    entities: list[FoundEntity]
    relations: list[FoundRelation]
    keywords: Annotated[Keywords, read_from("keywords", "analysis.keywords")]
    notes: list[str]
    ambiguous_names: list[AmbiguousName]
    filters: Annotated[list[UnderstoodFilter], read_from("filters", "understood")]
    metadata: Annotated[SearchMetadata, read_from("metadata", "metrics")]
    usage: Usage

    @field_validator("results")
    @classmethod
    def _number(cls, passages: list[Passage]) -> list[Passage]:
        """Return the passages with their ranks from 1, as they are shown."""
        return [
            passage.model_copy(update={"rank": rank})
            for rank, passage in enumerate(passages, start=1)
        ]


@searches.operation("POST", "/search", is_repeatable=True)
async def search_passages(
    caller: Caller,
    query: QuestionText,
    *,
    top_k: TopK = 5,
    topic_filter: Topic = "",
    filters: DocumentFilters = ANY_DOCUMENT,
    mode: SearchMode = Mode.MIX,
) -> Passages:
    """List the passages that are relevant to a question, best first. Mode `bypass` searches nothing, and is refused."""
    retrieval = await caller.knowledge_base.questions.search(
        query,
        caller.reader,
        filters=filters.with_topic(topic_filter),
        limit=top_k,
        mode=mode,
    )
    return caller.reply(Passages, retrieval)


@searches.operation("POST", "/keywords", is_repeatable=True)
async def extract_keywords(caller: Caller, query: QuestionText) -> Keywords:
    """Return a question's keywords: themes find relations, names and terms find entities."""
    return Keywords.model_validate(
        await caller.knowledge_base.questions.keywords(query, caller.reader)
    )
