"""A brief on one entity."""

import lightwell.entrypoints.json_brief as json_brief
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.briefs import Brief
from lightwell.entrypoints.operations.replies import Schema
from lightwell.entrypoints.schemas.questions import CitationSchema, UsageSchema


class BriefEntity(Schema):
    """The entity; with `describedByHand` a person wrote the description, and no document need support it."""

    entity_id: str
    entity_ref: str
    entity_name: str
    entity_type: str
    description: str
    described_by_hand: bool


class BriefLineSchema(Schema):
    """A cited sentence, with the first date that it names, else that of its document; null where that states none."""

    text: str
    date: str | None
    citations: list[CitationSchema]


class RelatedSchema(Schema):
    """Another entity: `relation` is a predicate or a link, empty where passages only name both (`coMentions` of them)."""

    entity_ref: str
    entity_name: str
    entity_type: str
    relation: str
    description: str
    comparison: str
    use_case: str
    co_mentions: int
    evidence: BriefLineSchema | None


class BriefResponse(Schema):
    """What an entity is, what happened lately, what is open, who and what is tied to it; each line is cited."""

    query_id: str
    entity: BriefEntity
    about: list[BriefLineSchema]
    lately: list[BriefLineSchema]
    open_points: list[BriefLineSchema]
    people: list[RelatedSchema]
    links: list[RelatedSchema]
    citations: list[CitationSchema]
    confidence: str
    relevance: float
    model: str
    notes: list[str]
    usage: UsageSchema


def brief_response(brief: Brief) -> BriefResponse:
    """Return the brief as the server sends it."""
    document = {**json_brief.brief(brief), "usage": json_output.usage(brief.usage)}
    return BriefResponse.model_validate(document, by_alias=True)
