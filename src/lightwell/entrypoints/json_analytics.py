"""Sessions, questions and feedback as JSON, with the keys that HTTP uses."""

from collections.abc import Mapping

from lightwell.domain.analytics import (
    Feedback,
    LoggedQuery,
    MetricsSummary,
    ProjectSession,
    Session,
)

Json = Mapping[str, object]


def session(session: Session) -> Json:
    """Return a session; `endedAt` is null while it is open."""
    return {
        "sessionId": str(session.id),
        "startedAt": session.started_at.isoformat(),
        "endedAt": session.ended_at.isoformat() if session.ended_at else None,
        "queries": session.queries,
    }


def project_session(found: ProjectSession) -> Json:
    """Return a session of any user, with the hash of the user."""
    return {**session(found.session), "userHash": found.user_hash}


def feedback(feedback: Feedback) -> Json:
    """Return a rating."""
    return {
        "feedbackId": str(feedback.id),
        "queryId": str(feedback.query_id),
        "rating": feedback.rating,
        "comment": feedback.comment,
        "createdAt": feedback.created_at.isoformat(),
    }


def query(query: LoggedQuery) -> Json:
    """Return a question with its metrics, without its words."""
    return {
        "queryId": str(query.id),
        "sessionId": str(query.session_id),
        "timestamp": query.timestamp.isoformat(),
        "queryHash": query.query_hash,
        "strategyUsed": query.strategy.value,
        "executionTimeMs": query.execution_time_ms,
        "vectorSearchMs": query.vector_search_ms,
        "vectorResultCount": query.vector_result_count,
        "vectorTopScore": query.vector_top_score,
        "vectorAvgScore": query.vector_avg_score,
        "graphTraversalMs": query.graph_traversal_ms,
        "graphResultCount": query.graph_result_count,
        "graphMaxDepth": query.graph_max_depth,
        "conceptsFound": query.concepts_found,
        "fusionMs": query.fusion_ms,
        "overlapCount": query.overlap_count,
        "rrfTopScore": query.rrf_top_score,
        "rerankMs": query.rerank_ms,
        "rerankTopScore": query.rerank_top_score,
        "confidenceThresholdMet": query.confidence_threshold_met,
        "finalContextTokens": query.final_context_tokens,
        "citationCount": query.citation_count,
        "channels": {
            channel.value: {"ms": each.ms, "hits": each.hits}
            for channel, each in query.channels.items()
        },
        "rating": query.rating,
    }


def summary(found: MetricsSummary) -> Json:
    """Return totals and means over questions; a mean is null where there is nothing to average."""
    return {
        "queries": found.queries,
        "byStrategy": {strategy.value: count for strategy, count in found.by_strategy.items()},
        "meanMs": found.mean_ms,
        "p95Ms": found.p95_ms,
        "thresholdMet": found.threshold_met,
        "meanCitations": found.mean_citations,
        "meanContextTokens": found.mean_context_tokens,
        "ratings": found.ratings,
        "meanRating": found.mean_rating,
    }
