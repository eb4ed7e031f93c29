"""What was said about something: a list, each line on somebody's word."""

from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.candidates import Candidates
from lightwell.domain.evidence import Citation, Confidence, Metrics
from lightwell.domain.ids import QueryId
from lightwell.domain.usage import NO_USAGE, TokenSummary


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

    @property
    def source_chunk_id(self) -> str:
        """The chunk that its first citation quotes: `sourceChunkId` of S3's KnowledgeTriple."""
        return self.citations[0].chunk_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements that answer a question, the newest first by the first day that each names, else by `said_at`.

    Those of one moment stand by relevance. `relevance` is the best of what was found. Below 0.6 there may still be statements, such as
    speak of all that is asked by themselves: then `confidence` is low. `statements` is empty exactly when it is
    insufficient; `nearest` then holds what came closest. A citation's score is 0 where only other words for what is asked found it. Citations
    are numbered through the whole list. `ambiguous_names` are the pick lists of the question's names that fit several entities.
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
    usage: TokenSummary = NO_USAGE
    ambiguous_names: tuple[Candidates, ...] = ()
