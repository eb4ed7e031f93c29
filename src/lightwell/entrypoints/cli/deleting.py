"""What `documents delete` does."""

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.show as show
from lightwell.domain.deletions import Deletion
from lightwell.entrypoints.cli.edge import Exit, Report, settings_of_store
from lightwell.entrypoints.cli.reading import document_name
from lightwell.models.meter import Meter
from lightwell.wiring import open_knowledge_base


async def delete(names: Sequence[str], who: Sequence[str]) -> Report:
    """Delete some of the reader's documents and report what went."""
    tags, chosen, meter = people.tags(who), settings_of_store(), Meter()
    async with open_knowledge_base(chosen, meter) as kb:
        gone = await kb.delete(await kb.reader(tags), [document_name(name) for name in names])
    return _report(gone, costs.actual_costs(meter.usages, chosen))


async def erase(names: Sequence[str], who: Sequence[str]) -> Report:
    """Delete them and their tombstones, and report what went."""
    tags, chosen, meter = people.tags(who), settings_of_store(), Meter()
    async with open_knowledge_base(chosen, meter) as kb:
        gone = await kb.erase(await kb.reader(tags), [document_name(name) for name in names])
    return _report(gone, costs.actual_costs(meter.usages, chosen))


def _report(deletion: Deletion, paid: costs.Costs) -> Report:
    counts = {
        "chunks": deletion.chunks,
        "vectors": deletion.vectors,
        "mentions": deletion.mentions,
        "relationMentions": deletion.relation_mentions,
    }
    lines = [
        f"{len(deletion.documents)} deleted: {deletion.chunks} passages, {deletion.vectors} vectors, {deletion.mentions} mentions",
        f"entities: {len(deletion.entities_deleted)} gone, {len(deletion.entities_rebuilt)} rebuilt;"
        f" relations: {deletion.relations_deleted} gone, {deletion.relations_rebuilt} rebuilt",
        *(f"left to do: {error}" for error in deletion.errors),
    ]
    return Report(
        document={
            "documentIds": [str(document) for document in deletion.documents],
            "entitiesDeleted": list(deletion.entities_deleted),
            "entitiesRebuilt": list(deletion.entities_rebuilt),
            "relationsDeleted": deletion.relations_deleted,
            "relationsRebuilt": deletion.relations_rebuilt,
            "removed": counts,
            "errors": list(deletion.errors),
            "usage": paid.document(),
        },
        text=Group(Text(show.clean("\n".join(lines))), *paid.lines()),
        code=Exit.INCOMPLETE if deletion.errors else Exit.FINE,
    )
