"""Token usage of models, and prices."""

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
    """The tokens of one model call; the counts are not negative."""

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
    """The tokens of a request or a command; `by_operation_type` counts input and output together."""

    calls: int
    total_input_tokens: int
    total_output_tokens: int
    by_operation_type: Mapping[OperationType, int]


def summarize_usage(usages: Iterable[TokenUsage]) -> TokenSummary:
    """Return the sums; operation types are in the order of their first call."""
    calls = list(usages)
    by_type: Counter[OperationType] = Counter()
    for usage in calls:
        by_type[usage.operation_type] += usage.tokens
    return TokenSummary(
        calls=len(calls),
        total_input_tokens=sum(usage.input_tokens for usage in calls),
        total_output_tokens=sum(usage.output_tokens for usage in calls),
        by_operation_type=dict(by_type),
    )


def add_usage(summaries: Iterable[TokenSummary]) -> TokenSummary:
    """Return the sums of several summaries."""
    calls, inputs, outputs = 0, 0, 0
    by_type: Counter[OperationType] = Counter()
    for summary in summaries:
        calls += summary.calls
        inputs += summary.total_input_tokens
        outputs += summary.total_output_tokens
        by_type.update(summary.by_operation_type)
    return TokenSummary(
        calls=calls,
        total_input_tokens=inputs,
        total_output_tokens=outputs,
        by_operation_type=dict(by_type),
    )


NO_USAGE = summarize_usage([])
"""The usage of an operation without model calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a million tokens; None is unknown."""

    input: float | None
    output: float | None

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return the price of these tokens, None when it is unknown."""
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000
