"""What a model made of many descriptions."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionSummary:
    """One access class's descriptions of one entity or relation, and their summary; tokens over all calls it took."""

    entity_name: str
    original_descriptions: tuple[str, ...]
    summarized_description: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary and the replies it was made of, the last one's last."""

    summary: DescriptionSummary
    replies: tuple[UUID, ...]
