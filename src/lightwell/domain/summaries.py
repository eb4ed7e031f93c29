"""What a model made of many descriptions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionSummary:
    """One access class's descriptions of one entity or relation, and their summary; tokens over all calls it took."""

    entity_name: str
    original_descriptions: tuple[str, ...]
    summarized_description: str
    input_tokens: int
    output_tokens: int
