"""Merges and splits of entities, and merge proposals."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.graph import Entity, MergeStrategy
from lightwell.domain.ids import MergeId, SplitId
from lightwell.domain.usage import NO_USAGE, TokenSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """The effect of a merge, as its author sees it; `merge_id` undoes it.

    `usage` is the cost of the author's own summaries; other readers' descriptions are recomputed later and not
    charged to anyone. `note` says when no source had relations to redirect, "" otherwise.
    """

    merge_id: MergeId
    target_entity: Entity
    relations_redirected: int
    source_entities_deleted: int
    relations_deduped: int
    usage: TokenSummary = NO_USAGE
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveMerge:
    """A merge that is in effect, as one reader knows it: the names of the target and of the merged entities."""

    merge_id: MergeId
    target: str
    sources: tuple[str, ...]
    strategy: MergeStrategy
    merged_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeProposal:
    """Two entities that may be one, with evidence; `confidence` lies in [0, 1].

    `evidence` maps each of `email`, `domain`, `alias`, `name` that applies to its value; `attributes` are what documents state of each.
    """

    one: Entity
    other: Entity
    confidence: float
    evidence: Mapping[str, str]
    shared_neighbours: tuple[str, ...]
    attributes: tuple[Mapping[str, str], ...]

    @property
    def entities(self) -> tuple[Entity, Entity]:
        return self.one, self.other


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
