"""What profiles say of an entity: how it is combined, and which entities a stated alias means."""

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

ORDER: LiteralString = """profile.subject_id = entity.entity_id DESC, 'name' = ANY(profile.by_hand) DESC,
    profile.entity_ref IS NULL DESC, profile.mention_count DESC, profile.display_name COLLATE "C",
    profile.entity_kind COLLATE "C", profile.entity_ref COLLATE "C", profile.source_ids[1]"""
"""Which class's word counts first. Its last keys are what is chosen: where rows lie depends on what a reader cannot see."""

NAME_COLUMNS: LiteralString = f"""
           (array_agg(coalesce(profile.entity_ref, entity.entity_ref) ORDER BY {ORDER}))[1] AS entity_ref,
           (array_agg(profile.display_name ORDER BY {ORDER}))[1] AS name,
           (array_agg(profile.entity_kind
                      ORDER BY profile.subject_id = entity.entity_id DESC, 'kind' = ANY(profile.by_hand) DESC,
                               {ORDER}))[1] AS kind
"""
"""What the profiles of an entity and of those merged into it call it."""

SEEN_ENTITIES: LiteralString = """
    FROM profiles AS profile
    LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = profile.subject_id
    JOIN entities AS entity ON entity.entity_id = coalesce(merged.root_id, profile.subject_id)
    WHERE entity.project_id = %(project_id)s AND profile.subject = 'entity' AND sees(%(classes)s, profile.class_id)
"""
"""The profiles that a reader sees, each with the entity that it belongs to after merges."""

CONCEPT_COLUMNS: LiteralString = f"""
           coalesce(string_agg(profile.attributes ->> 'aliases', ', ' ORDER BY {ORDER})
                        FILTER (WHERE 'aliases' = ANY(profile.by_hand)),
                    string_agg(profile.attributes ->> 'aliases', ', ' ORDER BY {ORDER})) AS aliases,
           (array_agg(profile.attributes ->> 'category' ORDER BY 'category' = ANY(profile.by_hand) DESC, {ORDER})
                FILTER (WHERE profile.attributes ->> 'category' <> ''))[1] AS category,
           (array_agg(profile.attributes ->> 'difficulty' ORDER BY 'difficulty' = ANY(profile.by_hand) DESC, {ORDER})
                FILTER (WHERE profile.attributes ->> 'difficulty' <> ''))[1] AS difficulty,
           coalesce(string_agg(profile.attributes ->> 'tags', ', ' ORDER BY {ORDER})
                        FILTER (WHERE 'tags' = ANY(profile.by_hand)),
                    string_agg(profile.attributes ->> 'tags', ', ' ORDER BY {ORDER})) AS tags,
           min(profile.created_at) AS created_at, max(profile.stated_at) AS updated_at
"""
"""The concept fields and dates of one entity, combined from its profiles. What a person wrote counts first."""

FIND_BY_ALIAS: LiteralString = f"""
SELECT called.entity_id AS named_as, coalesce(merged.root_id, called.entity_id) AS entity_id
FROM ({ALIASED}) AS called LEFT JOIN merged_entities_of(%(classes)s) AS merged USING (entity_id)
ORDER BY 2, called.entity_id = coalesce(merged.root_id, called.entity_id) DESC, 1
"""  # noqa: S608 - only our own words
"""The entities with an alias in `names`, each with the one that it was merged into."""


def read_concept(
    aliases: str | None, category: str | None, difficulty: str | None, tags: str | None
) -> Concept:
    """Return the concept in these columns."""
    return Concept(
        aliases=split_list(aliases or ""),
        category=category or "",
        difficulty=difficulty or "",
        tags=split_list(tags or ""),
    )
