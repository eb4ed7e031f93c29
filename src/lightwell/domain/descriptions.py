"""Descriptions as people read them, and summaries that a model made of them."""

from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionSummary:
    """One access class's descriptions of one entity or relation, and their summary; tokens are summed over all calls."""

    entity_name: str
    original_descriptions: tuple[str, ...]
    summarized_description: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary and the ids of the cached replies that it was made from, the final one last."""

    summary: DescriptionSummary
    replies: tuple[UUID, ...]
