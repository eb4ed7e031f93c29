"""What items state beside their texts, as `source_documents.structure` stores it, and as mentions and links."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from lightwell.domain.access import Tags
from lightwell.domain.graph import Extraction, Mention, MentionType, normalize_name
from lightwell.domain.ids import ChunkId, DocumentId, GlobalRef, ProjectId
from lightwell.domain.item_structure import ItemStructure, StatedEntity, replace_merged
from lightwell.records.database import Connection
from lightwell.records.documents import item_merges
from lightwell.records.documents.item_merges import FormerItem
from lightwell.records.graph.stated_links import DocumentLink
from lightwell.records.rows import fetch, make

_STRUCTURE = TypeAdapter(ItemStructure)

_STATED = """
SELECT document.document_id AS id, document.global_ref AS ref, document.structure,
       array_agg(chunk.chunk_id ORDER BY chunk.chunk_index) AS chunk_ids, document.acl_tags AS tags
FROM source_documents AS document JOIN document_chunks AS chunk USING (document_id)
WHERE document_id = ANY(%(documents)s) AND document.structure IS NOT NULL AND chunk.class_id <> 0
GROUP BY document.document_id ORDER BY document.document_id
"""

_NOTHING = Extraction(mentions=(), relation_mentions=())


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedDocument:
    """A published document of an item with its access tags, its chunks in order, and what the item states."""

    id: DocumentId
    ref: GlobalRef
    chunk_ids: tuple[ChunkId, ...]
    tags: Tags
    structure: ItemStructure


def structure_to_json(structure: ItemStructure) -> object:
    """Return the structure as JSON values."""
    return _STRUCTURE.dump_python(structure, mode="json")


async def list_stated(
    connection: Connection, project_id: ProjectId, documents: Sequence[DocumentId]
) -> list[StatedDocument]:
    """Return those of the documents that belong to items and are published.

    What they state of an item that was merged into another is said of that other one, if all who see the document know it.
    """
    stated = await fetch(connection, _STATED, {"documents": list(documents)}, into=_stated)
    if not stated:
        return []
    refs = [entity.ref for document in stated for entity in document.structure.entities]
    survivors = await item_merges.find_survivors(connection, project_id, refs)
    former = await item_merges.list_former(connection, project_id, refs)
    known_to = await item_merges.list_tags(connection, project_id, survivors.values())
    return [_with_merges(document, survivors, known_to, former) for document in stated]


def _stated(*, structure: object, **columns: Any) -> StatedDocument:
    return make(StatedDocument, structure=_STRUCTURE.validate_python(structure), **columns)


def _with_merges(
    document: StatedDocument,
    survivors: Mapping[GlobalRef, GlobalRef],
    known_to: Mapping[GlobalRef, Tags],
    former: Mapping[GlobalRef, Sequence[FormerItem]],
) -> StatedDocument:
    structure = replace_merged(
        document.structure,
        {
            old: new
            for old, new in survivors.items()
            if document.tags <= known_to.get(new, frozenset())
        },
    )
    if structure.entities:
        entity, *others = structure.entities
        names = [
            name
            for item in former.get(entity.ref, ())
            if item.tags == document.tags  # others may not have known it
            for name in (item.ref, *item.names)
        ]
        entity = replace(entity, aliases=tuple(dict.fromkeys((*entity.aliases, *names))))
        structure = replace(structure, entities=(entity, *others))
    return replace(document, structure=structure)


def add_mentions(
    extractions: Mapping[ChunkId, Extraction], stated: Iterable[StatedDocument]
) -> Mapping[ChunkId, Extraction]:
    """Return the extractions with a mention of each stated entity in the first chunk of its document.

    Where the document's text names a stated entity, the text means that one, and not another of the same name.
    """
    combined = dict(extractions)
    for document in stated:
        mentions = [
            _mention(entity, is_own=place == 0)
            for place, entity in enumerate(document.structure.entities)
        ]
        by_name = _unique_names(mentions)
        for chunk_id in document.chunk_ids:
            extraction = combined.get(chunk_id, _NOTHING)
            named = [_identify(mention, by_name) for mention in extraction.mentions]
            if chunk_id == document.chunk_ids[0]:
                refs = {mention.ref for mention in named}
                named = [
                    replace(mention, type=MentionType.METADATA) if mention.ref else mention
                    for mention in named
                ]
                named += [mention for mention in mentions if mention.ref not in refs]
            combined[chunk_id] = replace(extraction, mentions=tuple(named))
    return combined


def _unique_names(stated: Iterable[Mention]) -> dict[str, Mention]:
    """Return the mentions by those of their names that no other has."""
    bearers: dict[str, list[Mention]] = {}
    for mention in stated:
        for name in mention.searched_names:
            bearers.setdefault(name, []).append(mention)
    return {name: mentions[0] for name, mentions in bearers.items() if len(mentions) == 1}


def _identify(mention: Mention, by_name: Mapping[str, Mention]) -> Mention:
    """Return a text's mention as one of the stated entity with its name, if there is one."""
    stated = by_name.get(normalize_name(mention.name))
    if stated is None:
        return mention
    return replace(stated, count=mention.count, description=mention.description, type=mention.type)


def list_links(stated: Iterable[StatedDocument]) -> list[DocumentLink]:
    """Return the links that the documents state."""
    return [
        DocumentLink(document_id=document.id, document_ref=document.ref, link=link)
        for document in stated
        for link in document.structure.links
    ]


def _mention(entity: StatedEntity, *, is_own: bool) -> Mention:
    attributes = dict(entity.attributes)
    if entity.url:
        attributes["url"] = entity.url
    return Mention(
        ref=entity.ref,
        name=entity.name.strip() or entity.ref,
        kind=entity.kind,
        type=MentionType.METADATA,
        aliases=entity.aliases,
        attributes=attributes,
        is_own=is_own,
    )
