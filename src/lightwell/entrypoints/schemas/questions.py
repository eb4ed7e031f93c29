"""Questions and answers."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import Field

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.answers import Answer
from lightwell.domain.ids import SessionId
from lightwell.domain.questions import MAX_QUESTION_LENGTH, Mode, QueryRequest
from lightwell.entrypoints.schemas import Schema


class QueryBody(Schema):
    """A question: the specification's QueryRequest."""

    query: Annotated[
        str,
        Field(
            max_length=MAX_QUESTION_LENGTH,
            examples=["What discount does Nordwind Energie receive?"],
        ),
    ]
    session_id: Annotated[
        UUID | None, Field(description="Your open session that the question belongs to.")
    ] = None
    top_k: Annotated[
        int, Field(ge=1, le=20, description="How many passages the answer may rest on.")
    ] = 5
    include_graph: Annotated[bool, Field(description="Whether the graph is searched, too.")] = True
    topic_filter: Annotated[str, Field(description="Only documents with this topic tag.")] = ""
    mode: Annotated[Mode, Field(description="Where evidence is looked for.")] = Mode.MIX

    def to_request(self) -> QueryRequest:
        return QueryRequest(
            query=self.query,
            session_id=SessionId(self.session_id) if self.session_id else None,
            top_k=self.top_k,
            include_graph=self.include_graph,
            topic_filter=self.topic_filter,
            mode=self.mode,
        )


class LocatorSchema(Schema):
    """Where in the document a quotation stands; `start` and `end` are characters of its text."""

    page: int | None
    last_page: int | None
    section: list[str]
    start: int
    end: int


class CitationSchema(Schema):
    """A quotation with its document. `id` is the mark in the answer; `highlight` the key sentence in `snippet`."""

    id: str
    chunk_id: str
    chunk_ref: str
    document_ref: str
    document_title: str
    document_url: str
    source_url: str
    source_system: str
    source_type: str
    created_at: str
    snippet: str
    highlight: list[int] | None
    score: float
    relevance_score: float
    locator: LocatorSchema


class AnswerMetadata(Schema):
    """Figures of one answer."""

    query_id: str
    total_tokens: int
    citation_count: int
    confidence: str
    vector_result_count: int
    graph_result_count: int
    latency_ms: int


class CandidateSchema(Schema):
    """An entity that a name may mean."""

    entity_id: str
    entity_ref: str
    entity_name: str
    entity_type: str
    distinguishing: dict[str, str]


class AmbiguousName(Schema):
    """A name in the question that may mean several entities."""

    name: str
    candidates: list[CandidateSchema]


class UsageSchema(Schema):
    """What calls of models cost."""

    calls: int
    total_input_tokens: int
    total_output_tokens: int
    by_operation_type: dict[str, object]


class QueryResponse(Schema):
    """An answer: the specification's QueryResponse. Insufficient evidence is an answer, too: then `nearest` has what came closest."""

    query_id: str
    query: str
    answer: str
    confidence: Annotated[str, Field(examples=["high", "medium", "low", "insufficient"])]
    relevance: float
    threshold: float
    model: str
    highlights: list[list[int]]
    citations: list[CitationSchema]
    nearest: list[CitationSchema]
    notes: list[str]
    ambiguous_names: list[AmbiguousName]
    metadata: AnswerMetadata
    usage: UsageSchema


def query_response(answer: Answer, *, milliseconds: int) -> QueryResponse:
    """Return the answer as the server sends it."""
    document: Mapping[str, object] = json_output.answer(answer, milliseconds=milliseconds)
    return QueryResponse.model_validate(
        {**document, "usage": json_output.usage(answer.usage)}, by_alias=True
    )
