"""Passages that a search found, with their scores."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Retrieval
from lightwell.domain.requests import EmbeddedChunk
from lightwell.entrypoints.operations.replies import NextAfter, Schema
from lightwell.entrypoints.schemas.questions import AmbiguousName, LocatorSchema, UsageSchema

MAX_PASSAGES = 500


class ChunkMetadataSchema(Schema):
    """What is known of a passage: its document, its place, and what it holds."""

    document_id: str
    document_ref: str
    document_url: str
    document_title: str
    page_number: int | None
    section_path: list[str]
    chunk_index: int
    has_code: bool
    has_formula: bool
    has_table: bool
    language: str
    token_count: int
    llm_cache_ids: list[str]
    topic: str
    created_at: str | None
    document_updated_at: str | None
    ingested_at: str | None


class PassageSchema(Schema):
    """A passage, the specification's RankedResult: `relevanceScore` is calibrated, `score` orders the passages.

    `ranks` are its places in the channels that found it, from 0; `snippet` is its best sentence.
    """

    rank: int
    chunk_id: str
    content: str
    chunk_ref: str
    document_ref: str
    source_url: str
    source_system: str
    source_type: str
    created_at: str | None
    snippet: str
    relevance_score: float
    is_above_threshold: bool
    score: float
    rrf_score: float
    vector_rank: int | None
    graph_rank: int | None
    in_both_sources: bool
    distance: float | None
    sources: list[str]
    ranks: dict[str, int]
    original_rank: int | None
    new_rank: int | None
    chunk_refs: list[str]
    locator: LocatorSchema
    metadata: ChunkMetadataSchema


class FoundEntitySchema(Schema):
    """An entity that the question concerns, as your documents describe it."""

    ref: str
    name: str
    kind: str
    description: str
    aliases: list[str]
    category: str
    difficulty: str
    tags: list[str]
    sources: list[str]


class FoundRelationSchema(Schema):
    """A relation that the question concerns, as your documents state it; `comparison` and `useCase` only of COMPARED_TO."""

    source: str
    target: str
    predicate: str
    keywords: str
    description: str
    comparison: str
    use_case: str
    weight: float
    sources: list[str]


class KeywordsSchema(Schema):
    """The keywords of a question: themes find relations, names and terms find entities."""

    high_level_keywords: Annotated[list[str], Field(examples=[["purchasing conditions"]])]
    low_level_keywords: Annotated[list[str], Field(examples=[["Nordwind Energie", "discount"]])]
    query_hash: str
    cached_at: str | None
    by_model: bool


class ChannelSchema(Schema):
    ms: int
    hits: int


class SearchMetadata(Schema):
    """How much each channel found, and how long it took."""

    vector_result_count: int
    graph_result_count: int
    latency_ms: int
    channels: dict[str, ChannelSchema]


class SearchResponse(Schema):
    """The passages that are relevant to a question, best first, with what the graph states about it."""

    query_id: str
    query: str
    mode: str
    has_insufficient_evidence: bool
    relevance: float
    threshold: float
    results: list[PassageSchema]
    entities: list[FoundEntitySchema]
    relations: list[FoundRelationSchema]
    keywords: KeywordsSchema
    notes: list[str]
    ambiguous_names: list[AmbiguousName]
    metadata: SearchMetadata
    usage: UsageSchema


def search_response(found: Retrieval, *, milliseconds: int) -> SearchResponse:
    """Return the retrieval as the server sends it."""
    document = json_output.retrieval(found, milliseconds=milliseconds)
    return SearchResponse.model_validate(
        {**document, "usage": json_output.usage(found.usage)}, by_alias=True
    )


class PassageQuery(Schema):
    """Which passages of a document to list."""

    limit: Annotated[int, Field(ge=1, le=MAX_PASSAGES, description="How many items, at most.")] = (
        100
    )
    after: Annotated[
        int,
        Field(ge=0, le=1_000_000_000, description="Skip so many: `nextAfter` of the page before."),
    ] = 0


class DocumentPassageSchema(Schema):
    """A passage of a document."""

    chunk_id: str
    chunk_ref: str
    content: str
    locator: LocatorSchema
    metadata: ChunkMetadataSchema


class PassagePage(Schema):
    """A document's passages in order; `nextAfter` is empty on the last page."""

    passages: list[DocumentPassageSchema]
    next_after: NextAfter


class GivenPassage(Schema):
    """A passage of 100 to 2000 tokens. An embedding has the dimension of the project's model; without one, it is computed."""

    content: Annotated[str, Field(examples=["Nordwind Energie receives a discount of 18 percent."])]
    embedding: Annotated[list[float] | None, Field(max_length=16_000)] = None
    section_path: Annotated[list[str], Field(max_length=100, default_factory=list)]


class PassagesBody(Schema):
    """The whole content of a document, passage by passage."""

    passages: Annotated[
        list[GivenPassage],
        Field(
            min_length=1,
            max_length=10_000,
            examples=[[{"content": "Nordwind Energie receives a discount of 18 percent."}]],
        ),
    ]

    def to_chunks(self) -> list[EmbeddedChunk]:
        return [
            EmbeddedChunk(
                content=each.content,
                embedding=None if each.embedding is None else tuple(each.embedding),
                section_path=tuple(each.section_path),
            )
            for each in self.passages
        ]


def passage_page(found: Sequence[Chunk], query: PassageQuery) -> PassagePage:
    """Return the page; `found` is one longer where another page follows."""
    page = found[: query.limit]
    return PassagePage.model_validate(
        {
            "passages": json_output.chunks(page),
            "nextAfter": str(query.after + len(page)) if len(found) > len(page) else "",
        },
        by_alias=True,
    )
