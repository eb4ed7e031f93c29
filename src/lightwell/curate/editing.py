"""Manual edits of entities and relations. They override what documents state, and re-ingestion keeps them.

An edit belongs to the access class of the tags given with it. Without tags it goes to the reader's own classes that
mention the entity (those of which the reader has all tags), so it never reveals the entity to others nor speaks for them.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from lightwell.curate.context import CurationContext
from lightwell.domain.access import Reader, Tags, parse_tags
from lightwell.domain.concepts import Concept, distinct, split_list
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import (
    KIND,
    MAX_WEIGHT,
    MIN_CONFIDENCE,
    UNKNOWN_KIND,
    Entity,
    ManualEdit,
    Predicate,
    Relation,
    RelationKey,
    RelationMention,
    normalize_name,
    parse_predicate,
)
from lightwell.domain.ids import EntityId
from lightwell.records import access_classes
from lightwell.records.database import Database
from lightwell.records.documents import published_chunks
from lightwell.records.graph import edits, entities
from lightwell.records.graph.entities import ResolvedName

_MAX_NAME, _MAX_DESCRIPTION = 200, 8000
_MAX_SOURCES = 1000
_MAX_ITEMS = 100


async def create(
    context: CurationContext, reader: Reader, manual_edit: ManualEdit, tags: Iterable[str]
) -> Entity:
    """Create an entity; raise `Invalid` if the reader sees one of this name or the edit is not valid."""
    cleaned = _validate(manual_edit)
    if not cleaned.name:
        raise Invalid("The name is empty; name the entity")
    audience = _audience(reader, tags)
    if not audience and len(reader.tags) != 1:
        raise Invalid("You have several access tags; name those that may see this (--acl)")
    audience = audience or reader.tags
    with suppress(NotFound):
        await entities.resolve_name(context.database, reader, cleaned.name)
        raise Invalid(f"There is an entity {cleaned.name!r} already; edit it instead")
    with_kind = replace(cleaned, kind=cleaned.kind or UNKNOWN_KIND)
    manual_edit = await _with_chunk_ids(context.database, reader, with_kind, [audience])
    async with context.finish_derived_after(reader):
        entity_id = await edits.create(context.database, reader, manual_edit, audience)
    return await _get_edited(context, reader, entity_id)


async def edit(
    context: CurationContext,
    reader: Reader,
    name: str,
    manual_edit: ManualEdit,
    tags: Iterable[str],
) -> Entity:
    """Change an entity's name, kind, description, sources or concept; "" leaves a field unchanged.

    Raises `NotFound`, and `Invalid` for a source passage that no audience of the edit may see.
    """
    cleaned = _validate(manual_edit)
    if cleaned == ManualEdit():
        raise Invalid(
            "Nothing is to be changed; give a name, a kind, a description, sources, aliases, a category, a difficulty or tags"
        )
    audience = _audience(reader, tags)
    database = context.database
    resolved = await entities.resolve_name(database, reader, name)
    current = await entities.get(database, reader, resolved.entity_id)
    audiences = await _audiences(database, reader, audience, [resolved])
    cleaned = await _with_chunk_ids(database, reader, cleaned, audiences)
    edits_to_write = (cleaned, ManualEdit(name=current.name, kind=current.kind))
    async with context.finish_derived_after(reader):
        await edits.edit_entity(database, reader, resolved.entity_id, edits_to_write, audiences)
    return await _get_edited(context, reader, resolved.entity_id)


async def delete(context: CurationContext, reader: Reader, name: str) -> Entity:
    """Hide an entity in the reader's own classes, also after re-ingestion; return its last state.

    Documents do not change. People who share no tag with the reader keep the entity, and so does the reader where documents that
    such people read mention it. Raises `NotFound`, and `Invalid` where all documents that mention it are of that kind.
    """
    resolved = await entities.resolve_name(context.database, reader, name)
    deleted = await entities.get(context.database, reader, resolved.entity_id)
    async with context.finish_derived_after(reader):
        await edits.delete(context.database, reader, resolved.entity_id)
    return deleted


async def delete_entities(
    context: CurationContext, reader: Reader, names: Sequence[str]
) -> tuple[Entity, ...]:
    """Delete several entities as `delete` does, rebuilding once; raise `NotFound`, with none deleted."""
    database = context.database
    resolved = [await entities.resolve_name(database, reader, name) for name in names]
    entity_ids = list(dict.fromkeys(entity.entity_id for entity in resolved))
    deleted = [await entities.get(database, reader, entity_id) for entity_id in entity_ids]
    async with context.finish_derived_after(reader):
        for entity_id in entity_ids:
            await edits.delete(database, reader, entity_id)
    return tuple(deleted)


async def delete_relations(
    context: CurationContext, reader: Reader, keys: Sequence[RelationKey]
) -> tuple[Relation, ...]:
    """Hide relations in the reader's own classes, also after re-ingestion; return their last state.

    Rebuilds once. Raises `NotFound` or `Invalid`, with none hidden.
    """
    database = context.database
    deleted: dict[tuple[ResolvedName, ResolvedName, Predicate], Relation] = {}
    for key in keys:
        source = await entities.resolve_name(database, reader, key.source)
        target = await entities.resolve_name(database, reader, key.target)
        relation = await _get_relation(database, reader, (source, target), key.predicate)
        deleted[source, target, key.predicate] = relation
    async with context.finish_derived_after(reader):
        for source, target, predicate in deleted:
            await edits.hide_relation(database, reader, source, target, predicate)
    return tuple(deleted.values())


async def restore(context: CurationContext, reader: Reader, name: str) -> Entity:
    """Undo the manual deletion of an entity; raise `NotFound`."""
    async with context.finish_derived_after(reader):
        entity_id = await edits.restore(context.database, reader, name)
    return await _get_edited(context, reader, entity_id)


async def relate(
    context: CurationContext, reader: Reader, relation_mention: RelationMention, tags: Iterable[str]
) -> Relation:
    """Create or replace a relation by hand; raise `NotFound` or `Invalid`.

    `comparison` and `use_case` are valid for COMPARED_TO only. A manual relation is stored with confidence 1.
    """
    audience = _audience(reader, tags)
    relation_mention = replace(
        relation_mention, predicate=parse_predicate(relation_mention.predicate)
    )
    if not 0 < relation_mention.weight <= MAX_WEIGHT:
        raise Invalid(
            f"The weight must be a positive number of at most {MAX_WEIGHT:,}, not {relation_mention.weight}"
        )
    if relation_mention.confidence < MIN_CONFIDENCE:
        raise Invalid(f"The confidence must be at least {MIN_CONFIDENCE}")
    texts = (relation_mention.description, relation_mention.comparison, relation_mention.use_case)
    if max(map(len, texts)) > _MAX_DESCRIPTION:
        raise Invalid(f"A description has at most {_MAX_DESCRIPTION} characters")
    if relation_mention.predicate is not Predicate.COMPARED_TO and any(texts[1:]):
        raise Invalid("Only COMPARED_TO has a comparison and a use case; name that predicate")
    database = context.database
    source = await entities.resolve_name(database, reader, relation_mention.subject)
    target = await entities.resolve_name(database, reader, relation_mention.object)
    if source.entity_id == target.entity_id:
        raise Invalid(
            f"{relation_mention.subject!r} and {relation_mention.object!r} are one entity"
        )
    names: dict[EntityId, ManualEdit] = {}
    for end in (source, target):
        entity = await entities.get(database, reader, end.entity_id)
        names[end.entity_id] = ManualEdit(name=entity.name, kind=entity.kind)
    audiences = await _audiences(database, reader, audience, [source, target])
    async with context.finish_derived_after(reader):
        await edits.create_relation(database, reader, names, relation_mention, audiences)
    return await _get_relation(database, reader, (source, target), relation_mention.predicate)


def _validate(manual_edit: ManualEdit) -> ManualEdit:
    """Return the edit with trimmed fields; raise `Invalid` if a field is not valid."""
    cleaned = ManualEdit(
        name=" ".join(manual_edit.name.split()),
        kind=manual_edit.kind.strip(),
        description=manual_edit.description.strip(),
        sources=tuple(dict.fromkeys(source.strip() for source in manual_edit.sources)),
        concept=_validate_concept(manual_edit.concept),
    )
    if manual_edit.name and not normalize_name(cleaned.name):
        raise Invalid(f"{manual_edit.name!r} is not a valid name; use at least one letter or digit")
    if len(cleaned.name) > _MAX_NAME:
        raise Invalid(f"A name has at most {_MAX_NAME} characters")
    if cleaned.kind and not KIND.fullmatch(cleaned.kind):
        raise Invalid(
            f"{manual_edit.kind!r} is not a valid kind; use a lower-case word such as person or organization"
        )
    if len(cleaned.description) > _MAX_DESCRIPTION:
        raise Invalid(f"A description has at most {_MAX_DESCRIPTION} characters")
    if len(cleaned.sources) > _MAX_SOURCES:
        raise Invalid(f"An entity has at most {_MAX_SOURCES} sources")
    return cleaned


def _validate_concept(concept: Concept) -> Concept:
    """Return the fields with single spaces; raise `Invalid` if one is too long, or an item of a list has a comma."""
    cleaned = Concept(
        aliases=distinct(concept.aliases),
        category=" ".join(concept.category.split()),
        difficulty=" ".join(concept.difficulty.split()),
        tags=distinct(concept.tags),
    )
    items = (*cleaned.aliases, *cleaned.tags)
    if len(items) > _MAX_ITEMS:
        raise Invalid(f"An entity has at most {_MAX_ITEMS} aliases and tags")
    if max(map(len, (*items, cleaned.category, cleaned.difficulty))) > _MAX_NAME:
        raise Invalid(
            f"An alias, a category, a difficulty and a tag have at most {_MAX_NAME} characters"
        )
    for item in items:
        if split_list(item) != (item,):
            raise Invalid(
                f"{item!r} has a comma or a semicolon; give each alias and each tag alone"
            )
    for alias in cleaned.aliases:
        if not normalize_name(alias):
            raise Invalid(f"{alias!r} is not a valid alias; use at least one letter or digit")
    return cleaned


async def _with_chunk_ids(
    database: Database, reader: Reader, manual_edit: ManualEdit, audiences: Sequence[Tags]
) -> ManualEdit:
    """Return the edit with chunk ids as sources; raise `NotFound`, or `Invalid` for a source that no audience may see."""
    if not manual_edit.sources:
        return manual_edit
    chunks = await published_chunks.resolve_ids(database, reader, manual_edit.sources)
    for ref, seen_by in await published_chunks.list_access_tags(database, reader, chunks):
        if not any(tags <= seen_by for tags in audiences):
            raise Invalid(
                f"Some readers of this description may not see the passage {ref!r}; name other access tags or another passage"
            )
    return replace(manual_edit, sources=tuple(map(str, chunks)))


def _audience(reader: Reader, tags: Iterable[str]) -> Tags:
    """Return the access tags of an edit, none if the caller gave none."""
    audience = parse_tags(tags)
    if audience and audience.isdisjoint(reader.tags):
        raise Invalid(
            "You would not be able to see it; include at least one of your own access tags"
        )
    return audience


async def _audiences(
    database: Database, reader: Reader, audience: Tags, about: Sequence[ResolvedName]
) -> list[Tags]:
    """Return the audiences of an edit: the given one, or else the reader's own classes that mention all of these entities."""
    if audience:
        return [audience]
    tag_sets = await access_classes.list_class_tags(
        database, reader, [entity.entity_id for entity in about]
    )
    if not tag_sets:
        raise Invalid(
            "No documents of which you have all access tags mention it; name the tags that may see this (--acl)"
        )
    return tag_sets


async def _get_edited(context: CurationContext, reader: Reader, entity_id: EntityId) -> Entity:
    """Return the edited entity. The edit may have created an access class, so the reader is resolved again."""
    current_reader = await access_classes.resolve_reader(
        context.database, reader.project_id, reader.tags
    )
    return await entities.get(context.database, current_reader, entity_id)


async def _get_relation(
    database: Database,
    reader: Reader,
    ends: tuple[ResolvedName, ResolvedName],
    predicate: Predicate,
) -> Relation:
    current_reader = await access_classes.resolve_reader(database, reader.project_id, reader.tags)
    relation = await entities.get_relation(
        database, current_reader, (ends[0].entity_id, ends[1].entity_id), predicate
    )
    if relation is None:
        raise NotFound(f"There is no relation {predicate.value} between these two that you may see")
    return relation
