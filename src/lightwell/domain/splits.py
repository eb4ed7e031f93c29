"""One entity split in two by a person, because its name means two things."""

from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.graph import Entity
from lightwell.domain.ids import SplitId


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitResult:
    """What a split did, in the eyes of the person who made it; `split_id` undoes it.

    `part` is the entity that has the moved mentions; `passages` counts the passages they stand in. `rest` is what the
    others speak of, None where none is left.
    """

    split_id: SplitId
    part: Entity
    rest: Entity | None
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingSplit:
    """A split that holds, as one reader sees it.

    `part` is the name that a person gave, `names` what the moved mentions say, `urls` the documents they stand in, both
    in alphabetical order; `passages` counts the passages.
    """

    split_id: SplitId
    part: str
    names: tuple[str, ...]
    urls: tuple[str, ...]
    passages: int
    made_at: datetime
