"""Linear's filters: comparators on fields, conditions on objects that fields refer to, `and` and `or`."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import cast

Resolve = Callable[[object, str, Mapping[str, object]], object]

_COMPARATORS = frozenset(("eq", "neq", "in", "nin", "gt", "gte", "lt", "lte", "null"))

_FIELDS = {"accessibleTeams": "teams"}
"""Fields that a filter calls by another name."""


def matches(value: object, condition: Mapping[str, object], resolve: Resolve) -> bool:
    """Return whether an object meets the condition; None meets only the empty one."""
    return all(_meets(value, name, wanted, resolve) for name, wanted in condition.items())


def _meets(value: object, name: str, wanted: object, resolve: Resolve) -> bool:
    if name in ("and", "or"):
        parts = cast("list[Mapping[str, object]]", wanted)
        results = [matches(value, part, resolve) for part in parts]
        return all(results) if name == "and" else any(results)
    if value is None:
        return False
    inner = cast("Mapping[str, object]", wanted)
    if name == "hasSharedUsers":
        sharing = cast("Mapping[str, object]", resolve(value, "sharedAccess", {}))
        return sharing["isShared"] == inner.get("eq")
    reached = resolve(value, _FIELDS.get(name, name), {})
    if name == "ancestors":
        return _has_ancestor(value, cast("Mapping[str, object]", inner["some"]), resolve)
    if "some" in inner:
        nodes = cast("Mapping[str, list[object]]", reached)["nodes"]
        condition = cast("Mapping[str, object]", inner["some"])
        return any(matches(node, condition, resolve) for node in nodes)
    if _COMPARATORS.issuperset(inner):
        return all(_holds(_plain(reached), how, other) for how, other in inner.items())
    return matches(reached, inner, resolve)


def _has_ancestor(value: object, condition: Mapping[str, object], resolve: Resolve) -> bool:
    above = resolve(value, "parentInitiative", {})
    if above is None:
        return False
    return matches(above, condition, resolve) or _has_ancestor(above, condition, resolve)


def _holds(value: object, name: str, other: object) -> bool:
    match name:
        case "eq":
            return value == _plain(other)
        case "neq":
            return value != _plain(other)
        case "in":
            return value in [_plain(element) for element in cast("list[object]", other)]
        case "nin":
            return value not in [_plain(element) for element in cast("list[object]", other)]
        case "null":
            return (value is None) == other
        case _:
            return value is not None and _is_ordered(str(value), name, str(_plain(other)))


def _is_ordered(value: str, name: str, other: str) -> bool:
    signs = {"gt": value > other, "gte": value >= other, "lt": value < other}
    return signs.get(name, value <= other)


def _plain(value: object) -> object:
    """Return a time in one spelling, so that times can be compared as texts; anything else as it is."""
    if not isinstance(value, str) or "T" not in value:
        return value
    try:
        return datetime.fromisoformat(value).isoformat(timespec="milliseconds")
    except ValueError:
        return value
