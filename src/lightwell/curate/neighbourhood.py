"""What is around an entity: the sources that mention it, and the entities that relations lead to."""

from collections.abc import Sequence

from lightwell.domain.access import Reader
from lightwell.domain.documents import Chunk
from lightwell.domain.graph import Entity, Relation, normalize_name
from lightwell.domain.graph_views import (
    EntityFilter,
    EntityNeighbourhood,
    EntityOrder,
    EntitySource,
    Neighbour,
)
from lightwell.domain.ids import EntityId
from lightwell.records import search
from lightwell.records.database import Database
from lightwell.records.documents import published_chunks
from lightwell.records.graph import entities, entity_lists
from lightwell.text.units import unit_spans

_MAX_SNIPPET = 300


async def list_sources(
    database: Database, reader: Reader, entity: Entity, names: Sequence[str]
) -> list[EntitySource]:
    """Return the entity's sources that are still there, in order of arrival; a snippet has one of the names."""
    chunk_ids = await published_chunks.find_ids(database, reader, entity.sources)
    chunks = await search.get_chunks(database, reader, list(chunk_ids))
    return [_source(chunks[chunk_id], names) for chunk_id in chunk_ids if chunk_id in chunks]


async def explore(
    database: Database, reader: Reader, centre: EntityId, *, depth: int, limit: int
) -> EntityNeighbourhood:
    """Return the entities that at most `depth` relations lead to, up to `limit` with the centre, and their relations."""
    reached = {centre: 0}
    relations: dict[object, Relation] = {}
    frontier, is_cut = [centre], False
    for distance in range(1, depth + 1):
        related = await entities.list_relations_of(database, reader, frontier) if frontier else []
        relations.update((relation.id, relation) for relation in related)
        frontier = []
        for end in dict.fromkeys(end for relation in related for end in relation.ends):
            if end not in reached and len(reached) < limit:
                reached[end] = distance
                frontier.append(end)
            is_cut = is_cut or end not in reached
    seen = await entities.get_many(database, reader, list(reached))
    return EntityNeighbourhood(
        neighbours=tuple(
            Neighbour(entity=seen[entity_id], depth=reached[entity_id])
            for entity_id in reached
            if entity_id in seen
        ),
        relations=tuple(
            relation for relation in relations.values() if {*relation.ends} <= seen.keys()
        ),
        is_cut=is_cut,
    )


async def overview(database: Database, reader: Reader, *, limit: int) -> EntityNeighbourhood:
    """Return the entities that most passages mention, up to `limit`, and the relations between them; each has the depth 0."""
    wanted = EntityFilter(order=EntityOrder.PASSAGES)
    page = await entity_lists.list_page(database, reader, wanted, after="", limit=limit + 1)
    shown = {entity.id: entity for entity, _ in page[:limit]}
    return EntityNeighbourhood(
        neighbours=tuple(Neighbour(entity=entity, depth=0) for entity in shown.values()),
        relations=tuple(await entities.list_relations_among(database, reader, [*shown])),
        is_cut=len(page) > limit,
    )


def _source(chunk: Chunk, names: Sequence[str]) -> EntitySource:
    """Return the passage with its first sentence that has one of the names, else its first one, cut at its length limit."""
    text = chunk.text
    wanted = [normalize_name(name) for name in names]
    places = unit_spans(text) or [(0, len(text))]
    start, end = next(
        (
            (start, end)
            for start, end in places
            if any(name in normalize_name(text[start:end]) for name in wanted)
        ),
        places[0],
    )
    snippet = " ".join(text[start:end].split())
    offset = chunk.locator.start
    return EntitySource(
        chunk=chunk,
        snippet=snippet if len(snippet) <= _MAX_SNIPPET else f"{snippet[:_MAX_SNIPPET]}…",
        locator=chunk.layout.locate(offset + start, offset + end),
    )
