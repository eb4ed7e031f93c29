"""Entities, relations, and what is around an entity."""

from typing import Annotated
from uuid import UUID

from pydantic import AliasChoices, AliasPath, Field

from lightwell.domain.exports import ExportedRelation
from lightwell.domain.graph import parse_relation_key
from lightwell.domain.graph_views import MAX_DEPTH, MAX_NEIGHBOURS, EntityFilter, EntityOrder
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import (
    After,
    EntityName,
    Locator,
    Moment,
    NextAfter,
    PageLimit,
    PageQuery,
    Reply,
    page_of,
    read_from,
)

graph = Subject(prefix="/v1/graph", tag="graph")

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


class Entity(Reply):
    """An entity as your documents describe it; `chunkCount` counts the passages that mention it, of which the latest are listed."""

    entity_id: Annotated[UUID, read_from("entityId", "id")]
    entity_ref: Annotated[
        str, read_from("entityRef", "ref"), Field(examples=["kg:organization:nordwind-energie"])
    ]
    entity_name: Annotated[
        str, read_from("entityName", "name"), Field(examples=["Nordwind Energie"])
    ]
    entity_type: Annotated[str, read_from("entityType", "kind"), Field(examples=["organization"])]
    primary_url: str
    description: str
    aliases: Annotated[list[str], read_from("aliases", "concept.aliases")]
    category: Annotated[str, read_from("category", "concept.category")]
    difficulty: Annotated[str, read_from("difficulty", "concept.difficulty")]
    tags: Annotated[list[str], read_from("tags", "concept.tags")]
    created_at: Moment | None
    updated_at: Moment | None
    chunk_count: int
    source_chunk_ids: Annotated[list[str], read_from("sourceChunkIds", "sources")]
    source_file_paths: Annotated[list[str], read_from("sourceFilePaths", "paths")]


class EntityPage(Reply):
    """Entities that documents you see mention."""

    entities: list[Entity]
    next_after: NextAfter


class Relation(Reply):
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
    source_chunk_ids: Annotated[list[str], read_from("sourceChunkIds", "sources")]
    source_file_paths: Annotated[list[str], read_from("sourceFilePaths", "paths")]


class ListedRelation(Relation):
    """A relation of a list, with the key that deletes it, and the references of its ends."""

    relation: str
    source_ref: str
    target_ref: str


class RelationPage(Reply):
    """Relations; those of passages have no key, because they are the same for every page."""

    relations: list[ListedRelation | Relation]
    next_after: NextAfter


class EntitySource(Reply):
    """A passage that mentions an entity; `snippet` is the sentence that names it."""

    chunk_id: Annotated[UUID, read_from("chunkId", "chunk.id")]
    chunk_ref: Annotated[str, read_from("chunkRef", "chunk.ref")]
    document_id: Annotated[UUID, read_from("documentId", "chunk.document_id")]
    document_ref: Annotated[str, read_from("documentRef", "chunk.document_ref")]
    document_url: Annotated[str, read_from("documentUrl", "chunk.url")]
    document_title: Annotated[str, read_from("documentTitle", "chunk.title")]
    created_at: Annotated[Moment, read_from("createdAt", "chunk.created_at")]
    snippet: str
    locator: Locator


class EntityDetails(Entity):
    """An entity with its other names, its relations (up to 200, by weight), and the passages that mention it (up to 50)."""

    relations: list[Relation]
    sources: list[EntitySource]


class Neighbour(Entity):
    """An entity at a distance of `depth` relations, 0 for the one that was asked for."""

    depth: int


class Edge(Relation):
    """A relation between two of the entities, by their ids."""

    source_entity_id: Annotated[
        UUID, Field(validation_alias=AliasChoices("sourceEntityId", AliasPath("ends", 0)))
    ]
    target_entity_id: Annotated[
        UUID, Field(validation_alias=AliasChoices("targetEntityId", AliasPath("ends", 1)))
    ]


class Neighbourhood(Reply):
    """The entities around one, the nearest first; with `isCut` there are more than `limit`."""

    entities: list[Neighbour]
    relations: list[Edge]
    is_cut: bool


@graph.operation("GET", "/entities")
async def list_entities(caller: Caller, query: EntityQuery) -> EntityPage:
    """List the entities that documents you may see mention: all, those with a word in their names, of a kind, or of passages."""
    graph = caller.knowledge_base.graph
    if query.passage:
        mentioned = await graph.entities_of(caller.reader, query.passage)
        later = [(entity, entity.ref) for entity in mentioned if entity.ref > query.after]
    else:
        later = await graph.list_entities(
            caller.reader,
            EntityFilter(words=query.query, kind=query.kind, order=query.order),
            after=query.after,
            limit=query.limit + 1,
        )
    page, next_after = page_of(later, query.limit, lambda listed: listed[1])
    return EntityPage(
        entities=[Entity.model_validate(entity) for entity, _ in page], next_after=next_after
    )


@graph.operation("GET", "/relations")
async def list_relations(
    caller: Caller, limit: PageLimit = 100, after: After = "", passage: PassageNames = ()
) -> RelationPage:
    """List the relations that documents you may see state, by the references of their entities, or those of passages."""
    graph = caller.knowledge_base.graph
    if passage:
        stated = await graph.relations_of(caller.reader, passage)
        ids = [str(relation.id) for relation in stated]
        start = ids.index(after) + 1 if after in ids else 0
        page, next_after = page_of(stated[start:], limit, lambda relation: str(relation.id))
        return RelationPage(
            relations=[Relation.model_validate(relation) for relation in page],
            next_after=next_after,
        )
    behind = parse_relation_key(after) if after else None
    following = [
        relation async for relation in graph.relations(caller.reader, after=behind, limit=limit + 1)
    ]
    listed, next_after = page_of(following, limit, lambda relation: str(relation.key))
    return RelationPage(relations=list(map(_listed, listed)), next_after=next_after)


@graph.operation("GET", "/neighbourhood")
async def explore_neighbourhood(
    caller: Caller,
    entity: EntityName,
    depth: Annotated[
        int,
        Field(
            description="How many relations away.",
            json_schema_extra={"minimum": 1, "maximum": MAX_DEPTH},
        ),
    ] = 1,
    limit: Annotated[
        int,
        Field(
            description="How many entities, at most, itself included.",
            json_schema_extra={"minimum": 1, "maximum": MAX_NEIGHBOURS},
        ),
    ] = 100,
) -> Neighbourhood:
    """Return the entities that up to `depth` relations lead to from one entity, and the relations between them."""
    around = await caller.knowledge_base.graph.neighbourhood(
        caller.reader, entity, depth=depth, limit=limit
    )
    return Neighbourhood(
        entities=[
            Neighbour.of(Entity.model_validate(neighbour.entity), depth=neighbour.depth)
            for neighbour in around.neighbours
        ],
        relations=[Edge.model_validate(relation) for relation in around.relations],
        is_cut=around.is_cut,
    )


@graph.operation("GET", "/entities/{name:path}")
async def get_entity(caller: Caller, name: EntityName) -> EntityDetails:
    """Return one entity, by its name, reference or id, with its other names, its relations, and the passages that mention it."""
    graph = caller.knowledge_base.graph
    details = await graph.entity(caller.reader, name)
    return EntityDetails.of(
        Entity.model_validate(details.entity),
        aliases=details.aliases,
        relations=details.relations,
        sources=await graph.sources(caller.reader, details),
    )


def _listed(relation: ExportedRelation) -> ListedRelation:
    return ListedRelation(
        relation=str(relation.key),
        source=relation.source_name,
        source_ref=relation.source,
        target=relation.target_name,
        target_ref=relation.target,
        predicate=relation.predicate,
        keywords=", ".join(relation.keywords),
        description=relation.description,
        comparison=relation.comparison,
        use_case=relation.use_case,
        weight=relation.weight,
        chunk_count=relation.chunk_count,
        source_chunk_ids=list(relation.sources),
        source_file_paths=list(relation.paths),
    )
