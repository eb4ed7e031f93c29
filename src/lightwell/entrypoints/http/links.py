"""Links across systems: the review queue, and decisions, which need the scope `curate`."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

import lightwell.entrypoints.json_links as json_links
from lightwell.domain.links import LinkFilter, LinkStatus, parse_link_cursor
from lightwell.entrypoints.http.authentication import Curating, Reading
from lightwell.entrypoints.http.usage import usage_headers
from lightwell.entrypoints.schemas import PageQuery, cut_page
from lightwell.entrypoints.schemas.links import (
    LinkPage,
    LinkProposalBody,
    LinkQuery,
    LinkSchema,
    NewLinkBody,
    link_page,
    link_schema,
)

router = APIRouter(prefix="/v1/links", tags=["graph"])


@router.get("")
async def list_links(caller: Reading, query: Annotated[LinkQuery, Query()]) -> LinkPage:
    """List links of which you see both ends, the most useful first; `status=proposed` is the review queue."""
    found = await caller.knowledge_base.graph.links.list_links(
        caller.reader,
        query.to_filter(),
        after=parse_link_cursor(query.after),
        limit=query.limit + 1,
    )
    return link_page(*cut_page(found, query, json_links.cursor_of))


@router.post("", status_code=201)
async def add_link(body: NewLinkBody, caller: Curating) -> LinkSchema:
    """Add a confirmed link between two entities that you see."""
    made = await caller.knowledge_base.graph.links.add(
        caller.reader, body.source, body.target, body.type
    )
    return link_schema(made)


@router.post("/propose")
async def propose_links(body: LinkProposalBody, caller: Curating, response: Response) -> LinkPage:
    """Propose links anew; return the first of what is proposed. It happens by itself after each ingestion."""
    links = caller.knowledge_base.graph.links
    with usage_headers(response):
        await links.propose(caller.reader, about=body.about)
    page = PageQuery()
    found = await links.list_links(
        caller.reader,
        LinkFilter(status=LinkStatus.PROPOSED, about=body.about),
        limit=page.limit + 1,
    )
    return link_page(*cut_page(found, page, json_links.cursor_of))


@router.get("/{link_id}")
async def show_link(link_id: UUID, caller: Reading) -> LinkSchema:
    """Show a link with quotations of its evidence."""
    return link_schema(await caller.knowledge_base.graph.links.get(caller.reader, link_id))


@router.post("/{link_id}/confirm")
async def confirm_link(link_id: UUID, caller: Curating) -> LinkSchema:
    """Confirm a link: searches, briefs and statements follow it from now on."""
    return link_schema(await caller.knowledge_base.graph.links.confirm(caller.reader, link_id))


@router.post("/{link_id}/reject")
async def reject_link(link_id: UUID, caller: Curating) -> LinkSchema:
    """Reject a link for good: it is not proposed again, and nothing follows it even if a document states it."""
    return link_schema(await caller.knowledge_base.graph.links.reject(caller.reader, link_id))


@router.delete("/{link_id}")
async def remove_link(link_id: UUID, caller: Curating, response: Response) -> LinkSchema:
    """Take back a decision; return the link as it was. It may be proposed again."""
    with usage_headers(response):
        return link_schema(await caller.knowledge_base.graph.links.remove(caller.reader, link_id))
