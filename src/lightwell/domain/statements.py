"""What was said about something: a list, each line on somebody's word."""

from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.evidence import Citation, Confidence, Metrics
from lightwell.domain.ids import QueryId


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedStatement:
    """One statement, without marks, and every citation that carries it: at least one.

    `said_at` is when the newest of its documents was last changed; `dates` are those its text names, as written
    there, in order.
    """

    text: str
    citations: tuple[Citation, ...]
    said_at: datetime
    dates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements that answer a question, the one said last first, those of one moment by relevance.

    `statements` is empty exactly when `confidence` is insufficient; `nearest` then holds what came closest. Citations
    are numbered through the whole list.
    """

    query_id: QueryId
    question: str
    statements: tuple[CitedStatement, ...]
    confidence: Confidence
    relevance: float
    nearest: tuple[Citation, ...]
    model: str
    metrics: Metrics
    context_tokens: int = 0
    notes: tuple[str, ...] = ()
