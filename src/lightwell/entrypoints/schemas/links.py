"""Links across systems: proposals, evidence and decisions."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

import lightwell.entrypoints.json_links as json_links
from lightwell.domain.item_structure import LinkType
from lightwell.domain.links import EntityLink, LinkFilter, LinkStatus
from lightwell.entrypoints.schemas import NextAfter, PageQuery, Schema
from lightwell.entrypoints.schemas.graph import EntityName

Points = Annotated[
    float, Field(description="Natural log-odds: positive for the link, negative against it.")
]


class LinkQuery(PageQuery):
    """Which links, the most useful first. Links that documents state are listed only with `about`."""

    status: Annotated[
        LinkStatus | None, Field(description="Only links with this status; by default all.")
    ] = None
    type: Annotated[LinkType | None, Field(description="Only links of this type.")] = None
    about: Annotated[
        str,
        Field(max_length=400, description="Only links of this entity, by name, reference or id."),
    ] = ""

    def to_filter(self) -> LinkFilter:
        return LinkFilter(status=self.status, type=self.type, about=self.about)


class LinkProposalBody(Schema):
    """For what links are proposed anew; "" for all entities of business systems that you see."""

    about: Annotated[str, Field(max_length=400, examples=["attio:company:7"])] = ""


class NewLinkBody(Schema):
    """A link that you know of; it is confirmed at once."""

    source: Annotated[EntityName, Field(examples=["attio:deal:7"])]
    target: Annotated[EntityName, Field(examples=["linear:project:3"])]
    type: LinkType


class LinkEndSchema(Schema):
    """One end of a link."""

    entity_id: str
    entity_ref: Annotated[str, Field(examples=["attio:company:7"])]
    entity_name: Annotated[str, Field(examples=["Nordwind Energie GmbH"])]
    entity_type: Annotated[str, Field(examples=["company"])]
    primary_url: str
    chunk_count: int


class LinkEvidenceSchema(Schema):
    """One comparison of the two ends, and what each says; empty where a value cannot be shown any more."""

    name: Annotated[str, Field(examples=["same_domain"])]
    points: Points
    source_value: Annotated[str, Field(examples=["nordwind.example"])]
    target_value: Annotated[str, Field(examples=["nordwind.example"])]


class LinkQuotationSchema(Schema):
    """A passage that you see and that states a value of the evidence."""

    evidence: Annotated[str, Field(examples=["same_domain"])]
    snippet: str
    document_url: str
    document_title: str


class LinkSchema(Schema):
    """A link between two entities as you see it.

    `confidence` is a probability; a confirmed link has 1, a rejected one 0. `learnedPoints` come from decisions about the same
    evidence. `statedBy` is the URL of the document that states the link, null for other links.
    """

    link_id: str
    link_type: LinkType
    status: LinkStatus
    source: LinkEndSchema
    target: LinkEndSchema
    confidence: Annotated[float, Field(examples=[0.9994])]
    is_certain: Annotated[
        bool, Field(description="Whether this is a proposal with a confidence of at least 0.98.")
    ]
    usefulness: float
    learned_points: Points
    evidence: list[LinkEvidenceSchema]
    quotations: Annotated[
        list[LinkQuotationSchema], Field(description="Empty in lists; show the link for them.")
    ]
    relation: Annotated[str, Field(description="The system's own word for a stated link.")]
    stated_by: str | None
    decided_by: str
    decided_at: str | None
    expires_at: str | None


class LinkPage(Schema):
    """Links that you see, the most useful first."""

    links: list[LinkSchema]
    next_after: NextAfter


def link_schema(found: EntityLink) -> LinkSchema:
    return LinkSchema.model_validate(json_links.link(found))


def link_page(found: Sequence[EntityLink], following: str | None) -> LinkPage:
    return LinkPage(links=[link_schema(each) for each in found], next_after=following)
