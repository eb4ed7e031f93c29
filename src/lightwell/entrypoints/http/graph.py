"""Entities, relations, and what is around an entity."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from lightwell.domain.relation_keys import parse_relation_key
from lightwell.entrypoints.http.authentication import Reading
from lightwell.entrypoints.operations.replies import cut_page
from lightwell.entrypoints.schemas.graph import (
    EntityDetailsSchema,
    EntityPage,
    EntityQuery,
    NeighbourhoodQuery,
    NeighbourhoodResponse,
    RelationPage,
    RelationQuery,
    entity_details,
    entity_page,
    neighbourhood_response,
    relation_page,
    relation_schema,
)

router = APIRouter(prefix="/v1/graph", tags=["graph"])

EntityPath = Annotated[
    str, Path(description="A name, a reference or an id.", examples=["Nordwind Energie"])
]


@router.get("/entities")
async def list_entities(caller: Reading, query: Annotated[EntityQuery, Query()]) -> EntityPage:
    """List the entities that documents you may see mention: all, those with a word in their names, of a kind, or of passages."""
    graph = caller.knowledge_base.graph
    if query.passage:
        mentioned = await graph.entities_of(caller.reader, query.passage)
        later = [entity for entity in mentioned if entity.ref > query.after]
        return entity_page(*cut_page(later[: query.limit + 1], query, lambda entity: entity.ref))
    found = await graph.list_entities(
        caller.reader, query.to_filter(), after=query.after, limit=query.limit + 1
    )
    page, following = cut_page(found, query, lambda each: each[1])
    return entity_page([entity for entity, _ in page], following)


@router.get("/relations")
async def list_relations(caller: Reading, query: Annotated[RelationQuery, Query()]) -> RelationPage:
    """List the relations that documents you may see state, by the references of their entities, or those of passages."""
    graph = caller.knowledge_base.graph
    if query.passage:
        stated = await graph.relations_of(caller.reader, query.passage)
        ids = [str(relation.id) for relation in stated]
        start = ids.index(query.after) + 1 if query.after in ids else 0
        later = stated[start : start + query.limit + 1]
        page, following = cut_page(later, query, lambda relation: str(relation.id))
        return RelationPage(
            relations=[relation_schema(each) for each in page], next_after=following
        )
    after = parse_relation_key(query.after) if query.after else None
    found = [
        each async for each in graph.relations(caller.reader, after=after, limit=query.limit + 1)
    ]
    return relation_page(*cut_page(found, query, lambda each: str(each.key)))


@router.get("/neighbourhood")
async def explore_neighbourhood(
    caller: Reading, query: Annotated[NeighbourhoodQuery, Query()]
) -> NeighbourhoodResponse:
    """Return the entities that up to `depth` relations lead to from one entity, and the relations between them."""
    found = await caller.knowledge_base.graph.neighbourhood(
        caller.reader, query.entity, depth=query.depth, limit=query.limit
    )
    return neighbourhood_response(found)


@router.get("/entities/{name:path}")
async def get_entity(name: EntityPath, caller: Reading) -> EntityDetailsSchema:
    """Return one entity with its other names, its relations, and the passages that mention it."""
    graph = caller.knowledge_base.graph
    found = await graph.entity(caller.reader, name)
    return entity_details(found, await graph.sources(caller.reader, found))
