"""Summaries that a model made of descriptions."""

from dataclasses import dataclass
from uuid import UUID


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
