"""What profiles say of an entity: how it is combined, and which entities a stated alias means."""

from collections.abc import Sequence
from typing import LiteralString

from lightwell.domain.concepts import Concept, split_list
from lightwell.records.search import ALIASED

DESCRIPTIONS: LiteralString = """coalesce(
               array_agg(profile.description ORDER BY profile.description COLLATE "C")
                   FILTER (WHERE 'description' = ANY(profile.by_hand)),
               array_agg(profile.description ORDER BY profile.source_ids[1], profile.description COLLATE "C")
                   FILTER (WHERE profile.description <> ''),
               (array_agg(profile.quote ORDER BY profile.quote_rank, abs(length(profile.quote) - 100),
                                             profile.quote COLLATE "C")
                   FILTER (WHERE profile.quote <> ''))[1:1],
               '{}')"""
"""What the profiles of a reader's classes say: what a person wrote, else what is stated, else the best quotation."""

CONCEPT_COLUMNS: LiteralString = """
           coalesce(string_agg(profile.attributes ->> 'aliases', ', ' ORDER BY {order})
                        FILTER (WHERE 'aliases' = ANY(profile.by_hand)),
                    string_agg(profile.attributes ->> 'aliases', ', ' ORDER BY {order})) AS aliases,
           (array_agg(profile.attributes ->> 'category' ORDER BY 'category' = ANY(profile.by_hand) DESC, {order})
                FILTER (WHERE profile.attributes ->> 'category' <> ''))[1] AS category,
           (array_agg(profile.attributes ->> 'difficulty' ORDER BY 'difficulty' = ANY(profile.by_hand) DESC, {order})
                FILTER (WHERE profile.attributes ->> 'difficulty' <> ''))[1] AS difficulty,
           coalesce(string_agg(profile.attributes ->> 'tags', ', ' ORDER BY {order})
                        FILTER (WHERE 'tags' = ANY(profile.by_hand)),
                    string_agg(profile.attributes ->> 'tags', ', ' ORDER BY {order})) AS tags,
           min(profile.created_at) AS created_at, max(profile.stated_at) AS stated_at
"""
"""The concept fields and dates of one entity, combined from its profiles; `{order}` ranks them. What a person wrote counts first."""

FIND_BY_ALIAS: LiteralString = """
SELECT called.entity_id AS named_as, coalesce(merged.root_id, called.entity_id)
FROM ({aliased}) AS called LEFT JOIN merged_entities_of(%(classes)s) AS merged USING (entity_id)
ORDER BY 2, called.entity_id = coalesce(merged.root_id, called.entity_id) DESC, 1
""".replace("{aliased}", ALIASED.replace("{names}", "ARRAY[%(name)s]"))
"""The entities with the alias `name`, each with the one that it was merged into."""


def read_concept(columns: Sequence[object]) -> Concept:
    """Return the concept in the first four of these columns."""
    aliases, category, difficulty, tags = (str(each or "") for each in columns[:4])
    return Concept(
        aliases=split_list(aliases), category=category, difficulty=difficulty, tags=split_list(tags)
    )
