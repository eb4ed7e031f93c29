"""Splits: mentions in chosen documents or passages move to another entity, until the split is undone.

A split is stored as a fact and applied whenever these documents are ingested again; a passage is recognised by its
text. It applies within the access classes that the documents had when it was made.
"""

from collections.abc import Sequence

from lightwell.curate.context import CurationContext
from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Entity, normalize_name
from lightwell.domain.ids import SplitId, new_id, parse_uuid
from lightwell.domain.merges import SplitResult
from lightwell.domain.texts import require_text
from lightwell.records.documents import documents as stored_documents
from lightwell.records.documents import published_chunks
from lightwell.records.graph import entities, splits
from lightwell.records.graph.splits import NewSplit

_MAX_NAME = 200


async def split(
    context: CurationContext,
    reader: Reader,
    name: str,
    into: str,
    *,
    documents: Sequence[str],
    passages: Sequence[str],
) -> SplitResult:
    """Move what these documents and passages say of an entity to the entity called `into`, made where there is none.

    Documents are given by URL, reference or id, passages by reference or id. Raises `NotFound` for what the reader may
    not see, and `Invalid` where nothing is given, something given does not mention the entity, or `into` is its own name.
    """
    part_name = _part_name(into)
    if not documents and not passages:
        raise Invalid("No mentions are chosen; name at least one document or passage")
    database = context.database
    resolved = await entities.resolve_name(database, reader, name)
    document_list = [
        await stored_documents.get(database, reader, document) for document in documents
    ]
    chunks = await published_chunks.resolve_ids(database, reader, passages) if passages else []
    new = NewSplit(
        id=SplitId(new_id()),
        entity=resolved.entity_id,
        name=part_name,
        documents=tuple(document.id for document in document_list),
        chunks=tuple(chunks),
    )
    async with context.finish_derived_after(reader):
        moved = await splits.split(database, reader, new)
    remaining = await entities.get_many(database, reader, [resolved.entity_id])
    return SplitResult(
        split_id=new.id,
        part=await entities.get(database, reader, moved.part),
        rest=remaining.get(resolved.entity_id),
        passages=moved.passages,
    )


async def unsplit(context: CurationContext, reader: Reader, name: str) -> tuple[Entity, ...]:
    """Undo the splits that made the entity called so, or the split with this id; return what has the mentions again.

    Everything the reader sees is as if it had never been split, whatever was ingested or deleted since. Raises `NotFound`.
    """
    database = context.database
    chosen = parse_uuid(name) or (await entities.resolve_name(database, reader, name)).entity_id
    async with context.finish_derived_after(reader):
        entity_ids = await splits.unsplit(database, reader, name, chosen)
    by_id = await entities.get_many(database, reader, entity_ids)
    distinct = {entity.id: entity for entity in map(by_id.get, entity_ids) if entity}
    return tuple(distinct.values())


def _part_name(into: str) -> str:
    name = " ".join(require_text(into, "The name").split())
    if not normalize_name(name):
        raise Invalid("The name of the other entity is empty; name it")
    if len(name) > _MAX_NAME:
        raise Invalid(
            f"The name of the other entity is longer than {_MAX_NAME} characters; shorten it"
        )
    return name
