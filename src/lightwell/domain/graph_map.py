"""The graph as people look at it: names with their sizes, ties between them, ways from one to another, and profiles with their places."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity, Relation, RelationKey
from lightwell.domain.ids import DocumentId, EntityId, RelationId

MAX_MAP_NAMES = 2000
MAX_PATH_TIES = 6
_TIES_PER_NAME = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MapName:
    """An entity as the reader sees it; `chunk_count` counts the chunks that mention it."""

    id: EntityId
    ref: str
    name: str
    kind: str
    chunk_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """A relation, or with `is_link` a confirmed link, between two entities; a link's ends are in no order."""

    ends: tuple[EntityId, EntityId]
    predicate: str
    weight: float
    is_link: bool
    relation_id: RelationId | None

    def other_end(self, end: EntityId) -> EntityId:
        """Return the end that is not this one."""
        return self.ends[1] if self.ends[0] == end else self.ends[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMap:
    """The names around one, the nearest first, each with its distance, and the ties between them.

    With `is_cut` there are more names within the depth, or more ties than four for each name.
    """

    names: tuple[tuple[MapName, int], ...]
    ties: tuple[Tie, ...]
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A sentence of a document that the reader sees, at its characters `start` to `end`; `text` is as people read it.

    `dated_at` is None where neither the document nor its system states a date.
    """

    document_id: DocumentId
    title: str
    system: str
    dated_at: datetime | None
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A relation of a name to another one; `place` names both where one does, else one of them."""

    relation: Relation
    other: MapName
    is_outgoing: bool
    place: Place | None

    @property
    def key(self) -> RelationKey:
        """The key that identifies the relation, by the ids of its ends."""
        source, target = map(str, self.relation.ends)
        return RelationKey(source=source, predicate=self.relation.predicate, target=target)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionPart:
    """A part of a description, with the place that says it word for word; None where a person or a model wrote it."""

    text: str
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameProfile:
    """What the reader's documents say of a name: other names, descriptions, the weightiest facts, and the latest places."""

    entity: Entity
    aliases: tuple[str, ...]
    descriptions: tuple[DescriptionPart, ...]
    facts: tuple[Fact, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """A tie of a path, with what the relation says and where; both are missing for a link."""

    tie: Tie
    description: str
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePath:
    """The names on a way from the first to the last one, and the steps between them; no names where there is no way.

    With `is_cut` a way may exist beyond what was looked at.
    """

    names: tuple[MapName, ...]
    steps: tuple[PathStep, ...]
    is_cut: bool


def validate_map_limit(limit: int) -> None:
    """Raise `Invalid` unless a map may have so many names."""
    if not 1 <= limit <= MAX_MAP_NAMES:
        raise Invalid(f"The limit must be between 1 and {MAX_MAP_NAMES}")


def strongest_ties(ties: Sequence[Tie], names: int) -> tuple[Tie, ...]:
    """Return the first four ties for each name, and before them those without which a name would lose its way to the others.

    `ties` are in order, the strongest first.
    """
    room = _TIES_PER_NAME * names
    if len(ties) <= room:
        return tuple(ties)
    kept = _spanning(ties)
    for tie in ties:
        if len(kept) >= room:
            break
        kept.setdefault((tie.ends, tie.predicate, tie.is_link), tie)
    return tuple(kept.values())


def _spanning(ties: Iterable[Tie]) -> dict[object, Tie]:
    """Return the ties of a maximum spanning forest."""
    leaders: dict[EntityId, EntityId] = {}

    def leader(end: EntityId) -> EntityId:
        while (above := leaders.setdefault(end, end)) != end:
            leaders[end] = end = leaders.setdefault(above, above)
        return end

    kept: dict[object, Tie] = {}
    for tie in ties:
        first, second = map(leader, tie.ends)
        if first != second:
            leaders[first] = second
            kept[tie.ends, tie.predicate, tie.is_link] = tie
    return kept
