"""What an export reads: one snapshot of what a reader sees, in batches by stable keys.

Names, references, kinds and texts come from the profiles of the reader's classes only, combined here.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, LiteralString, TypeVar

from lightwell.domain.access import Reader
from lightwell.domain.entity_refs import display_ref, stored_ref
from lightwell.domain.errors import NotFound
from lightwell.domain.exports import ExportedRelation, ExportTable, Passage
from lightwell.domain.graph import Entity, Predicate, RelationKey, join_class_descriptions
from lightwell.records.database import Connection, Database
from lightwell.records.graph.concepts import NAME_COLUMNS, SEEN_ENTITIES
from lightwell.records.graph.entities import LIST, combine_merged, relations_where, seen_entity
from lightwell.records.rows import fetch, row_factory

T = TypeVar("T")

_PROJECT = "SELECT FROM projects WHERE project_id = %(project_id)s"

_COUNTS = """
SELECT entities, relations, (SELECT coalesce(sum(chunks), 0)::integer FROM class_totals WHERE sees(%(classes)s, class_id))
FROM graph_size(%(classes)s)
"""

_RELATIONS = f"""
WITH entity AS MATERIALIZED (
    SELECT entity.entity_id, {NAME_COLUMNS}
    {SEEN_ENTITIES}
    GROUP BY entity.entity_id
), relation AS (
    {relations_where("true")}
)
SELECT subject.entity_ref AS source_ref, subject.name AS source_name, subject.kind AS source_kind, relation.predicate,
       object.entity_ref AS target_ref, object.name AS target_name, object.kind AS target_kind,
       relation.keywords, relation.descriptions, relation.weight, relation.chunk_count, relation.refs, relation.urls,
       relation.comparisons, relation.use_cases
FROM relation
JOIN entity AS subject ON subject.entity_id = relation.source_id
JOIN entity AS object ON object.entity_id = relation.target_id
ORDER BY subject.entity_ref COLLATE "C", object.entity_ref COLLATE "C", predicate COLLATE "C",
         subject.name COLLATE "C", object.name COLLATE "C"
"""  # noqa: S608 - only our own words

_RELATION_PAGE = f"""
SELECT page.* FROM ({_RELATIONS}) AS page
WHERE %(is_first)s OR (source_ref COLLATE "C", target_ref COLLATE "C", predicate COLLATE "C")
    > (%(source)s::text, %(target)s::text, %(predicate)s::text)
ORDER BY source_ref COLLATE "C", target_ref COLLATE "C", predicate COLLATE "C", source_name COLLATE "C",
         target_name COLLATE "C"
LIMIT %(limit)s
"""  # noqa: S608 - only our own words

_CHUNKS = """
SELECT chunk_id AS id, chunk_ref AS ref, global_ref AS document_ref, title, source_url AS url, chunk_index AS index,
       page_number AS "locator.page", last_page AS "locator.last_page", section_path AS "locator.section",
       start_offset AS "locator.start", end_offset AS "locator.end", chunk_text AS text, token_count AS tokens,
       chunk.language, topic_tag AS topic
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE sees(%(classes)s, chunk.class_id) AND NOT document.is_deleted
ORDER BY source_url COLLATE "C", chunk_index
"""


class Snapshot:
    """What a reader saw at one moment, however long reading takes."""

    def __init__(self, connection: Connection, reader: Reader, batch_size: int) -> None:
        self._connection = connection
        self._reader = reader
        self._batch_size = batch_size
        self._parameters = {**reader.parameters, "after": "", "limit": None}

    async def counts(self) -> dict[ExportTable, int]:
        """Return the approximate number of rows of each table; a chunk has at most one vector."""
        ((entities, relations, chunks),) = await fetch(self._connection, _COUNTS, self._parameters)
        return {
            ExportTable.ENTITIES: entities,
            ExportTable.RELATIONS: relations,
            ExportTable.CHUNKS: chunks,
            ExportTable.VECTORS: chunks,
        }

    async def entities(self) -> AsyncGenerator[list[Entity], None]:
        """Yield the reader's entities by stored reference."""
        async for rows in self._batches(LIST, seen_entity):
            yield await combine_merged(self._connection, self._reader, rows)

    def relations(self) -> AsyncIterator[list[ExportedRelation]]:
        """Yield the reader's relations by the references of source and target, then by predicate."""
        return self._batches(_RELATIONS, _relation)

    def chunks(self) -> AsyncIterator[list[Passage]]:
        """Yield the reader's chunks by URL and index."""
        return self._batches(_CHUNKS, Passage)

    async def _batches(
        self, query: LiteralString, into: Callable[..., T]
    ) -> AsyncGenerator[list[T], None]:
        # A named cursor is on the server; an unnamed one would fetch all rows at once.
        make_rows = row_factory(into)
        async with self._connection.cursor(name="export", row_factory=make_rows) as cursor:
            await cursor.execute(query, self._parameters)
            while rows := await cursor.fetchmany(self._batch_size):
                yield rows


@asynccontextmanager
async def snapshot(
    database: Database, reader: Reader, *, batch_size: int
) -> AsyncGenerator[Snapshot, None]:
    """Yield one snapshot of what the reader sees; raise `NotFound` if the project was deleted."""
    async with database.snapshot() as connection:
        project = await connection.execute(_PROJECT, {"project_id": reader.project_id})
        if not project.rowcount:
            raise NotFound(f"There is no project {reader.project_id}")
        yield Snapshot(connection, reader, batch_size)


async def relations_page(
    database: Database, reader: Reader, after: RelationKey | None, *, limit: int
) -> list[ExportedRelation]:
    """Return up to `limit` of the reader's relations in export order, those after the key `after`."""
    return await database.rows(
        _RELATION_PAGE,
        {
            **reader.parameters,
            "is_first": after is None,
            "source": stored_ref(after.source) if after else "",
            "target": stored_ref(after.target) if after else "",
            "predicate": after.predicate.value if after else "",
            "limit": limit,
        },
        into=_relation,
    )


def _relation(**row: Any) -> ExportedRelation:
    words = [word.strip() for keywords in row["keywords"] for word in keywords.split(",")]
    return ExportedRelation(
        source=display_ref(row["source_ref"], row["source_kind"]),
        source_name=row["source_name"],
        predicate=Predicate(row["predicate"]),
        target=display_ref(row["target_ref"], row["target_kind"]),
        target_name=row["target_name"],
        keywords=tuple(dict.fromkeys(word for word in words if word)),
        description=join_class_descriptions(row["descriptions"]),
        weight=row["weight"],
        chunk_count=row["chunk_count"],
        sources=tuple(row["refs"]),
        paths=tuple(dict.fromkeys(row["urls"])),
        comparison=join_class_descriptions(row["comparisons"]),
        use_case=join_class_descriptions(row["use_cases"]),
    )
