"""Entities, relations, and what is around an entity."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

import lightwell.entrypoints.json_graph as json_graph
from lightwell.domain.exports import ExportedRelation
from lightwell.domain.graph import Entity, EntityDetails, Relation
from lightwell.domain.graph_views import (
    MAX_DEPTH,
    MAX_NEIGHBOURS,
    EntityFilter,
    EntityNeighbourhood,
    EntityOrder,
    EntitySource,
)
from lightwell.entrypoints.operations.replies import EntityName, NextAfter, PageQuery, Schema
from lightwell.entrypoints.schemas.questions import LocatorSchema

PassageNames = Annotated[
    tuple[str, ...],
    Field(
        max_length=100,
        description="Only what these passages mention, by reference or id; then the list has one page and no other filter.",
    ),
]


class EntityQuery(PageQuery):
    """Which entities, in which order."""

    query: Annotated[str, Field(max_length=400, description="Only those with this in a name.")] = ""
    kind: Annotated[
        str, Field(max_length=100, description="Only this kind.", examples=["organization"])
    ] = ""
    order: EntityOrder = EntityOrder.REFERENCE
    passage: PassageNames = ()

    def to_filter(self) -> EntityFilter:
        return EntityFilter(words=self.query, kind=self.kind, order=self.order)


class RelationQuery(PageQuery):
    """Which relations."""

    passage: PassageNames = ()


class NeighbourhoodQuery(Schema):
    """Which entity, and how far around it; `limit` counts the entity itself."""

    entity: EntityName
    depth: Annotated[
        int,
        Field(
            description="How many relations away.",
            json_schema_extra={"minimum": 1, "maximum": MAX_DEPTH},
        ),
    ] = 1
    limit: Annotated[
        int,
        Field(
            description="How many entities, at most.",
            json_schema_extra={"minimum": 1, "maximum": MAX_NEIGHBOURS},
        ),
    ] = 100


class EntitySchema(Schema):
    """An entity as your documents describe it; `chunkCount` counts the passages that mention it, of which the latest are listed."""

    entity_id: str
    entity_ref: Annotated[str, Field(examples=["kg:organization:nordwind-energie"])]
    entity_name: Annotated[str, Field(examples=["Nordwind Energie"])]
    entity_type: Annotated[str, Field(examples=["organization"])]
    primary_url: str
    description: str
    aliases: list[str]
    category: str
    difficulty: str
    tags: list[str]
    created_at: str | None
    updated_at: str | None
    chunk_count: int
    source_chunk_ids: list[str]
    source_file_paths: list[str]


class EntityPage(Schema):
    entities: list[EntitySchema]
    next_after: NextAfter


class RelationSchema(Schema):
    """A relation as your documents state it; `source` and `target` are names."""

    source: Annotated[str, Field(examples=["Nordwind Energie"])]
    target: Annotated[str, Field(examples=["Tarn Valley"])]
    predicate: Annotated[str, Field(examples=["RELATED_TO"])]
    keywords: str
    description: str
    comparison: str
    use_case: str
    weight: float
    chunk_count: int
    source_chunk_ids: list[str]
    source_file_paths: list[str]


class ListedRelationSchema(RelationSchema):
    """A relation of a list, with the key that deletes it, and the references of its ends."""

    relation: str
    source_ref: str
    target_ref: str


class RelationPage(Schema):
    """Relations; those of passages have no key, because they are the same for every page."""

    relations: list[ListedRelationSchema | RelationSchema]
    next_after: NextAfter


class EntitySourceSchema(Schema):
    """A passage that mentions an entity; `snippet` is the sentence that names it."""

    chunk_id: str
    chunk_ref: str
    document_id: str
    document_ref: str
    document_url: str
    document_title: str
    created_at: str
    snippet: str
    locator: LocatorSchema


class EntityDetailsSchema(EntitySchema):
    """An entity with its other names, its relations (up to 200, by weight), and the passages that mention it (up to 50)."""

    aliases: list[str]
    relations: list[RelationSchema]
    sources: list[EntitySourceSchema]


class NeighbourSchema(EntitySchema):
    """An entity at a distance of `depth` relations, 0 for the one that was asked for."""

    depth: int


class EdgeSchema(RelationSchema):
    """A relation between two of the entities, by their ids."""

    source_entity_id: str
    target_entity_id: str


class NeighbourhoodResponse(Schema):
    """The entities around one, the nearest first; with `isCut` there are more than `limit`."""

    entities: list[NeighbourSchema]
    relations: list[EdgeSchema]
    is_cut: bool


def entity_schema(entity: Entity) -> EntitySchema:
    """Return an entity as the server sends it."""
    return EntitySchema.model_validate(json_graph.entity(entity), by_alias=True)


def relation_schema(relation: Relation) -> RelationSchema:
    """Return a relation as the server sends it."""
    return RelationSchema.model_validate(json_graph.relation(relation), by_alias=True)


def entity_page(found: Sequence[Entity], following: str | None) -> EntityPage:
    """Return a page of entities."""
    return EntityPage(entities=[entity_schema(each) for each in found], next_after=following)


def relation_page(found: Sequence[ExportedRelation], following: str | None) -> RelationPage:
    """Return a page of relations."""
    document = {
        "relations": [json_graph.listed_relation(each) for each in found],
        "nextAfter": following,
    }
    return RelationPage.model_validate(document, by_alias=True)


def entity_details(details: EntityDetails, sources: Sequence[EntitySource]) -> EntityDetailsSchema:
    """Return an entity with all that is known of it."""
    document = {
        **json_graph.entity_details(details),
        "sources": [json_graph.entity_source(each) for each in sources],
    }
    return EntityDetailsSchema.model_validate(document, by_alias=True)


def neighbourhood_response(found: EntityNeighbourhood) -> NeighbourhoodResponse:
    """Return what is around an entity."""
    return NeighbourhoodResponse.model_validate(json_graph.neighbourhood(found), by_alias=True)
