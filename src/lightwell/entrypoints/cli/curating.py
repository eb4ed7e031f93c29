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
    Entity,
    MergeProposal,
    MergeResult,
    MergeStrategy,
    Portrait,
    Predicate,
    Relation,
    StandingMerge,
    Statement,
    Word,
)
from lightwell.domain.ids import MergeId
from lightwell.entrypoints.cli.costs import spent
from lightwell.entrypoints.cli.edge import Report, settings_of_store
from lightwell.entrypoints.cli.show import clean, counted, fields
from lightwell.models.meter import Meter
from lightwell.settings import Settings
from lightwell.wiring import opened

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
    more = [faint(f"There are more: --after {clean(following)}")] if following else []
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
    return Report(document=document, text=_portrait(found))


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
    more = [faint(f"There are more: --after {following}")] if following else []
    text = Group(table, *more) if page else Text("There are no merges that you may see.")
    return Report(
        document={"merges": [_standing(each) for each in page], "nextAfter": following}, text=text
    )


async def proposals(who: Sequence[str], *, about: str, limit: int) -> Report:
    """Report which entities may be one."""
    async with opened_graph(who) as (graph, reader):
        found = await graph.proposals(reader, about=about, limit=limit)
    table = new_table("confidence", "entity", "possibly the same as", "evidence")
    for each in found:
        table.add_row(
            f"{each.confidence:.2f}", clean(each.one.name), clean(each.other.name), _reasons(each)
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


async def create(word: Word, who: Sequence[str], acl: Sequence[str]) -> Report:
    """Make an entity, and report it."""
    tags = people.acl(acl)
    async with opened_paid_graph(who) as (graph, reader, costs):
        made = await graph.create(reader, word, tags=tags)
    return costs.report(entity_document(made), _about(made))


async def edit(name: str, word: Word, who: Sequence[str], acl: Sequence[str]) -> Report:
    """Write down what is said of an entity, and report it as it is now."""
    tags = people.acl(acl)
    async with opened_paid_graph(who) as (graph, reader, costs):
        old = (await graph.entity(reader, name)).entity.ref
        now = await graph.edit(reader, name, word, tags=tags)
    document = {**entity_document(now), "previousEntityRef": old}
    if old == now.ref:
        return costs.report(document, _about(now))
    told = f"The reference is {now.ref} from now on; {old} still names the same entity."
    return costs.report(document, Group(_about(now), Text(clean(told))))


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
    return costs.report(entity_document(shown), _about(shown))


async def relate(statement: Statement, who: Sequence[str], acl: Sequence[str]) -> Report:
    """Write a relation down, and report it."""
    tags = people.acl(acl)
    async with opened_paid_graph(who) as (graph, reader, costs):
        made = await graph.relate(reader, statement, tags=tags)
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
    async with opened(settings_of_store()) as kb:
        yield kb.graph, await kb.reader(tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a correction costs: a model may have been asked for summaries."""

    meter: Meter
    settings: Settings

    def report(self, document: Json, text: RenderableType) -> Report:
        """Report what was done and, where there were calls, what they cost."""
        usage = spent(self.meter.usages, self.settings)
        said = Group(text, *usage.lines())
        return Report(document={**document, "usage": usage.document()}, text=said)


@asynccontextmanager
async def opened_paid_graph(
    who: Sequence[str],
) -> AsyncGenerator[tuple[Graph, Reader, Costs], None]:
    tags, chosen = people.tags(who), settings_of_store()
    costs = Costs(meter=Meter(chosen.token_budget), settings=chosen)
    async with opened(chosen, costs.meter) as kb:
        yield kb.graph, await kb.reader(tags), costs


def entity_document(held: Entity) -> Json:
    return {
        "entityId": str(held.id),
        "entityRef": held.ref,
        "entityName": held.name,
        "entityType": held.kind,
        "primaryUrl": held.primary_url,
        "description": held.description,
        "chunkCount": held.chunk_count,
        "sourceChunkIds": list(held.sources),
        "sourceFilePaths": list(held.paths),
    }


def relation_document(held: Relation) -> Json:
    return {
        "source": held.source,
        "target": held.target,
        "predicate": held.predicate.value,
        "keywords": held.keywords,
        "description": held.description,
        "comparison": held.comparison,
        "useCase": held.use_case,
        "weight": held.weight,
        "chunkCount": held.chunk_count,
        "sourceChunkIds": list(held.sources),
        "sourceFilePaths": list(held.paths),
    }


def _standing(held: StandingMerge) -> Json:
    return {
        "mergeId": str(held.merge_id),
        "target": held.target,
        "sources": list(held.sources),
        "strategy": held.strategy.value,
        "mergedAt": held.merged_at.isoformat(),
    }


def _merge_id(text: str) -> MergeId:
    try:
        return MergeId(UUID(text.strip()))
    except ValueError as error:
        raise Invalid(
            f"{text!r} is not a merge id; `lightwell graph merges` lists the ids"
        ) from error


def _proposal(held: MergeProposal) -> Json:
    return {
        "confidence": held.confidence,
        "entities": [entity_document(held.one), entity_document(held.other)],
        "evidence": dict(held.evidence),
        "sharedNeighbours": list(held.shared_neighbours),
    }


def _portrait(found: Portrait) -> RenderableType:
    also = [("also called", ", ".join(found.aliases))]
    related = [Text(), relations_table(found.relations)] if found.relations else []
    return Group(_about(found.entity, also), *related)


def _about(held: Entity, more: Sequence[tuple[str, str]] = ()) -> RenderableType:
    return fields(
        [
            ("name", held.name),
            *more,
            ("kind", held.kind),
            ("reference", held.ref),
            ("id", str(held.id)),
            ("description", held.description),
            ("passages", str(held.chunk_count)),
            ("documents", "\n".join(held.paths)),
        ]
    )


def relations_table(held: Sequence[Relation]) -> RenderableType:
    table = new_table("from", "relation", "to", "weight", "description")
    for each in held:
        table.add_row(
            clean(each.source),
            each.predicate.value,
            clean(each.target),
            f"{each.weight:g}",
            clean(_told(each)),
        )
    return table


def _told(held: Relation) -> str:
    parts = (
        held.description or held.keywords,
        f"compared: {held.comparison}" if held.comparison else "",
        f"use: {held.use_case}" if held.use_case else "",
    )
    return "; ".join(part for part in parts if part)


def _merged(done: MergeResult) -> RenderableType:
    redirected = counted(done.relations_redirected, "relation")
    joined = f", {done.relations_deduped} of them joined with one that was there"
    related = (
        f"{redirected} redirected{joined if done.relations_deduped else ''}."
        if done.relations_redirected or not done.note
        else done.note
    )
    merged = (
        "1 entity"
        if done.source_entities_deleted == 1
        else f"{done.source_entities_deleted} entities"
    )
    return Group(
        Text(clean(f"Merged {merged} into {done.target_entity.name}. {related}")),
        faint(f"`lightwell graph unmerge {done.merge_id}` takes it back."),
    )


def _reasons(held: MergeProposal) -> str:
    words = {
        "email": "the address",
        "domain": "the domain",
        "alias": "the alias",
        "name": "names alike by",
    }
    reasons = [f"{words.get(field, field)} {value}" for field, value in held.evidence.items()]
    if held.shared_neighbours:
        reasons.append(f"both related to {', '.join(held.shared_neighbours[:3])}")
    return clean("; ".join(reasons))


def new_table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def faint(text: str) -> Text:
    return Text(text, style="dim", overflow="fold")
