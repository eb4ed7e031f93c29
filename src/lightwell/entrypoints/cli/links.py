"""`links`: proposed links between entities of several systems, and what people decide about them."""

from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.operations.links as operations
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import LinkStatus
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, fields, minute, new_table, page_text
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.graph import SourceName, TargetName
from lightwell.entrypoints.cli.options import PageSize
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.operations.links import Link, LinkPage

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
async def list_links(
    *,
    asker: Asker,
    status: Annotated[
        LinkStatus | None, typer.Option("--status", help="Only links with this status.")
    ] = None,
    type_: Annotated[LinkType | None, typer.Option("--type", help="Only this type.")] = None,
    about: About = "",
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
    return _page(
        await asker(
            operations.list_links,
            status=status,
            type=type_,
            about=about,
            limit=limit,
            after=after,
        )
    )


@command(links, "show", f"lightwell links show {_ID} --as team:us")
async def show_link(link: LinkId, *, asker: Asker) -> Report:
    """Show a link with its evidence and quotations."""
    shown = await asker(operations.get_link, link)
    return Report(document=shown, text=_details(shown))


@command(
    links,
    "propose",
    "lightwell links propose --as team:us",
    'lightwell links propose --about "Acme Corp" --as team:us',
)
async def propose_links(*, asker: Asker, about: About = "", limit: PageSize = 20) -> Report:
    """Propose links anew and list them; this also happens after each ingestion."""
    return _page(await asker(operations.propose_links, about=about, limit=limit))


@command(links, "confirm", f"lightwell links confirm {_ID} --as team:us")
async def confirm_link(link: LinkId, *, asker: Asker) -> Report:
    """Confirm a link: searches, briefs and statements follow it from now on."""
    return _decided(await asker(operations.confirm_link, link), "Confirmed")


@command(links, "reject", f"lightwell links reject {_ID} --as team:us")
async def reject_link(link: LinkId, *, asker: Asker) -> Report:
    """Reject a link for good: it is not proposed again, and nothing follows it even if a document states it."""
    return _decided(await asker(operations.reject_link, link), "Rejected")


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
    asker: Asker,
) -> Report:
    """Add a confirmed link between two entities."""
    return _decided(await asker(operations.add_link, source, target, type_), "Added")


@command(links, "remove", f"lightwell links remove {_ID} --as team:us")
async def remove_link(link: LinkId, *, asker: Asker) -> Report:
    """Take back a decision about a link; it may be proposed again."""
    return _decided(await asker(operations.remove_link, link), "No longer decided")


def _page(page: LinkPage) -> Report:
    table = new_table("confidence", "from", "type", "to", "evidence", "status", "link")
    for link in page.links:
        certain = " certain" if link.is_certain else ""
        table.add_row(
            f"{link.confidence:.3f}{certain}",
            clean(f"{link.source.entity_name} ({link.source.entity_ref})"),
            link.link_type.value,
            clean(f"{link.target.entity_name} ({link.target.entity_ref})"),
            ", ".join(evidence.name for evidence in link.evidence) or clean(link.relation),
            link.status.value,
            str(link.link_id),
        )
    text = page_text(table, page.next_after, nothing="There are no such links that you may see.")
    return Report(document=page, text=text)


def _decided(link: Link, what: str) -> Report:
    names = f"{link.source.entity_name} {link.link_type.value} {link.target.entity_name}"
    return Report(document=link, text=Text(clean(f"{what}: {names} ({link.link_id})")))


def _details(link: Link) -> RenderableType:
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
            ("link", str(link.link_id)),
        ]
    )
    table = new_table("points", "evidence", "from", "to")
    for evidence in link.evidence:
        values = (clean(evidence.source_value), clean(evidence.target_value))
        table.add_row(f"{evidence.points:+.1f}", evidence.name, *values)
    if link.learned_points:
        table.add_row(f"{link.learned_points:+.1f}", "learned from decisions", "", "")
    quotations = [
        Text(clean(f"“{quotation.snippet}” — {quotation.document_url}"))
        for quotation in link.quotations
    ]
    return Group(shown, *([Text(), table] if link.evidence else []), *quotations)
