"""Merging: several entities become one, under one of their names, until it is taken back.

A merge is a fact of its own: it is applied when somebody reads who was told of it, also to documents that come later,
and mentions keep the name that their text gives. It holds for those who see both sides where the person who made it saw
them. What merged entities are said to be is joined within each access class and never across.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from uuid import UUID

from lightwell.curate.context import CurationContext, Summarize
from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.graph import Entity, MergeResult, MergeStrategy
from lightwell.domain.ids import ClassId, EntityId, MergeId, new_id
from lightwell.metering import record_usage
from lightwell.records.database import Database
from lightwell.records.graph import entities, merges
from lightwell.records.graph.entities import ResolvedName
from lightwell.records.graph.merge_trees import MergeTree, described_entities, inputs_hash
from lightwell.records.graph.merges import NewMerge, NewSummary, RelationEnds


async def merge(
    context: CurationContext,
    reader: Reader,
    sources: Sequence[str],
    target: str,
    *,
    strategy: MergeStrategy = MergeStrategy.CONCATENATE,
) -> MergeResult:
    """Merge the sources into the target and return what that did to what the reader sees.

    Each is named as the reader knows it: by name, reference or id. Entities without relations may be merged; then
    nothing is redirected, and the result's note says so. Raises `NotFound` for what the reader may not see, `Invalid`, and `ModelFailed` before
    anything is changed.
    """
    _check(sources, target)
    summarize = _summarizer(context, strategy)
    database = context.database
    into = await entities.resolve_name(database, reader, target)
    given = [await entities.resolve_name(database, reader, source) for source in sources]
    merged = _sources(sources, given, target, into)
    related = await merges.relation_ends(database, reader, [*merged, into.entity_id])
    with record_usage() as log:
        summaries = await _summaries(database, reader, merged, into, summarize) if summarize else {}
    new = NewMerge(
        id=MergeId(new_id()),
        sources=merged,
        target=into.named_as,
        strategy=strategy,
        summaries=summaries,
    )
    async with context.finish_derived_after():
        await merges.merge(database, reader, new)
    redirected, deduped = count_redirections(related, merged, into.entity_id)
    return MergeResult(
        merge_id=new.id,
        target_entity=await entities.get(database, reader, into.entity_id),
        relations_redirected=redirected,
        source_entities_deleted=len(merged),
        relations_deduped=deduped,
        usage=log.summary,
        note=_removed_relations_note(related, merged),
    )


async def unmerge(context: CurationContext, reader: Reader, name: str) -> tuple[Entity, ...]:
    """Take back the merge of the entity called so, or the merge with this id; return what stands by itself again.

    Everything is as if it had never been merged, whatever was ingested or deleted since. Raises `NotFound`.
    """
    database = context.database
    chosen = _merge_id(name) or (await entities.resolve_name(database, reader, name)).named_as
    async with context.finish_derived_after():
        apart = await merges.unmerge(database, reader, name, chosen)
    found = await entities.get_many(database, reader, apart)
    return tuple(found[each] for each in apart if each in found)


def count_redirections(
    related: Sequence[RelationEnds], sources: Sequence[EntityId], target: EntityId
) -> tuple[int, int]:
    """Return how many relations get another end, and how many of them join one that is there; loops are neither."""
    moved = {source: target for source in sources}
    stay = {each for each in related if each.source not in moved and each.target not in moved}
    redirected = deduped = 0
    for each in related:
        new = RelationEnds(
            source=moved.get(each.source, each.source),
            target=moved.get(each.target, each.target),
            predicate=each.predicate,
        )
        if each in stay or new.source == new.target:
            continue
        redirected += 1
        deduped += new in stay
        stay.add(new)
    return redirected, deduped


def _check(sources: Sequence[str], target: str) -> None:
    if not target.strip():
        raise Invalid("The target's name is empty; name the entity to merge into")
    if not sources:
        raise Invalid("No source entity is named; name at least one")


def _summarizer(context: CurationContext, strategy: MergeStrategy) -> Summarize | None:
    """Return who summarises for this strategy, None where it needs nobody."""
    if strategy is not MergeStrategy.LLM_SUMMARIZE:
        return None
    if context.summarize is None:
        raise Invalid(
            "LLM_SUMMARIZE needs a chat model; set LIGHTWELL_CHAT_URL, or name another strategy"
        )
    return context.summarize


def _sources(
    names: Sequence[str], given: Sequence[ResolvedName], target: str, into: ResolvedName
) -> tuple[EntityId, ...]:
    for name, source in zip(names, given, strict=True):
        if source.entity_id == into.entity_id:
            raise Invalid(
                f"{name!r} and {target!r} are one entity; it cannot be merged with itself"
            )
    return tuple(dict.fromkeys(source.entity_id for source in given))


async def _summaries(
    database: Database,
    reader: Reader,
    sources: Sequence[EntityId],
    into: ResolvedName,
    summarize: Summarize,
) -> dict[ClassId, NewSummary]:
    """Have a model summarise what each of the reader's classes says, each by itself."""
    found: dict[ClassId, NewSummary] = {}
    by_class = await merges.descriptions_by_class(database, reader, [*sources, into.entity_id])
    for class_id, trees in by_class.items():
        target = trees.get(into.entity_id)
        said = [target.describe(target.root) if target else ()]
        said += [trees[each].describe(trees[each].root) for each in sources if each in trees]
        parts = [part for part in said if any(part)]
        if len(parts) > 1:
            name = _name(trees, into.entity_id)
            made = await summarize(name, list(dict.fromkeys(chain.from_iterable(parts))))
            if made is None:
                raise ModelFailed(f"The model gave no description of {name!r}; nothing was merged")
            found[class_id] = NewSummary(
                inputs_hash=inputs_hash(trees.values()),
                summary=made.summary.summarized_description,
                replies=made.replies,
                members=tuple(sorted(chain.from_iterable(map(described_entities, trees.values())))),
            )
    return found


def _removed_relations_note(related: Sequence[RelationEnds], sources: Sequence[EntityId]) -> str:
    if any(each.source in sources or each.target in sources for each in related):
        return ""
    return "No source has relationships, so none was redirected; names, descriptions and passages are merged."


def _name(trees: Mapping[EntityId, MergeTree], target: EntityId) -> str:
    """Return what the class calls the target, or else the first of the sources that it knows."""
    tree = trees.get(target) or next(iter(trees.values()))
    said = tree.said.get(tree.root) or next(iter(tree.said.values()))
    return said.name


def _merge_id(name: str) -> UUID | None:
    try:
        return UUID(name.strip())
    except ValueError:
        return None
