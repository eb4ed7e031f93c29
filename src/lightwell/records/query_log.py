"""The query log: the metrics of each question. Users and questions are stored only as hashes."""

import hashlib
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import psycopg
from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer, Citation
from lightwell.domain.errors import StoreFailed
from lightwell.domain.evidence import SUFFICIENT_RELEVANCE, Metrics
from lightwell.domain.ids import ConversationId, ProjectId, QueryId, SessionId, new_id
from lightwell.domain.questions import Strategy
from lightwell.logs import logger
from lightwell.records.database import Database, repeatable
from lightwell.records.rows import fetch_values
from lightwell.text.tokens import token_count

_log = logger(__name__)

# A conversation is one session, known by a hash, so that the log cannot be joined with the conversation's messages.
_SESSION = """
INSERT INTO analytics_sessions (id, project_id, user_hash, conversation_hash, ended_at)
VALUES (%(new_session)s, %(project_id)s, keyed_hash(%(project_id)s, %(user)s),
        keyed_hash(%(project_id)s, %(conversation)s), now())
ON CONFLICT (conversation_hash) DO UPDATE SET ended_at = now()
RETURNING id
"""

_QUERY = """
INSERT INTO rag_queries (
    id, project_id, session_id, query_hash, execution_time_ms, vector_hits, graph_hits, strategy_used, document_ids)
VALUES (
    %(query)s, %(project_id)s, %(session)s, keyed_hash(%(project_id)s, %(hash)s), %(total_ms)s, %(vector_hits)s, %(graph_hits)s, %(strategy)s,
    ARRAY(SELECT document_id FROM source_documents
          WHERE project_id = %(project_id)s AND class_id = ANY(%(classes)s) AND global_ref = ANY(%(refs)s)))
"""

_METRICS = """
INSERT INTO retrieval_metrics (
    id, query_id, vector_search_ms, vector_result_count, vector_top_score, vector_avg_score, graph_traversal_ms,
    graph_result_count, graph_max_depth, concepts_found, fusion_ms, overlap_count, rrf_top_score, rerank_ms,
    rerank_top_score, confidence_threshold_met, final_context_tokens, citation_count, channels)
VALUES (
    %(metrics)s, %(query)s, %(vector_ms)s, %(vector_hits)s, %(vector_top)s, %(vector_mean)s, %(graph_ms)s,
    %(graph_hits)s, %(graph_depth)s, %(concepts)s, %(fusion_ms)s, %(overlap)s, %(rrf_top)s, %(rerank_ms)s,
    %(rerank_top)s, %(met)s, %(tokens)s, %(citations)s, %(channels)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLog:
    """What is logged of a question: its metrics, the number of citations, and the references of the documents.

    `context_tokens` counts what a model was shown, or what is quoted where none was.
    """

    id: QueryId
    question: str
    strategy: Strategy
    metrics: Metrics
    context_tokens: int = 0
    citations: int = 0
    documents: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionContext:
    """The reader, the start by `time.perf_counter`, and the session or conversation of a question, if any."""

    reader: Reader
    started_at: float
    session: SessionId | None = None
    conversation: ConversationId | None = None


def make_query_log(strategy: Strategy, answer: Answer) -> QueryLog:
    """Return the log entry of an answer; its documents include those of the nearest pieces."""
    return QueryLog(
        id=answer.query_id,
        question=answer.question,
        strategy=strategy,
        metrics=answer.metrics,
        context_tokens=answer.context_tokens or count_quoted_tokens(answer.citations),
        citations=len(answer.citations),
        documents=frozenset(shown.document_ref for shown in (*answer.citations, *answer.nearest)),
    )


def count_quoted_tokens(citations: Iterable[Citation]) -> int:
    """Return the tokens of the passages' parts that are quoted."""
    return sum(token_count(citation.snippet) for citation in citations)


async def record(database: Database, context: QuestionContext, log: QueryLog) -> None:
    """Log a question; a question outside a session or conversation gets a session of its own.

    A failure is only logged as a warning: the answer must not be lost because of it.
    """
    try:
        await _record(database, context, log)
    except (StoreFailed, psycopg.Error) as error:
        # A raw database message may quote a row, so only ours is logged.
        reason = str(error) if isinstance(error, StoreFailed) else type(error).__name__
        _log.warning("the query log was not written", query=str(log.id), error=reason)


@repeatable
async def _record(database: Database, context: QuestionContext, log: QueryLog) -> None:
    reader = context.reader
    project_id = reader.project_id
    conversation = context.conversation
    fields: dict[str, object] = {
        **asdict(log.metrics),
        "new_session": new_id(),
        "session": context.session,
        "metrics": new_id(),
        "query": log.id,
        **reader.parameters,
        "refs": sorted(log.documents),
        "user": user_hash(reader),
        "conversation": conversation and _digest(project_id, f"conversation {conversation}"),
        "hash": _digest(project_id, log.question),
        "strategy": log.strategy.value,
        "total_ms": round((time.perf_counter() - context.started_at) * 1000),
        "tokens": log.context_tokens,
        "citations": log.citations,
        "met": log.metrics.rerank_top >= SUFFICIENT_RELEVANCE,
        "channels": Jsonb(
            {channel.value: asdict(figures) for channel, figures in log.metrics.channels.items()}
        ),
    }
    async with database.relaxed_transaction() as connection:
        if context.session is None:
            (fields["session"],) = await fetch_values(connection, _SESSION, fields)
        for statement in (_QUERY, _METRICS):
            await connection.execute(statement, fields)


def user_hash(reader: Reader) -> str:
    """Return a digest of the asking user, or of the exact tags where no user is known.

    It is guessable, so SQL stores `keyed_hash` of it.
    """
    identity = f"user {reader.user}" if reader.user else " ".join(sorted(reader.tags))
    return _digest(reader.project_id, identity)


def _digest(project_id: ProjectId, text: str) -> str:
    """Return a digest, so that the text is not sent; `keyed_hash` in SQL adds a secret key, so that it cannot be guessed."""
    return hashlib.sha256(f"{project_id}\n{text}".encode()).hexdigest()
