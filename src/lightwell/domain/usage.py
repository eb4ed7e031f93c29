"""What models cost, in tokens."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lightwell.domain.errors import Invalid


class OperationType(StrEnum):
    INGESTION = "INGESTION"
    QUERY = "QUERY"
    SUMMARIZATION = "SUMMARIZATION"
    KEYWORD_EXTRACTION = "KEYWORD_EXTRACTION"
    RERANK = "RERANK"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """What one call cost; the counts are not negative."""

    operation_type: OperationType
    model_name: str
    input_tokens: int
    output_tokens: int
    timestamp: datetime

    def __post_init__(self) -> None:
        if self.input_tokens < 0 or self.output_tokens < 0:
            raise Invalid("Token counts cannot be negative")

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSummary:
    """What a request or a command cost; `by_operation_type` counts input and output together."""

    calls: int
    total_input_tokens: int
    total_output_tokens: int
    by_operation_type: Mapping[OperationType, int]


def summary(usages: Iterable[TokenUsage]) -> TokenSummary:
    """Return the sums; operation types come in the order of their first call."""
    paid = list(usages)
    by_type: Counter[OperationType] = Counter()
    for usage in paid:
        by_type[usage.operation_type] += usage.tokens
    return TokenSummary(
        calls=len(paid),
        total_input_tokens=sum(usage.input_tokens for usage in paid),
        total_output_tokens=sum(usage.output_tokens for usage in paid),
        by_operation_type=dict(by_type),
    )


NO_USAGE = summary([])
"""What an operation costs that asks no endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost; None is unknown."""

    input: float | None
    output: float | None

    def of(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return what so many tokens cost, None when that is unknown."""
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000
