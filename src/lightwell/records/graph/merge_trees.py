"""Descriptions of merged entities: each class's descriptions, combined merge by merge, for one reader.

Only summaries by a model are stored, because readers to whom different merges apply have different trees.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from lightwell.domain.access import Reader
from lightwell.domain.graph import (
    DESCRIPTION_SEPARATOR,
    MergeStrategy,
    combine_descriptions,
    join_descriptions,
)
from lightwell.domain.ids import ClassId, EntityId
from lightwell.records.database import Connection
from lightwell.records.rows import Row, fetch

_MERGES = """
SELECT merge_id, strategy, target_id, array_agg(source_id ORDER BY place)
FROM merges_told(%(classes)s)
WHERE source_id = ANY(%(entities)s)
GROUP BY merge_id, strategy, target_id
ORDER BY merge_id
"""

_PROFILES = """
SELECT class_id, subject_id, display_name, description, 'description' = ANY(by_hand), source_ids[1] FROM profiles
WHERE subject_id = ANY(%(entities)s) AND sees(%(classes)s, class_id) AND subject = 'entity'
"""

_SUMMARIES = """
SELECT merge_id, class_id, members, summary FROM merge_summaries
WHERE members && %(entities)s AND sees(%(classes)s, class_id)
"""

_MEMBERS = """
SELECT root_id, array_agg(entity_id) FROM merged_entities_of(%(classes)s)
WHERE root_id = ANY(%(roots)s) GROUP BY root_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassDescription:
    """What one class states of one entity by itself; `oldest_source` is None if only a manual edit does."""

    name: str
    descriptions: tuple[str, ...]
    by_hand: bool
    oldest_source: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merge that applies to the reader; `summaries` by the set of entities whose descriptions each replaces."""

    merge_id: UUID
    strategy: MergeStrategy
    sources: tuple[UUID, ...]
    summaries: Mapping[frozenset[UUID], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTree:
    """One class's descriptions of an entity and of all that was merged into it; `merges` by target, earliest first."""

    root: UUID
    own_descriptions: Mapping[UUID, ClassDescription]
    merges: Mapping[UUID, Sequence[Merge]]

    def describe(self, entity: UUID) -> tuple[str, ...]:
        """Return the descriptions of the entity and of what was merged into it; a manual edit replaces all of them."""
        description = self.own_descriptions.get(entity)
        if description is not None and description.by_hand:
            return description.descriptions
        parts = description.descriptions if description else ()
        members = self._own(entity)
        for merge in self.merges.get(entity, ()):
            members = members.union(*(self.members(source) for source in merge.sources))
            summary = merge.summaries.get(members)
            parts_to_combine = [parts, *(self.describe(source) for source in merge.sources)]
            parts = (
                (summary,)
                if summary is not None
                else combine_descriptions(merge.strategy, parts_to_combine)
            )
        return parts

    def members(self, entity: UUID) -> frozenset[UUID]:
        """Return which of the entity and those merged into it have a description in the class."""
        sources = (source for merge in self.merges.get(entity, ()) for source in merge.sources)
        return self._own(entity).union(*(self.members(source) for source in sources))

    def is_by_hand(self) -> bool:
        """Return whether a manual edit replaces all that the class states."""
        description = self.own_descriptions.get(self.root)
        return description is not None and description.by_hand

    def _own(self, entity: UUID) -> frozenset[UUID]:
        description = self.own_descriptions.get(entity)
        is_described = description is not None and any(description.descriptions)
        return frozenset([entity]) if is_described else frozenset()


def described_entities(tree: MergeTree) -> frozenset[UUID]:
    """Return which of the tree's entities have a description in the class."""
    return tree.members(tree.root)


def hash_inputs(trees: Iterable[MergeTree]) -> str:
    """Return a hash of the descriptions in these trees; the SQL in `records/graph/profile_edits.py` computes the same."""
    lines = {
        entity: f"{entity}={DESCRIPTION_SEPARATOR.join(tree.own_descriptions[entity].descriptions)}"
        for tree in trees
        for entity in described_entities(tree)
    }
    text = "\n".join(lines[entity] for entity in sorted(lines))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(slots=True)
class _Forest:
    """Applies merges in their order; a merge that would close a cycle has no effect."""

    into: dict[UUID, UUID] = field(default_factory=dict[UUID, UUID])
    merges: dict[UUID, list[Merge]] = field(default_factory=dict[UUID, list[Merge]])

    def root(self, entity: UUID) -> UUID:
        while entity in self.into:
            entity = self.into[entity]
        return entity

    def add(self, merge: Merge, target: UUID) -> None:
        root = self.root(target)
        sources = tuple(
            dict.fromkeys(top for source in merge.sources if (top := self.root(source)) != root)
        )
        if sources:
            self.into.update(dict.fromkeys(sources, root))
            merge_of_roots = Merge(
                merge_id=merge.merge_id,
                strategy=merge.strategy,
                sources=sources,
                summaries=merge.summaries,
            )
            self.merges.setdefault(root, []).append(merge_of_roots)


async def list_members(
    connection: Connection, reader: Reader, roots: Sequence[EntityId]
) -> dict[EntityId, list[EntityId]]:
    """Return, for those of the entities that are merge targets for the reader, themselves and the merged entities."""
    parameters = {"roots": list(roots), **reader.parameters}
    rows = await fetch(connection, _MEMBERS, parameters)
    return {root: [root, *others] for root, others in rows}


async def load_merge_trees(
    connection: Connection, reader: Reader, groups: Sequence[Sequence[EntityId]]
) -> list[dict[ClassId, MergeTree]]:
    """Return, for each group of merged entities, one tree per access class of the reader."""
    entities = [entity for group in groups for entity in group]
    if not entities:
        return []
    keys = {"entities": entities, **reader.parameters}
    merges = await fetch(connection, _MERGES, keys)
    profiles = await fetch(connection, _PROFILES, keys)
    summaries = await fetch(connection, _SUMMARIES, keys)
    by_subject: dict[UUID, dict[ClassId, ClassDescription]] = {}
    for class_id, subject_id, name, description, by_hand, first in profiles:
        by_subject.setdefault(subject_id, {})[ClassId(class_id)] = ClassDescription(
            name=name,
            descriptions=tuple(description.split(DESCRIPTION_SEPARATOR)) if description else (),
            by_hand=by_hand,
            oldest_source=first,
        )
    return [_by_class(group, by_subject, merges, summaries) for group in groups]


async def get_descriptions(
    connection: Connection, reader: Reader, roots: Sequence[EntityId]
) -> dict[EntityId, str]:
    """Return the combined descriptions of those of the entities that are merge targets for the reader."""
    grouped = await list_members(connection, reader, roots)
    trees = await load_merge_trees(connection, reader, list(grouped.values()))
    return {
        root: _join_descriptions(by_class) for root, by_class in zip(grouped, trees, strict=True)
    }


def _by_class(
    group: Sequence[EntityId],
    by_subject: Mapping[UUID, Mapping[ClassId, ClassDescription]],
    merges: Sequence[Row],
    summaries: Sequence[Row],
) -> dict[ClassId, MergeTree]:
    trees: dict[ClassId, MergeTree] = {}
    for class_id in sorted({key for entity in group for key in by_subject.get(entity, {})}):
        forest = _Forest()
        for merge_id, strategy, target, sources in merges:
            if target not in group:
                continue
            class_summaries = {
                frozenset(members): summary
                for summary_merge, summary_class, members, summary in summaries
                if (summary_merge, summary_class) == (merge_id, class_id)
            }
            merge = Merge(
                merge_id=merge_id,
                strategy=MergeStrategy(strategy),
                sources=tuple(sources),
                summaries=class_summaries,
            )
            forest.add(merge, target)
        trees[class_id] = MergeTree(
            root=forest.root(group[0]),
            own_descriptions={
                entity: by_subject[entity][class_id]
                for entity in group
                if class_id in by_subject.get(entity, {})
            },
            merges=forest.merges,
        )
    return trees


def _join_descriptions(by_class: Mapping[ClassId, MergeTree]) -> str:
    """Join the descriptions of the classes, oldest first; only manual edits if any class has one."""
    by_hand_trees = [tree for tree in by_class.values() if tree.is_by_hand()]
    texts: list[tuple[str, str]] = []
    for tree in by_hand_trees or by_class.values():
        sources = [description.oldest_source for description in tree.own_descriptions.values()]
        # The class with the oldest source comes first, a manual edit last.
        oldest = min((str(source) for source in sources if source), default="~")
        texts.append((oldest, join_descriptions(tree.describe(tree.root))))
    return join_descriptions(
        [part for _, text in sorted(texts) for part in text.split(DESCRIPTION_SEPARATOR)]
    )
