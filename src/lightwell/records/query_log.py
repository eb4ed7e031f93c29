"""The query log: the metrics of each question. Users and questions are stored only as hashes."""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer, Citation
from lightwell.domain.errors import StoreFailed
from lightwell.domain.evidence import Metrics
from lightwell.domain.ids import ConversationId, DocumentId, ProjectId, QueryId, SessionId, new_id
from lightwell.domain.questions import SUFFICIENT_RELEVANCE, Strategy
from lightwell.logs import logger
from lightwell.records.coalescer import Coalescer
from lightwell.records.database import Database
from lightwell.text.tokens import token_count

_log = logger(__name__)

_Entry = Mapping[str, object]

# A conversation is one session, known by a hash, so that the log cannot be joined with the conversation's messages. A crash may
# take the last entries: nobody waits for the disk. What was deleted meanwhile takes its entries with it, and no others.
_RECORD = """
WITH relaxed AS (
    SELECT set_config('synchronous_commit', 'off', true)
), logged AS (
    SELECT entry.*, keyed_hash(project_id, conversation) AS conversation_hash
    FROM relaxed CROSS JOIN jsonb_to_recordset(%(entries)s) AS entry (
        query uuid, metrics uuid, project_id uuid, session uuid, new_session uuid, asker text, conversation text, hash text,
        strategy text, documents uuid[], total_ms integer, vector_ms integer, vector_hits integer, vector_top real,
        vector_mean real, graph_ms integer, graph_hits integer, graph_depth integer, concepts integer, fusion_ms integer,
        overlap integer, rrf_top real, rerank_ms integer, rerank_top real, met boolean, tokens integer, citations integer,
        channels jsonb)
    JOIN projects USING (project_id)
    WHERE session IS NULL OR EXISTS (SELECT FROM analytics_sessions WHERE id = session)
), begun AS (
    INSERT INTO analytics_sessions (id, project_id, user_hash, conversation_hash, ended_at)
    SELECT DISTINCT ON (coalesce(conversation_hash, new_session::text))
           new_session, project_id, keyed_hash(project_id, asker), conversation_hash, now()
    FROM logged WHERE session IS NULL
    ON CONFLICT (conversation_hash) DO UPDATE SET ended_at = now()
    RETURNING id, conversation_hash
), queries AS (
    INSERT INTO rag_queries (
        id, project_id, session_id, query_hash, execution_time_ms, vector_hits, graph_hits, strategy_used, document_ids)
    SELECT query, project_id, coalesce(session, (
               SELECT id FROM begun WHERE id = new_session OR begun.conversation_hash = logged.conversation_hash)),
           keyed_hash(project_id, hash), total_ms, vector_hits, graph_hits, strategy, documents
    FROM logged
)
INSERT INTO retrieval_metrics (
    id, query_id, vector_search_ms, vector_result_count, vector_top_score, vector_avg_score, graph_traversal_ms,
    graph_result_count, graph_max_depth, concepts_found, fusion_ms, overlap_count, rrf_top_score, rerank_ms,
    rerank_top_score, confidence_threshold_met, final_context_tokens, citation_count, channels)
SELECT metrics, query, vector_ms, vector_hits, vector_top, vector_mean, graph_ms, graph_hits, graph_depth, concepts, fusion_ms,
       overlap, rrf_top, rerank_ms, rerank_top, met, tokens, citations, channels
FROM logged
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLog:
    """What is logged of a question: its metrics, its relevance, the number of citations, and the documents that it shows.

    `context_tokens` counts what a model was shown, or what is quoted where none was.
    """

    id: QueryId
    question: str
    strategy: Strategy
    metrics: Metrics
    relevance: float
    context_tokens: int = 0
    citations: int = 0
    documents: frozenset[DocumentId] = frozenset()


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
        relevance=answer.relevance,
        context_tokens=answer.context_tokens or count_quoted_tokens(answer.citations),
        citations=len(answer.citations),
        documents=cited_documents((*answer.citations, *answer.nearest)),
    )


def count_quoted_tokens(citations: Iterable[Citation]) -> int:
    """Return the tokens of the passages' parts that are quoted."""
    return sum(token_count(citation.snippet) for citation in citations)


def cited_documents(citations: Iterable[Citation]) -> frozenset[DocumentId]:
    """Return the documents of these citations."""
    return frozenset(DocumentId(UUID(citation.document_id)) for citation in citations)


class QueryRecorder:
    """Logs questions. Those that end while others are being logged become the next batch: one statement, however many there are."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._record = Coalescer(self._record_batch)

    async def record(self, context: QuestionContext, log: QueryLog) -> None:
        """Log a question; a question outside a session or conversation gets a session of its own.

        A failure is only logged as a warning: the answer must not be lost because of it.
        """
        await self._record(_entry(context, log))

    async def _record_batch(self, entries: Sequence[_Entry]) -> Sequence[None]:
        try:
            await self._database.execute(_RECORD, {"entries": Jsonb(entries)})
        except (StoreFailed, psycopg.Error) as error:
            # A raw database message may quote a row, so only ours is logged.
            reason = str(error) if isinstance(error, StoreFailed) else type(error).__name__
            queries = [entry["query"] for entry in entries]
            _log.warning("the query log was not written", queries=queries, error=reason)
        return [None] * len(entries)


def _entry(context: QuestionContext, log: QueryLog) -> _Entry:
    project_id, conversation = context.reader.project_id, context.conversation
    return {
        **asdict(log.metrics),
        "query": str(log.id),
        "metrics": str(new_id()),
        "project_id": str(project_id),
        "session": context.session and str(context.session),
        "new_session": str(new_id()),
        "asker": user_hash(context.reader),
        "conversation": conversation and _digest(project_id, f"conversation {conversation}"),
        "hash": _digest(project_id, log.question),
        "strategy": log.strategy.value,
        "documents": sorted(map(str, log.documents)),
        "total_ms": round((time.perf_counter() - context.started_at) * 1000),
        "tokens": log.context_tokens,
        "citations": log.citations,
        "met": log.relevance >= SUFFICIENT_RELEVANCE,
        "channels": {
            channel.value: asdict(figures) for channel, figures in log.metrics.channels.items()
        },
    }


def user_hash(reader: Reader) -> str:
    """Return a digest of the asking user, or of the exact tags where no user is known.

    It is guessable, so SQL stores `keyed_hash` of it.
    """
    identity = f"user {reader.user}" if reader.user else " ".join(sorted(reader.tags))
    return _digest(reader.project_id, identity)


def _digest(project_id: ProjectId, text: str) -> str:
    """Return a digest, so that the text is not sent; `keyed_hash` in SQL adds a secret key, so that it cannot be guessed."""
    return hashlib.sha256(f"{project_id}\n{text}".encode()).hexdigest()
