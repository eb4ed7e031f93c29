"""The profiles that people have had a hand in: after merges by their strategies, and after edits by a person's word.

They are refreshed like all others, from one class each; these few are then gone over once more.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from lightwell.domain.graph import (
    DESCRIPTION_SEPARATOR,
    MergeStrategy,
    brought_together,
    text_ref,
)
from lightwell.records.database import Connection, Row

Key = tuple[UUID, int]
"""A subject and an access class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What one class says under one name; `word` is what a person said there, by field."""

    entity_id: UUID
    ref: str
    name: str
    kind: str
    descriptions: tuple[str, ...]
    mentions: int
    word: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One active merge; `summaries` by the hash of what they summarise."""

    merge_id: UUID
    strategy: MergeStrategy
    sources: tuple[UUID, ...]
    summaries: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One entity in one class: itself and all that was merged into it, with what was merged into what, in order."""

    root: UUID
    named: Mapping[UUID, Named]
    merges: Mapping[UUID, Sequence[Merge]]

    def said(self, entity_id: UUID) -> tuple[str, ...]:
        """Return the descriptions of this entity and what was merged into it; a person's word stands for all."""
        own = self.named.get(entity_id)
        if own is not None and "description" in own.word:
            return (own.word["description"],)
        said = own.descriptions if own else ()
        for merge in self.merges.get(entity_id, ()):
            said = _combined(merge, self.parts(merge, said))
        return said

    def steps(self) -> list[tuple[Merge, tuple[str, ...]]]:
        """Return every merge with what its target said before it."""
        found: list[tuple[Merge, tuple[str, ...]]] = []
        for entity_id, merges in self.merges.items():
            own = self.named.get(entity_id)
            said = own.descriptions if own else ()
            for merge in merges:
                found.append((merge, said))
                said = _combined(merge, self.parts(merge, said))
        return found

    def parts(self, merge: Merge, said: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return what a merge brings together, the target's first, without what says nothing."""
        return [part for part in (said, *(self.said(source) for source in merge.sources)) if part]

    def shown(self) -> Named | None:
        """Return under which name the entity is shown: its own where the class has it, else its commonest."""
        root = self.named.get(self.root)
        if root is not None:
            return root
        return min(
            self.named.values(),
            key=lambda named: ("name" not in named.word, -named.mentions, named.ref),
            default=None,
        )


def inputs_hash(parts: Sequence[Sequence[str]]) -> str:
    """Return under which hash a summary of these is kept."""
    return hashlib.sha256(json.dumps([list(part) for part in parts]).encode()).hexdigest()


_CURATED = """
SELECT key.subject_id, key.class_id,
       EXISTS (SELECT FROM relation_edits AS edit
               WHERE edit.relation_id = key.subject_id AND edit.class_id = key.class_id)
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
WHERE EXISTS (SELECT FROM entities WHERE merged_into = key.subject_id)
   OR EXISTS (SELECT FROM entity_edits AS edit
              WHERE edit.entity_id = key.subject_id AND edit.class_id = key.class_id)
   OR EXISTS (SELECT FROM relation_edits AS edit
              WHERE edit.relation_id = key.subject_id AND edit.class_id = key.class_id)
"""

_NAMED = """
SELECT key.subject_id, key.class_id, named.entity_id, named.entity_ref, said.name, said.kind, said.descriptions,
       said.mentions, edit.name, edit.entity_kind, edit.description,
       edit.known_name, edit.known_kind
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
JOIN entities AS named ON key.subject_id IN (named.entity_id, named.merged_into)
CROSS JOIN LATERAL (
    SELECT mode() WITHIN GROUP (ORDER BY mention.name) AS name,
           mode() WITHIN GROUP (ORDER BY mention.entity_kind) AS kind,
           array_agg(mention.description ORDER BY mention.chunk_id) AS descriptions, count(*) AS mentions
    FROM (
        SELECT * FROM document_entity_mentions
        WHERE entity_id = key.subject_id AND class_id = key.class_id AND named_as = named.entity_id
        ORDER BY chunk_id DESC LIMIT 50
    ) AS mention
) AS said
LEFT JOIN entity_edits AS edit
  ON edit.named_as = named.entity_id AND edit.class_id = key.class_id AND edit.entity_id = key.subject_id
WHERE said.mentions > 0 OR edit.named_as IS NOT NULL
"""

_MERGES = """
SELECT root.entity_id, merge.merge_id, merge.target_id, merge.strategy, array_agg(source.source_id ORDER BY source.place)
FROM entities AS root
JOIN entities AS member ON root.entity_id IN (member.entity_id, member.merged_into)
JOIN entity_merges AS merge ON merge.target_id = member.entity_id
JOIN merged_entities AS source ON source.merge_id = merge.merge_id AND source.undone_at IS NULL
WHERE root.entity_id = ANY(%(subjects)s)
GROUP BY root.entity_id, merge.merge_id
ORDER BY merge.merge_id
"""

_SUMMARIES = """
SELECT merge_id, class_id, inputs_hash, summary FROM merge_summaries WHERE merge_id = ANY(%(merges)s)
"""

_FORGET = """
DELETE FROM merge_summaries AS kept
USING entity_merges AS merge JOIN entities AS target ON target.entity_id = merge.target_id
WHERE merge.merge_id = kept.merge_id
  AND (coalesce(target.merged_into, target.entity_id), kept.class_id) IN (
      SELECT subject_id, class_id FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[])
          AS key (subject_id, class_id))
  AND (kept.merge_id, kept.class_id, kept.inputs_hash) NOT IN (
      SELECT merge_id, class_id, inputs_hash
      FROM unnest(%(merges)s::uuid[], %(merge_classes)s::integer[], %(hashes)s::text[])
          AS now (merge_id, class_id, inputs_hash))
"""

_WRITE = """
INSERT INTO profiles AS profile (
    subject_id, class_id, subject, display_name, entity_kind, description, entity_ref, by_hand, mention_count,
    source_ids, source_paths)
SELECT subject_id, class_id, 'entity', name, kind, description, nullif(ref, ''),
       string_to_array(by_hand, ' '), 0, '{}', '{}'
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[], %(names)s::text[], %(kinds)s::text[],
            %(descriptions)s::text[], %(refs)s::text[], %(by_hand)s::text[])
    AS given (subject_id, class_id, name, kind, description, ref, by_hand)
ON CONFLICT (subject_id, class_id) DO UPDATE
SET display_name = excluded.display_name, entity_kind = excluded.entity_kind, description = excluded.description,
    entity_ref = excluded.entity_ref, by_hand = excluded.by_hand, updated_at = now()
"""

# What only people say any more has no sources.
_EMPTIED: LiteralString = """
UPDATE profiles SET mention_count = 0, weight = 0, source_ids = '{}', source_paths = '{}', attributes = NULL
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
WHERE profiles.subject_id = key.subject_id AND profiles.class_id = key.class_id
  AND NOT EXISTS (SELECT FROM document_entity_mentions AS mention
                  WHERE mention.entity_id = key.subject_id AND mention.class_id = key.class_id)
  AND NOT EXISTS (SELECT FROM relation_mentions AS mention
                  WHERE mention.relation_id = key.subject_id AND mention.class_id = key.class_id)
"""

_WRITE_RELATIONS = """
INSERT INTO profiles AS profile (
    subject_id, class_id, subject, display_name, entity_kind, description, weight, by_hand, mention_count,
    source_ids, source_paths)
SELECT edit.relation_id, edit.class_id, 'relation',
       coalesce(string_agg(DISTINCT edit.keywords, ', ') FILTER (WHERE edit.keywords <> ''), ''), relation.predicate,
       coalesce(string_agg(DISTINCT edit.description, ' | ') FILTER (WHERE edit.description <> ''), ''),
       sum(edit.weight), '{weight}', 0, '{}', '{}'
FROM unnest(%(subjects)s::uuid[], %(classes)s::integer[]) AS key (subject_id, class_id)
JOIN relation_edits AS edit ON edit.relation_id = key.subject_id AND edit.class_id = key.class_id
JOIN relations AS relation ON relation.relation_id = edit.relation_id
GROUP BY edit.relation_id, edit.class_id, relation.predicate
ON CONFLICT (subject_id, class_id) DO UPDATE
SET display_name = coalesce(nullif(excluded.display_name, ''), profile.display_name),
    description = coalesce(nullif(excluded.description, ''), profile.description),
    weight = profile.weight + excluded.weight,
    by_hand = array_remove(ARRAY['weight', CASE WHEN excluded.display_name <> '' THEN 'keywords' END,
                                 CASE WHEN excluded.description <> '' THEN 'description' END], NULL),
    updated_at = now()
"""


async def refresh(connection: Connection, keys: Sequence[Key]) -> None:
    """Go over those of the freshly recomputed profiles that people have had a hand in."""
    rows = await (await connection.execute(_CURATED, _columns(keys))).fetchall()
    if not rows:
        await _forget(connection, keys, {})
        return
    await connection.execute(_EMPTIED, _columns([(row[0], row[1]) for row in rows]))
    found = await trees(connection, [(row[0], row[1]) for row in rows if not row[2]])
    await _write(connection, found)
    await _forget(connection, keys, found)
    related = [(row[0], row[1]) for row in rows if row[2]]
    await connection.execute(_WRITE_RELATIONS, _columns(related))


async def trees(connection: Connection, keys: Sequence[Key]) -> dict[Key, Tree]:
    """Return what these classes say of these entities, name by name; silent classes are left out."""
    columns = _columns(keys)
    named: dict[Key, dict[UUID, Named]] = {}
    for row in await (await connection.execute(_NAMED, columns)).fetchall():
        named.setdefault((row[0], row[1]), {})[row[2]] = _named(row)
    merges = await (await connection.execute(_MERGES, columns)).fetchall()
    cursor = await connection.execute(_SUMMARIES, {"merges": [row[1] for row in merges]})
    summaries = {(row[0], row[1]): {str(row[2]): str(row[3])} for row in await cursor.fetchall()}
    return {
        (root, class_id): Tree(
            root=root,
            named=said,
            merges=_merges([row for row in merges if row[0] == root], class_id, summaries),
        )
        for (root, class_id), said in named.items()
    }


async def _write(connection: Connection, found: Mapping[Key, Tree]) -> None:
    rows = [
        (*key, shown, DESCRIPTION_SEPARATOR.join(dict.fromkeys(tree.said(tree.root))))
        for key, tree in found.items()
        if (shown := tree.shown()) is not None
    ]
    await connection.execute(
        _WRITE,
        {
            "subjects": [row[0] for row in rows],
            "classes": [row[1] for row in rows],
            "names": [row[2].word.get("name", row[2].name) for row in rows],
            "kinds": [row[2].word.get("kind", row[2].kind) for row in rows],
            "descriptions": [row[3] for row in rows],
            "refs": [_ref(row[0], row[2]) for row in rows],
            "by_hand": [" ".join(row[2].word) for row in rows],
        },
    )


async def _forget(connection: Connection, keys: Sequence[Key], found: Mapping[Key, Tree]) -> None:
    """Remove the summaries of what is no longer said, or no longer merged."""
    now = [
        (merge.merge_id, class_id, inputs_hash(tree.parts(merge, said)))
        for (_, class_id), tree in found.items()
        for merge, said in tree.steps()
    ]
    await connection.execute(
        _FORGET,
        {
            **_columns(keys),
            "merges": [row[0] for row in now],
            "merge_classes": [row[1] for row in now],
            "hashes": [row[2] for row in now],
        },
    )


def _combined(merge: Merge, parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    summary = merge.summaries.get(inputs_hash(parts))
    return (summary,) if summary is not None else brought_together(merge.strategy, parts)


def _merges(
    rows: Sequence[Row], class_id: int, summaries: Mapping[Key, Mapping[str, str]]
) -> dict[UUID, list[Merge]]:
    found: dict[UUID, list[Merge]] = {}
    for _, merge_id, target_id, strategy, sources in rows:
        merge = Merge(
            merge_id=merge_id,
            strategy=MergeStrategy(strategy),
            sources=tuple(sources),
            summaries=summaries.get((merge_id, class_id), {}),
        )
        found.setdefault(target_id, []).append(merge)
    return found


def _named(row: Row) -> Named:
    word = {"name": row[8], "kind": row[9], "description": row[10]}
    return Named(
        entity_id=row[2],
        ref=row[3],
        name=row[4] or row[11],
        kind=row[5] or row[12],
        descriptions=tuple(dict.fromkeys(text for text in row[6] or () if text)),
        mentions=row[7],
        word={field: said for field, said in word.items() if said is not None},
    )


def _ref(root: UUID, shown: Named) -> str:
    """Return the reference that goes with the name shown, "" for the entity's own; no text has what only people say."""
    if shown.mentions == 0:
        return text_ref(shown.word.get("name", shown.name))
    return "" if shown.entity_id == root else shown.ref


def _columns(keys: Sequence[Key]) -> dict[str, object]:
    return {"subjects": [key[0] for key in keys], "classes": [key[1] for key in keys]}
