"""What `documents delete` does."""

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.show as show
from lightwell.domain.deletions import Deletion
from lightwell.entrypoints.cli.edge import Exit, Report, settings_of_store
from lightwell.entrypoints.cli.reading import named
from lightwell.models.meter import Meter
from lightwell.wiring import opened


async def delete(names: Sequence[str], who: Sequence[str]) -> Report:
    """Delete some of the reader's documents and report what went."""
    tags, chosen, meter = people.tags(who), settings_of_store(), Meter()
    async with opened(chosen, meter) as kb:
        gone = await kb.delete(await kb.reader(tags), [named(name) for name in names])
    return _report(gone, costs.spent(meter.usages, chosen))


async def erase(names: Sequence[str], who: Sequence[str]) -> Report:
    """Delete them and their tombstones, and report what went."""
    tags, chosen, meter = people.tags(who), settings_of_store(), Meter()
    async with opened(chosen, meter) as kb:
        gone = await kb.erase(await kb.reader(tags), [named(name) for name in names])
    return _report(gone, costs.spent(meter.usages, chosen))


def _report(gone: Deletion, paid: costs.Costs) -> Report:
    counts = {
        "chunks": gone.chunks,
        "vectors": gone.vectors,
        "mentions": gone.mentions,
        "relationMentions": gone.relation_mentions,
    }
    lines = [
        f"{len(gone.documents)} deleted: {gone.chunks} passages, {gone.vectors} vectors, {gone.mentions} mentions",
        f"entities: {len(gone.entities_deleted)} gone, {len(gone.entities_rebuilt)} rebuilt;"
        f" relations: {gone.relations_deleted} gone, {gone.relations_rebuilt} rebuilt",
        *(f"left to do: {error}" for error in gone.errors),
    ]
    return Report(
        document={
            "documentIds": [str(document) for document in gone.documents],
            "entitiesDeleted": list(gone.entities_deleted),
            "entitiesRebuilt": list(gone.entities_rebuilt),
            "relationsDeleted": gone.relations_deleted,
            "relationsRebuilt": gone.relations_rebuilt,
            "removed": counts,
            "errors": list(gone.errors),
            "usage": paid.document(),
        },
        text=Group(Text(show.clean("\n".join(lines))), *paid.lines()),
        code=Exit.INCOMPLETE if gone.errors else Exit.FINE,
    )
