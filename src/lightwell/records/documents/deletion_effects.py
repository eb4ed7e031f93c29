"""What a deletion affects, before and after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import display_ref
from lightwell.domain.ids import ChunkId, DocumentId
from lightwell.records.database import Connection, Database
from lightwell.records.rows import fetch, fetch_values


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedGraph:
    """What the reader sees of the documents' chunks and their mentions; `entities` maps ids to references."""

    chunks: tuple[ChunkId, ...]
    entities: dict[UUID, str]
    relations: tuple[UUID, ...]
    mentions: int
    relation_mentions: int

    @property
    def subjects(self) -> list[UUID]:
        """The ids of the entities and relations."""
        return [*self.entities, *self.relations]


_CHUNKS = """
SELECT chunk_id FROM document_chunks
WHERE document_id = ANY(%(documents)s) AND sees(%(classes)s, class_id)
"""

_ENTITIES = """
SELECT entity.entity_id, coalesce(profile.entity_ref, entity.entity_ref) AS ref, profile.entity_kind, count(*)
FROM document_entity_mentions AS mention
JOIN document_chunks AS chunk USING (chunk_id)
LEFT JOIN merged_entities_of(%(classes)s) AS merged USING (entity_id)
JOIN entities AS entity ON entity.entity_id = coalesce(merged.root_id, mention.entity_id)
CROSS JOIN LATERAL (
    SELECT profile.entity_ref, profile.entity_kind FROM profiles AS profile
    WHERE profile.subject_id = entity.entity_id AND sees(%(classes)s, profile.class_id)
    ORDER BY profile.class_id = mention.class_id DESC, profile.mention_count DESC, profile.entity_kind COLLATE "C"
    LIMIT 1
) AS profile
WHERE chunk.document_id = ANY(%(documents)s) AND sees(%(classes)s, mention.class_id)
GROUP BY entity.entity_id, ref, profile.entity_kind
ORDER BY ref
"""

_RELATIONS = """
SELECT mention.relation_id, count(*)
FROM relation_mentions AS mention JOIN document_chunks AS chunk USING (chunk_id)
WHERE chunk.document_id = ANY(%(documents)s) AND sees(%(classes)s, mention.class_id)
GROUP BY mention.relation_id
"""

_STILL_VISIBLE = """
SELECT DISTINCT subject_id FROM profiles
WHERE subject_id = ANY(%(subjects)s) AND sees(%(classes)s, class_id)
"""

_URLS = """
SELECT source_url FROM source_documents
WHERE document_id = ANY(%(documents)s) AND sees(%(classes)s, class_id) AND NOT is_deleted
ORDER BY source_url
"""


async def find_affected(
    connection: Connection, reader: Reader, documents: Sequence[DocumentId]
) -> AffectedGraph:
    """Return what depends on these documents, before they are deleted."""
    keys = {"documents": list(documents), **reader.parameters}
    chunks = await fetch_values(connection, _CHUNKS, keys)
    entities = await fetch(connection, _ENTITIES, keys)
    relations = await fetch(connection, _RELATIONS, keys)
    return AffectedGraph(
        chunks=tuple(chunks),
        entities={entity: display_ref(ref, kind) for entity, ref, kind, _ in entities},
        relations=tuple(relation for relation, _ in relations),
        mentions=sum(count for *_, count in entities),
        relation_mentions=sum(count for _, count in relations),
    )


async def find_still_visible(
    connection: Connection, reader: Reader, subjects: Sequence[UUID]
) -> set[UUID]:
    """Return those of the entities or relations that still have a profile which the reader sees."""
    keys = {"subjects": list(subjects), **reader.parameters}
    return set(await fetch_values(connection, _STILL_VISIBLE, keys))


async def list_chunks(
    database: Database, reader: Reader, documents: Sequence[DocumentId]
) -> list[ChunkId]:
    """Return the documents' chunks that the reader sees."""
    keys = {"documents": list(documents), **reader.parameters}
    return await database.values(_CHUNKS, keys)


async def list_urls(
    database: Database, reader: Reader, documents: Sequence[DocumentId]
) -> list[str]:
    """Return the URLs of those of the documents that the reader sees."""
    keys = {"documents": list(documents), **reader.parameters}
    return await database.values(_URLS, keys)
