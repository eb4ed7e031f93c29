"""Questions and answers."""

from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

import lightwell.entrypoints.json_brief as json_brief
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.answers import Answer
from lightwell.domain.candidates import Candidates
from lightwell.domain.ids import SessionId
from lightwell.domain.questions import MAX_QUESTION_LENGTH, Mode, QueryRequest
from lightwell.entrypoints.operations.replies import Schema

# The limits are declared, and checked by the domain: its messages are those of the specification.
QuestionText = Annotated[
    str,
    Field(
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUESTION_LENGTH},
        examples=["What discount does Nordwind Energie receive?"],
    ),
]
TopK = Annotated[
    int,
    Field(
        description="How many passages, at most.", json_schema_extra={"minimum": 1, "maximum": 20}
    ),
]
Topic = Annotated[
    str,
    Field(description="Only documents with this topic tag.", json_schema_extra={"maxLength": 256}),
]
SearchMode = Annotated[Mode, Field(description="Where evidence is looked for.")]


class QueryBody(Schema):
    """A question: the specification's QueryRequest."""

    query: QuestionText
    session_id: Annotated[
        UUID | None, Field(description="Your open session that the question belongs to.")
    ] = None
    top_k: TopK = 5
    include_graph: Annotated[bool, Field(description="Whether the graph is searched, too.")] = True
    topic_filter: Topic = ""
    mode: SearchMode = Mode.MIX

    def to_request(self) -> QueryRequest:
        return QueryRequest(
            query=self.query,
            session_id=SessionId(self.session_id) if self.session_id else None,
            top_k=self.top_k,
            include_graph=self.include_graph,
            topic_filter=self.topic_filter,
            mode=self.mode,
        )


class StreamBody(QueryBody):
    """A question whose answer is streamed: the specification's StreamQueryRequest."""

    stream: Annotated[
        Literal[True], Field(description="Always true, with or without this field.")
    ] = True


class KeywordsBody(Schema):
    """A question whose keywords are wanted."""

    query: QuestionText


class SearchBody(Schema):
    """A question whose passages or statements are wanted. Mode `bypass` searches nothing, and is refused."""

    query: QuestionText
    top_k: TopK = 5
    topic_filter: Topic = ""
    mode: SearchMode = Mode.MIX


class StatementsBody(SearchBody):
    """A question to which everything that documents state is wanted."""

    top_k: TopK = 20


class LocatorSchema(Schema):
    """Where in the document a quotation stands; `start` and `end` are characters of its text."""

    page: int | None
    last_page: int | None
    section: list[str]
    start: int
    end: int


class CitationSchema(Schema):
    """A quotation with its document. `id` is the mark in the answer; `highlight` the key sentence in `snippet`."""

    id: Annotated[str, Field(examples=["[1]"])]
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
    highlight: Annotated[list[int] | None, Field(examples=[[0, 51]])]
    score: float
    relevance_score: float
    locator: LocatorSchema
    supplied_by_hand: Annotated[
        bool,
        Field(
            description="Whether somebody handed the passage in, in place of what the document's source says."
        ),
    ]


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
    """A name that may mean several entities: a pick list. The reference of one of them settles it."""

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
    highlights: Annotated[list[list[int]], Field(examples=[[[0, 51]]])]
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


class StatementSchema(Schema):
    """What a document states, verbatim or by a model, with its date: `saidAt` of the document, `dates` in the text."""

    text: str
    source_chunk_id: str
    said_at: str | None
    dates: list[str]
    citations: list[CitationSchema]


class LatencySchema(Schema):
    latency_ms: int


class StatementsResponse(Schema):
    """The statements, the newest first; none where the evidence is insufficient: then `nearest` has what came closest."""

    query_id: str
    query: str
    statements: list[StatementSchema]
    confidence: str
    relevance: float
    threshold: float
    model: str
    nearest: list[CitationSchema]
    notes: list[str]
    ambiguous_names: list[AmbiguousName]
    metadata: LatencySchema
    usage: UsageSchema


def statements_response(answer: Answer, *, milliseconds: int) -> StatementsResponse:
    """Return the statements as the server sends them."""
    document = json_output.statements(answer, milliseconds=milliseconds)
    return StatementsResponse.model_validate(
        {**document, "usage": json_output.usage(answer.usage)}, by_alias=True
    )


class CandidatesResponse(AmbiguousName):
    """What a name may mean; `queryId` identifies the request."""

    query_id: str


def candidates_response(found: Candidates) -> CandidatesResponse:
    """Return the candidates as the server sends them."""
    return CandidatesResponse.model_validate(json_brief.candidates(found), by_alias=True)
