"""Links between entities of several systems: the review queue, and decisions, which need the scope `curate`."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from lightwell.domain.api_keys import Scope
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import (
    EntityLink,
    LinkCursor,
    LinkFilter,
    LinkStatus,
    parse_link_cursor,
)
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import (
    After,
    EntityName,
    Moment,
    NextAfter,
    PageLimit,
    Reply,
    page_of,
    read_from,
)

links = Subject(prefix="/v1/links", tag="graph")

Points = Annotated[
    float, Field(description="Natural log-odds: positive for the link, negative against it.")
]


class LinkEnd(Reply):
    """One end of a link."""

    entity_id: Annotated[UUID, read_from("entityId", "id")]
    entity_ref: Annotated[str, read_from("entityRef", "ref"), Field(examples=["attio:company:7"])]
    entity_name: Annotated[
        str,
        read_from("entityName", "name"),
        Field(examples=["Nordwind Energie GmbH"]),
    ]
    entity_type: Annotated[str, read_from("entityType", "kind"), Field(examples=["company"])]
    primary_url: str
    chunk_count: int


class Evidence(Reply):
    """One comparison of the two ends, and what each says; empty where a value cannot be shown any more."""

    name: Annotated[str, Field(examples=["same_domain"])]
    points: Points
    source_value: Annotated[
        str,
        read_from("sourceValue", "source"),
        Field(examples=["nordwind.example"]),
    ]
    target_value: Annotated[
        str,
        read_from("targetValue", "target"),
        Field(examples=["nordwind.example"]),
    ]


class Quotation(Reply):
    """A passage that you see and that states a value of the evidence."""

    evidence: Annotated[str, Field(examples=["same_domain"])]
    snippet: Annotated[str, read_from("snippet", "text")]
    document_url: Annotated[str, read_from("documentUrl", "url")]
    document_title: Annotated[str, read_from("documentTitle", "title")]
    document_id: UUID
    start: Annotated[
        int, Field(description="The first character of the line in the document's text.")
    ]
    end: int


class Link(Reply):
    """A link between two entities as you see it.

    `confidence` is a probability; a confirmed link has 1, a rejected one 0. `learnedPoints` come from decisions about the same
    evidence. `statedBy` is the URL of the document that states the link, null for other links.
    """

    link_id: Annotated[UUID, read_from("linkId", "id")]
    link_type: Annotated[LinkType, read_from("linkType", "type")]
    status: LinkStatus
    source: LinkEnd
    target: LinkEnd
    confidence: Annotated[float, Field(examples=[0.9994])]
    is_certain: Annotated[
        bool, Field(description="Whether this is a proposal with a confidence of at least 0.98.")
    ]
    usefulness: float
    learned_points: Annotated[Points, read_from("learnedPoints", "learned")]
    evidence: list[Evidence]
    attributes: Annotated[
        list[dict[str, str]],
        Field(
            description="What documents state of the source and of the target: `email`, `domain`."
        ),
    ]
    quotations: Annotated[
        list[Quotation], Field(description="Empty in lists; show the link for them.")
    ]
    relation: Annotated[str, Field(description="The system's own word for a stated link.")]
    stated_by: str | None
    decided_by: str
    decided_at: Moment | None
    expires_at: Moment | None


class LinkPage(Reply):
    """Links that you see, the most useful first."""

    links: list[Link]
    next_after: NextAfter


@links.operation("GET")
async def list_links(
    caller: Caller,
    status: Annotated[
        LinkStatus | None, Field(description="Only links with this status; by default all.")
    ] = None,
    type: Annotated[LinkType | None, Field(description="Only links of this type.")] = None,
    about: Annotated[
        str,
        Field(max_length=400, description="Only links of this entity, by name, reference or id."),
    ] = "",
    limit: PageLimit = 100,
    after: After = "",
) -> LinkPage:
    """List links of which you see both ends, the most useful first; `status=proposed` is the review queue.

    Links that documents state are listed only with `about`.
    """
    following = await caller.knowledge_base.graph.links.list_links(
        caller.reader,
        LinkFilter(status=status, type=type, about=about),
        after=parse_link_cursor(after),
        limit=limit + 1,
    )
    page, next_after = page_of(following, limit, _cursor)
    return LinkPage(links=[Link.model_validate(link) for link in page], next_after=next_after)


@links.operation("POST", scope=Scope.CURATE, status=201)
async def add_link(
    caller: Caller,
    source: Annotated[EntityName, Field(examples=["attio:deal:7"])],
    target: Annotated[EntityName, Field(examples=["linear:project:3"])],
    type: LinkType,
) -> Link:
    """Add a confirmed link between two entities that you see."""
    graph = caller.knowledge_base.graph
    return Link.model_validate(await graph.links.add(caller.reader, source, target, type))


@links.operation("POST", "/propose", scope=Scope.CURATE)
async def propose_links(
    caller: Caller,
    about: Annotated[
        str,
        Field(
            max_length=400,
            description="Only of this entity; by default of all entities of business systems that you see.",
            examples=["attio:company:7"],
        ),
    ] = "",
    limit: PageLimit = 100,
) -> LinkPage:
    """Propose links anew; return the first of what is proposed. It happens by itself after each ingestion."""
    await caller.knowledge_base.graph.links.propose(caller.reader, about=about)
    return await list_links.run(caller, status=LinkStatus.PROPOSED, about=about, limit=limit)


@links.operation("GET", "/{link_id}")
async def get_link(caller: Caller, link_id: UUID) -> Link:
    """Show a link with quotations of its evidence."""
    graph = caller.knowledge_base.graph
    return Link.model_validate(await graph.links.get(caller.reader, link_id))


@links.operation("POST", "/{link_id}/confirm", scope=Scope.CURATE)
async def confirm_link(caller: Caller, link_id: UUID) -> Link:
    """Confirm a link: searches, briefs and statements follow it from now on."""
    graph = caller.knowledge_base.graph
    return Link.model_validate(await graph.links.confirm(caller.reader, link_id))


@links.operation("POST", "/{link_id}/reject", scope=Scope.CURATE)
async def reject_link(caller: Caller, link_id: UUID) -> Link:
    """Reject a link for good: it is not proposed again, and nothing follows it even if a document states it."""
    graph = caller.knowledge_base.graph
    return Link.model_validate(await graph.links.reject(caller.reader, link_id))


@links.operation("DELETE", "/{link_id}", scope=Scope.CURATE)
async def remove_link(caller: Caller, link_id: UUID) -> Link:
    """Take back a decision; return the link as it was. It may be proposed again."""
    graph = caller.knowledge_base.graph
    return Link.model_validate(await graph.links.remove(caller.reader, link_id))


def _cursor(link: EntityLink) -> str:
    return str(LinkCursor(usefulness=link.usefulness, id=link.id))
