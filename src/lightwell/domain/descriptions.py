"""Descriptions as people read them: the parts of each, joined by the configured separator."""

from dataclasses import replace
from typing import TypeVar

from lightwell.domain.exports import ExportedRelation
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity, Relation

_Described = TypeVar("_Described", bound=Entity | Relation | ExportedRelation)


def replace_separator(text: str, separator: str) -> str:
    """Return the description with this separator between its parts."""
    return separator.join(text.split(DESCRIPTION_SEPARATOR))


def with_separator(described: _Described, separator: str) -> _Described:
    """Return the entity or relation with this separator between the parts of its descriptions."""
    if isinstance(described, Entity):
        return replace(described, description=replace_separator(described.description, separator))
    return replace(
        described,
        description=replace_separator(described.description, separator),
        comparison=replace_separator(described.comparison, separator),
        use_case=replace_separator(described.use_case, separator),
    )
