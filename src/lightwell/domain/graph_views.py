"""What a reader may ask of the graph beyond one entity: filtered lists, sources, what is around an entity, and what a name may mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lightwell.domain.documents import Chunk, Locator
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.ids import QueryId, new_query_id
from lightwell.domain.usage import NO_USAGE, TokenSummary

MAX_DEPTH = 3
MAX_NEIGHBOURS = 500


class EntityOrder(StrEnum):
    """The order of a list: by reference, or by the number of passages, most first."""

    REFERENCE = "reference"
    PASSAGES = "passages"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFilter:
    """Which entities a list has: those with `words` in one of their names, of this `kind`; "" for all."""

    words: str = ""
    kind: str = ""
    order: EntityOrder = EntityOrder.REFERENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySource:
    """A passage that mentions an entity; `snippet` is its sentence that names the entity, else its first one, and stands at `locator`."""

    chunk: Chunk
    snippet: str
    locator: Locator


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An entity at a distance of `depth` relations, 0 for the centre."""

    entity: Entity
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityNeighbourhood:
    """The entities around one, the nearest first, and the relations between them.

    With `is_cut` there are more within the depth; those with the weightiest relations are kept.
    """

    neighbours: tuple[Neighbour, ...]
    relations: tuple[Relation, ...]
    is_cut: bool


def parse_passages_cursor(text: str) -> tuple[int, str]:
    """Return the number of passages and the reference in a cursor; raise `Invalid` for any other text."""
    count, _, ref = text.partition(" ")
    if not (count.isascii() and count.isdigit() and len(count) < 18 and ref):
        raise Invalid(f"{text!r} is not where a list of entities by passages continues")
    return int(count), ref


def validate_bounds(depth: int, limit: int) -> None:
    """Raise `Invalid` unless a neighbourhood may reach so far and be so large."""
    validate_depth(depth)
    if not 1 <= limit <= MAX_NEIGHBOURS:
        raise Invalid(f"The limit must be between 1 and {MAX_NEIGHBOURS}")


def validate_depth(depth: int) -> None:
    """Raise `Invalid` unless a neighbourhood may reach so far."""
    if not 1 <= depth <= MAX_DEPTH:
        raise Invalid(f"The depth must be between 1 and {MAX_DEPTH}")


MAX_CANDIDATES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An entity that a name may mean; `distinguishing` names a few fields that tell it from the others, its
    kind first.

    Each of several people with one name is a candidate. Its reference ends in the e-mail address, or in `<>`
    where no document gives one; its description is that address.
    """

    entity: Entity
    distinguishing: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Up to ten entities that a name may mean, the likeliest first; a reference selects one."""

    name: str
    candidates: tuple[Candidate, ...]
    usage: TokenSummary = NO_USAGE
    query_id: QueryId = field(default_factory=new_query_id)
