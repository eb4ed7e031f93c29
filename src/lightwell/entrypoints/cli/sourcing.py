"""Commands on relations in pages, on what passages say, and on many entities or relations at once."""

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.curating as curating
from lightwell.domain.exports import ExportedRelation
from lightwell.domain.graph import relation_key
from lightwell.entrypoints.cli.edge import Report
from lightwell.entrypoints.cli.show import clean

Json = dict[str, object]


async def relations(who: Sequence[str], *, after: str, limit: int) -> Report:
    """Report a page of the reader's relations."""
    behind = relation_key(after) if after else None
    async with curating.opened_graph(who) as (graph, reader):
        held = [each async for each in graph.relations(reader, after=behind, limit=limit + 1)]
    page = held[:limit]
    following = str(page[-1].key) if len(held) > limit else None
    table = curating.new_table("relation", "weight", "passages", "description")
    for each in page:
        said = clean(each.description or ", ".join(each.keywords))
        table.add_row(clean(str(each.key)), f"{each.weight:g}", str(each.chunk_count), said)
    more = [curating.dim(f"There are more: --after '{clean(following)}'")] if following else []
    text = Group(table, *more) if page else Text("There are no relations that you may see.")
    document: Json = {"relations": [_relation(each) for each in page], "nextAfter": following}
    return Report(document=document, text=text)


async def relations_of(passages: Sequence[str], who: Sequence[str]) -> Report:
    """Report the relations that passages state."""
    async with curating.opened_graph(who) as (graph, reader):
        found = await graph.relations_of(reader, passages)
    return Report(
        document={
            "relations": [curating.relation_document(each) for each in found],
            "nextAfter": None,
        },
        text=curating.relations_table(found),
    )


async def entities_of(passages: Sequence[str], who: Sequence[str]) -> Report:
    """Report the entities that passages speak of."""
    async with curating.opened_graph(who) as (graph, reader):
        found = await graph.entities_of(reader, passages)
    table = curating.new_table("entity", "kind", "passages", "reference")
    for each in found:
        table.add_row(clean(each.name), clean(each.kind), str(each.chunk_count), clean(each.ref))
    return Report(
        document={"entities": [curating.entity_document(each) for each in found]}, text=table
    )


async def delete_relations(keys: Sequence[str], who: Sequence[str]) -> Report:
    """Hide relations, and report what they were."""
    wanted = [relation_key(key) for key in keys]
    async with curating.opened_graph(who) as (graph, reader):
        were = await graph.delete_relations(reader, wanted)
    lines = [f"Deleted: {each.source} {each.predicate.value} {each.target}." for each in were]
    return Report(
        document={"deleted": [curating.relation_document(each) for each in were]},
        text=Text(clean("\n".join(lines))),
    )


async def delete_entities(names: Sequence[str], who: Sequence[str]) -> Report:
    """Hide entities, and report what they were."""
    async with curating.opened_graph(who) as (graph, reader):
        were = await graph.delete_entities(reader, names)
    lines = [f"Deleted {each.name} ({each.ref})." for each in were]
    return Report(
        document={"deleted": [curating.entity_document(each) for each in were]},
        text=Text(clean("\n".join(lines))),
    )


def _relation(relation: ExportedRelation) -> Json:
    return {
        "relation": str(relation.key),
        "source": relation.source_name,
        "sourceRef": relation.source,
        "target": relation.target_name,
        "targetRef": relation.target,
        "predicate": relation.predicate.value,
        "keywords": ", ".join(relation.keywords),
        "description": relation.description,
        "comparison": relation.comparison,
        "useCase": relation.use_case,
        "weight": relation.weight,
        "chunkCount": relation.chunk_count,
        "sourceChunkIds": list(relation.sources),
        "sourceFilePaths": list(relation.paths),
    }
