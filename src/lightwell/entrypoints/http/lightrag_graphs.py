"""LightRAG's routes that read the graph. It knows an entity by its name alone, and two entities by one relation at most."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Query

from lightwell.domain.errors import NotFound
from lightwell.domain.graph import Entity, Relation
from lightwell.domain.graph_views import (
    MAX_DEPTH,
    MAX_NEIGHBOURS,
    EntityFilter,
    EntityNeighbourhood,
    EntityOrder,
)
from lightwell.domain.ids import EntityId
from lightwell.entrypoints.http.authentication import Caller, Reading
from lightwell.entrypoints.http.lightrag_schema import (
    KnowledgeGraph,
    KnowledgeGraphEdge,
    KnowledgeGraphNode,
)
from lightwell.entrypoints.http.lightrag_speech import make_router

router: APIRouter = make_router()

EVERYTHING: Final = "*"
_PAGE: Final = 1000
_MOST_LABELS: Final = 10_000

Label = Annotated[str, Query(max_length=400)]


@router.get("/graph/label/list")
async def list_labels(caller: Reading) -> list[str]:
    """List the names of the caller's entities, the first ten thousand by reference."""
    graph, names, after = caller.knowledge_base.graph, dict[str, None](), ""
    while len(names) < _MOST_LABELS:
        page = await graph.list_entities(caller.reader, EntityFilter(), after=after, limit=_PAGE)
        names |= dict.fromkeys(entity.name for entity, _ in page)
        if len(page) < _PAGE:
            break
        after = page[-1][1]
    return [*names]


@router.get("/graph/label/popular")
async def list_popular_labels(
    caller: Reading, limit: Annotated[int, Query(ge=1, le=1000)] = 300
) -> list[str]:
    """List the names that most of the caller's passages mention."""
    wanted = EntityFilter(order=EntityOrder.PASSAGES)
    page = await caller.knowledge_base.graph.list_entities(caller.reader, wanted, limit=limit)
    return [*dict.fromkeys(entity.name for entity, _ in page)]


@router.get("/graph/label/search")
async def search_labels(
    caller: Reading, q: Label, limit: Annotated[int, Query(ge=1, le=100)] = 50
) -> list[str]:
    """List the names with these words in them, the best fit first."""
    fitting = await caller.knowledge_base.graph.names.search(caller.reader, q, limit=limit)
    return [*dict.fromkeys(name.name for name in fitting)]


@router.get("/graph/entity/exists")
async def exists(caller: Reading, name: Label) -> dict[str, bool]:
    """Say whether the caller sees an entity of this name."""
    return {"exists": await find_entity(caller, name) is not None}


@router.get("/graphs")
async def get_graph(
    caller: Reading,
    label: Label,
    max_depth: Annotated[int, Query(ge=1)] = 3,
    max_nodes: Annotated[int, Query(ge=1)] = 1000,
) -> KnowledgeGraph:
    """Return what is around an entity, up to three relations and 500 entities; around `*` the entities that are mentioned most."""
    graph, limit = caller.knowledge_base.graph, min(max_nodes, MAX_NEIGHBOURS)
    try:
        around = (
            await graph.overview(caller.reader, limit=limit)
            if label == EVERYTHING
            else await graph.neighbourhood(
                caller.reader, label, depth=min(max_depth, MAX_DEPTH), limit=limit
            )
        )
    except NotFound:
        return KnowledgeGraph()
    return _draw(around)


async def find_entity(caller: Caller, name: str) -> Entity | None:
    """Return the entity of this name as the caller sees it, None where there is none."""
    try:
        return (await caller.knowledge_base.graph.entity(caller.reader, name)).entity
    except NotFound:
        return None


def entity_properties(entity: Entity) -> dict[str, object]:
    """Return what LightRAG says of an entity."""
    return {
        "entity_id": entity.name,
        "entity_type": entity.kind,
        "description": entity.description,
        "source_id": "<SEP>".join(entity.sources),
        "file_path": "<SEP>".join(entity.paths),
        "created_at": int(entity.created_at.timestamp()) if entity.created_at else 0,
    }


def relation_properties(relation: Relation) -> dict[str, object]:
    """Return what LightRAG says of a relation."""
    return {
        "description": relation.statement,
        "keywords": relation.keywords or relation.predicate.value,
        "weight": relation.weight,
        "source_id": "<SEP>".join(relation.sources),
        "file_path": "<SEP>".join(relation.paths),
    }


def _draw(around: EntityNeighbourhood) -> KnowledgeGraph:
    entities = [neighbour.entity for neighbour in around.neighbours]
    labels = _labels(entities)
    return KnowledgeGraph(
        nodes=[
            KnowledgeGraphNode(
                id=labels[entity.id],
                labels=[labels[entity.id]],
                properties={**entity_properties(entity), "entity_id": labels[entity.id]},
            )
            for entity in entities
        ],
        edges=[
            KnowledgeGraphEdge(
                id=f"{labels[relation.ends[0]]}-{labels[relation.ends[1]]}",
                type=relation.predicate.value,
                source=labels[relation.ends[0]],
                target=labels[relation.ends[1]],
                properties=relation_properties(relation),
            )
            for relation in _one_for_each_pair(around.relations)
        ],
        is_truncated=around.is_cut,
    )


def _labels(entities: Iterable[Entity]) -> Mapping[EntityId, str]:
    """Return a label for each entity: its name, or its reference where several have that name."""
    listed = [*entities]
    uses = Counter(entity.name for entity in listed)
    return {entity.id: entity.name if uses[entity.name] == 1 else entity.ref for entity in listed}


def _one_for_each_pair(relations: Iterable[Relation]) -> list[Relation]:
    """Return the relations, those between the same two entities as one with the weightiest's ends and predicate."""
    joined: dict[frozenset[EntityId], Relation] = {}
    for relation in sorted(relations, key=lambda relation: -relation.weight):
        pair = frozenset(relation.ends)
        joined[pair] = joined[pair].merge_with(relation) if pair in joined else relation
    return [*joined.values()]
