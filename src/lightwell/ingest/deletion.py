"""Documents go: hidden first, then what was derived from them is rebuilt once for all, then the report."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from lightwell.domain.access import Reader
from lightwell.domain.deletions import Deletion
from lightwell.domain.errors import LightwellError
from lightwell.domain.ids import DocumentId, ProjectId
from lightwell.ingest.way import Way, follow_up
from lightwell.records import deletions, documents, erasures
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.deletions import Touched
from lightwell.records.locks import lock_project

Tombstone = Callable[[Connection, ProjectId, Sequence[DocumentId]], Awaitable[None]]


async def delete(way: Way, reader: Reader, gone: Sequence[DocumentId]) -> Deletion:
    """Turn documents into tombstones and rebuild what they fed; no read finds them once this returns."""
    return await _delete(way, reader, gone, documents.tombstone)


async def erase(way: Way, reader: Reader, gone: Sequence[DocumentId]) -> Deletion:
    """Delete documents, and their tombstones with them: not even their names are left, nor those that only they had.

    A document that is ingested again meanwhile stays; the report's errors name it.
    """
    report = await _delete(way, reader, gone, erasures.tombstone)
    await erasures.finish(way.database, reader.project_id)
    back = await deletions.standing(way.database, reader, gone)
    said = tuple(
        f"{url} was ingested again meanwhile, so it is there; delete it again" for url in back
    )
    return replace(report, errors=(*report.errors, *said))


async def _delete(
    way: Way, reader: Reader, gone: Sequence[DocumentId], tombstone: Tombstone
) -> Deletion:
    known = await way.vectors.vectors(
        way.space.id, await deletions.chunks(way.database, reader, gone)
    )
    touched = await _hide(way.database, reader, gone, tombstone)
    errors: list[str] = []
    try:
        await follow_up(way, reader.project_id)
    except LightwellError as error:
        errors.append(f"{error}; the next ingestion or worker carries on with it")
    vectors = sum(chunk in known for chunk in touched.chunks)
    return await _reported(way, reader, gone, touched, (vectors, tuple(errors)))


@repeatable
async def _hide(
    database: Database, reader: Reader, gone: Sequence[DocumentId], tombstone: Tombstone
) -> Touched:
    async with database.transaction() as connection:
        await lock_project(connection, reader.project_id)
        touched = await deletions.touched(connection, reader, gone)
        await tombstone(connection, reader.project_id, gone)
        return touched


async def _reported(
    way: Way,
    reader: Reader,
    gone: Sequence[DocumentId],
    touched: Touched,
    outcome: tuple[int, tuple[str, ...]],
) -> Deletion:
    vectors, errors = outcome
    left = await deletions.left(way.database, reader, [*touched.entities, *touched.relations])
    names = touched.entities.items()
    return Deletion(
        documents=tuple(gone),
        entities_deleted=tuple(sorted(ref for entity, ref in names if entity not in left)),
        entities_rebuilt=tuple(sorted(ref for entity, ref in names if entity in left)),
        relations_deleted=sum(relation not in left for relation in touched.relations),
        relations_rebuilt=sum(relation in left for relation in touched.relations),
        chunks=len(touched.chunks),
        vectors=vectors,
        mentions=touched.mentions,
        relation_mentions=touched.relation_mentions,
        errors=errors,
    )
