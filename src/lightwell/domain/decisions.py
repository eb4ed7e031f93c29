"""What people decided about links and merges, in one list."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lightwell.domain.ids import EntityId
from lightwell.domain.item_structure import LinkType


class DecidedKind(StrEnum):
    """What a decision is about."""

    LINK = "link"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision that is in effect, by the names of its sides.

    `id` is that of the link or the merge, which takes it back; a rejected merge has none, and is taken back by its `entities`.
    `link_type` is None for merges, `decided_by` "" where nobody knows.
    """

    kind: DecidedKind
    is_confirmed: bool
    id: str
    names: tuple[str, ...]
    entities: tuple[EntityId, ...]
    decided_at: datetime
    decided_by: str = ""
    link_type: LinkType | None = None
