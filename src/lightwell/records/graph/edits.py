"""Manual edits of entities and relations. An edit belongs to one access class and overrides what documents
state.

Deleting an entity by hand hides what documents state of it in the person's own classes, those of which the person has all
tags; other classes are not affected, since their readers may share no tag with the person.
"""

from collections.abc import Mapping, Sequence
from typing import LiteralString

from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader, Tags, not_own
from lightwell.domain.entity_refs import text_ref
from lightwell.domain.errors import NotFound
from lightwell.domain.graph import ManualEdit, RelationMention, normalize_name, normalize_names
from lightwell.domain.ids import ClassId, EntityId, parse_uuid
from lightwell.records import access_classes
from lightwell.records.database import Connection, Database, repeatable
from lightwell.records.graph import merge_trees, resolution
from lightwell.records.graph.entities import ResolvedName
from lightwell.records.graph.profiles import refresh_all
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.rows import fetch, fetch_values

_CREATE_ENTITY = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
VALUES (entity_key(%(project_id)s, %(ref)s), %(project_id)s, %(ref)s, %(normalized)s)
ON CONFLICT (project_id, entity_ref)
DO UPDATE SET hidden_in = (SELECT nullif(array_agg(class_id ORDER BY class_id), '{}')
                           FROM unnest(entities.hidden_in) AS class_id WHERE class_id <> ALL(%(shown)s::integer[]))
RETURNING entity_id
"""

_HERE = """
SELECT profile.display_name, profile.entity_kind FROM profiles AS profile
WHERE profile.subject_id = %(named_as)s AND profile.class_id = %(class_id)s
"""

_STORE_EDIT = """
INSERT INTO entity_edits AS edit (
    named_as, class_id, name, entity_kind, description, source_ids, attributes, alias_names, known_name, known_kind,
    normalized_name, said_by)
VALUES (%(named_as)s, %(class_id)s, nullif(%(name)s, ''), nullif(%(kind)s, ''), nullif(%(description)s, ''),
        nullif(%(sources)s::uuid[], '{}'), %(attributes)s, nullif(%(alias_names)s::text[], '{}'), %(known_name)s, %(known_kind)s, %(normalized)s, %(by)s)
ON CONFLICT (named_as, class_id) DO UPDATE
SET name = coalesce(excluded.name, edit.name), entity_kind = coalesce(excluded.entity_kind, edit.entity_kind),
    description = coalesce(excluded.description, edit.description),
    source_ids = coalesce(excluded.source_ids, edit.source_ids),
    attributes = edit.attributes || excluded.attributes, alias_names = coalesce(excluded.alias_names, edit.alias_names),
    normalized_name = CASE WHEN excluded.name IS NULL THEN edit.normalized_name ELSE excluded.normalized_name END,
    said_by = excluded.said_by, said_at = now()
"""

_DELETE_EDITS = """
DELETE FROM entity_edits WHERE entity_id = ANY(%(entities)s) AND class_id = ANY(%(own)s)
"""

_DELETE_RELATION_EDITS = """
DELETE FROM relation_edits USING relations AS relation
WHERE relation.relation_id = relation_edits.relation_id AND relation_edits.class_id = ANY(%(own)s)
  AND (relation.source_id = ANY(%(entities)s) OR relation.target_id = ANY(%(entities)s))
"""

_HIDE = """
UPDATE entities SET hidden_in = ARRAY(SELECT DISTINCT unnest(coalesce(hidden_in, '{}') || %(own)s::integer[]) ORDER BY 1)
WHERE entity_id = ANY(%(entities)s)
  AND EXISTS (SELECT FROM document_entity_mentions AS mention
              WHERE mention.entity_id = entities.entity_id AND mention.class_id = ANY(%(own)s))
"""

_IS_HIDDEN: LiteralString = """
      named.hidden_in && %(own)s::integer[]
      AND (EXISTS (SELECT FROM document_entity_mentions AS mention
                   WHERE mention.named_as = named.entity_id AND mention.entity_id IS NULL
                     AND mention.class_id = ANY(%(own)s))
           OR EXISTS (SELECT FROM entity_splits AS split JOIN split_passages AS passage USING (split_id)
                      JOIN document_entity_mentions AS mention
                        ON mention.named_as = passage.source_id AND mention.class_id = passage.class_id
                      WHERE split.part_id = named.entity_id AND passage.undone_at IS NULL
                        AND mention.entity_id IS NULL AND mention.class_id = ANY(%(own)s)))
"""

# A deletion includes the entities that were merged with it, by merges that apply to the reader.
_HIDDEN = f"""
WITH RECURSIVE told AS MATERIALIZED (
    SELECT source.source_id, merge.target_id
    FROM merged_entities AS source JOIN entity_merges AS merge USING (merge_id)
    WHERE merge.project_id = %(project_id)s AND source.undone_at IS NULL
      AND sees_any(%(classes)s, source.source_classes) AND sees_any(%(classes)s, merge.target_classes)
), hidden AS (
    SELECT named.entity_id FROM entities AS named
    WHERE named.project_id = %(project_id)s AND (named.normalized_name = %(name)s OR named.entity_id = %(id)s::uuid)
      AND {_IS_HIDDEN}
    UNION
    SELECT named.entity_id
    FROM hidden JOIN told ON hidden.entity_id IN (told.source_id, told.target_id)
    JOIN entities AS named
      ON named.entity_id IN (told.source_id, told.target_id) AND named.entity_id <> hidden.entity_id
    WHERE {_IS_HIDDEN}
)
SELECT hidden.entity_id FROM hidden JOIN entities AS named USING (entity_id)
ORDER BY named.entity_id = %(id)s::uuid DESC NULLS LAST, named.normalized_name = %(name)s DESC, named.entity_ref COLLATE "C"
"""  # noqa: S608 - only our own words

_UNHIDE = """
UPDATE entities SET hidden_in = (SELECT nullif(array_agg(class_id ORDER BY class_id), '{}')
                                 FROM unnest(hidden_in) AS class_id WHERE class_id <> ALL(%(own)s::integer[]))
WHERE entity_id = ANY(%(entities)s)
"""

_CREATE_RELATION = """
INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
VALUES (relation_key(%(project_id)s, %(source)s, %(target)s, %(predicate)s), %(project_id)s, %(source)s, %(target)s,
        %(predicate)s)
ON CONFLICT (source_id, target_id, predicate)
DO UPDATE SET hidden_in = (SELECT nullif(array_agg(class_id ORDER BY class_id), '{}')
                           FROM unnest(relations.hidden_in) AS class_id WHERE class_id <> ALL(%(shown)s::integer[]))
RETURNING relation_id
"""

_STORE_RELATION_EDIT = """
INSERT INTO relation_edits (stated_as, class_id, keywords, description, weight, comparison, use_case, said_by)
VALUES (%(relation)s, %(class_id)s, %(keywords)s, %(description)s, %(weight)s, %(comparison)s, %(use_case)s, %(by)s)
ON CONFLICT (stated_as, class_id) DO UPDATE
SET keywords = excluded.keywords, description = excluded.description, weight = excluded.weight,
    comparison = excluded.comparison, use_case = excluded.use_case,
    said_by = excluded.said_by, said_at = now()
"""

_RELATED = """
SELECT relation_id, source_id FROM relations
WHERE source_id = ANY((SELECT with_merged(%(sources)s, %(classes)s))::uuid[])
  AND target_id = ANY((SELECT with_merged(%(targets)s, %(classes)s))::uuid[]) AND predicate = %(predicate)s
  AND EXISTS (SELECT FROM profiles WHERE subject_id = relation_id AND sees(%(classes)s, class_id))
"""

_DELETE_EDITS_OF_RELATION = """
DELETE FROM relation_edits WHERE relation_id = ANY(%(relations)s) AND class_id = ANY(%(own)s)
"""

_HIDE_RELATION = """
UPDATE relations SET hidden_in = ARRAY(SELECT DISTINCT unnest(coalesce(hidden_in, '{}') || %(own)s::integer[]) ORDER BY 1)
WHERE relation_id = ANY(%(relations)s)
  AND EXISTS (SELECT FROM relation_mentions AS mention
              WHERE mention.relation_id = relations.relation_id AND mention.class_id = ANY(%(own)s))
"""


@repeatable
async def create(
    database: Database, reader: Reader, manual_edit: ManualEdit, tags: Tags
) -> EntityId:
    """Create an entity by hand, visible to readers who share one of the tags; return its id."""
    facts: dict[str, object] = {
        "project_id": reader.project_id,
        "ref": text_ref(manual_edit.name),
        "normalized": normalize_name(manual_edit.name),
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        facts["shown"] = await _shown_classes(connection, reader, [tags])
        (named_as,) = await fetch_values(connection, _CREATE_ENTITY, facts)
        await _write_edit(connection, reader, named_as, (manual_edit, manual_edit), tags)
        await _update_derived(connection, reader, [named_as])
    return named_as


@repeatable
async def edit_entity(
    database: Database,
    reader: Reader,
    named_as: EntityId,
    words: tuple[ManualEdit, ManualEdit],
    audiences: Sequence[Tags],
) -> None:
    """Store a manual edit of an entity for each audience.

    `words` are the edit, and the name and kind that the person sees, for classes that do not know the entity
    yet.
    """
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, {"project_id": reader.project_id})
        for tags in audiences:
            await _write_edit(connection, reader, named_as, words, tags)
        await _update_derived(connection, reader, [named_as])


@repeatable
async def delete(database: Database, reader: Reader, entity_id: EntityId) -> None:
    """Delete the manual edits of an entity in the reader's own classes, and hide there what documents state of it.

    Raises `Invalid` where no own class has any.
    """
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, {"project_id": reader.project_id})
        grouped = await merge_trees.list_members(connection, reader, [entity_id])
        members = grouped.get(entity_id, [entity_id])
        facts = {**_own(reader), "entities": members}
        await _execute_all(connection, (_HIDE, _DELETE_RELATION_EDITS, _DELETE_EDITS), facts)
        await _update_derived(connection, reader, members)


@repeatable
async def restore(database: Database, reader: Reader, name: str) -> EntityId:
    """Unhide an entity that was hidden by hand; raise `NotFound` if no hidden entity has this name or id."""
    facts = {**_own(reader), "name": normalize_name(name), "id": parse_uuid(name)}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        hidden = await fetch_values(connection, _HIDDEN, facts)
        if not hidden:
            raise NotFound(f"There is no hidden entity {name!r} that you may see")
        await connection.execute(_UNHIDE, {**facts, "entities": hidden})
        await _update_derived(connection, reader, hidden)
    return hidden[0]


@repeatable
async def create_relation(
    database: Database,
    reader: Reader,
    ends: Mapping[EntityId, ManualEdit],
    relation_mention: RelationMention,
    audiences: Sequence[Tags],
) -> None:
    """Store for each audience that the first end is related to the second; `ends` maps each to what the person sees of it."""
    source, target = ends
    facts: dict[str, object] = {
        "project_id": reader.project_id,
        "source": source,
        "target": target,
        "predicate": relation_mention.predicate.value,
        "keywords": relation_mention.keywords,
        "description": relation_mention.description,
        "weight": relation_mention.weight,
        "comparison": relation_mention.comparison,
        "use_case": relation_mention.use_case,
        "by": sorted(reader.tags),
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        facts["shown"] = await _shown_classes(connection, reader, audiences)
        (facts["relation"],) = await fetch_values(connection, _CREATE_RELATION, facts)
        for tags in audiences:
            for end, seen in ends.items():
                await _write_edit(connection, reader, end, (ManualEdit(), seen), tags)
            facts["class_id"] = await access_classes.get_or_create_class(
                connection, reader.project_id, tags
            )
            await connection.execute(_STORE_RELATION_EDIT, facts)
        await _update_derived(connection, reader, list(ends))


@repeatable
async def hide_relation(
    database: Database, reader: Reader, source: ResolvedName, target: ResolvedName, predicate: str
) -> None:
    """Delete the manual edits of a relation in the reader's own classes, and hide there what documents state of it.

    Raises `NotFound` if the reader sees no such relation, `Invalid` where no own class has any.
    """
    facts: dict[str, object] = {
        **_own(reader),
        "sources": [source.entity_id],
        "targets": [target.entity_id],
        "predicate": predicate,
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        related = await fetch(connection, _RELATED, facts)
        if not related:
            raise NotFound(f"There is no relation {predicate} between these two that you may see")
        facts["relations"] = [relation for relation, _ in related]
        await _execute_all(connection, (_HIDE_RELATION, _DELETE_EDITS_OF_RELATION), facts)
        await _update_derived(connection, reader, [source_id for _, source_id in related])


async def _execute_all(
    connection: Connection, statements: Sequence[LiteralString], facts: Mapping[str, object]
) -> None:
    """Execute statements that hide something; raise `Invalid` where none changed a row."""
    counts = [(await connection.execute(statement, facts)).rowcount for statement in statements]
    if not any(counts):
        raise not_own()


async def _shown_classes(
    connection: Connection, reader: Reader, audiences: Sequence[Tags]
) -> list[ClassId]:
    """Return the classes in which something that a person makes is hidden no longer: the person's own, and its audiences'."""
    made = [
        await access_classes.get_or_create_class(connection, reader.project_id, tags)
        for tags in audiences
    ]
    return [*reader.own_classes, *made]


async def _write_edit(
    connection: Connection,
    reader: Reader,
    named_as: EntityId,
    words: tuple[ManualEdit, ManualEdit],
    tags: Tags,
) -> None:
    """Store an edit with the name and kind that its class knows, or, if the class does not know the entity,
    those that the person sees.
    """
    edit, seen = words
    class_id = await access_classes.get_or_create_class(connection, reader.project_id, tags)
    key: dict[str, object] = {"named_as": named_as, "class_id": class_id}
    of_class = await fetch(connection, _HERE, key)
    if of_class and edit == ManualEdit():
        return
    known_name, known_kind = (
        of_class[0] if of_class else (edit.name or seen.name, edit.kind or seen.kind)
    )
    await connection.execute(
        _STORE_EDIT,
        {
            **key,
            "name": edit.name,
            "kind": edit.kind,
            "description": edit.description,
            "sources": list(edit.sources),
            "attributes": Jsonb(dict(edit.concept.attributes)),
            "alias_names": normalize_names(edit.concept.aliases),
            "known_name": known_name,
            "known_kind": known_kind,
            "normalized": normalize_name(edit.name or known_name),
            "by": sorted(reader.tags),
        },
    )


async def _update_derived(
    connection: Connection, reader: Reader, entities: Sequence[EntityId]
) -> None:
    await resolution.resolve(connection, reader.project_id, entities)
    await refresh_all(connection, reader.project_id)


def _own(reader: Reader) -> dict[str, object]:
    return {
        **reader.parameters,
        "own": list(reader.own_classes),
    }
