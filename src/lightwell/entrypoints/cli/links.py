"""`links`: proposed links between entities of several systems, and what people decide about them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.json_links as json_links
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import EntityLink, LinkFilter, LinkStatus, parse_link_cursor
from lightwell.entrypoints.cli.console import clean, dim, fields, minute, new_table
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import SourceName, TargetName
from lightwell.entrypoints.cli.options import As, PageSize, Server
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.remote import choose_server, dump, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.links import LinkPage, LinkSchema

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
    "lightwell links list --server http://127.0.0.1:8000",
)
async def list_links(  # noqa: PLR0913 - the options of a command are its arguments
    *,
    status: Annotated[
        LinkStatus | None, typer.Option("--status", help="Only links with this status.")
    ] = None,
    type_: Annotated[LinkType | None, typer.Option("--type", help="Only this type.")] = None,
    about: About = "",
    who: As = None,
    server: Server = None,
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
    from lightwell.entrypoints.client import link_calls
    from lightwell.entrypoints.schemas.links import LinkQuery

    query = LinkQuery(status=status, type=type_, about=about, limit=limit, after=after)
    if login := choose_server(server, who):
        return _page(await send(link_calls.list_links(query), login))
    place = parse_link_cursor(after)
    async with open_as(who) as (kb, reader):
        held = await kb.graph.links.list_links(
            reader, query.to_filter(), after=place, limit=limit + 1
        )
    return _page(_cut(held, limit))


@command(links, "show", f"lightwell links show {_ID} --as team:us")
async def show_link(link: LinkId, *, who: As = None, server: Server = None) -> Report:
    """Show a link with its evidence and quotations."""
    from lightwell.entrypoints.client import link_calls
    from lightwell.entrypoints.schemas.links import link_schema

    if login := choose_server(server, who):
        found = await send(link_calls.get_link(link), login)
    else:
        async with open_as(who) as (kb, reader):
            found = link_schema(await kb.graph.links.get(reader, link))
    return Report(document=dump(found), text=_details(found))


@command(
    links,
    "propose",
    "lightwell links propose --as team:us",
    'lightwell links propose --about "Acme Corp" --as team:us',
)
async def propose_links(
    *, about: About = "", who: As = None, server: Server = None, limit: PageSize = 20
) -> Report:
    """Propose links anew and list them; this also happens after each ingestion."""
    from lightwell.entrypoints.client import link_calls

    if login := choose_server(server, who):
        return _page(await send(link_calls.propose_links(about=about), login))
    wanted = LinkFilter(status=LinkStatus.PROPOSED, about=about)
    async with open_as(who) as (kb, reader):
        await kb.graph.links.propose(reader, about=about)
        held = await kb.graph.links.list_links(reader, wanted, limit=limit + 1)
    return _page(_cut(held, limit))


@command(links, "confirm", f"lightwell links confirm {_ID} --as team:us")
async def confirm_link(link: LinkId, *, who: As = None, server: Server = None) -> Report:
    """Confirm a link: searches, briefs and statements follow it from now on."""
    from lightwell.entrypoints.client import link_calls
    from lightwell.entrypoints.schemas.links import link_schema

    if login := choose_server(server, who):
        return _decided(await send(link_calls.confirm_link(link), login), "Confirmed")
    async with open_as(who) as (kb, reader):
        found = link_schema(await kb.graph.links.confirm(reader, link))
    return _decided(found, "Confirmed")


@command(links, "reject", f"lightwell links reject {_ID} --as team:us")
async def reject_link(link: LinkId, *, who: As = None, server: Server = None) -> Report:
    """Reject a link for good: it is not proposed again, and nothing follows it even if a document states it."""
    from lightwell.entrypoints.client import link_calls
    from lightwell.entrypoints.schemas.links import link_schema

    if login := choose_server(server, who):
        return _decided(await send(link_calls.reject_link(link), login), "Rejected")
    async with open_as(who) as (kb, reader):
        found = link_schema(await kb.graph.links.reject(reader, link))
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
    server: Server = None,
) -> Report:
    """Add a confirmed link between two entities."""
    from lightwell.entrypoints.client import link_calls
    from lightwell.entrypoints.schemas.links import link_schema

    if login := choose_server(server, who):
        return _decided(await send(link_calls.add_link(source, target, type_), login), "Added")
    async with open_as(who) as (kb, reader):
        made = link_schema(await kb.graph.links.add(reader, source, target, type_))
    return _decided(made, "Added")


@command(links, "remove", f"lightwell links remove {_ID} --as team:us")
async def remove_link(link: LinkId, *, who: As = None, server: Server = None) -> Report:
    """Take back a decision about a link; it may be proposed again."""
    from lightwell.entrypoints.client import link_calls
    from lightwell.entrypoints.schemas.links import link_schema

    if login := choose_server(server, who):
        return _decided(await send(link_calls.remove_link(link), login), "No longer decided")
    async with open_as(who) as (kb, reader):
        was = link_schema(await kb.graph.links.remove(reader, link))
    return _decided(was, "No longer decided")


def _cut(held: Sequence[EntityLink], limit: int) -> "LinkPage":
    """Return a page; `held` is one longer where another page follows."""
    from lightwell.entrypoints.schemas.links import link_page

    return link_page(
        held[:limit], json_links.cursor_of(held[limit - 1]) if len(held) > limit else None
    )


def _page(page: "LinkPage") -> Report:
    table = new_table("confidence", "from", "type", "to", "evidence", "status", "link")
    for each in page.links:
        certain = " certain" if each.is_certain else ""
        table.add_row(
            f"{each.confidence:.3f}{certain}",
            clean(f"{each.source.entity_name} ({each.source.entity_ref})"),
            each.link_type.value,
            clean(f"{each.target.entity_name} ({each.target.entity_ref})"),
            ", ".join(evidence.name for evidence in each.evidence) or clean(each.relation),
            each.status.value,
            each.link_id,
        )
    more = [dim(f"There are more: --after {page.next_after}")] if page.next_after else []
    text = Group(table, *more) if page.links else Text("There are no such links that you may see.")
    return Report(document=dump(page), text=text)


def _decided(link: "LinkSchema", what: str) -> Report:
    names = f"{link.source.entity_name} {link.link_type.value} {link.target.entity_name}"
    return Report(document=dump(link), text=Text(clean(f"{what}: {names} ({link.link_id})")))


def _details(link: "LinkSchema") -> RenderableType:
    shown = fields(
        [
            ("from", f"{link.source.entity_name} ({link.source.entity_ref})"),
            ("type", link.link_type.value),
            ("to", f"{link.target.entity_name} ({link.target.entity_ref})"),
            ("status", link.status.value),
            ("confidence", f"{link.confidence:.4f}"),
            ("decided", f"{minute(link.decided_at)} {link.decided_by}".strip()),
            ("expires", minute(link.expires_at)[:10]),
            ("stated by", link.stated_by or ""),
            ("relation", link.relation),
            ("link", link.link_id),
        ]
    )
    table = new_table("points", "evidence", "from", "to")
    for each in link.evidence:
        values = (clean(each.source_value), clean(each.target_value))
        table.add_row(f"{each.points:+.1f}", each.name, *values)
    if link.learned_points:
        table.add_row(f"{link.learned_points:+.1f}", "learned from decisions", "", "")
    quoted = [Text(clean(f"“{each.snippet}” — {each.document_url}")) for each in link.quotations]
    return Group(shown, *([Text(), table] if link.evidence else []), *quoted)
