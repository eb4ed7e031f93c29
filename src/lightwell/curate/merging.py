"""Merges entities into one, and undoes merges.

A merge is stored as a fact and changes no mention, so undoing it restores everything. It is applied at reading time,
also to documents that come later, for readers who share with its author a class of each side. Descriptions are joined
within each access class, never across classes.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

from lightwell.curate.context import CurationContext, Summarize
from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.graph import Entity, MergeStrategy
from lightwell.domain.ids import ClassId, EntityId, MergeId, new_id, parse_uuid
from lightwell.domain.merges import MergeResult
from lightwell.metering import record_usage
from lightwell.records.database import Database
from lightwell.records.graph import entities, merges
from lightwell.records.graph.entities import ResolvedName
from lightwell.records.graph.merge_trees import MergeTree, described_entities, hash_inputs
from lightwell.records.graph.merges import NewMerge, NewSummary, RelationEnds


async def merge(
    context: CurationContext,
    reader: Reader,
    sources: Sequence[str],
    target: str,
    *,
    strategy: MergeStrategy = MergeStrategy.CONCATENATE,
) -> MergeResult:
    """Merge the sources into the target and return the effects that the reader sees.

    Entities are given by name, reference or id. If no source has relations, the result's note says that none was
    redirected. Raises `NotFound` for what the reader may not see, `Invalid`, and `ModelFailed` before any change.
    """
    if not target.strip():
        raise Invalid("The target's name is empty; name the entity to merge into")
    if not sources:
        raise Invalid("No source entity is named; name at least one")
    summarize = context.summarize if strategy is MergeStrategy.LLM_SUMMARIZE else None
    if strategy is MergeStrategy.LLM_SUMMARIZE and summarize is None:
        raise Invalid(
            "LLM_SUMMARIZE needs a chat model; set LIGHTWELL_CHAT_URL, or name another strategy"
        )
    database = context.database
    into = await entities.resolve_name(database, reader, target)
    resolved = [await entities.resolve_name(database, reader, source) for source in sources]
    source_ids = _source_ids(sources, resolved, target, into)
    related = await merges.list_relation_ends(database, reader, [*source_ids, into.entity_id])
    with record_usage() as log:
        summaries = (
            await _summaries(database, reader, source_ids, into, summarize) if summarize else {}
        )
    new = NewMerge(
        id=MergeId(new_id()),
        sources=source_ids,
        target=into.named_as,
        strategy=strategy,
        summaries=summaries,
    )
    async with context.finish_derived_after(reader):
        await merges.merge(database, reader, new)
    redirected, deduped = count_redirections(related, source_ids, into.entity_id)
    return MergeResult(
        merge_id=new.id,
        target_entity=await entities.get(database, reader, into.entity_id),
        relations_redirected=redirected,
        source_entities_deleted=len(source_ids),
        relations_deduped=deduped,
        usage=log.summary,
        note=_removed_relations_note(related, source_ids),
    )


async def unmerge(context: CurationContext, reader: Reader, name: str) -> tuple[Entity, ...]:
    """Undo the merge of this entity, or the merge with this id; return the separated entities.

    Afterwards everything is as without the merge, also for documents ingested or deleted since. Raises `NotFound`.
    """
    database = context.database
    chosen = parse_uuid(name) or (await entities.resolve_name(database, reader, name)).named_as
    async with context.finish_derived_after(reader):
        separated = await merges.unmerge(database, reader, name, chosen)
    by_id = await entities.get_many(database, reader, separated)
    return tuple(by_id[entity_id] for entity_id in separated if entity_id in by_id)


def count_redirections(
    related: Sequence[RelationEnds], sources: Sequence[EntityId], target: EntityId
) -> tuple[int, int]:
    """Return how many relations get a new end, and how many of these duplicate an existing one; loops do not count."""
    moved = {source: target for source in sources}
    existing = {
        relation
        for relation in related
        if relation.source not in moved and relation.target not in moved
    }
    redirected = deduped = 0
    for relation in related:
        new = RelationEnds(
            source=moved.get(relation.source, relation.source),
            target=moved.get(relation.target, relation.target),
            predicate=relation.predicate,
        )
        if relation in existing or new.source == new.target:
            continue
        redirected += 1
        deduped += new in existing
        existing.add(new)
    return redirected, deduped


def _source_ids(
    names: Sequence[str], resolved: Sequence[ResolvedName], target: str, into: ResolvedName
) -> tuple[EntityId, ...]:
    for name, source in zip(names, resolved, strict=True):
        if source.entity_id == into.entity_id:
            raise Invalid(
                f"{name!r} and {target!r} are one entity; it cannot be merged with itself"
            )
    return tuple(dict.fromkeys(source.entity_id for source in resolved))


async def _summaries(
    database: Database,
    reader: Reader,
    sources: Sequence[EntityId],
    into: ResolvedName,
    summarize: Summarize,
) -> dict[ClassId, NewSummary]:
    """Summarise the merged descriptions of each of the reader's classes separately, so that no text mixes classes."""
    by_class_summaries: dict[ClassId, NewSummary] = {}
    by_class = await merges.load_trees_by_class(database, reader, [*sources, into.entity_id])
    for class_id, trees in by_class.items():
        target = trees.get(into.entity_id)
        descriptions = [target.describe(target.root) if target else ()]
        descriptions += [
            trees[source].describe(trees[source].root) for source in sources if source in trees
        ]
        parts = [part for part in descriptions if any(part)]
        if len(parts) > 1:
            name = _target_name(trees, into.entity_id)
            summary = await summarize(
                name, list(dict.fromkeys(chain.from_iterable(parts))), class_id
            )
            if summary is None:
                raise ModelFailed(f"The model gave no description of {name!r}; nothing was merged")
            by_class_summaries[class_id] = NewSummary(
                inputs_hash=hash_inputs(trees.values()),
                summary=summary.summary.summarized_description,
                replies=summary.replies,
                members=tuple(sorted(chain.from_iterable(map(described_entities, trees.values())))),
            )
    return by_class_summaries


def _removed_relations_note(related: Sequence[RelationEnds], sources: Sequence[EntityId]) -> str:
    if any(relation.source in sources or relation.target in sources for relation in related):
        return ""
    return "No source has relationships, so none was redirected; names, descriptions and passages are merged."


def _target_name(trees: Mapping[EntityId, MergeTree], target: EntityId) -> str:
    """Return the target's name in this class, or the name of the first source that the class mentions."""
    tree = trees.get(target) or next(iter(trees.values()))
    root = tree.own_descriptions.get(tree.root) or next(iter(tree.own_descriptions.values()))
    return root.name
