"""Commands on entities and relations: they open the project, resolve who asks, and report."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.cli.people as people
from lightwell.curate.graph import Graph
from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import (
    ActiveMerge,
    Entity,
    EntityDetails,
    ManualEdit,
    MergeProposal,
    MergeResult,
    MergeStrategy,
    Predicate,
    Relation,
    RelationMention,
)
from lightwell.domain.ids import MergeId
from lightwell.entrypoints.cli.costs import actual_costs
from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.entrypoints.cli.show import clean, count_of, fields
from lightwell.models.meter import Meter
from lightwell.settings import Settings
from lightwell.wiring import open_knowledge_base

Json = dict[str, object]


async def entities(who: Sequence[str], *, after: str, limit: int) -> Report:
    """Report a page of the reader's entities."""
    async with opened_graph(who) as (graph, reader):
        held = [each async for each in graph.entities(reader, after=after, limit=limit + 1)]
    page = held[:limit]
    following = page[-1].ref if len(held) > limit else None
    table = new_table("entity", "kind", "passages", "reference")
    for each in page:
        table.add_row(clean(each.name), clean(each.kind), str(each.chunk_count), clean(each.ref))
    more = [dim(f"There are more: --after {clean(following)}")] if following else []
    text = Group(table, *more) if page else Text("There are no entities that you may see.")
    return Report(
        document={"entities": [entity_document(each) for each in page], "nextAfter": following},
        text=text,
    )


async def entity(name: str, who: Sequence[str]) -> Report:
    """Report what is known of one entity."""
    async with opened_graph(who) as (graph, reader):
        found = await graph.entity(reader, name)
    document = {
        **entity_document(found.entity),
        "aliases": list(found.aliases),
        "relations": [relation_document(each) for each in found.relations],
    }
    return Report(document=document, text=_entity_details(found))


async def merge(
    sources: Sequence[str], into: str, who: Sequence[str], *, strategy: MergeStrategy
) -> Report:
    """Merge, and report what that did."""
    async with opened_paid_graph(who) as (graph, reader, costs):
        done = await graph.merge(reader, sources, into, strategy=strategy)
    document: Json = {
        "mergeId": str(done.merge_id),
        "targetEntity": entity_document(done.target_entity),
        "relationsRedirected": done.relations_redirected,
        "sourceEntitiesDeleted": done.source_entities_deleted,
        "relationsDeduped": done.relations_deduped,
        "note": done.note,
    }
    return costs.report(document, _merged(done))


async def unmerge(name: str, who: Sequence[str]) -> Report:
    """Take a merge back, and report what stands by itself again."""
    async with opened_paid_graph(who) as (graph, reader, costs):
        apart = await graph.unmerge(reader, name)
    names = ", ".join(each.name for each in apart)
    return costs.report(
        {"entities": [entity_document(each) for each in apart]},
        Text(clean(f"Separate entities again: {names}.")),
    )


async def merges(who: Sequence[str], *, after: str, limit: int) -> Report:
    """Report a page of the merges that hold."""
    behind = _merge_id(after) if after else None
    async with opened_graph(who) as (graph, reader):
        held = await graph.merges(reader, after=behind, limit=limit + 1)
    page = held[:limit]
    following = str(page[-1].merge_id) if len(held) > limit else None
    table = new_table("merged", "into", "strategy", "when", "merge")
    for each in page:
        when = f"{each.merged_at:%Y-%m-%d %H:%M}"
        names = clean(", ".join(each.sources))
        table.add_row(names, clean(each.target), each.strategy.value, when, str(each.merge_id))
    more = [dim(f"There are more: --after {following}")] if following else []
    text = Group(table, *more) if page else Text("There are no merges that you may see.")
    return Report(
        document={"merges": [_active_merge_json(each) for each in page], "nextAfter": following},
        text=text,
    )


async def proposals(who: Sequence[str], *, about: str, limit: int) -> Report:
    """Report which entities may be one."""
    async with opened_graph(who) as (graph, reader):
        found = await graph.proposals(reader, about=about, limit=limit)
    table = new_table("confidence", "entity", "possibly the same as", "evidence")
    for each in found:
        table.add_row(
            f"{each.confidence:.2f}",
            clean(each.one.name),
            clean(each.other.name),
            _evidence_text(each),
        )
    nothing = Text("Nothing that you may see looks like one thing under two names.")
    return Report(
        document={"proposals": [_proposal(each) for each in found]},
        text=table if found else nothing,
    )


async def reject(one: str, other: str, who: Sequence[str]) -> Report:
    """Remember that two entities are two."""
    async with opened_graph(who) as (graph, reader):
        pair = await graph.reject(reader, one, other)
    text = f"{pair[0].name} and {pair[1].name} are two; they are not proposed again."
    return Report(
        document={"rejected": [entity_document(each) for each in pair]}, text=Text(clean(text))
    )


async def create(manual_edit: ManualEdit, who: Sequence[str], acl: Sequence[str]) -> Report:
    """Make an entity, and report it."""
    tags = people.acl(acl)
    async with opened_paid_graph(who) as (graph, reader, costs):
        made = await graph.create(reader, manual_edit, tags=tags)
    return costs.report(entity_document(made), _entity_fields(made))


async def edit(
    name: str, manual_edit: ManualEdit, who: Sequence[str], acl: Sequence[str]
) -> Report:
    """Write down what is said of an entity, and report it as it is now."""
    tags = people.acl(acl)
    async with opened_paid_graph(who) as (graph, reader, costs):
        old = (await graph.entity(reader, name)).entity.ref
        now = await graph.edit(reader, name, manual_edit, tags=tags)
    document = {**entity_document(now), "previousEntityRef": old}
    if old == now.ref:
        return costs.report(document, _entity_fields(now))
    told = f"The reference is {now.ref} from now on; {old} still names the same entity."
    return costs.report(document, Group(_entity_fields(now), Text(clean(told))))


async def delete(name: str, who: Sequence[str]) -> Report:
    """Hide an entity, and report what it was."""
    async with opened_paid_graph(who) as (graph, reader, costs):
        was = await graph.delete(reader, name)
    text = (
        f"Deleted {was.name} ({was.ref}); `lightwell graph restore` shows again what documents say."
    )
    return costs.report({"deleted": entity_document(was)}, Text(clean(text)))


async def restore(name: str, who: Sequence[str]) -> Report:
    """Show an entity again, and report it."""
    async with opened_paid_graph(who) as (graph, reader, costs):
        shown = await graph.restore(reader, name)
    return costs.report(entity_document(shown), _entity_fields(shown))


async def relate(
    relation_mention: RelationMention, who: Sequence[str], acl: Sequence[str]
) -> Report:
    """Write a relation down, and report it."""
    tags = people.acl(acl)
    async with opened_paid_graph(who) as (graph, reader, costs):
        made = await graph.relate(reader, relation_mention, tags=tags)
    return costs.report(relation_document(made), relations_table([made]))


async def unrelate(source: str, target: str, who: Sequence[str], *, predicate: Predicate) -> Report:
    """Hide a relation, and report what it was."""
    async with opened_paid_graph(who) as (graph, reader, costs):
        was = await graph.unrelate(reader, source, target, predicate)
    text = f"Deleted: {was.source} {was.predicate.value} {was.target}."
    return costs.report({"deleted": relation_document(was)}, Text(clean(text)))


@asynccontextmanager
async def opened_graph(who: Sequence[str]) -> AsyncGenerator[tuple[Graph, Reader], None]:
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store()) as kb:
        yield kb.graph, await kb.reader(tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a correction costs: a model may have been asked for summaries."""

    meter: Meter
    settings: Settings

    def report(self, document: Json, text: RenderableType) -> Report:
        """Report what was done and, where there were calls, what they cost."""
        usage = actual_costs(self.meter.usages, self.settings)
        said = Group(text, *usage.lines())
        return Report(document={**document, "usage": usage.document()}, text=said)


@asynccontextmanager
async def opened_paid_graph(
    who: Sequence[str],
) -> AsyncGenerator[tuple[Graph, Reader, Costs], None]:
    tags, chosen = people.tags(who), settings_of_store()
    costs = Costs(meter=Meter(chosen.token_budget), settings=chosen)
    async with open_knowledge_base(chosen, costs.meter) as kb:
        yield kb.graph, await kb.reader(tags), costs


def entity_document(entity: Entity) -> Json:
    return {
        "entityId": str(entity.id),
        "entityRef": entity.ref,
        "entityName": entity.name,
        "entityType": entity.kind,
        "primaryUrl": entity.primary_url,
        "description": entity.description,
        "chunkCount": entity.chunk_count,
        "sourceChunkIds": list(entity.sources),
        "sourceFilePaths": list(entity.paths),
    }


def relation_document(relation: Relation) -> Json:
    return {
        "source": relation.source,
        "target": relation.target,
        "predicate": relation.predicate.value,
        "keywords": relation.keywords,
        "description": relation.description,
        "comparison": relation.comparison,
        "useCase": relation.use_case,
        "weight": relation.weight,
        "chunkCount": relation.chunk_count,
        "sourceChunkIds": list(relation.sources),
        "sourceFilePaths": list(relation.paths),
    }


def _active_merge_json(merge: ActiveMerge) -> Json:
    return {
        "mergeId": str(merge.merge_id),
        "target": merge.target,
        "sources": list(merge.sources),
        "strategy": merge.strategy.value,
        "mergedAt": merge.merged_at.isoformat(),
    }


def _merge_id(text: str) -> MergeId:
    try:
        return MergeId(UUID(text.strip()))
    except ValueError as error:
        raise Invalid(
            f"{text!r} is not a merge id; `lightwell graph merges` lists the ids"
        ) from error


def _proposal(proposal: MergeProposal) -> Json:
    return {
        "confidence": proposal.confidence,
        "entities": [entity_document(proposal.one), entity_document(proposal.other)],
        "evidence": dict(proposal.evidence),
        "sharedNeighbours": list(proposal.shared_neighbours),
    }


def _entity_details(details: EntityDetails) -> RenderableType:
    also = [("also called", ", ".join(details.aliases))]
    related = [Text(), relations_table(details.relations)] if details.relations else []
    return Group(_entity_fields(details.entity, also), *related)


def _entity_fields(entity: Entity, more: Sequence[tuple[str, str]] = ()) -> RenderableType:
    return fields(
        [
            ("name", entity.name),
            *more,
            ("kind", entity.kind),
            ("reference", entity.ref),
            ("id", str(entity.id)),
            ("description", entity.description),
            ("passages", str(entity.chunk_count)),
            ("documents", "\n".join(entity.paths)),
        ]
    )


def relations_table(relations: Sequence[Relation]) -> RenderableType:
    table = new_table("from", "relation", "to", "weight", "description")
    for each in relations:
        table.add_row(
            clean(each.source),
            each.predicate.value,
            clean(each.target),
            f"{each.weight:g}",
            clean(_relation_text(each)),
        )
    return table


def _relation_text(relation: Relation) -> str:
    parts = (
        relation.description or relation.keywords,
        f"compared: {relation.comparison}" if relation.comparison else "",
        f"use: {relation.use_case}" if relation.use_case else "",
    )
    return "; ".join(part for part in parts if part)


def _merged(result: MergeResult) -> RenderableType:
    redirected = count_of(result.relations_redirected, "relation")
    joined = f", {result.relations_deduped} of them joined with one that was there"
    related = (
        f"{redirected} redirected{joined if result.relations_deduped else ''}."
        if result.relations_redirected or not result.note
        else result.note
    )
    merged = (
        "1 entity"
        if result.source_entities_deleted == 1
        else f"{result.source_entities_deleted} entities"
    )
    return Group(
        Text(clean(f"Merged {merged} into {result.target_entity.name}. {related}")),
        dim(f"`lightwell graph unmerge {result.merge_id}` takes it back."),
    )


def _evidence_text(proposal: MergeProposal) -> str:
    words = {
        "email": "the address",
        "domain": "the domain",
        "alias": "the alias",
        "name": "names alike by",
    }
    reasons = [f"{words.get(field, field)} {value}" for field, value in proposal.evidence.items()]
    if proposal.shared_neighbours:
        reasons.append(f"both related to {', '.join(proposal.shared_neighbours[:3])}")
    return clean("; ".join(reasons))


def new_table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def dim(text: str) -> Text:
    return Text(text, style="dim", overflow="fold")
