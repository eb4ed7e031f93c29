"""Which entity or relation a mention belongs to, after people have split entities or deleted them by hand.

`named_as` and `stated_as` are what a document states. `entity_id` and `relation_id` are the same, or the part
that a split moved the mention to, or null where it is hidden from that access class. Merges change neither:
they are applied when a reader queries (`merges_told` in the schema).
"""

from collections.abc import Collection, Sequence
from typing import LiteralString
from uuid import UUID

from lightwell.domain.ids import DocumentId, EntityId, ProjectId
from lightwell.records.database import Connection
from lightwell.records.graph import same_names
from lightwell.records.rows import fetch_values

_RELATIONS_OF = """
SELECT relation_id FROM relations WHERE source_id = ANY(%(entities)s) OR target_id = ANY(%(entities)s)
"""

# The rows with class 0, which no mention has, make refresh check whether anything still uses the subject.
_STALE = """
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT subject_id, class_id, %(project_id)s, subject, %(sign)s * sum(mentions) FROM (
    SELECT entity_id AS subject_id, class_id, 'entity' AS subject, count(DISTINCT chunk_id) AS mentions
    FROM document_entity_mentions WHERE entity_id = ANY(%(entities)s) GROUP BY entity_id, class_id
    UNION ALL
    SELECT relation_id, class_id, 'relation', count(DISTINCT chunk_id)
    FROM relation_mentions WHERE relation_id = ANY(%(relations)s) GROUP BY relation_id, class_id
    UNION ALL
    SELECT entity_id, class_id, 'entity', 0 FROM entity_edits WHERE entity_id = ANY(%(entities)s)
    UNION ALL
    SELECT relation_id, class_id, 'relation', 0 FROM relation_edits WHERE relation_id = ANY(%(relations)s)
    UNION ALL
    SELECT subject_id, class_id, subject, 0 FROM profiles
    WHERE subject_id = ANY(%(entities)s || %(relations)s::uuid[])
    UNION ALL
    SELECT unnest(%(entities)s::uuid[]), 0, 'entity', 0
    UNION ALL
    SELECT unnest(%(relations)s::uuid[]), 0, 'relation', 0
) AS counted
GROUP BY subject_id, class_id, subject
ON CONFLICT (project_id, subject_id, class_id) DO UPDATE SET delta = stale_profiles.delta + excluded.delta
"""


# The part that the latest split moves the chunk's mention to; else, of several bearers of the name, the one that the
# chunk's attributes identify; else null.
def _part(named: LiteralString, part: LiteralString) -> LiteralString:
    return f"""
LEFT JOIN LATERAL (
    SELECT moved.part_id, moved.name FROM (
        (SELECT split.part_id, split.name, 0 AS place
         FROM split_passages AS passage JOIN entity_splits AS split USING (split_id)
         WHERE passage.source_id = {named} AND passage.document_id = chunk.document_id
           AND passage.class_id = chunk.class_id AND passage.undone_at IS NULL
           AND (passage.chunk_hash IS NULL OR passage.chunk_hash = chunk.chunk_hash)
         ORDER BY split.split_id DESC LIMIT 1)
        UNION ALL
        SELECT bearer.bearer_id, NULL, array_position(ARRAY['email', 'domain', 'owner', 'location'], bearer.field)
        FROM entity_bearers AS bearer
        JOIN document_entity_mentions AS own
          ON own.chunk_id = chunk.chunk_id AND own.named_as = bearer.source_id
        WHERE bearer.source_id = {named} AND bearer.class_id = chunk.class_id
          AND lower(own.attributes ->> bearer.field) = bearer.value
    ) AS moved
    ORDER BY moved.place LIMIT 1
) AS {part} ON true"""  # noqa: S608 - only our own words


_SOURCE_AND_TARGET: LiteralString = _part("stated.source_id", "source_part") + _part(
    "stated.target_id", "target_part"
)


# A materialized CTE keeps the planner, which knows the size of an average document only, from joining the mentions of a
# large document with each other.
def _show_mentions(where: LiteralString) -> LiteralString:
    return f"""
WITH shown AS MATERIALIZED (
    SELECT mention.chunk_id, mention.class_id, mention.named_as, part.name AS part_name,
           CASE WHEN class.class_id = ANY(entity.hidden_in) THEN NULL ELSE entity.entity_id END AS entity_id
    FROM document_entity_mentions AS mention
    JOIN document_chunks AS chunk ON chunk.chunk_id = mention.chunk_id
    JOIN access_classes AS class ON class.class_id = mention.class_id{_part("mention.named_as", "part")}
    JOIN entities AS entity ON entity.entity_id = coalesce(part.part_id, mention.named_as)
    WHERE {where}
)
UPDATE document_entity_mentions AS said SET entity_id = shown.entity_id, part_name = shown.part_name
FROM shown
WHERE shown.chunk_id = said.chunk_id AND shown.named_as = said.named_as AND shown.class_id = said.class_id
  AND (said.entity_id IS DISTINCT FROM shown.entity_id OR said.part_name IS DISTINCT FROM shown.part_name)
"""  # noqa: S608 - only our own words


_SHOW_EDITS: LiteralString = """
UPDATE entity_edits AS said SET entity_id = shown.entity_id
FROM (
    SELECT named.entity_id AS named_as, class.class_id,
           CASE WHEN class.class_id = ANY(named.hidden_in) THEN NULL ELSE named.entity_id END AS entity_id
    FROM entities AS named JOIN access_classes AS class ON class.project_id = named.project_id
) AS shown
WHERE shown.named_as = said.named_as AND shown.class_id = said.class_id
  AND said.entity_id IS DISTINCT FROM shown.entity_id AND said.named_as = ANY(%(entities)s)
"""


# A chunk's relations follow its mentions to the part.
def _move_relations(where: LiteralString) -> LiteralString:
    return f"""
INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
SELECT DISTINCT relation_key(stated.project_id, moved.source_id, moved.target_id, stated.predicate),
       stated.project_id, moved.source_id, moved.target_id, stated.predicate
FROM relation_mentions AS mention
JOIN relations AS stated ON stated.relation_id = mention.stated_as
JOIN document_chunks AS chunk ON chunk.chunk_id = mention.chunk_id{_SOURCE_AND_TARGET}
CROSS JOIN LATERAL (SELECT coalesce(source_part.part_id, stated.source_id) AS source_id,
                           coalesce(target_part.part_id, stated.target_id) AS target_id) AS moved
WHERE (source_part.part_id IS NOT NULL OR target_part.part_id IS NOT NULL)
  AND moved.source_id <> moved.target_id AND ({where})
ORDER BY moved.source_id, moved.target_id, stated.predicate
ON CONFLICT (source_id, target_id, predicate) DO NOTHING
"""  # noqa: S608 - only our own words


def _show_relation_mentions(where: LiteralString) -> LiteralString:
    return f"""
WITH shown AS MATERIALIZED (
    SELECT mention.chunk_id, mention.class_id, mention.stated_as,
           CASE WHEN class.class_id = ANY(source.hidden_in) OR class.class_id = ANY(target.hidden_in)
                  OR class.class_id = ANY(relation.hidden_in)
                THEN NULL ELSE relation.relation_id END AS relation_id
    FROM relation_mentions AS mention
    JOIN relations AS stated ON stated.relation_id = mention.stated_as
    JOIN document_chunks AS chunk ON chunk.chunk_id = mention.chunk_id
    JOIN access_classes AS class ON class.class_id = mention.class_id{_SOURCE_AND_TARGET}
    LEFT JOIN relations AS relation
      ON relation.source_id = coalesce(source_part.part_id, stated.source_id)
     AND relation.target_id = coalesce(target_part.part_id, stated.target_id)
     AND relation.predicate = stated.predicate
    LEFT JOIN entities AS source ON source.entity_id = relation.source_id
    LEFT JOIN entities AS target ON target.entity_id = relation.target_id
    WHERE {where}
)
UPDATE relation_mentions AS said SET relation_id = shown.relation_id
FROM shown
WHERE shown.chunk_id = said.chunk_id AND shown.stated_as = said.stated_as AND shown.class_id = said.class_id
  AND said.relation_id IS DISTINCT FROM shown.relation_id
"""  # noqa: S608 - only our own words


_SHOW_RELATION_EDITS: LiteralString = """
UPDATE relation_edits AS said SET relation_id = shown.relation_id
FROM (
    SELECT stated.relation_id AS stated_as, class.class_id,
           CASE WHEN class.class_id = ANY(source.hidden_in) OR class.class_id = ANY(target.hidden_in)
                  OR class.class_id = ANY(stated.hidden_in)
                THEN NULL ELSE stated.relation_id END AS relation_id
    FROM relations AS stated
    JOIN entities AS source ON source.entity_id = stated.source_id
    JOIN entities AS target ON target.entity_id = stated.target_id
    JOIN access_classes AS class ON class.project_id = stated.project_id
) AS shown
WHERE shown.stated_as = said.stated_as AND shown.class_id = said.class_id
  AND said.relation_id IS DISTINCT FROM shown.relation_id AND said.stated_as = ANY(%(relations)s)
"""

_WITH_PARTS = """
SELECT unnest(%(entities)s::uuid[])
UNION
SELECT split.part_id FROM split_passages AS passage JOIN entity_splits AS split USING (split_id)
WHERE passage.source_id = ANY(%(entities)s)
UNION
SELECT passage.source_id FROM split_passages AS passage JOIN entity_splits AS split USING (split_id)
WHERE split.part_id = ANY(%(entities)s)
UNION
SELECT bearer_id FROM entity_bearers WHERE source_id = ANY(%(entities)s)
UNION
SELECT source_id FROM entity_bearers WHERE bearer_id = ANY(%(entities)s)
"""

_MOVED_NAMES = """
WITH named AS MATERIALIZED (
    SELECT DISTINCT said.named_as
    FROM document_chunks AS chunk JOIN document_entity_mentions AS said USING (chunk_id)
    WHERE chunk.document_id = ANY(%(documents)s)
)
SELECT named_as FROM named
WHERE EXISTS (SELECT FROM entity_bearers WHERE entity_bearers.source_id = named.named_as)
   OR named_as IN (SELECT source_id FROM split_passages WHERE document_id = ANY(%(documents)s))
"""

# First the visible mentions, then those that are hidden or moved: each condition has its own index.
_SHOW: tuple[LiteralString, ...] = (
    _show_mentions("mention.entity_id = ANY(%(entities)s)"),
    _show_mentions(
        "mention.named_as = ANY(%(entities)s) AND mention.entity_id IS DISTINCT FROM mention.named_as",
    ),
    _SHOW_EDITS,
    _show_relation_mentions("mention.relation_id = ANY(%(relations)s)"),
    _show_relation_mentions(
        "mention.stated_as = ANY(%(relations)s) AND mention.relation_id IS DISTINCT FROM mention.stated_as",
    ),
    _SHOW_RELATION_EDITS,
)

_MOVE_RELATIONS = _move_relations(
    """mention.chunk_id IN (
    SELECT chunk_id FROM document_chunks WHERE document_id IN (
        SELECT document_id FROM split_passages WHERE source_id = ANY(%(entities)s)))
   OR mention.chunk_id IN (
    SELECT chunk_id FROM document_entity_mentions AS said JOIN entity_bearers AS bearer
      ON bearer.source_id = said.named_as AND bearer.class_id = said.class_id
    WHERE bearer.source_id = ANY(%(entities)s))""",
)


_OF_DOCUMENTS: LiteralString = "chunk.document_id = ANY(%(documents)s)"
_WITH_MOVED_END: LiteralString = (
    f"{_OF_DOCUMENTS} AND (stated.source_id = ANY(%(names)s) OR stated.target_id = ANY(%(names)s))"
)

_SHOW_DOCUMENTS: tuple[LiteralString, ...] = (
    _show_mentions(_OF_DOCUMENTS),
    _move_relations(_OF_DOCUMENTS),
    _show_relation_mentions(_OF_DOCUMENTS),
)

_SHOW_NAMES: tuple[LiteralString, ...] = (
    _show_mentions(f"{_OF_DOCUMENTS} AND mention.named_as = ANY(%(names)s)"),
    _move_relations(_WITH_MOVED_END),
    _show_relation_mentions(_WITH_MOVED_END),
)


async def resolve(
    connection: Connection, project_id: ProjectId, entities: Sequence[EntityId]
) -> None:
    """Update the entity of these entities' mentions, and of those of their parts; the caller must refresh
    afterwards.

    The caller holds the publishing lock.
    """
    with_parts = await _with_parts(connection, entities)
    _, removed = await same_names.determine_bearers(connection, project_id, with_parts)
    affected = list(
        {*with_parts, *await _with_parts(connection, entities), *map(EntityId, removed)}
    )
    subjects: dict[str, object] = {
        "entities": affected,
        "relations": await _list_relations_of(connection, affected),
        "project_id": project_id,
    }
    await connection.execute(_STALE, {**subjects, "sign": -1})
    await connection.execute(_MOVE_RELATIONS, subjects)
    for statement in _SHOW:
        await connection.execute(statement, subjects)
    subjects["relations"] = await _list_relations_of(connection, affected)
    await connection.execute(_STALE, {**subjects, "sign": 1})


async def resolve_documents(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Update the entities of these documents' mentions after a change of their access class."""
    for statement in _SHOW_DOCUMENTS:
        await connection.execute(statement, {"documents": list(documents)})


async def apply_splits(connection: Connection, documents: Sequence[DocumentId]) -> None:
    """Move the new mentions of these documents to the parts that people split off, or to the bearers of their names."""
    parameters: dict[str, object] = {"documents": list(documents)}
    names = await fetch_values(connection, _MOVED_NAMES, parameters)
    if not names:
        return
    for statement in _SHOW_NAMES:
        await connection.execute(statement, {**parameters, "names": names})


async def update_bearers(
    connection: Connection, project_id: ProjectId, names: Collection[UUID]
) -> None:
    """Determine the bearers of these names again, and move mentions where they changed; the caller must refresh
    afterwards.
    """
    if names:
        changed, removed = await same_names.determine_bearers(connection, project_id, names)
        if changed:
            await resolve(connection, project_id, [EntityId(name) for name in changed | removed])


async def _with_parts(connection: Connection, entities: Sequence[EntityId]) -> list[EntityId]:
    return await fetch_values(connection, _WITH_PARTS, {"entities": list(entities)})


async def _list_relations_of(connection: Connection, entities: Sequence[EntityId]) -> list[UUID]:
    return await fetch_values(connection, _RELATIONS_OF, {"entities": list(entities)})
