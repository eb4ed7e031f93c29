"""Splits: a person divides one entity in two because its name means two things."""

from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.graph import Entity
from lightwell.domain.ids import SplitId


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitResult:
    """The effect of a split, as its author sees it; `split_id` undoes it.

    `part` is the entity that has the moved mentions; `passages` counts the passages that they occur in. `rest`
    is the entity of the remaining mentions, None where none remain.
    """

    split_id: SplitId
    part: Entity
    rest: Entity | None
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSplit:
    """A split that is in effect, as one reader sees it.

    `part` is the name that a person gave, `names` the names in the moved mentions, `urls` their documents, both
    in alphabetical order; `passages` counts the passages.
    """

    split_id: SplitId
    part: str
    names: tuple[str, ...]
    urls: tuple[str, ...]
    passages: int
    split_at: datetime
