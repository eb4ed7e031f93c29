"""The rule for how many sources, and which, an entity or a relation lists."""

from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.graph import MAX_SOURCES


class SourceIdStrategy(StrEnum):
    """Which sources to keep beyond the limit: the latest (FIFO), or the first ones (KEEP)."""

    FIFO = "FIFO"
    KEEP = "KEEP"

    @classmethod
    def _missing_(cls, value: object) -> "SourceIdStrategy | None":
        return cls.__members__.get(str(value).upper())


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRetention:
    """At most `limit` sources of an entity or relation, from 1 to 1000, chosen by `strategy`."""

    limit: int = MAX_SOURCES
    strategy: SourceIdStrategy = SourceIdStrategy.FIFO
