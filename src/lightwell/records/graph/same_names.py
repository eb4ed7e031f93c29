"""Bearers of one name: entities that share a name, but have different attribute values within one access class.

Each value gets an entity whose id follows from the name and the value. In a class without contradicting values
the name is one entity. So the result depends neither on other classes nor on any order.
"""

from collections.abc import Collection, Sequence
from typing import LiteralString
from uuid import UUID

from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.records.database import Connection
from lightwell.records.rows import fetch, fetch_values

_FIELDS: tuple[LiteralString, ...] = ("email", "domain", "owner", "location")

_NAMES = """
SELECT DISTINCT mention.named_as
FROM document_entity_mentions AS mention JOIN document_chunks AS chunk USING (chunk_id)
WHERE chunk.document_id = ANY(%(documents)s)
  AND mention.names IS NULL AND mention.attributes ?| ARRAY['email', 'domain', 'owner', 'location']
"""


def _values(field: LiteralString) -> LiteralString:
    return f"""
SELECT DISTINCT mention.named_as, mention.class_id, '{field}' AS field, lower(mention.attributes ->> '{field}') AS value
FROM (
    SELECT named_as, class_id FROM document_entity_mentions
    WHERE named_as = ANY(%(names)s) AND names IS NULL AND attributes ->> '{field}' IS NOT NULL
    GROUP BY named_as, class_id
    HAVING min(lower(attributes ->> '{field}')) <> max(lower(attributes ->> '{field}'))
) AS contradicting
JOIN document_entity_mentions AS mention USING (named_as, class_id)
WHERE mention.attributes ->> '{field}' IS NOT NULL
"""  # noqa: S608 - only our own words


_CONTRADICTING = f"""
SELECT given.named_as, given.class_id, given.field, given.value,
       entity.project_id, entity.normalized_name, entity.entity_ref || '<' || given.value || '>' AS ref
FROM ({" UNION ALL ".join(_values(field) for field in _FIELDS)}) AS given
JOIN entities AS entity ON entity.entity_id = given.named_as
"""  # noqa: S608 - only our own words

_CREATE_BEARERS = f"""
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
SELECT DISTINCT entity_key(project_id, ref), project_id, ref, normalized_name FROM ({_CONTRADICTING}) AS bearer
ORDER BY 1
ON CONFLICT (project_id, entity_ref) DO NOTHING
"""  # noqa: S608 - only our own words

_DELETE = "DELETE FROM entity_bearers WHERE source_id = ANY(%(names)s)"

_STORE = f"""
INSERT INTO entity_bearers (source_id, class_id, field, value, bearer_id)
SELECT named_as, class_id, field, value, entity_key(project_id, ref) FROM ({_CONTRADICTING}) AS bearer
ORDER BY 1, 2, 3, 4
"""  # noqa: S608 - only our own words

_BEARERS = """
SELECT source_id, class_id, field, value, bearer_id FROM entity_bearers WHERE source_id = ANY(%(names)s)
"""

_MARK_STALE = """
INSERT INTO stale_profiles (subject_id, class_id, project_id, subject, delta)
SELECT bearer_id, 0, %(project_id)s, 'entity', 0 FROM unnest(%(bearers)s::uuid[]) AS gone (bearer_id)
ON CONFLICT (project_id, subject_id, class_id) DO NOTHING
"""


async def list_names_with_attributes(
    connection: Connection, documents: Sequence[DocumentId]
) -> set[UUID]:
    """Return the names for which these documents state a distinguishing attribute."""
    return set(await fetch_values(connection, _NAMES, {"documents": list(documents)}))


async def determine_bearers(
    connection: Connection, project_id: ProjectId, names: Collection[UUID]
) -> tuple[set[UUID], set[UUID]]:
    """Determine the bearers of these names again; return the names whose bearers changed, and the bearers that are gone."""
    parameters: dict[str, object] = {"names": sorted(names), "project_id": project_id}
    before = set(await fetch(connection, _BEARERS, parameters))
    await connection.execute(_DELETE, parameters)
    await connection.execute(_CREATE_BEARERS, parameters)
    await connection.execute(_STORE, parameters)
    after = set(await fetch(connection, _BEARERS, parameters))
    removed = {bearer for *_, bearer in before} - {bearer for *_, bearer in after}
    await connection.execute(_MARK_STALE, {**parameters, "bearers": sorted(removed)})
    return {name for name, *_ in before ^ after}, removed
