"""Briefs on entities, and the entities that a name may mean."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field

from lightwell.domain.answers import Confidence
from lightwell.domain.briefs import MAX_NAME_LENGTH
from lightwell.domain.briefs import Brief as MadeBrief
from lightwell.entrypoints.operations.citations import AmbiguousName, Citation, Usage
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import Reply, Rounded, read_from

briefs = Subject(prefix="/v1", tag="questions")

EntityName = Annotated[
    str,
    Field(
        description="A name, `NAME <ADDRESS>`, a reference, or an id.",
        examples=["Nordwind Energie"],
        json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_LENGTH},
    ),
]


class BriefEntity(Reply):
    """The entity; with `describedByHand` a person wrote the description, and no document need support it."""

    entity_id: Annotated[UUID, read_from("entityId", "id")]
    entity_ref: Annotated[str, read_from("entityRef", "ref")]
    entity_name: Annotated[str, read_from("entityName", "name")]
    entity_type: Annotated[str, read_from("entityType", "kind")]
    description: str
    described_by_hand: bool


def _day(moment: object) -> object:
    return f"{moment:%Y-%m-%d}" if isinstance(moment, datetime) else moment


class BriefLine(Reply):
    """A cited sentence, with the first date that it names, else that of its document; null where that states none."""

    text: str
    date: Annotated[str | None, BeforeValidator(_day), read_from("date", "said_at")]
    citations: list[Citation]


class Related(Reply):
    """Another entity: `relation` is a predicate or a link, empty where passages only name both (`coMentions` of them)."""

    entity_ref: Annotated[str, read_from("entityRef", "ref")]
    entity_name: Annotated[str, read_from("entityName", "name")]
    entity_type: Annotated[str, read_from("entityType", "kind")]
    relation: str
    description: str
    comparison: str
    use_case: str
    co_mentions: int
    evidence: BriefLine | None


class Brief(Reply):
    """What an entity is, what happened lately, what is open, who and what is tied to it; each line is cited."""

    query_id: UUID
    entity: BriefEntity
    about: list[BriefLine]
    lately: list[BriefLine]
    open_points: list[BriefLine]
    people: list[Related]
    links: list[Related]
    citations: list[Citation]
    confidence: Confidence
    relevance: Rounded
    model: str
    notes: list[str]
    usage: Usage


class Candidates(AmbiguousName):
    """What a name may mean; `queryId` identifies the request."""

    query_id: UUID


@briefs.operation("GET", "/briefs/{name:path}")
async def brief_entity(caller: Caller, name: EntityName) -> Brief | Candidates:
    """Summarise an entity with citations; where several entities have the name, list them instead.

    The reference of a candidate selects it.
    """
    made = await caller.knowledge_base.questions.brief(name, caller.reader)
    reply = Brief if isinstance(made, MadeBrief) else Candidates
    return caller.reply(reply, made)


@briefs.operation("GET", "/candidates")
async def list_candidates(caller: Caller, name: EntityName) -> Candidates:
    """List the entities that a name may mean, the likeliest first, with what distinguishes them: none, one or several."""
    candidates = await caller.knowledge_base.questions.candidates(name, caller.reader)
    return Candidates.model_validate(candidates)
