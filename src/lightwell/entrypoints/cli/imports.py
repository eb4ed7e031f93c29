"""`import`: reads what another program has collected."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from lightwell.domain.access import Reader, Tags
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.graph import ManualEdit, RelationMention
from lightwell.entrypoints.cli.console import clean, count_of
from lightwell.entrypoints.cli.costs import budgeted_meter, costs_of, estimate_report
from lightwell.entrypoints.cli.document_tags import (
    file_url,
    login_tag,
    remember_tags,
    tags_of_owner,
)
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.ingest import existing_or_temporary, ingest_with_progress
from lightwell.entrypoints.cli.options import Budget, Estimate, NoWait
from lightwell.entrypoints.cli.registration import Work, command, new_group
from lightwell.entrypoints.cli.store import (
    open_store_project,
    parse_document_tags,
    settings,
    settings_that_may_create_a_store,
)

if TYPE_CHECKING:
    from lightwell.connectors.lightrag_store import HandMade, LightragStore
    from lightwell.curate.graph import Graph
    from lightwell.knowledge_base import KnowledgeBase
    from lightwell.settings import Settings

imports = new_group(
    "Read what another program has collected: LightRAG's working directory.",
    "lightwell import lightrag ./rag_storage --acl team:sales",
)

_SHOWN = 20


@command(
    imports,
    "lightrag",
    "lightwell import lightrag ./rag_storage --acl team:sales --estimate",
    "lightwell import lightrag ./rag_storage --acl team:sales",
)
def import_lightrag(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="WORKING_DIR",
            exists=True,
            file_okay=False,
            help="LightRAG's working directory, or one workspace in it.",
        ),
    ],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="TAG",
            help="Who may see what comes in: team:sales. Several by commas, or by repeating the option. Left out, it stays as it was.",
        ),
    ] = None,
    no_wait: NoWait = False,
    estimate: Estimate = False,
    budget: Budget = None,
) -> Work:
    """Read the documents of a LightRAG that keeps its storages in files, and what people wrote into its graph by hand.

    The documents are read anew, with the names and dates that LightRAG noted. Entities and relations come in that no passage
    supports. A second import changes only what has changed; nothing is deleted.
    """
    tags = parse_document_tags(acl)
    if acl is not None and not tags:
        raise Invalid("Name access tags with --acl")
    if estimate:
        return _estimate(folder, tags)
    return _import(_Order(folder=folder, acl=tags or None, waits=not no_wait, budget=budget))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    folder: Path
    acl: Tags | None
    waits: bool
    budget: int | None


@dataclass(slots=True, kw_only=True)
class _Written:
    """What became of what people wrote: how much was new, and what could not be written."""

    entities: int = 0
    relations: int = 0
    problems: dict[str, str] = field(default_factory=dict[str, str])


async def _estimate(folder: Path, acl: Tags) -> Report:
    from lightwell.connectors.lightrag_store import SYSTEM

    chosen = settings()
    store = _store(folder, acl or frozenset({login_tag()}), chosen)
    hand_made = await asyncio.to_thread(store.read_by_hand)
    with existing_or_temporary(chosen) as there:
        async with open_store_project(there) as kb:
            estimated = await kb.ingestion.estimate(store, system=SYSTEM)
    report = estimate_report(estimated, chosen, which="new or changed")
    entities, relations = len(hand_made.entities), len(hand_made.relations)
    line = f"by hand     entities {entities:,}, relations {relations:,}"
    return replace(
        report,
        document={
            **report.as_json(),
            "entitiesByHand": entities,
            "relationsByHand": relations,
        },
        text=Group(Text(line), report.as_text()),
    )


async def _import(order: _Order) -> Report:
    from lightwell.connectors.lightrag_store import SYSTEM
    from lightwell.entrypoints.cli.ingest_report import IngestSummary

    meter = budgeted_meter(order.budget)
    chosen = settings_that_may_create_a_store()
    async with open_store_project(chosen, meter) as kb:
        store = _store(order.folder, await _find_tags(kb, order, chosen), chosen)
        hand_made = await asyncio.to_thread(store.read_by_hand)  # before anything is stored
        if order.waits:
            (result,) = await ingest_with_progress(kb, [store], SYSTEM)
            synced, done = result.found, result.done
        else:
            synced, done = await kb.ingestion.enqueue(store, SYSTEM), None
        written = await _write(kb, hand_made, store.tags)
    summary = IngestSummary(synced=[synced], done=done, sources=[], usage=costs_of(meter))
    return _with_edits(summary.report(), written)


def _store(folder: Path, tags: Tags, chosen: "Settings") -> "LightragStore":
    from lightwell.connectors.lightrag_store import LightragStore

    return LightragStore(folder=folder, tags=tags, max_bytes=chosen.ingestion.max_file_bytes)


async def _find_tags(kb: "KnowledgeBase", order: _Order, chosen: "Settings") -> Tags:
    """Return the tags that the command gives, those of the import before, or the owner's; raise `Invalid` for none."""
    owner = await tags_of_owner(kb, chosen) if order.acl is None else frozenset[str]()
    remembered = await remember_tags(kb, order.folder, order.acl, owner)
    tags = remembered.find(file_url(order.folder))
    if not tags:
        raise Invalid("Name who may see the documents: --acl team:sales")
    return tags


async def _write(kb: "KnowledgeBase", hand_made: "HandMade", tags: Tags) -> _Written:
    """Write what people wrote, each for itself. Readers are resolved anew, since an edit may make the class that the next one is read in."""
    written = _Written()
    for edit in hand_made.entities:
        try:
            written.entities += await _write_entity(kb.graph, await kb.reader(tags), edit, tags)
        except (Invalid, NotFound) as error:
            written.problems[edit.name] = str(error)
    for mention in hand_made.relations:
        try:
            written.relations += await _relate(kb.graph, await kb.reader(tags), mention, tags)
        except (Invalid, NotFound) as error:
            written.problems[f"{mention.subject} – {mention.object}"] = str(error)
    return written


async def _write_entity(graph: "Graph", reader: Reader, edit: ManualEdit, tags: Tags) -> bool:
    """Create or edit the entity; return False where it is so already."""
    try:
        entity = (await graph.entity(reader, edit.name)).entity
    except NotFound:
        await graph.create(reader, edit, tags=tags)
        return True
    if edit.description in ("", entity.description):
        return False
    await graph.edit(reader, edit.name, replace(edit, name=""), tags=tags)
    return True


async def _relate(graph: "Graph", reader: Reader, mention: RelationMention, tags: Tags) -> bool:
    """Create the relation; return False where it is there already."""
    target = (await graph.entity(reader, mention.object)).entity
    related = (await graph.entity(reader, mention.subject)).relations
    if any(
        target.id in relation.ends and mention.description in relation.description
        for relation in related
    ):
        return False
    await graph.relate(reader, mention, tags=tags)
    return True


def _with_edits(report: Report, written: _Written) -> Report:
    problems: Sequence[tuple[str, str]] = [*written.problems.items()]
    changed = f"by hand: entities {written.entities:,}, relations {written.relations:,}"
    lines = [Text(f"{clean(name)}: {clean(message)}") for name, message in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(Text(f"and {count_of(len(problems) - _SHOWN, 'other')}; --json lists them"))
    return replace(
        report,
        document={
            **report.as_json(),
            "entitiesByHand": written.entities,
            "relationsByHand": written.relations,
            "failedByHand": [{"name": name, "errorMessage": text} for name, text in problems],
        },
        text=Group(report.as_text(), Text(changed), *lines),
        code=Exit.INCOMPLETE if problems else report.code,
    )
