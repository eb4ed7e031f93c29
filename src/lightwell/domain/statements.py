"""Statements: an answer as a list of cited sentences."""

from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.candidates import Candidates
from lightwell.domain.evidence import Citation, Confidence, Metrics
from lightwell.domain.ids import QueryId
from lightwell.domain.usage import NO_USAGE, TokenSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedStatement:
    """One sentence without citation numbers, and every citation that supports it: at least one.

    `said_at` is the last change of its newest document; `dates` are the dates in its text, verbatim, in order.
    """

    text: str
    citations: tuple[Citation, ...]
    said_at: datetime
    dates: tuple[str, ...]

    @property
    def source_chunk_id(self) -> str:
        """The chunk that the first citation quotes."""
        return self.citations[0].chunk_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements that answer a question, newest first: by the first date in the text, else by `said_at`.

    Statements of the same time are ordered by relevance. `relevance` is the best of the evidence. Below 0.6
    there may still be statements, where single sentences contain all that the question asks for; then
    `confidence` is low. `statements` is empty exactly when it is insufficient; then `nearest` holds the closest
    passages. A citation's score is 0 where only synonyms of the question's words found it. Citations are
    numbered through the whole list. `ambiguous_names` lists the candidates of each name in the question that
    several entities have.
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
