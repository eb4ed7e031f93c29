"""A person's word about entities and relations: written down in one access class, and kept whatever texts say.

Deleting by hand hides what texts say from all classes that meet the person's tags, and leaves other classes alone.
"""

from collections.abc import Mapping, Sequence

from lightwell.domain.access import Reader, Tags
from lightwell.domain.errors import NotFound
from lightwell.domain.graph import Statement, Word, normalized, text_ref
from lightwell.domain.ids import EntityId, new_id
from lightwell.records import access, resolving
from lightwell.records.database import Connection, Database
from lightwell.records.entities import Called
from lightwell.records.locks import PUBLISHING_LOCK
from lightwell.records.profiles import refresh_all

_MAKE = """
INSERT INTO entities (entity_id, project_id, entity_ref, normalized_name)
VALUES (%(id)s, %(project_id)s, %(ref)s, %(normalized)s)
ON CONFLICT (project_id, entity_ref)
DO UPDATE SET hidden_for = (SELECT nullif(array_agg(tag ORDER BY tag), '{}')
                            FROM unnest(entities.hidden_for) AS tag WHERE tag <> ALL(%(shown)s))
RETURNING entity_id
"""

_HERE = """
SELECT profile.display_name, profile.entity_kind
FROM entities AS named
JOIN profiles AS profile ON profile.subject_id = coalesce(named.merged_into, named.entity_id)
WHERE named.entity_id = %(named_as)s AND profile.class_id = %(class_id)s
"""

_SAY = """
INSERT INTO entity_edits AS edit (
    named_as, class_id, name, entity_kind, description, known_name, known_kind, normalized_name, said_by)
VALUES (%(named_as)s, %(class_id)s, nullif(%(name)s, ''), nullif(%(kind)s, ''), nullif(%(description)s, ''),
        %(known_name)s, %(known_kind)s, %(normalized)s, %(by)s)
ON CONFLICT (named_as, class_id) DO UPDATE
SET name = coalesce(excluded.name, edit.name), entity_kind = coalesce(excluded.entity_kind, edit.entity_kind),
    description = coalesce(excluded.description, edit.description),
    normalized_name = CASE WHEN excluded.name IS NULL THEN edit.normalized_name ELSE excluded.normalized_name END,
    said_by = excluded.said_by, said_at = now()
"""

_TAKE_BACK = """
DELETE FROM entity_edits WHERE entity_id = %(entity)s AND class_id = ANY(%(classes)s)
"""

_TAKE_BACK_RELATIONS = """
DELETE FROM relation_edits USING relations AS relation
WHERE relation.relation_id = relation_edits.relation_id AND relation_edits.class_id = ANY(%(classes)s)
  AND %(entity)s IN (relation.source_id, relation.target_id)
"""

_HIDE = """
UPDATE entities SET hidden_for = ARRAY(SELECT DISTINCT unnest(coalesce(hidden_for, '{}') || %(tags)s::text[]) ORDER BY 1)
WHERE entity_id = %(entity)s
  AND EXISTS (SELECT FROM document_entity_mentions AS mention
              WHERE mention.entity_id = %(entity)s AND mention.class_id = ANY(%(classes)s))
"""

_HIDDEN = """
SELECT DISTINCT named.entity_id, coalesce(named.merged_into, named.entity_id)
FROM entities AS named
JOIN entities AS root ON root.entity_id = coalesce(named.merged_into, named.entity_id)
WHERE named.project_id = %(project_id)s AND named.normalized_name = %(name)s
  AND (named.hidden_for && %(tags)s OR root.hidden_for && %(tags)s)
  AND EXISTS (SELECT FROM document_entity_mentions AS mention
              WHERE mention.named_as = named.entity_id AND mention.entity_id IS NULL
                AND mention.class_id = ANY(%(classes)s))
"""

_SHOW = """
UPDATE entities SET hidden_for = (SELECT nullif(array_agg(tag ORDER BY tag), '{}')
                                  FROM unnest(hidden_for) AS tag WHERE tag <> ALL(%(tags)s))
WHERE entity_id = ANY(%(entities)s)
"""

_RELATE = """
INSERT INTO relations (relation_id, project_id, source_id, target_id, predicate)
VALUES (%(id)s, %(project_id)s, %(source)s, %(target)s, %(predicate)s)
ON CONFLICT (source_id, target_id, predicate)
DO UPDATE SET hidden_for = (SELECT nullif(array_agg(tag ORDER BY tag), '{}')
                            FROM unnest(relations.hidden_for) AS tag WHERE tag <> ALL(%(shown)s))
RETURNING relation_id
"""

_SAY_RELATED = """
INSERT INTO relation_edits (stated_as, class_id, keywords, description, weight, said_by)
VALUES (%(relation)s, %(class_id)s, %(keywords)s, %(description)s, %(weight)s, %(by)s)
ON CONFLICT (stated_as, class_id) DO UPDATE
SET keywords = excluded.keywords, description = excluded.description, weight = excluded.weight,
    said_by = excluded.said_by, said_at = now()
"""

_RELATED = """
SELECT relation_id FROM relations
WHERE source_id = %(source)s AND target_id = %(target)s AND predicate = %(predicate)s
  AND EXISTS (SELECT FROM profiles WHERE subject_id = relation_id AND class_id = ANY(%(classes)s))
"""

_UNRELATE = """
DELETE FROM relation_edits WHERE relation_id = %(relation)s AND class_id = ANY(%(classes)s)
"""

_HIDE_RELATION = """
UPDATE relations SET hidden_for = ARRAY(SELECT DISTINCT unnest(coalesce(hidden_for, '{}') || %(tags)s::text[]) ORDER BY 1)
WHERE relation_id = %(relation)s
  AND EXISTS (SELECT FROM relation_mentions AS mention
              WHERE mention.relation_id = %(relation)s AND mention.class_id = ANY(%(classes)s))
"""


async def create(database: Database, reader: Reader, word: Word, tags: Tags) -> EntityId:
    """Make an entity of a person's word, seen by those who share one of the tags; return what it stands for."""
    facts: dict[str, object] = {
        "id": new_id(),
        "project_id": reader.project_id,
        "ref": text_ref(word.name),
        "normalized": normalized(word.name),
        "shown": sorted(reader.tags | tags),
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        made = await (await connection.execute(_MAKE, facts)).fetchone()
        assert made is not None  # noqa: S101 - the statement returns the row it makes or finds
        named_as = EntityId(made[0])
        await _say(connection, reader, named_as, (word, word), tags)
        await _follow(connection, reader, [named_as])
    return named_as


async def say(
    database: Database, reader: Reader, named_as: EntityId, words: tuple[Word, Word], tags: Tags
) -> None:
    """Write down what a person says of an entity, and what the person knows of it where that says nothing."""
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, {"project_id": reader.project_id})
        await _say(connection, reader, named_as, words, tags)
        await _follow(connection, reader, [named_as])


async def delete(database: Database, reader: Reader, entity_id: EntityId) -> None:
    """Take back what people said of an entity in the reader's classes, and hide what texts say there."""
    facts = {**_reading(reader), "entity": entity_id}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        members = await resolving.trees(connection, [entity_id])
        for statement in (_HIDE, _TAKE_BACK_RELATIONS, _TAKE_BACK):
            await connection.execute(statement, facts)
        await _follow(connection, reader, members)


async def restore(database: Database, reader: Reader, name: str) -> EntityId:
    """Show again what was deleted by hand; raise `NotFound` when nothing hidden is called so."""
    facts = {**_reading(reader), "name": normalized(name)}
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        hidden = await (await connection.execute(_HIDDEN, facts)).fetchall()
        if not hidden:
            raise NotFound(f"There is no deleted entity {name!r} that you may see")
        ids = [EntityId(each) for row in hidden for each in row]
        await connection.execute(_SHOW, {**facts, "entities": ids})
        await _follow(connection, reader, ids)
    return EntityId(hidden[0][1])


async def relate(
    database: Database,
    reader: Reader,
    ends: Mapping[EntityId, Word],
    statement: Statement,
    tags: Tags,
) -> None:
    """Write down that the first of the two ends is related to the second; `ends` says how the person knows them."""
    source, target = ends
    facts: dict[str, object] = {
        "id": new_id(),
        "project_id": reader.project_id,
        "source": source,
        "target": target,
        "predicate": statement.predicate.value,
        "keywords": statement.keywords,
        "description": statement.description,
        "weight": statement.weight,
        "shown": sorted(reader.tags | tags),
        "by": sorted(reader.tags),
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        for end, known in ends.items():
            await _say(connection, reader, end, (Word(), known), tags)
        made = await (await connection.execute(_RELATE, facts)).fetchone()
        assert made is not None  # noqa: S101 - the statement returns the row it makes or finds
        facts["relation"] = made[0]
        facts["class_id"] = await access.class_of(connection, reader.project_id, tags)
        await connection.execute(_SAY_RELATED, facts)
        await _follow(connection, reader, list(ends))


async def unrelate(
    database: Database, reader: Reader, source: Called, target: Called, predicate: str
) -> None:
    """Take back what people said of a relation in the reader's classes, and hide what texts say there.

    Raises `NotFound` when the reader sees no such relation.
    """
    facts: dict[str, object] = {
        **_reading(reader),
        "source": source.entity_id,
        "target": target.entity_id,
        "predicate": predicate,
    }
    async with database.transaction() as connection:
        await connection.execute(PUBLISHING_LOCK, facts)
        found = await (await connection.execute(_RELATED, facts)).fetchone()
        if found is None:
            raise NotFound(f"There is no relation {predicate} between these two that you may see")
        facts["relation"] = found[0]
        for statement in (_HIDE_RELATION, _UNRELATE):
            await connection.execute(statement, facts)
        await _follow(connection, reader, [source.entity_id, target.entity_id])


async def _say(
    connection: Connection,
    reader: Reader,
    named_as: EntityId,
    words: tuple[Word, Word],
    tags: Tags,
) -> None:
    """Write a word down with what its class calls the entity, or else, where it names it first, what the person does."""
    said, known = words
    class_id = await access.class_of(connection, reader.project_id, tags)
    place: dict[str, object] = {"named_as": named_as, "class_id": class_id}
    here = await (await connection.execute(_HERE, place)).fetchone()
    if here and said == Word():
        return
    known_name, known_kind = here or (said.name or known.name, said.kind or known.kind)
    await connection.execute(
        _SAY,
        {
            **place,
            "name": said.name,
            "kind": said.kind,
            "description": said.description,
            "known_name": known_name,
            "known_kind": known_kind,
            "normalized": normalized(said.name or known_name),
            "by": sorted(reader.tags),
        },
    )


async def _follow(connection: Connection, reader: Reader, entities: Sequence[EntityId]) -> None:
    members = await resolving.trees(connection, entities)
    await resolving.resolve(connection, reader.project_id, members)
    await refresh_all(connection, reader.project_id)


def _reading(reader: Reader) -> dict[str, object]:
    return {
        "project_id": reader.project_id,
        "classes": list(reader.classes),
        "tags": sorted(reader.tags),
    }
