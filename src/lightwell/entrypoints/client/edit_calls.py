"""Calls that edit the graph: create, edit, delete and restore entities and relations. They need the scope `curate`."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from lightwell.domain.graph import ManualEdit, RelationMention
from lightwell.entrypoints.operations.calls import Call, reader_of, segment
from lightwell.entrypoints.schemas.corrections import (
    EntityEdit,
    EntityList,
    NameBody,
    NamesBody,
    NewEntityBody,
    RelationBody,
    RelationKeysBody,
    RelationList,
)
from lightwell.entrypoints.schemas.graph import EntitySchema, RelationSchema

_ENTITIES = "/v1/graph/entities"
_RELATIONS = "/v1/graph/relations"
_read_entity = reader_of(EntitySchema)
_read_entities = reader_of(EntityList)
_read_relation = reader_of(RelationSchema)
_read_relations = reader_of(RelationList)


def create_entity(edit: ManualEdit, *, tags: Iterable[str] = ()) -> Call[EntitySchema]:
    """Create an entity; mentions of its name in documents are linked to it. `tags` say who sees it."""
    body = NewEntityBody(
        name=edit.name,
        kind=edit.kind,
        description=edit.description,
        acl_tags=tuple(tags),
        **asdict(edit.concept),
    )
    return Call(method="POST", path=_ENTITIES, body=body, read=_read_entity, is_repeatable=False)


def edit_entity(name: str, edit: ManualEdit, *, tags: Iterable[str] = ()) -> Call[EntitySchema]:
    """Set an entity's name, kind, description, sources or concept; this overrides what documents say, also later ones."""
    body = EntityEdit(
        name=edit.name,
        kind=edit.kind,
        description=edit.description,
        sources=edit.sources,
        acl_tags=tuple(tags),
        **asdict(edit.concept),
    )
    path = f"{_ENTITIES}/{segment(name)}"
    return Call(method="PATCH", path=path, body=body, read=_read_entity, is_repeatable=False)


def delete_entities(names: Sequence[str]) -> Call[EntityList]:
    """Hide entities, now and in future, in documents of which you have all access tags: all of them or none."""
    body, path = NamesBody(names=list(names)), f"{_ENTITIES}/delete"
    return Call(method="POST", path=path, body=body, read=_read_entities, is_repeatable=False)


def restore_entity(name: str) -> Call[EntitySchema]:
    """Show a hidden entity again, as documents describe it."""
    body, path = NameBody(name=name), f"{_ENTITIES}/restore"
    return Call(method="POST", path=path, body=body, read=_read_entity, is_repeatable=False)


def relate_entities(relation: RelationMention, *, tags: Iterable[str] = ()) -> Call[RelationSchema]:
    """Add or replace what people say of a relation between two entities."""
    body = RelationBody(
        source=relation.subject,
        target=relation.object,
        predicate=relation.predicate,
        keywords=relation.keywords,
        description=relation.description,
        weight=relation.weight,
        comparison=relation.comparison,
        use_case=relation.use_case,
        acl_tags=tuple(tags),
    )
    return Call(method="PUT", path=_RELATIONS, body=body, read=_read_relation)


def delete_relations(keys: Sequence[str]) -> Call[RelationList]:
    """Hide relations, by their keys, in documents of which you have all access tags: all of them or none."""
    body, path = RelationKeysBody(relations=list(keys)), f"{_RELATIONS}/delete"
    return Call(method="POST", path=path, body=body, read=_read_relations, is_repeatable=False)
