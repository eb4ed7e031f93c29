"""An answer as it comes: S3's events."""

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
    """S3's numbers of one answer; `total_tokens` is what was shown as evidence and what was answered."""

    query_id: QueryId
    total_tokens: int
    citation_count: int
    confidence: Confidence
    vector_result_count: int
    graph_result_count: int
    latency_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChunk:
    """One event: a `token` has content, a `citation` its citation, `metadata` the numbers, an `error` its message.

    The contents of the tokens, put together, are the answer's text. `answer` is the whole answer, on `done` alone: it is
    what is written down, and only its notes are for the wire.
    """

    type: StreamType
    content: str = ""
    citation: Citation | None = None
    metadata: ResponseMetadata | None = None
    error: str = ""
    answer: Answer | None = None


def response_metadata(answer: Answer, *, latency_ms: int) -> ResponseMetadata:
    """Return the numbers of an answer that took so many milliseconds."""
    return ResponseMetadata(
        query_id=answer.query_id,
        total_tokens=answer.context_tokens + token_count(answer.text),
        citation_count=len(answer.citations),
        confidence=answer.confidence,
        vector_result_count=answer.metrics.vector_hits,
        graph_result_count=answer.metrics.graph_hits,
        latency_ms=latency_ms,
    )
