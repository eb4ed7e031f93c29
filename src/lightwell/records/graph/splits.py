"""Stored splits: which mentions a person moved to another entity, in which documents, and whether the split is
undone.

A split applies within the access classes that the documents had when it was made: readers of such a document
see its mentions moved; for all others nothing changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import text_ref
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import normalize_name
from lightwell.domain.ids import ChunkId, ClassId, DocumentId, EntityId, SplitId
from lightwell.domain.merges import ActiveSplit
from lightwell.records.access_classes import page_parameters
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.graph import merge_trees, resolution
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch, fetch_values


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSplit:
    """A split to store: mentions of `entity` in these documents and chunks move to `name`."""

    id: SplitId
    entity: EntityId
    name: str
    documents: tuple[DocumentId, ...]
    chunks: tuple[ChunkId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSplit:
    """The part, and the number of passages whose mentions moved to it."""

    part: EntityId
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    named_as: EntityId
    document_id: DocumentId
    class_id: ClassId
    chunk_id: ChunkId
    chunk_hash: bytes


_MENTIONS = """
SELECT mention.named_as, chunk.document_id, chunk.class_id, chunk.chunk_id, chunk.chunk_hash
FROM document_entity_mentions AS mention
JOIN document_chunks AS chunk USING (chunk_id)
JOIN source_documents AS document USING (document_id)
WHERE mention.entity_id = ANY(%(members)s) AND sees(%(classes)s, mention.class_id)
  AND sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
  AND (chunk.document_id = ANY(%(documents)s) OR chunk.chunk_id = ANY(%(chunks)s))
ORDER BY chunk.chunk_id, mention.named_as
"""

# If the part exists but is hidden, it becomes visible again in this person's own classes.
_MAKE_PART = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
VALUES (entity_key(%(project_id)s, %(ref)s), %(project_id)s, %(ref)s, %(normalized)s)
ON CONFLICT (project_id, entity_ref)
DO UPDATE SET hidden_in = (SELECT nullif(array_agg(class_id ORDER BY class_id), '{}')
                           FROM unnest(entities.hidden_in) AS class_id WHERE NOT sees(%(classes)s, class_id))
RETURNING entity_id
"""

_SPLIT = """
INSERT INTO entity_splits (split_id, project_id, part_id, name, made_by)
VALUES (%(split)s, %(project_id)s, %(part)s, %(name)s, %(by)s)
"""

_SPLIT_PASSAGES = """
INSERT INTO split_passages (split_id, source_id, document_id, class_id, chunk_hash)
SELECT %(split)s, source_id, document_id, class_id, chunk_hash
FROM unnest(%(sources)s::uuid[], %(documents)s::uuid[], %(classes)s::integer[], %(hashes)s::bytea[])
    AS given (source_id, document_id, class_id, chunk_hash)
"""

_ACTIVE = """
SELECT DISTINCT split.split_id, split.part_id, passage.source_id
FROM entity_splits AS split JOIN split_passages AS passage USING (split_id)
WHERE split.project_id = %(project_id)s AND sees(%(classes)s, passage.class_id) AND passage.undone_at IS NULL
  AND (split.split_id = %(id)s OR split.part_id = ANY(%(members)s))
ORDER BY split.split_id, passage.source_id
"""

_UNDO = """
UPDATE split_passages SET undone_at = now(), undone_by = %(by)s
WHERE split_id = ANY(%(splits)s) AND sees(%(classes)s, class_id) AND undone_at IS NULL
"""

_LIST: LiteralString = """
SELECT split.split_id, split.name AS part, array_agg(DISTINCT mention.name COLLATE "C") AS names,
       array_agg(DISTINCT document.source_url COLLATE "C") AS urls, count(DISTINCT chunk.chunk_id) AS passages,
       split.made_at AS split_at
FROM entity_splits AS split
JOIN split_passages AS passage USING (split_id)
JOIN document_chunks AS chunk
  ON chunk.document_id = passage.document_id AND chunk.class_id = passage.class_id
 AND (passage.chunk_hash IS NULL OR passage.chunk_hash = chunk.chunk_hash)
JOIN source_documents AS document ON document.document_id = chunk.document_id AND NOT document.is_deleted
JOIN document_entity_mentions AS mention
  ON mention.chunk_id = chunk.chunk_id AND mention.class_id = chunk.class_id
 AND mention.named_as = passage.source_id AND mention.entity_id = split.part_id
WHERE split.project_id = %(project_id)s AND sees(%(classes)s, passage.class_id) AND passage.undone_at IS NULL
  AND (%(after)s::uuid IS NULL OR split.split_id < %(after)s)
GROUP BY split.split_id
ORDER BY split.split_id DESC LIMIT %(limit)s
"""


@repeatable
async def split(database: Database, reader: Reader, new: NewSplit) -> StoredSplit:
    """Store a split in one transaction; raise `Invalid` if there is nothing to move or no other entity to move it to."""
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, {"project_id": reader.project_id})
        merged = await merge_trees.list_members(connection, reader, [new.entity])
        members = merged.get(new.entity, [new.entity])
        mentions = await _mentions(connection, reader, new, members)
        made = {
            "project_id": reader.project_id,
            "ref": text_ref(new.name),
            "normalized": normalize_name(new.name),
            "classes": reader.own_classes,
        }
        (part,) = await fetch_values(connection, _MAKE_PART, made)
        if part in members:
            raise Invalid(
                f"{new.name!r} is a name of this entity itself; give the other entity another name"
            )
        await _write(connection, reader, new, part, mentions)
        sources = {mention.named_as for mention in mentions}
        await resolution.resolve(connection, reader.project_id, [*sources, part])
        await refresh_all(connection, reader.project_id)
    return StoredSplit(part=part, passages=len({mention.chunk_id for mention in mentions}))


@repeatable
async def unsplit(
    database: Database, reader: Reader, name: str, chosen: UUID
) -> tuple[EntityId, ...]:
    """Undo the split with this id, or those that made this part, and return the entities that have the mentions
    again.

    It is undone in the reader's own classes only. Raises `NotFound` if none is active there; `name` is the
    reader's word for it, for the message.
    """
    async with database.transaction() as connection:
        facts: dict[str, object] = {
            "project_id": reader.project_id,
            "classes": reader.own_classes,
            "by": sorted(reader.tags),
            "id": chosen,
        }
        await connection.execute(PUBLISHING_LOCK, facts)
        merged = await merge_trees.list_members(connection, reader, [EntityId(chosen)])
        facts["members"] = merged.get(EntityId(chosen), [chosen])
        rows = await fetch(connection, _ACTIVE, facts)
        if not rows:
            raise NotFound(f"There is no split {name!r} that you may see")
        facts["splits"] = [split_id for split_id, _, _ in rows]
        await connection.execute(_UNDO, facts)
        touched = {entity for _, *ends in rows for entity in ends}
        await resolution.resolve(connection, reader.project_id, list(touched))
        await refresh_all(connection, reader.project_id)
    return tuple(dict.fromkeys(source for _, _, source in rows))


async def list_active(
    database: Database, reader: Reader, *, after: SplitId | None, limit: int
) -> list[ActiveSplit]:
    """Return the splits that move mentions which the reader sees, the latest first, those before `after`."""
    parameters = page_parameters(reader, after=after, limit=limit)
    return await database.rows(_LIST, parameters, into=ActiveSplit)


async def _mentions(
    connection: Connection, reader: Reader, new: NewSplit, members: Sequence[EntityId]
) -> list[_Mention]:
    """Return the mentions to move; raise `Invalid` if one of the documents or passages has none."""
    facts = {
        "members": list(members),
        "classes": reader.own_classes,
        "documents": list(new.documents),
        "chunks": list(new.chunks),
    }
    mentions = await fetch(connection, _MENTIONS, facts, into=_Mention)
    documents = {mention.document_id for mention in mentions}
    if {*new.documents} - documents or {*new.chunks} - {mention.chunk_id for mention in mentions}:
        raise Invalid(
            "A document or passage given does not mention this entity, or people without your access tags read it, too;"
            " `lightwell graph show` lists the documents that mention it"
        )
    return mentions


async def _write(
    connection: Connection,
    reader: Reader,
    new: NewSplit,
    part: EntityId,
    mentions: Sequence[_Mention],
) -> None:
    whole = {*new.documents}
    moved = sorted(
        {
            (
                mention.named_as,
                mention.document_id,
                mention.class_id,
                b"" if mention.document_id in whole else mention.chunk_hash,
            )
            for mention in mentions
        }
    )
    facts: dict[str, object] = {
        "split": new.id,
        "project_id": reader.project_id,
        "part": part,
        "name": new.name,
        "by": sorted(reader.tags),
        "sources": [source for source, *_ in moved],
        "documents": [document for _, document, *_ in moved],
        "classes": [class_id for *_, class_id, _ in moved],
        "hashes": [chunk_hash or None for *_, chunk_hash in moved],
    }
    await connection.execute(_SPLIT, facts)
    await connection.execute(_SPLIT_PASSAGES, facts)
