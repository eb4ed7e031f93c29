"""Sessions, logged queries and feedback. Users and questions appear as hashes only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from lightwell.domain.errors import Invalid
from lightwell.domain.evidence import ChannelMetrics
from lightwell.domain.ids import FeedbackId, QueryId, SessionId
from lightwell.domain.questions import Channel, Strategy
from lightwell.domain.texts import require_text

MAX_COMMENT_LENGTH = 2000
RATINGS = range(1, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRequest:
    """A user's opinion of an answer; `rating` is 1 (useless) to 5 (exactly right), 0 for a plain no.

    With `is_binary`, it is 0 (no) or 1 (yes), which counts as 5.
    """

    query_id: QueryId
    rating: int
    comment: str = ""
    is_binary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    id: FeedbackId
    query_id: QueryId
    rating: int
    comment: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A user's session; `ended_at` is None while it is open, and `queries` counts its questions."""

    id: SessionId
    started_at: datetime
    ended_at: datetime | None
    queries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSession(Session):
    """A session of any user, for administrators; the user is known by a keyed hash alone."""

    user_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedQuery:
    """One question of a user with its retrieval metrics; times are in milliseconds, scores in [0, 1].

    Equal questions of one project have the same `query_hash`. `vector_avg_score` is the mean of the ten nearest
    chunks, `rrf_top_score` the best fused score. `rating` is the mean of the user's ratings, None without any.
    """

    id: QueryId
    session_id: SessionId
    timestamp: datetime
    query_hash: str
    strategy: Strategy
    execution_time_ms: int
    vector_search_ms: int
    vector_result_count: int
    vector_top_score: float
    vector_avg_score: float
    graph_traversal_ms: int
    graph_result_count: int
    graph_max_depth: int
    concepts_found: int
    fusion_ms: int
    overlap_count: int
    rrf_top_score: float
    rerank_ms: int
    rerank_top_score: float
    confidence_threshold_met: bool
    final_context_tokens: int
    citation_count: int
    channels: Mapping[Channel, ChannelMetrics]
    rating: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSummary:
    """Totals and means over a user's questions; a mean is None where there is nothing to average.

    `threshold_met` is the share of questions whose relevance was at least 0.6.
    """

    queries: int
    by_strategy: Mapping[Strategy, int]
    mean_ms: float | None
    p95_ms: float | None
    threshold_met: float | None
    mean_citations: float | None
    mean_context_tokens: float | None
    ratings: int
    mean_rating: float | None


def validate_feedback(request: FeedbackRequest) -> FeedbackRequest:
    """Return the feedback with its comment trimmed and a rating from 0 to 5; raise `Invalid` for a rating out of range or a comment that
    is too long.
    """
    if request.is_binary and request.rating not in (0, 1):
        raise Invalid("A binary rating must be 0 or 1")
    if request.rating not in (0, *RATINGS):
        raise Invalid(f"Rating must be between {RATINGS[0]} and {RATINGS[-1]}")
    comment = require_text(request.comment, "The comment").strip()
    if len(comment) > MAX_COMMENT_LENGTH:
        raise Invalid("Comment exceeds maximum length")
    rating = RATINGS[-1] if request.is_binary and request.rating else request.rating
    return FeedbackRequest(query_id=request.query_id, rating=rating, comment=comment)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageOfDay:
    """What was asked on a day, and what reading documents cost; `mean_ms` is None where nothing was asked.

    `context_tokens` are those of the evidence that answers were made from.
    """

    day: date
    queries: int
    answered: int
    mean_ms: float | None
    context_tokens: int
    documents: int
    model_calls: int
    input_tokens: int
    output_tokens: int
