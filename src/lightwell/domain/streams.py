"""A streamed answer: events as clients receive them."""

from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.evidence import Answer, Citation, Confidence
from lightwell.domain.ids import QueryId
from lightwell.text.tokens import token_count


class StreamType(StrEnum):
    TOKEN = "token"  # noqa: S105 - the name of an event
    CITATION = "citation"
    METADATA = "metadata"
    DONE = "done"
    ERROR = "error"


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
    """One event: a `token` has content, a `citation` its citation, `metadata` the figures, an `error` its
    message.

    The concatenated contents of the tokens are the answer's text. `answer` is the whole answer, on `done` only:
    for the query log. Only its notes are sent to the client.
    """

    type: StreamType
    content: str = ""
    citation: Citation | None = None
    metadata: ResponseMetadata | None = None
    error: str = ""
    answer: Answer | None = None


def response_metadata(answer: Answer, *, latency_ms: int) -> ResponseMetadata:
    """Return the figures of an answer that took `latency_ms` milliseconds."""
    return ResponseMetadata(
        query_id=answer.query_id,
        total_tokens=answer.context_tokens + token_count(answer.text),
        citation_count=len(answer.citations),
        confidence=answer.confidence,
        vector_result_count=answer.metrics.vector_hits,
        graph_result_count=answer.metrics.graph_hits,
        latency_ms=latency_ms,
    )
