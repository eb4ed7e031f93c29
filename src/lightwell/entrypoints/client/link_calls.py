"""Calls about links between entities of several systems."""

from uuid import UUID

from lightwell.domain.item_structure import LinkType
from lightwell.entrypoints.client.calls import Call, reader_of
from lightwell.entrypoints.schemas.links import (
    LinkPage,
    LinkProposalBody,
    LinkQuery,
    LinkSchema,
    NewLinkBody,
)

_PATH = "/v1/links"
_read_page = reader_of(LinkPage)
_read_link = reader_of(LinkSchema)


def list_links(query: LinkQuery | None = None) -> Call[LinkPage]:
    """List a page of links of which you see both ends, the most useful first."""
    return Call(method="GET", path=_PATH, query=query, read=_read_page)


def get_link(link: UUID | str) -> Call[LinkSchema]:
    """Return a link with quotations of its evidence."""
    return Call(method="GET", path=f"{_PATH}/{UUID(str(link))}", read=_read_link)


def propose_links(*, about: str = "") -> Call[LinkPage]:
    """Propose links anew; return the first of what is proposed."""
    body = LinkProposalBody(about=about)
    path = f"{_PATH}/propose"
    return Call(method="POST", path=path, body=body, read=_read_page, is_repeatable=False)


def add_link(source: str, target: str, link_type: LinkType) -> Call[LinkSchema]:
    """Add a confirmed link between two entities that you see."""
    body = NewLinkBody(source=source, target=target, type=link_type)
    return Call(method="POST", path=_PATH, body=body, read=_read_link, is_repeatable=False)


def confirm_link(link: UUID | str) -> Call[LinkSchema]:
    """Confirm a link: searches, briefs and statements follow it from now on."""
    return _decide(link, "confirm")


def reject_link(link: UUID | str) -> Call[LinkSchema]:
    """Reject a link for good."""
    return _decide(link, "reject")


def remove_link(link: UUID | str) -> Call[LinkSchema]:
    """Take back a decision; return the link as it was."""
    path = f"{_PATH}/{UUID(str(link))}"
    return Call(method="DELETE", path=path, read=_read_link, is_repeatable=False)


def _decide(link: UUID | str, decision: str) -> Call[LinkSchema]:
    path = f"{_PATH}/{UUID(str(link))}/{decision}"
    return Call(method="POST", path=path, read=_read_link, is_repeatable=False)
