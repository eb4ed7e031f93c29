"""Lists of a reader's entities: by words in their names and by kind, in an order, one page after another.

A filter applies to what the reader sees: the names and the kind in the reader's profiles, after merges.
"""

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import stored_ref
from lightwell.domain.graph import Entity
from lightwell.domain.graph_views import EntityFilter, EntityOrder, parse_passages_cursor
from lightwell.domain.ids import EntityId
from lightwell.records.database import Database
from lightwell.records.graph import entities

_SEEN = """
WITH seen AS (
    SELECT entity.entity_id,
           (array_agg(coalesce(profile.entity_ref, entity.entity_ref) ORDER BY {order}))[1] AS entity_ref,
           (array_agg(profile.entity_kind
                      ORDER BY profile.subject_id = entity.entity_id DESC, 'kind' = ANY(profile.by_hand) DESC,
                               {order}))[1] AS kind,
           sum(profile.mention_count)::bigint AS mentions
    FROM profiles AS profile
    LEFT JOIN merged_entities_of(%(classes)s) AS merged ON merged.entity_id = profile.subject_id
    JOIN entities AS entity ON entity.entity_id = coalesce(merged.root_id, profile.subject_id)
    WHERE entity.project_id = %(project_id)s AND profile.subject = 'entity' AND profile.class_id = ANY(%(classes)s)
    GROUP BY entity.entity_id
    HAVING %(words)s = '' OR bool_or(strpos(lower(profile.display_name), lower(%(words)s)) > 0)
)
SELECT entity_id, mentions FROM seen
WHERE (%(kind)s = '' OR kind = %(kind)s) AND {after}
ORDER BY {sorted} entity_ref COLLATE "C", entity_id LIMIT %(limit)s
""".replace("{order}", entities.ORDER)

_BY_REFERENCE = _SEEN.replace("{sorted}", "").replace(
    "{after}", 'entity_ref COLLATE "C" > %(after)s'
)
_BY_PASSAGES = _SEEN.replace("{sorted}", "mentions DESC,").replace(
    "{after}",
    """(%(after)s = '' OR mentions < %(mentions)s
        OR mentions = %(mentions)s AND entity_ref COLLATE "C" > %(after)s)""",
)


async def list_page(
    database: Database, reader: Reader, wanted: EntityFilter, *, after: str, limit: int
) -> list[tuple[Entity, str]]:
    """Return up to `limit` entities, each with the cursor after which the list continues; raise `Invalid` for another cursor."""
    parameters: dict[str, object] = {
        "project_id": reader.project_id,
        "classes": list(reader.classes),
        "words": wanted.words.strip(),
        "kind": wanted.kind.strip(),
        "limit": limit,
    }
    by_passages = wanted.order is EntityOrder.PASSAGES
    mentions, ref = parse_passages_cursor(after) if by_passages and after else (0, after)
    position = {"after": stored_ref(ref) if ref else "", "mentions": mentions}
    query = _BY_PASSAGES if by_passages else _BY_REFERENCE
    rows = await database.rows(query, {**parameters, **position})
    found = await entities.get_many(database, reader, [EntityId(row[0]) for row in rows])
    held = [(found[EntityId(row[0])], row[1]) for row in rows if row[0] in found]
    return [(each, f"{count} {each.ref}" if by_passages else each.ref) for each, count in held]
