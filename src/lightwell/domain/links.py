"""Links between entities of several systems: proposals with evidence, and what people decided."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity
from lightwell.domain.ids import DocumentId
from lightwell.domain.item_structure import LinkType

LinkId = NewType("LinkId", UUID)

CERTAIN = 0.98
"""The confidence from which a proposal is marked as certain. A person still has to confirm it."""

MIN_CONFIDENCE = 0.2
"""Pairs below this confidence are not proposed."""

WEAK_DAYS = 90
"""A proposal that is not certain expires after so many days, unless its evidence changes."""

MAX_LEARNED = 2.0
"""The most points that earlier decisions about the same evidence add or take."""

SYMMETRIC = frozenset((LinkType.SAME_AS, LinkType.RELATED_TO))
"""Types that say the same in both directions."""


class LinkStatus(StrEnum):
    """What is known of a link. An expired proposal was weak, and nobody decided it in time."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEvidence:
    """One indication for or against a link: its name, its points, and what each side says, "" where nothing is compared."""

    name: str
    points: float
    source: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkQuotation:
    """A passage that the reader sees and that states a value of the evidence: the document's `text[start:end]`, which `text` may cut."""

    evidence: str
    text: str
    url: str
    title: str
    document_id: DocumentId
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityLink:
    """A link as one reader sees it.

    `learned` are points from the reader's view of earlier decisions about the same evidence. `usefulness` orders the review
    queue. `decided_by` is the user who decided, "" if unknown; `stated_by` the document that states the link, or None.
    `attributes` are what documents state of the source and of the target.
    """

    id: LinkId
    type: LinkType
    source: Entity
    target: Entity
    status: LinkStatus
    confidence: float
    usefulness: float
    evidence: tuple[LinkEvidence, ...]
    learned: float = 0.0
    relation: str = ""
    decided_by: str = ""
    decided_at: datetime | None = None
    expires_at: datetime | None = None
    stated_by: str | None = None
    quotations: tuple[LinkQuotation, ...] = ()
    attributes: tuple[Mapping[str, str], ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether this is a proposal with a confidence of at least `CERTAIN`."""
        return self.status is LinkStatus.PROPOSED and self.confidence >= CERTAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFilter:
    """Selects links by status and type; None means all. `about` is the name, reference or id of one end, "" for any."""

    status: LinkStatus | None = LinkStatus.PROPOSED
    type: LinkType | None = None
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCursor:
    """The place after an entry of a list of links, which is ordered by usefulness, then by id."""

    usefulness: float
    id: UUID

    def __str__(self) -> str:
        return f"{self.usefulness!r}_{self.id}"


def parse_link_cursor(text: str) -> LinkCursor | None:
    """Return the cursor in this text, None for ""; raise `Invalid` for another text."""
    if not text:
        return None
    usefulness, _, link_id = text.partition("_")
    try:
        place = LinkCursor(usefulness=float(usefulness), id=UUID(link_id))
    except ValueError as error:
        raise Invalid(f"{text!r} is not the cursor of a list of links") from error
    if not math.isfinite(place.usefulness):
        raise Invalid(f"{text!r} is not the cursor of a list of links")
    return place


def link_confidence(points: float) -> float:
    """Return the probability that these log-odds mean."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, points))))


def learned_points(confirmed: int, rejected: int) -> float:
    """Return the points that so many decisions about the same evidence add or take."""
    return max(-MAX_LEARNED, min(MAX_LEARNED, math.log((confirmed + 1) / (rejected + 1))))


def evidence_pattern(evidence: Sequence[LinkEvidence] | Mapping[str, float]) -> str:
    """Return the names of the evidence in order: decisions are learned for the same pattern."""
    names = evidence if isinstance(evidence, Mapping) else [item.name for item in evidence]
    return " ".join(sorted(names))
