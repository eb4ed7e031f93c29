"""Lists of a reader's entities: by words in their names and by kind, in an order, one page after another.

A filter applies to what the reader sees: the names and the kind in the reader's profiles, after merges.
"""

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import stored_ref
from lightwell.domain.graph import Entity
from lightwell.domain.graph_views import EntityFilter, EntityOrder, parse_passages_cursor
from lightwell.records.database import Database
from lightwell.records.graph import entities
from lightwell.records.graph.concepts import NAME_COLUMNS, SEEN_ENTITIES

_LIST = f"""
WITH seen AS (
    SELECT entity.entity_id, {NAME_COLUMNS}, sum(profile.mention_count)::bigint AS mentions
    {SEEN_ENTITIES}
    GROUP BY entity.entity_id
    HAVING %(words)s = '' OR bool_or(strpos(lower(profile.display_name), lower(%(words)s)) > 0)
)
SELECT entity_id, mentions FROM seen
WHERE (%(kind)s = '' OR kind = %(kind)s)
  AND (NOT %(by_passages)s AND entity_ref COLLATE "C" > %(after)s
       OR %(by_passages)s AND (%(after)s = '' OR mentions < %(mentions)s
                               OR mentions = %(mentions)s AND entity_ref COLLATE "C" > %(after)s))
ORDER BY CASE WHEN %(by_passages)s THEN mentions END DESC, entity_ref COLLATE "C", entity_id LIMIT %(limit)s
"""  # noqa: S608 - only our own words


async def list_page(
    database: Database, reader: Reader, wanted: EntityFilter, *, after: str, limit: int
) -> list[tuple[Entity, str]]:
    """Return up to `limit` entities, each with the cursor after which the list continues; raise `Invalid` for another cursor."""
    by_passages = wanted.order is EntityOrder.PASSAGES
    mentions, ref = parse_passages_cursor(after) if by_passages and after else (0, after)
    parameters = {
        **reader.parameters,
        "words": wanted.words.strip(),
        "kind": wanted.kind.strip(),
        "by_passages": by_passages,
        "after": stored_ref(ref) if ref else "",
        "mentions": mentions,
        "limit": limit,
    }
    counts = {entity: count for entity, count in await database.rows(_LIST, parameters)}
    shown = await entities.get_many(database, reader, list(counts))
    return [
        (shown[entity], f"{count} {shown[entity].ref}" if by_passages else shown[entity].ref)
        for entity, count in counts.items()
        if entity in shown
    ]
