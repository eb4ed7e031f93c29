"""`links`: proposed links between entities of several systems, and what people decide about them."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.json_links as json_links
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import EntityLink, LinkFilter, LinkStatus, parse_link_cursor
from lightwell.entrypoints.cli.console import clean, dim, fields, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import SourceName, TargetName
from lightwell.entrypoints.cli.groups import command, new_group
from lightwell.entrypoints.cli.options import As, PageSize
from lightwell.entrypoints.cli.store import open_as

links = new_group(
    "List, show, confirm, reject, add and remove links between entities of several systems.",
    "lightwell links list --as team:us",
    "lightwell links confirm 019f0000-0000-8000-8000-000000000000 --as team:us",
)

LinkId = Annotated[UUID, typer.Argument(metavar="LINK", help="The id of a link, as `list` shows.")]
About = Annotated[
    str,
    typer.Option("--about", metavar="ENTITY", help="Only links of this entity."),
]
_ID = "019f0000-0000-8000-8000-000000000000"


@command(
    links,
    "list",
    "lightwell links list --as team:us",
    "lightwell links list --status confirmed --type same_as --as team:us",
    'lightwell links list --about "Acme Corp" --as team:us --json',
)
async def list_links(
    *,
    status: Annotated[
        LinkStatus | None, typer.Option("--status", help="Only links with this status.")
    ] = None,
    type_: Annotated[LinkType | None, typer.Option("--type", help="Only this type.")] = None,
    about: About = "",
    who: As = None,
    limit: PageSize = 20,
    after: Annotated[
        str, typer.Option("--after", metavar="CURSOR", help="Only links after this place.")
    ] = "",
) -> Report:
    """List links, the most useful first: without options, the proposals to review.

    Links that documents state are listed only with --about.
    """
    if status is None and not about:
        status = LinkStatus.PROPOSED
    wanted = LinkFilter(status=status, type=type_, about=about)
    place = parse_link_cursor(after)
    async with open_as(who) as (kb, reader):
        held = await kb.graph.links.list_links(reader, wanted, after=place, limit=limit + 1)
    return _page(held, limit)


@command(links, "show", f"lightwell links show {_ID} --as team:us")
async def show_link(link: LinkId, *, who: As = None) -> Report:
    """Show a link with its evidence and quotations."""
    async with open_as(who) as (kb, reader):
        found = await kb.graph.links.get(reader, link)
    return Report(document=json_links.link(found), text=_details(found))


@command(
    links,
    "propose",
    "lightwell links propose --as team:us",
    'lightwell links propose --about "Acme Corp" --as team:us',
)
async def propose_links(*, about: About = "", who: As = None, limit: PageSize = 20) -> Report:
    """Propose links anew and list them; this also happens after each ingestion."""
    wanted = LinkFilter(status=LinkStatus.PROPOSED, about=about)
    async with open_as(who) as (kb, reader):
        await kb.graph.links.propose(reader, about=about)
        held = await kb.graph.links.list_links(reader, wanted, limit=limit + 1)
    return _page(held, limit)


@command(links, "confirm", f"lightwell links confirm {_ID} --as team:us")
async def confirm_link(link: LinkId, *, who: As = None) -> Report:
    """Confirm a link: searches, briefs and statements follow it from now on."""
    async with open_as(who) as (kb, reader):
        found = await kb.graph.links.confirm(reader, link)
    return _decided(found, "Confirmed")


@command(links, "reject", f"lightwell links reject {_ID} --as team:us")
async def reject_link(link: LinkId, *, who: As = None) -> Report:
    """Reject a link for good: it is not proposed again, and nothing follows it even if a document states it."""
    async with open_as(who) as (kb, reader):
        found = await kb.graph.links.reject(reader, link)
    return _decided(found, "Rejected")


@command(
    links,
    "add",
    "lightwell links add attio:deal:7 linear:project:3 --type mapped_to --as team:us",
)
async def add_link(
    source: SourceName,
    target: TargetName,
    *,
    type_: Annotated[LinkType, typer.Option("--type", help="What the link says.")],
    who: As = None,
) -> Report:
    """Add a confirmed link between two entities."""
    async with open_as(who) as (kb, reader):
        made = await kb.graph.links.add(reader, source, target, type_)
    return _decided(made, "Added")


@command(links, "remove", f"lightwell links remove {_ID} --as team:us")
async def remove_link(link: LinkId, *, who: As = None) -> Report:
    """Take back a decision about a link; it may be proposed again."""
    async with open_as(who) as (kb, reader):
        was = await kb.graph.links.remove(reader, link)
    return _decided(was, "No longer decided")


def _page(held: Sequence[EntityLink], limit: int) -> Report:
    page = held[:limit]
    following = json_links.cursor_of(page[-1]) if len(held) > limit else None
    table = new_table("confidence", "from", "type", "to", "evidence", "status", "link")
    for each in page:
        certain = " certain" if each.is_certain else ""
        table.add_row(
            f"{each.confidence:.3f}{certain}",
            clean(f"{each.source.name} ({each.source.ref})"),
            each.type.value,
            clean(f"{each.target.name} ({each.target.ref})"),
            ", ".join(evidence.name for evidence in each.evidence) or clean(each.relation),
            each.status.value,
            str(each.id),
        )
    more = [dim(f"There are more: --after {following}")] if following else []
    text = Group(table, *more) if page else Text("There are no such links that you may see.")
    return Report(
        document={"links": [json_links.link(each) for each in page], "nextAfter": following},
        text=text,
    )


def _decided(link: EntityLink, what: str) -> Report:
    line = f"{what}: {link.source.name} {link.type.value} {link.target.name} ({link.id})"
    return Report(document=json_links.link(link), text=Text(clean(line)))


def _details(link: EntityLink) -> RenderableType:
    decided = f"{link.decided_at:%Y-%m-%d %H:%M} {link.decided_by}" if link.decided_at else ""
    shown = fields(
        [
            ("from", f"{link.source.name} ({link.source.ref})"),
            ("type", link.type.value),
            ("to", f"{link.target.name} ({link.target.ref})"),
            ("status", link.status.value),
            ("confidence", f"{link.confidence:.4f}"),
            ("decided", decided),
            ("expires", f"{link.expires_at:%Y-%m-%d}" if link.expires_at else ""),
            ("stated by", link.stated_by or ""),
            ("relation", link.relation),
            ("link", str(link.id)),
        ]
    )
    table = new_table("points", "evidence", "from", "to")
    for each in link.evidence:
        table.add_row(f"{each.points:+.1f}", each.name, clean(each.source), clean(each.target))
    if link.learned:
        table.add_row(f"{link.learned:+.1f}", "learned from decisions", "", "")
    quoted = [Text(clean(f"“{each.text}” — {each.url}")) for each in link.quotations]
    return Group(shown, *([Text(), table] if link.evidence else []), *quoted)
