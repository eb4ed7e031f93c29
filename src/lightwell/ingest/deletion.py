"""Documents go: hidden first, then what was derived from them is rebuilt once for all, then the report."""

from collections.abc import Sequence

from lightwell.domain.access import Reader
from lightwell.domain.deletions import Deletion
from lightwell.domain.errors import LightwellError
from lightwell.domain.ids import DocumentId
from lightwell.ingest.way import Way, follow_up
from lightwell.records import deletions, documents, forgetting
from lightwell.records.deletions import Touched


async def delete(way: Way, reader: Reader, gone: Sequence[DocumentId]) -> Deletion:
    """Turn documents into tombstones and rebuild what they fed; no read finds them once this returns."""
    async with way.database.transaction() as connection:
        touched = await deletions.touched(connection, reader, gone)
        vectors = await way.vectors.vectors(way.space.id, touched.chunks)
        await documents.tombstone(connection, reader.project_id, gone)
    errors: list[str] = []
    try:
        await follow_up(way, reader.project_id)
    except LightwellError as error:
        errors.append(f"{error}; the next ingestion or worker carries on with it")
    return await _reported(way, reader, gone, touched, (len(vectors), tuple(errors)))


async def erase(way: Way, reader: Reader, gone: Sequence[DocumentId]) -> Deletion:
    """Delete documents, and their tombstones with them: not even their names are left, nor those that only they had."""
    report = await delete(way, reader, gone)
    async with way.database.transaction() as connection:
        await deletions.erase(connection, gone)
        await forgetting.forget_names(connection, reader.project_id)
    return report


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
