"""Passages that a search found, with their scores."""

from typing import Annotated

from pydantic import Field

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.evidence import Retrieval
from lightwell.entrypoints.operations.replies import Schema
from lightwell.entrypoints.schemas.questions import AmbiguousName, LocatorSchema, UsageSchema


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
