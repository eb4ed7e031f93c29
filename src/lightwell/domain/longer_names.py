"""When a name stands for itself beside longer names that contain it: `GitHub` beside `GitHub Actions`."""

from collections.abc import Collection, Iterable

from lightwell.domain.graph import UNKNOWN_KIND, Entity

_CALLED_BY_A_PART = frozenset({"person", "company", "organization", "deal", "project"})
"""Kinds that are called by a part of their names: `Anna`, `Nordwind`. For products and technologies it is the other way round: `GitHub Actions` is a part of `GitHub`."""
_CLEAR_MARGIN = 2
"""How many times as many passages must use a name alone as use its most frequent longer name. By rules a person has no kind, too."""
_MANY_LONGER = 5
"""Longer names from which a name is rather a thing that has parts than a first name: then as many passages are enough."""


def may_be_called_by_a_part(entities: Iterable[Entity]) -> bool:
    """Return whether one of them is of a kind of which a part of the name stands for the whole: a person, a company, a project."""
    return any(entity.kind in _CALLED_BY_A_PART for entity in entities)


def count_for_itself(longer: Collection[Entity]) -> int:
    """Return how many passages must use a name alone, so that it stands for itself beside longer names of no such kind."""
    margin = 1 if len(longer) >= _MANY_LONGER else _CLEAR_MARGIN
    return margin * max(entity.chunk_count for entity in longer)


def stands_for_itself(alone: int, beside: int, longer: Collection[Entity]) -> bool:
    """Return whether a name that `alone` passages use alone means itself, where `beside` passages have one of the longer names."""
    if not may_be_called_by_a_part(longer):
        beside = min(beside, count_for_itself(longer))
    return alone >= beside


def are_compatible_kinds(kind: str, other: str) -> bool:
    """Return whether things of these kinds may be one: they are equal, or one is not known."""
    return kind == other or UNKNOWN_KIND in (kind, other)
