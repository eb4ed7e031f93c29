"""Items that a business system merged into others: their names, decisions and mentions pass to the survivor, for good."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lightwell.domain.access import Tags
from lightwell.domain.business_systems import SourceId
from lightwell.domain.ids import DocumentId, GlobalRef, ProjectId
from lightwell.domain.links import SYMMETRIC
from lightwell.records import item_fetches
from lightwell.records.database import Connection
from lightwell.records.graph import merged_hiding
from lightwell.records.rows import fetch, fetch_values

# A survivor that was itself merged before stands for what it was merged into.
_SURVIVORS = """
SELECT former_ref, survivor_ref FROM item_merges WHERE project_id = %(project_id)s AND former_ref = ANY(%(refs)s)
"""

_STORE = """
INSERT INTO item_merges (project_id, former_ref, survivor_ref, source_key, names, acl_tags)
SELECT %(project_id)s, given.former, given.survivor, %(source)s, coalesce(own.names, '{}'), coalesce(own.acl_tags, '{}')
FROM unnest(%(former)s::text[], %(survivors)s::text[]) AS given (former, survivor)
LEFT JOIN LATERAL (
    SELECT document.acl_tags,
           ARRAY(SELECT entity ->> 'name' UNION SELECT jsonb_array_elements_text(entity -> 'aliases') ORDER BY 1) AS names
    FROM source_documents AS document CROSS JOIN LATERAL (SELECT document.structure -> 'entities' -> 0) AS own (entity)
    WHERE document.project_id = %(project_id)s AND document.item_ref = given.former AND NOT document.is_deleted
      AND entity ->> 'ref' = given.former
    ORDER BY document.source_url LIMIT 1
) AS own ON true
ON CONFLICT (project_id, former_ref) DO UPDATE SET survivor_ref = excluded.survivor_ref
WHERE item_merges.survivor_ref <> excluded.survivor_ref
RETURNING former_ref, survivor_ref
"""

_FLATTEN = """
UPDATE item_merges SET survivor_ref = given.survivor
FROM unnest(%(former)s::text[], %(survivors)s::text[]) AS given (former, survivor)
WHERE project_id = %(project_id)s AND survivor_ref = given.former AND former_ref <> given.survivor
"""

_SEPARATE = """
DELETE FROM item_merges WHERE project_id = %(project_id)s AND former_ref = ANY(%(refs)s)
RETURNING former_ref, survivor_ref
"""

# Of two decisions about what is one pair now, the later stands. A link of an item to itself says nothing any more.
_MOVE_DECISIONS = """
WITH merged AS (
    SELECT entity_key(%(project_id)s, given.former) AS former, entity_key(%(project_id)s, given.survivor) AS survivor
    FROM unnest(%(former)s::text[], %(survivors)s::text[]) AS given (former, survivor)
), taken AS (
    DELETE FROM entity_links AS link USING merged
    WHERE link.project_id = %(project_id)s AND link.pair_id IS NOT NULL AND merged.former IN (link.from_ref, link.to_ref)
    RETURNING link.*
), renamed AS (
    SELECT taken.*, coalesce(near.survivor, taken.from_ref) AS near_id, coalesce(far.survivor, taken.to_ref) AS far_id
    FROM taken LEFT JOIN merged AS near ON near.former = taken.from_ref LEFT JOIN merged AS far ON far.former = taken.to_ref
    WHERE taken.decided_at IS NOT NULL
), turned AS (
    SELECT *, link_type = ANY(%(symmetric)s) AND near_id > far_id AS is_turned FROM renamed WHERE near_id <> far_id
), moved AS (
    SELECT *, CASE WHEN is_turned THEN far_id ELSE near_id END AS source, CASE WHEN is_turned THEN near_id ELSE far_id END AS target,
           CASE WHEN is_turned THEN to_class_id ELSE class_id END AS source_class,
           CASE WHEN is_turned THEN class_id ELSE to_class_id END AS target_class
    FROM turned
), latest AS (
    SELECT DISTINCT ON (source, target, link_type, source_class, target_class) * FROM moved
    ORDER BY source, target, link_type, source_class, target_class, decided_at DESC, status
)
INSERT INTO entity_links AS link (
    link_id, project_id, from_ref, to_ref, class_id, to_class_id, pair_id, link_type, directional, confidence, evidence,
    created_by, status, rule, decided_by, decided_at, expires_at, created_at)
SELECT gen_random_uuid(), project_id, source, target, source_class, target_class, link_key(project_id, source, target, link_type),
       link_type, directional, confidence, evidence, created_by, status, rule, decided_by, decided_at, expires_at, created_at
FROM latest
ON CONFLICT (pair_id, class_id, to_class_id) WHERE pair_id IS NOT NULL DO UPDATE
SET status = excluded.status, confidence = excluded.confidence, created_by = excluded.created_by,
    decided_by = excluded.decided_by, decided_at = excluded.decided_at, expires_at = excluded.expires_at
WHERE link.decided_at IS NULL OR link.decided_at < excluded.decided_at
"""

_NAMING = """
SELECT DISTINCT chunk.document_id
FROM unnest(%(refs)s::text[]) AS given (ref)
JOIN document_entity_mentions AS mention ON mention.entity_id = entity_key(%(project_id)s, given.ref)
JOIN document_chunks AS chunk USING (chunk_id)
JOIN source_documents AS document ON document.document_id = chunk.document_id
WHERE document.structure IS NOT NULL AND NOT document.is_deleted
ORDER BY 1
"""

# Whoever sees one document of an item knows the item.
_SEEN_BY = """
SELECT document.item_ref, array_agg(DISTINCT tag)
FROM source_documents AS document CROSS JOIN LATERAL unnest(document.acl_tags) AS tag
WHERE document.project_id = %(project_id)s AND document.item_ref = ANY(%(refs)s) AND NOT document.is_deleted
GROUP BY 1
"""

_OF_SURVIVORS = """
SELECT former_ref, survivor_ref FROM item_merges
WHERE project_id = %(project_id)s AND (survivor_ref = ANY(%(refs)s) OR survivor_ref IN (
    SELECT item_ref FROM source_documents WHERE document_id = ANY(%(documents)s)))
"""

_NAMING_FORMER = """
SELECT document_id FROM source_documents AS document
WHERE document_id = ANY(%(documents)s) AND EXISTS (
    SELECT FROM jsonb_array_elements(document.structure -> 'entities') AS entity
    JOIN item_merges AS merge ON merge.project_id = document.project_id AND merge.former_ref = entity ->> 'ref')
ORDER BY 1
"""

_FORMER = """
SELECT survivor_ref, former_ref, names, acl_tags FROM item_merges
WHERE project_id = %(project_id)s AND survivor_ref = ANY(%(refs)s) ORDER BY former_ref
"""

_FORGET = """
DELETE FROM item_merges AS merge USING source_documents AS document
WHERE document.document_id = ANY(%(documents)s) AND document.item_ref <> '' AND merge.project_id = document.project_id
  AND document.item_ref IN (merge.former_ref, merge.survivor_ref)
RETURNING merge.source_key, merge.survivor_ref
"""

# An item without a hash is taken for changed when it is fetched.
_UNKNOWN_VERSION = """
UPDATE source_documents SET content_hash = ''
WHERE project_id = %(project_id)s AND item_ref = ANY(%(refs)s) AND NOT is_deleted
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerItem:
    """An item that was merged into another: its reference, what it was called, and for readers of which tags."""

    ref: GlobalRef
    names: tuple[str, ...]
    tags: Tags


async def store(
    connection: Connection,
    project_id: ProjectId,
    source: SourceId,
    merged: Mapping[GlobalRef, GlobalRef],
) -> list[DocumentId]:
    """Store what was merged into what, move people's decisions and what they hid along, and return the documents to publish anew.

    It is called before the former items are removed, since their names are theirs. What is stored already changes nothing.
    """
    final = await find_survivors(connection, project_id, merged.values())
    pairs = follow_chains({former: final.get(new, new) for former, new in merged.items()})
    if not pairs:
        return []
    stored = await fetch(connection, _STORE, {**_pairs(project_id, pairs), "source": source})
    new = {former: survivor for former, survivor in stored}
    if not new:
        return []
    await connection.execute(_FLATTEN, _pairs(project_id, new))
    await connection.execute(
        _MOVE_DECISIONS,
        {**_pairs(project_id, new), "symmetric": [link_type.value for link_type in SYMMETRIC]},
    )
    await merged_hiding.move(connection, project_id, new)
    return await _list_naming(connection, project_id, [*new, *new.values()])


def follow_chains(merged: Mapping[GlobalRef, GlobalRef]) -> dict[GlobalRef, GlobalRef]:
    """Return each former item with the item at the end of its chain of merges, without items that lead back to themselves."""
    ends: dict[GlobalRef, GlobalRef] = {}
    for former, survivor in merged.items():
        passed = {former}
        while survivor in merged and survivor not in passed:
            passed.add(survivor)
            survivor = merged[survivor]
        if survivor not in passed:
            ends[former] = survivor
    return ends


async def separate(
    connection: Connection, project_id: ProjectId, delivered: Sequence[GlobalRef]
) -> list[DocumentId]:
    """Forget the merges of items that the system delivers again as themselves, and return the documents to publish anew."""
    keys = {"project_id": project_id, "refs": list(delivered)}
    refs = [ref for pair in await fetch(connection, _SEPARATE, keys) for ref in pair]
    return await _list_naming(connection, project_id, refs) if refs else []


async def find_survivors(
    connection: Connection, project_id: ProjectId, refs: Iterable[GlobalRef]
) -> dict[GlobalRef, GlobalRef]:
    """Return the survivors of those of the items that were merged into others."""
    keys = {"project_id": project_id, "refs": sorted(set(refs))}
    return {former: survivor for former, survivor in await fetch(connection, _SURVIVORS, keys)}


async def list_tags(
    connection: Connection, project_id: ProjectId, refs: Iterable[GlobalRef]
) -> dict[GlobalRef, Tags]:
    """Return the access tags by which each of these items is known; an item that is not stored has none."""
    keys = {"project_id": project_id, "refs": sorted(set(refs))}
    return {ref: frozenset(tags) for ref, tags in await fetch(connection, _SEEN_BY, keys)}


async def list_affected(
    connection: Connection,
    project_id: ProjectId,
    items: Iterable[GlobalRef],
    documents: Sequence[DocumentId],
) -> list[DocumentId]:
    """Return what may name merged items otherwise, now that these items are stored, and others see these documents."""
    keys = {"project_id": project_id, "refs": sorted(set(items)), "documents": list(documents)}
    refs = sorted({ref for pair in await fetch(connection, _OF_SURVIVORS, keys) for ref in pair})
    naming = await _list_naming(connection, project_id, refs) if refs else []
    return sorted({*naming, *await fetch_values(connection, _NAMING_FORMER, keys)})


async def list_former(
    connection: Connection, project_id: ProjectId, survivors: Sequence[GlobalRef]
) -> dict[GlobalRef, list[FormerItem]]:
    """Return what was merged into each of these items, by reference."""
    keys = {"project_id": project_id, "refs": list(survivors)}
    items: dict[GlobalRef, list[FormerItem]] = {}
    for survivor, former, names, tags in await fetch(connection, _FORMER, keys):
        item = FormerItem(ref=former, names=tuple(names), tags=frozenset(tags))
        items.setdefault(survivor, []).append(item)
    return items


async def forget_names(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> None:
    """Forget the merges of items whose documents are erased; the survivors are fetched again, and lose the names."""
    survivors: defaultdict[SourceId, set[GlobalRef]] = defaultdict(set)
    for source, survivor in await fetch(connection, _FORGET, {"documents": list(documents)}):
        survivors[source].add(survivor)
    refs = sorted({ref for source_refs in survivors.values() for ref in source_refs})
    await connection.execute(_UNKNOWN_VERSION, {"project_id": project_id, "refs": refs})
    for source, source_refs in survivors.items():
        await item_fetches.request(connection, source, sorted(source_refs))


async def _list_naming(
    connection: Connection, project_id: ProjectId, refs: Sequence[GlobalRef]
) -> list[DocumentId]:
    keys = {"project_id": project_id, "refs": list(refs)}
    return await fetch_values(connection, _NAMING, keys)


def _pairs(project_id: ProjectId, merged: Mapping[GlobalRef, GlobalRef]) -> dict[str, object]:
    return {
        "project_id": project_id,
        "former": list(merged),
        "survivors": list(merged.values()),
    }
