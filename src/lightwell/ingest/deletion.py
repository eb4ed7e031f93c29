"""Deletes documents: hide them first, then rebuild derived data once for all of them, then report."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.documents import Deletion, RemovedRows
from lightwell.domain.errors import LightwellError
from lightwell.domain.ids import ChunkId, DocumentId, ProjectId
from lightwell.domain.withdrawals import Act, Withdrawal
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.ingest.derived_data import apply_pending_changes
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.documents import deletion_effects, documents, erasure
from lightwell.records.documents.deletion_effects import AffectedGraph
from lightwell.records.locks import lock_project

Tombstone = Callable[[Connection, ProjectId, Sequence[DocumentId]], Awaitable[None]]


async def delete(
    context: IngestContext, reader: Reader, document_ids: Sequence[DocumentId]
) -> Deletion:
    """Turn documents into tombstones and rebuild the data derived from them. Afterwards no read finds them."""
    return await _delete(context, reader, document_ids, Act.DELETED)


async def erase(
    context: IngestContext, reader: Reader, document_ids: Sequence[DocumentId]
) -> Deletion:
    """Delete documents together with their tombstones, URLs and all names that only they mention.

    A document that is ingested again at the same time stays; the report's `errors` name it.
    """
    report = await _delete(context, reader, document_ids, Act.ERASED)
    await erasure.finish_requested(context.database, reader.project_id)
    reingested = await deletion_effects.list_urls(context.database, reader, document_ids)
    errors = tuple(
        f"{url} was ingested again during the deletion, so it still exists; delete it again"
        for url in reingested
    )
    return replace(report, errors=(*report.errors, *errors))


@repeatable
async def preview(
    context: IngestContext, reader: Reader, document_ids: Sequence[DocumentId]
) -> Deletion:
    """Return what `delete` of these documents would report now. It deletes them and takes that back, so that both say the same."""
    context = await follow_space(context)
    stored_vectors = await context.vectors.vectors(
        context.space.id, await deletion_effects.list_chunks(context.database, reader, document_ids)
    )
    async with context.database.trial() as connection:
        await lock_project(connection, reader.project_id)
        affected = await deletion_effects.find_affected(connection, reader, document_ids)
        await documents.tombstone(connection, reader.project_id, document_ids)
        visible = await deletion_effects.find_still_visible(connection, reader, affected.subjects)
    return _report(document_ids, affected, stored_vectors, visible)


async def _delete(
    context: IngestContext, reader: Reader, document_ids: Sequence[DocumentId], act: Act
) -> Deletion:
    tombstone = erasure.request if act is Act.ERASED else documents.tombstone
    context = await follow_space(context)
    stored_vectors = await context.vectors.vectors(
        context.space.id, await deletion_effects.list_chunks(context.database, reader, document_ids)
    )
    affected = await _hide(context.database, reader, document_ids, tombstone)
    moment = await context.database.now()
    context.note_withdrawals(
        [Withdrawal(document=document, act=act, at=moment) for document in document_ids]
    )
    errors: list[str] = []
    try:
        await apply_pending_changes(context)
    except LightwellError as error:
        errors.append(f"{error}; the next ingestion or worker finishes it")
    visible = await _find_visible(context.database, reader, affected)
    report = _report(document_ids, affected, stored_vectors, visible)
    return replace(report, errors=tuple(errors))


@repeatable
async def _find_visible(database: Database, reader: Reader, affected: AffectedGraph) -> set[UUID]:
    async with database.transaction() as connection:
        return await deletion_effects.find_still_visible(connection, reader, affected.subjects)


def _report(
    document_ids: Sequence[DocumentId],
    affected: AffectedGraph,
    stored_vectors: Collection[ChunkId],
    visible: Collection[UUID],
) -> Deletion:
    names = affected.entities.items()
    return Deletion(
        documents=tuple(document_ids),
        entities_deleted=tuple(sorted(ref for entity, ref in names if entity not in visible)),
        entities_rebuilt=tuple(sorted(ref for entity, ref in names if entity in visible)),
        relations_deleted=sum(relation not in visible for relation in affected.relations),
        relations_rebuilt=sum(relation in visible for relation in affected.relations),
        removed=RemovedRows(
            chunks=len(affected.chunks),
            vectors=sum(chunk in stored_vectors for chunk in affected.chunks),
            mentions=affected.mentions,
            relation_mentions=affected.relation_mentions,
        ),
    )


@repeatable
async def _hide(
    database: Database, reader: Reader, document_ids: Sequence[DocumentId], tombstone: Tombstone
) -> AffectedGraph:
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        affected = await deletion_effects.find_affected(connection, reader, document_ids)
        await tombstone(connection, reader.project_id, document_ids)
        return affected
