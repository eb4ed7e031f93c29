"""Commands on splits: they open the project, resolve who asks, and report."""

from collections.abc import Sequence
from uuid import UUID

from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.curating as curating
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import SplitId
from lightwell.domain.splits import StandingSplit
from lightwell.entrypoints.cli.edge import Report
from lightwell.entrypoints.cli.show import clean, count_of

Json = dict[str, object]


async def split(
    name: str,
    into: str,
    who: Sequence[str],
    *,
    documents: Sequence[str],
    passages: Sequence[str],
) -> Report:
    """Split, and report what that did."""
    async with curating.opened_paid_graph(who) as (graph, reader, costs):
        done = await graph.split(reader, name, into, documents=documents, passages=passages)
    document: Json = {
        "splitId": str(done.split_id),
        "part": curating.entity_document(done.part),
        "rest": curating.entity_document(done.rest) if done.rest else None,
        "passages": done.passages,
    }
    moved = count_of(done.passages, "passage")
    text = Group(
        Text(clean(f"{moved} now about {done.part.name} ({done.part.ref}).")),
        curating.dim(f"`lightwell graph unsplit {done.split_id}` undoes it."),
    )
    return costs.report(document, text)


async def unsplit(name: str, who: Sequence[str]) -> Report:
    """Undo a split, and report which entities have the mentions again."""
    async with curating.opened_paid_graph(who) as (graph, reader, costs):
        whole = await graph.unsplit(reader, name)
    names = ", ".join(each.name for each in whole)
    return costs.report(
        {"entities": [curating.entity_document(each) for each in whole]},
        Text(clean(f"Whole again: {names}." if whole else "The split is undone.")),
    )


async def splits(who: Sequence[str], *, after: str, limit: int) -> Report:
    """Report a page of the splits that hold."""
    behind = _split_id(after) if after else None
    async with curating.opened_graph(who) as (graph, reader):
        held = await graph.splits(reader, after=behind, limit=limit + 1)
    page = held[:limit]
    following = str(page[-1].split_id) if len(held) > limit else None
    table = curating.new_table("named", "split off as", "documents", "when", "split")
    for each in page:
        table.add_row(
            clean(", ".join(each.names)),
            clean(each.part),
            clean("\n".join(each.urls)),
            f"{each.made_at:%Y-%m-%d %H:%M}",
            str(each.split_id),
        )
    more = [curating.dim(f"There are more: --after {following}")] if following else []
    text = Group(table, *more) if page else Text("There are no splits that you may see.")
    return Report(
        document={"splits": [_standing(each) for each in page], "nextAfter": following}, text=text
    )


def _standing(held: StandingSplit) -> Json:
    return {
        "splitId": str(held.split_id),
        "part": held.part,
        "names": list(held.names),
        "documents": list(held.urls),
        "passages": held.passages,
        "madeAt": held.made_at.isoformat(),
    }


def _split_id(text: str) -> SplitId:
    try:
        return SplitId(UUID(text.strip()))
    except ValueError as error:
        raise Invalid(
            f"{text!r} is no id of a split; `lightwell graph splits` shows them"
        ) from error
