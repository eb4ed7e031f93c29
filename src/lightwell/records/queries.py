"""What was asked and how it went; people and questions only as hashes."""

import hashlib
import time

from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader
from lightwell.domain.chat import ConversationId
from lightwell.domain.evidence import ENOUGH, Answer, Metrics
from lightwell.domain.ids import ProjectId, new_id
from lightwell.domain.questions import Strategy
from lightwell.domain.statements import Statements
from lightwell.records.database import Database

# A conversation is one session, known by a hash: what was said in it cannot be joined to.
_SESSION = """
INSERT INTO analytics_sessions (id, project_id, user_hash, conversation_hash, ended_at)
VALUES (%(session)s, %(project_id)s, %(user)s, %(conversation)s, now())
ON CONFLICT (conversation_hash) DO UPDATE SET ended_at = now()
RETURNING id
"""

_QUERY = """
INSERT INTO rag_queries (id, project_id, session_id, query_hash, execution_time_ms, vector_hits, graph_hits, strategy_used)
VALUES (%(query)s, %(project_id)s, %(session)s, %(hash)s, %(total_ms)s, %(vector_hits)s, %(graph_hits)s, %(strategy)s)
"""

_METRICS = """
INSERT INTO retrieval_metrics (
    id, query_id, vector_search_ms, vector_result_count, vector_top_score, vector_avg_score, graph_traversal_ms,
    graph_result_count, graph_max_depth, concepts_found, fusion_ms, overlap_count, rrf_top_score, rerank_ms,
    rerank_top_score, confidence_threshold_met, final_context_tokens, citation_count, channels)
VALUES (
    %(metrics)s, %(query)s, %(vector_ms)s, %(vector_hits)s, %(vector_top)s, %(vector_mean)s, %(graph_ms)s,
    %(graph_hits)s, %(graph_depth)s, %(concepts)s, %(fusion_ms)s, %(overlap)s, %(fused_top)s, %(rerank_ms)s,
    %(rerank_top)s, %(met)s, %(tokens)s, %(citations)s, %(channels)s)
"""


async def record(
    database: Database,
    reader: Reader,
    strategy: Strategy,
    answer: Answer | Statements,
    *,
    began: float,
    conversation: ConversationId | None = None,
) -> None:
    """Write down how a question went that came at `began` of the performance counter, as a part of its conversation."""
    project_id = reader.project_id
    fields: dict[str, object] = {
        "session": new_id(),
        "metrics": new_id(),
        "query": answer.query_id,
        "project_id": project_id,
        "user": _hashed(project_id, " ".join(sorted(reader.tags))),
        "conversation": conversation and _hashed(project_id, f"conversation {conversation}"),
        "hash": _hashed(project_id, answer.question),
        "strategy": strategy.value,
        "total_ms": round((time.perf_counter() - began) * 1000),
        "tokens": answer.context_tokens,
        "citations": len(_cited(answer)),
        **_numbers(answer.metrics),
    }
    async with database.transaction() as connection:
        session = await (await connection.execute(_SESSION, fields)).fetchone()
        assert session is not None  # noqa: S101 - the statement returns the row it makes or finds
        fields["session"] = session[0]
        for statement in (_QUERY, _METRICS):
            await connection.execute(statement, fields)


def _numbers(metrics: Metrics) -> dict[str, object]:
    return {
        "met": metrics.rerank_top >= ENOUGH,
        "vector_ms": metrics.vector_ms,
        "vector_hits": metrics.vector_hits,
        "vector_top": metrics.vector_top,
        "vector_mean": metrics.vector_mean,
        "graph_ms": metrics.graph_ms,
        "graph_hits": metrics.graph_hits,
        "graph_depth": metrics.graph_depth,
        "concepts": metrics.concepts,
        "fusion_ms": metrics.fusion_ms,
        "overlap": metrics.overlap,
        "fused_top": metrics.fused_top,
        "rerank_ms": metrics.rerank_ms,
        "rerank_top": metrics.rerank_top,
        "channels": Jsonb(
            {
                channel.value: {"ms": each.ms, "hits": each.hits}
                for channel, each in metrics.channels.items()
            }
        ),
    }


def _cited(answer: Answer | Statements) -> set[str]:
    """Return the marks of the citations."""
    if isinstance(answer, Answer):
        return {cited.id for cited in answer.citations}
    return {cited.id for each in answer.statements for cited in each.citations}


def _hashed(project_id: ProjectId, text: str) -> str:
    """Return a hash that is the same within a project and tells nothing outside it."""
    return hashlib.sha256(f"{project_id}\n{text}".encode()).hexdigest()
