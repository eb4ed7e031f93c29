"""Figures about a server at work and results of `lightwell doctor`, for those who operate it. They hold no text and no access tags."""

from collections.abc import Mapping
from dataclasses import dataclass

from lightwell.domain.jobs import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalls:
    """Calls of models for one kind of work, with their tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "ModelCalls") -> "ModelCalls":
        return ModelCalls(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFigures:
    """Connections to the database: open ones, idle ones among them, and callers that wait for one."""

    size: int = 0
    idle: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFigures:
    """What processes counted since they started: model calls by operation, and their pools now."""

    model_calls: Mapping[str, ModelCalls]
    pool: PoolFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFigures:
    """Questions of the last minutes: with and without citations, and the seconds that the steps of retrieval took in sum."""

    cited: int
    uncited: int
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFigures:
    """Jobs by state, finished ones of the last day only, and how long the oldest queued job has waited, in seconds."""

    jobs: Mapping[JobState, int]
    oldest_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFigures:
    """Sources by state (`working`, `failing`, `paused`), how late the next sync of one is, and items that could not be read.

    `webhooks` counts genuine ones by what became of them: `taken`, or `repeated`.
    """

    sources: Mapping[str, int]
    overdue_seconds: float
    failed_items: int
    webhooks: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyLag:
    """One project's copy: whether it was filled once, how many chunks, documents and profiles wait to be applied, and the longest for how long."""

    tenant: str
    project: str
    store: str
    is_filled: bool
    changes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that `doctor` examined; `fix` says what to do if it is not in order, "" if it is."""

    name: str
    ok: bool
    detail: str
    fix: str
