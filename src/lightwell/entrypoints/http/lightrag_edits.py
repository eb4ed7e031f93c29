"""LightRAG's routes that correct the graph. They need the scope `curate`, and what a caller corrects others see as with every other door."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from fastapi import APIRouter

from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import (
    MAX_WEIGHT,
    ManualEdit,
    Relation,
    RelationKey,
    RelationMention,
    kind_from_words,
)
from lightwell.entrypoints.http.authentication import Caller, Curating
from lightwell.entrypoints.http.lightrag_documents import tags_of
from lightwell.entrypoints.http.lightrag_graphs import (
    entity_properties,
    find_entity,
    relation_properties,
)
from lightwell.entrypoints.http.lightrag_schema import (
    DeleteEntityRequest,
    DeleteRelationRequest,
    DeletionResult,
    EntityCreateRequest,
    EntityMergeRequest,
    EntityUpdateRequest,
    RelationCreateRequest,
    RelationUpdateRequest,
)
from lightwell.entrypoints.http.lightrag_speech import make_router

router: APIRouter = make_router()

_OF_ENTITIES: Final = frozenset({"entity_name", "entity_type", "description"})
_OF_RELATIONS: Final = frozenset({"description", "keywords", "weight"})


@router.post("/graph/entity/create")
async def create_entity(body: EntityCreateRequest, caller: Curating) -> dict[str, object]:
    """Create an entity for those who would see a document that the caller hands in."""
    edit = replace(_read_edit(body.entity_data), name=body.entity_name)
    created = await caller.knowledge_base.graph.create(caller.reader, edit, tags=tags_of(caller))
    message = f"Entity '{created.name}' created successfully"
    return {"status": "success", "message": message, "data": entity_properties(created)}


@router.post("/graph/entity/edit")
async def edit_entity(body: EntityUpdateRequest, caller: Curating) -> dict[str, object]:
    """Change an entity's name, kind or description; with `allow_merge`, a name that another one has merges both."""
    graph, edit = caller.knowledge_base.graph, _read_edit(body.updated_data)
    name = body.entity_name
    is_renamed = edit.name not in ("", name)
    if is_renamed and not body.allow_rename:
        raise Invalid("Renaming needs allow_rename")
    other = await find_entity(caller, edit.name) if is_renamed else None
    entity = await find_entity(caller, name)
    if entity is None:
        raise NotFound(f"There is no entity {name!r} that you may see")
    is_merged = other is not None and other.id != entity.id
    if is_merged:
        if not body.allow_merge:
            raise Invalid(f"There is an entity {edit.name!r} already: merging needs allow_merge")
        if (rest := replace(edit, name="")) != ManualEdit():
            await graph.edit(caller.reader, name, rest)
        final = (await graph.merge(caller.reader, [name], edit.name)).target_entity
    else:
        final = await graph.edit(caller.reader, name, edit)
    return {
        "status": "success",
        "message": f"Entity merged successfully into '{final.name}'"
        if is_merged
        else "Entity updated successfully",
        "data": {"entity_name": final.name, **entity_properties(final)},
        "operation_summary": {
            "merged": is_merged,
            "merge_status": "success" if is_merged else "not_attempted",
            "merge_error": None,
            "operation_status": "success",
            "target_entity": edit.name if is_renamed else None,
            "final_entity": final.name,
            "renamed": is_renamed,
        },
    }


@router.post("/graph/entities/merge")
async def merge_entities(body: EntityMergeRequest, caller: Curating) -> dict[str, object]:
    """Merge entities into one that there is; `lightwell graph unmerge` undoes it."""
    merged = await caller.knowledge_base.graph.merge(
        caller.reader, body.entities_to_change, body.entity_to_change_into
    )
    target = merged.target_entity
    return {
        "status": "success",
        "message": f"Successfully merged {merged.source_entities_deleted} entities into '{target.name}'",
        "data": {
            "entity_name": target.name,
            "merged_entity": target.name,
            "deleted_entities": body.entities_to_change,
            "relationships_transferred": merged.relations_redirected,
            **entity_properties(target),
        },
    }


@router.post("/graph/relation/create")
async def create_relation(body: RelationCreateRequest, caller: Curating) -> dict[str, object]:
    """Create a relation between two entities that are not related yet."""
    if await _relations(caller, body.source_entity, body.target_entity):
        raise Invalid("These entities are related already: edit the relation")
    mention = RelationMention(subject=body.source_entity, object=body.target_entity)
    return await _relate(
        caller, _with_data(mention, body.relation_data), "Relation created successfully"
    )


@router.post("/graph/relation/edit")
async def edit_relation(body: RelationUpdateRequest, caller: Curating) -> dict[str, object]:
    """Change what is said of the weightiest relation between two entities."""
    related = await _relations(caller, body.source_id, body.target_id)
    if not related:
        raise NotFound("There is no such relation that you may see")
    relation = related[0]
    mention = RelationMention(
        subject=relation.source,
        object=relation.target,
        predicate=relation.predicate,
        keywords=relation.keywords,
        description=relation.description,
    )
    return await _relate(
        caller, _with_data(mention, body.updated_data), "Relation updated successfully"
    )


@router.delete("/graph/entity/delete")
async def delete_entity(body: DeleteEntityRequest, caller: Curating) -> DeletionResult:
    """Hide an entity; `POST /v1/graph/entities/restore` shows it again."""
    deleted = await caller.knowledge_base.graph.delete(caller.reader, body.entity_name)
    return DeletionResult(message=f"Entity '{deleted.name}' is hidden")


@router.delete("/graph/relation/delete")
async def delete_relation(body: DeleteRelationRequest, caller: Curating) -> DeletionResult:
    """Hide all relations between two entities."""
    related = await _relations(caller, body.source_entity, body.target_entity)
    if not related:
        raise NotFound("There is no such relation that you may see")
    keys = [
        RelationKey(
            source=str(relation.ends[0]),
            predicate=relation.predicate,
            target=str(relation.ends[1]),
        )
        for relation in related
    ]
    hidden = await caller.knowledge_base.graph.delete_relations(caller.reader, keys)
    return DeletionResult(message=f"{len(hidden)} relations are hidden")


async def _relations(caller: Caller, source: str, target: str) -> list[Relation]:
    """Return the relations between two entities in both directions, the weightiest first; raise `NotFound`."""
    graph = caller.knowledge_base.graph
    other = (await graph.entity(caller.reader, target)).entity.id
    details = await graph.entity(caller.reader, source)
    between = [relation for relation in details.relations if other in relation.ends]
    return sorted(between, key=lambda relation: -relation.weight)


async def _relate(caller: Caller, mention: RelationMention, message: str) -> dict[str, object]:
    related = await caller.knowledge_base.graph.relate(caller.reader, mention)
    data = {
        "src_id": related.source,
        "tgt_id": related.target,
        **relation_properties(related),
    }
    return {"status": "success", "message": message, "data": data}


def _read_edit(data: Mapping[str, object]) -> ManualEdit:
    """Return what LightRAG's properties say of an entity; raise `Invalid` for others than these, as LightRAG does."""
    texts = _texts(data, _OF_ENTITIES)
    return ManualEdit(
        name=texts.get("entity_name", ""),
        kind=kind_from_words(texts.get("entity_type", "")),
        description=texts.get("description", ""),
    )


def _with_data(mention: RelationMention, data: Mapping[str, object]) -> RelationMention:
    """Return the relation with what LightRAG's properties say of it; raise `Invalid` for others than these."""
    weight = data.get("weight", mention.weight)
    if (
        isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not abs(weight) <= MAX_WEIGHT
    ):
        raise Invalid(f"weight must be a number of at most {MAX_WEIGHT:,}")
    texts = _texts({name: value for name, value in data.items() if name != "weight"}, _OF_RELATIONS)
    return replace(
        mention,
        weight=float(weight),
        keywords=texts.get("keywords", mention.keywords),
        description=texts.get("description", mention.description),
    )


def _texts(data: Mapping[str, object], allowed: frozenset[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, value in data.items():
        if name not in allowed:
            raise Invalid(f"{name!r} cannot be set here; these can: {', '.join(sorted(allowed))}")
        if not isinstance(value, str):
            raise Invalid(f"{name} must be a text")
        texts[name] = value
    return texts
