"""What an export reads: one snapshot of what a reader sees, in batches by stable keys.

Names, references, kinds and texts come from the profiles of the reader's classes only, combined here.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import LiteralString, TypeVar

from lightwell.domain.access import Reader
from lightwell.domain.documents import Locator
from lightwell.domain.entity_refs import display_ref, stored_ref
from lightwell.domain.errors import NotFound
from lightwell.domain.exports import ExportedRelation, ExportTable, Passage
from lightwell.domain.graph import Entity, Predicate, join_class_descriptions
from lightwell.domain.ids import ChunkId, EntityId
from lightwell.domain.relation_keys import RelationKey
from lightwell.records.database import Connection, Database, Row
from lightwell.records.graph import merge_trees
from lightwell.records.graph.concepts import CONCEPT_COLUMNS, DESCRIPTIONS, read_concept
from lightwell.records.graph.source_limits import KEPT_FIRST, LIMIT_OF_PROJECT

T = TypeVar("T")

_PROJECT = "SELECT FROM projects WHERE project_id = %(project_id)s"

_COUNTS = """
SELECT entities, relations, (SELECT coalesce(sum(chunks), 0) FROM class_totals WHERE class_id = ANY(%(classes)s))
FROM graph_size(%(classes)s)
"""

# The order of `records/graph/entities.py`: the entity's own name before an alias, manual edits before documents.
_ORDER = """profile.subject_id = known.entity_id DESC, 'name' = ANY(profile.by_hand) DESC,
    profile.entity_ref IS NULL DESC, profile.mention_count DESC, profile.display_name COLLATE "C",
    profile.entity_kind COLLATE "C", profile.entity_ref COLLATE "C", profile.primary_url COLLATE "C\""""

_SEEN = f"""
WITH merged AS MATERIALIZED (
    SELECT entity_id, root_id FROM merged_entities_of(%(classes)s)
), entity AS (
    SELECT known.entity_id, sum(profile.mention_count) AS mentions,
           (array_agg(coalesce(profile.entity_ref, known.entity_ref) ORDER BY {_ORDER}))[1] AS entity_ref,
           (array_agg(profile.display_name ORDER BY {_ORDER}))[1] AS name,
           (array_agg(profile.entity_kind
                      ORDER BY profile.subject_id = known.entity_id DESC, 'kind' = ANY(profile.by_hand) DESC,
                               {_ORDER}))[1] AS kind,
           {DESCRIPTIONS} AS descriptions, array_agg(DISTINCT profile.subject_id) AS members,
           bool_or(profile.subject_id = known.entity_id AND 'sources' = ANY(profile.by_hand)) AS sourced,
           {CONCEPT_COLUMNS.replace("{order}", _ORDER)}
    FROM profiles AS profile LEFT JOIN merged ON merged.entity_id = profile.subject_id
    JOIN entities AS known ON known.entity_id = coalesce(merged.root_id, profile.subject_id)
    WHERE profile.subject = 'entity' AND profile.class_id = ANY(%(classes)s)
    GROUP BY known.entity_id
), relation AS (
    SELECT coalesce(moved.source_id, known.source_id) AS source_id,
           coalesce(moved.target_id, known.target_id) AS target_id, known.predicate,
           sum(profile.mention_count) AS mentions, sum(profile.weight::numeric) AS weight,
           array_agg(profile.display_name ORDER BY profile.display_name COLLATE "C") AS keywords,
           {DESCRIPTIONS} AS descriptions, array_agg(DISTINCT profile.subject_id) AS members,
           array_agg(profile.comparison ORDER BY profile.source_ids[1] NULLS FIRST, profile.comparison COLLATE "C")
               AS comparisons,
           array_agg(profile.use_case ORDER BY profile.source_ids[1] NULLS FIRST, profile.use_case COLLATE "C") AS use_cases
    FROM profiles AS profile JOIN relations AS known ON known.relation_id = profile.subject_id
    LEFT JOIN merged_relations_of(%(classes)s) AS moved ON moved.relation_id = known.relation_id
    WHERE profile.subject = 'relation' AND profile.class_id = ANY(%(classes)s)
      AND coalesce(moved.source_id, known.source_id) <> coalesce(moved.target_id, known.target_id)
    GROUP BY 1, 2, known.predicate
)
"""  # noqa: S608 - only our own words

# The latest sources of one entity or relation, over all profiles that the reader sees, in order of arrival.
_SOURCES = """
    SELECT array_agg(latest.chunk_ref ORDER BY latest.chunk_id) AS refs,
           array_agg(latest.source_url ORDER BY latest.chunk_id) AS urls
    FROM (
        SELECT chunk.chunk_id, chunk.chunk_ref, document.source_url
        FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
        WHERE chunk.chunk_id = ANY (SELECT unnest(source_ids) FROM profiles
                                    WHERE subject_id = ANY({members}) AND class_id = ANY(%(classes)s) {by_hand})
          AND chunk.class_id = ANY(%(classes)s) AND NOT document.is_deleted
        ORDER BY {kept_first} LIMIT {max_sources}
    ) AS latest
""".replace("{kept_first}", KEPT_FIRST.replace("{chunk_id}", "chunk.chunk_id")).replace(
    "{max_sources}", LIMIT_OF_PROJECT
)
_ENTITY_SOURCES = _SOURCES.replace("{members}", "entity.members").replace(
    "{by_hand}",
    "AND (NOT entity.sourced OR subject_id = entity.entity_id AND 'sources' = ANY(by_hand))",
)
_RELATION_SOURCES = _SOURCES.replace("{members}", "relation.members").replace("{by_hand}", "")

_ENTITIES = f"""
{_SEEN}
SELECT entity_id, entity_ref, name, kind, descriptions,
       CASE WHEN cardinality(entity.members) = 1 THEN mentions ELSE (
           SELECT count(DISTINCT chunk_id) FROM document_entity_mentions AS mention
           WHERE mention.entity_id = ANY(entity.members) AND mention.class_id = ANY(%(classes)s)) END,
       source.refs, source.urls, cardinality(entity.members) > 1,
       aliases, category, difficulty, tags, created_at, stated_at
FROM entity CROSS JOIN LATERAL ({_ENTITY_SOURCES}) AS source
ORDER BY entity_ref COLLATE "C", name COLLATE "C"
"""  # noqa: S608 - only our own words

_RELATIONS = f"""
{_SEEN}
SELECT subject.entity_ref, subject.name, subject.kind, predicate, object.entity_ref, object.name, object.kind,
       keywords, relation.descriptions, weight,
       CASE WHEN cardinality(relation.members) = 1 THEN relation.mentions ELSE (
           SELECT count(DISTINCT chunk_id) FROM relation_mentions AS mention
           WHERE mention.relation_id = ANY(relation.members) AND mention.class_id = ANY(%(classes)s)) END,
       source.refs, source.urls, relation.comparisons, relation.use_cases
FROM relation
JOIN entity AS subject ON subject.entity_id = relation.source_id
JOIN entity AS object ON object.entity_id = relation.target_id
CROSS JOIN LATERAL ({_RELATION_SOURCES}) AS source
ORDER BY subject.entity_ref COLLATE "C", object.entity_ref COLLATE "C", predicate COLLATE "C",
         subject.name COLLATE "C", object.name COLLATE "C"
"""  # noqa: S608 - only our own words

_RELATION_PAGE = f"""
SELECT page.* FROM ({_RELATIONS}) AS page (
    source_ref, source_name, source_kind, predicate, target_ref, target_name, target_kind, keywords, descriptions,
    weight, mentions, refs, urls, comparisons, use_cases)
WHERE %(is_first)s OR (source_ref COLLATE "C", target_ref COLLATE "C", predicate COLLATE "C")
    > (%(source)s::text, %(target)s::text, %(predicate)s::text)
ORDER BY source_ref COLLATE "C", target_ref COLLATE "C", predicate COLLATE "C", source_name COLLATE "C",
         target_name COLLATE "C"
LIMIT %(limit)s
"""  # noqa: S608 - only our own words

_CHUNKS = """
SELECT chunk_id, chunk_ref, global_ref, title, source_url, chunk_index, page_number, last_page, section_path,
       start_offset, end_offset, chunk_text, token_count, chunk.language, topic_tag
FROM document_chunks AS chunk JOIN source_documents AS document USING (document_id)
WHERE chunk.class_id = ANY(%(classes)s) AND NOT document.is_deleted
ORDER BY source_url COLLATE "C", chunk_index
"""


class Snapshot:
    """What a reader saw at one moment, however long reading takes."""

    def __init__(self, connection: Connection, reader: Reader, batch_size: int) -> None:
        self._connection = connection
        self._reader = reader
        self._batch_size = batch_size
        self._parameters: Mapping[str, object] = {
            "classes": list(reader.classes),
            "project_id": reader.project_id,
        }

    async def counts(self) -> dict[ExportTable, int]:
        """Return the approximate number of rows of each table; a chunk has at most one vector."""
        cursor = await self._connection.execute(_COUNTS, self._parameters)
        entities, relations, chunks = (await cursor.fetchall())[0]
        return {
            ExportTable.ENTITIES: entities,
            ExportTable.RELATIONS: relations,
            ExportTable.CHUNKS: int(chunks),
            ExportTable.VECTORS: int(chunks),
        }

    async def entities(self) -> AsyncGenerator[list[Entity], None]:
        """Yield the reader's entities by stored reference."""
        async for rows in self._batches(_ENTITIES, tuple):
            merged = [EntityId(row[0]) for row in rows if row[8]]
            descriptions = await merge_trees.get_descriptions(
                self._connection, self._reader, merged
            )
            found = [_entity(row) for row in rows]
            yield [
                replace(each, description=descriptions.get(each.id, each.description))
                for each in found
            ]

    def relations(self) -> AsyncIterator[list[ExportedRelation]]:
        """Yield the reader's relations by the references of source and target, then by predicate."""
        return self._batches(_RELATIONS, _relation)

    def chunks(self) -> AsyncIterator[list[Passage]]:
        """Yield the reader's chunks by URL and index."""
        return self._batches(_CHUNKS, _passage)

    async def _batches(
        self, query: LiteralString, build: Callable[[Row], T]
    ) -> AsyncGenerator[list[T], None]:
        # A named cursor is on the server; an unnamed one would fetch all rows at once.
        async with self._connection.cursor(name="export") as cursor:
            await cursor.execute(query, self._parameters)
            while rows := await cursor.fetchmany(self._batch_size):
                yield [build(row) for row in rows]


@asynccontextmanager
async def snapshot(
    database: Database, reader: Reader, *, batch_size: int
) -> AsyncGenerator[Snapshot, None]:
    """Yield one snapshot of what the reader sees; raise `NotFound` if the project was deleted."""
    async with database.snapshot() as connection:
        found = await connection.execute(_PROJECT, {"project_id": reader.project_id})
        if await found.fetchone() is None:
            raise NotFound(f"There is no project {reader.project_id}")
        yield Snapshot(connection, reader, batch_size)


async def relations_page(
    database: Database, reader: Reader, after: RelationKey | None, *, limit: int
) -> list[ExportedRelation]:
    """Return up to `limit` of the reader's relations in export order, those after the key `after`."""
    rows = await database.rows(
        _RELATION_PAGE,
        {
            "classes": list(reader.classes),
            "project_id": reader.project_id,
            "is_first": after is None,
            "source": stored_ref(after.source) if after else "",
            "target": stored_ref(after.target) if after else "",
            "predicate": after.predicate.value if after else "",
            "limit": limit,
        },
    )
    return [_relation(row) for row in rows]


def _entity(row: Row) -> Entity:
    return Entity(
        id=EntityId(row[0]),
        ref=display_ref(row[1], row[3]),
        name=row[2],
        kind=row[3],
        description=join_class_descriptions(row[4]),
        chunk_count=int(row[5]),
        sources=tuple(row[6] or ()),
        paths=tuple(dict.fromkeys(row[7] or ())),
        concept=read_concept(row[9:]),
        created_at=row[13],
        updated_at=row[14],
    )


def _relation(row: Row) -> ExportedRelation:
    return ExportedRelation(
        source=display_ref(row[0], row[2]),
        source_name=row[1],
        predicate=Predicate(row[3]),
        target=display_ref(row[4], row[6]),
        target_name=row[5],
        keywords=_keywords(row[7]),
        description=join_class_descriptions(row[8]),
        weight=float(row[9]),
        chunk_count=int(row[10]),
        sources=tuple(row[11] or ()),
        paths=tuple(dict.fromkeys(row[12] or ())),
        comparison=join_class_descriptions(row[13]),
        use_case=join_class_descriptions(row[14]),
    )


def _passage(row: Row) -> Passage:
    return Passage(
        id=ChunkId(row[0]),
        ref=row[1],
        document_ref=row[2],
        title=row[3],
        url=row[4],
        index=row[5],
        locator=Locator(
            page=row[6], last_page=row[7], section=tuple(row[8]), start=row[9], end=row[10]
        ),
        text=row[11],
        tokens=row[12],
        language=row[13],
        topic=row[14],
    )


def _keywords(profiles: list[str]) -> tuple[str, ...]:
    words = (word.strip() for text in profiles for word in text.split(","))
    return tuple(dict.fromkeys(word for word in words if word))
