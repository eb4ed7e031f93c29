"""What people correct in the graph: merges, proposals, splits and edits."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

import lightwell.entrypoints.json_graph as json_graph
from lightwell.domain.concepts import Concept
from lightwell.domain.graph import (
    ManualEdit,
    MergeStrategy,
    Predicate,
    RelationMention,
    parse_predicate,
)
from lightwell.domain.merges import ActiveMerge, MergeProposal, MergeResult
from lightwell.domain.splits import ActiveSplit, SplitResult
from lightwell.entrypoints.operations.replies import EntityName, NextAfter, Schema
from lightwell.entrypoints.schemas.graph import EntitySchema, RelationSchema

Names = Annotated[list[EntityName], Field(max_length=100)]
Text = Annotated[str, Field(max_length=20_000)]
Tags = Annotated[
    tuple[str, ...],
    Field(
        max_length=100,
        description="Who may see the change: access tags. By default those of your groups whose documents mention the entity.",
        examples=[["team:sales"]],
    ),
]


class MergeBody(Schema):
    """Entities that are one: the sources are merged into the target, which keeps its name."""

    sources: Annotated[Names, Field(examples=[["Nordwind AG"]])]
    target: EntityName
    strategy: Annotated[MergeStrategy, Field(description="How the descriptions are combined.")] = (
        MergeStrategy.CONCATENATE
    )


class MergeResponse(Schema):
    """What a merge did; `DELETE /v1/graph/merges/{mergeId}` undoes it."""

    merge_id: str
    target_entity: EntitySchema
    relations_redirected: int
    source_entities_deleted: int
    relations_deduped: int
    note: str


class ActiveMergeSchema(Schema):
    """A merge that is in effect, by the names of its sides."""

    merge_id: str
    target: str
    sources: list[str]
    strategy: MergeStrategy
    merged_at: str


class MergePage(Schema):
    """Merges of which you see both sides, the latest first."""

    merges: list[ActiveMergeSchema]
    next_after: NextAfter


class PairBody(Schema):
    """The two entities of a merge proposal."""

    one: EntityName
    other: Annotated[str, Field(examples=["Nordwind AG"])]


class ConfirmationBody(PairBody):
    """A proposal that is right: `other` is merged into `one`."""

    strategy: MergeStrategy = MergeStrategy.CONCATENATE


class ProposalQuery(Schema):
    """Which merge proposals."""

    about: Annotated[
        str, Field(max_length=400, description="Only possible duplicates of this entity.")
    ] = ""
    limit: Annotated[int, Field(ge=1, le=200, description="How many, at most.")] = 20


class ProposalSchema(Schema):
    """Two entities that may be one, with the evidence; nothing is merged by itself."""

    confidence: float
    entities: list[EntitySchema]
    evidence: dict[str, str]
    shared_neighbours: list[str]


class ProposalList(Schema):
    """Merge proposals, the most confident first."""

    proposals: list[ProposalSchema]


class EntityList(Schema):
    """The entities that a change concerned."""

    entities: list[EntitySchema]


class SplitBody(Schema):
    """One name for two things: its mentions in these documents and passages move to the entity `into`."""

    entity: EntityName
    into: Annotated[str, Field(max_length=400, examples=["Nordwind Oslo"])]
    documents: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    passages: Annotated[tuple[str, ...], Field(max_length=100)] = ()


class SplitResponse(Schema):
    """What a split did: `part` has the moved mentions, `rest` what is left, null where nothing is."""

    split_id: str
    part: EntitySchema
    rest: EntitySchema | None
    passages: int


class ActiveSplitSchema(Schema):
    """A split that is in effect."""

    split_id: str
    part: str
    names: list[str]
    documents: list[str]
    passages: int
    made_at: str


class SplitPage(Schema):
    """Splits in documents that you see, the latest first."""

    splits: list[ActiveSplitSchema]
    next_after: NextAfter


class ConceptBody(Schema):
    """What a person writes of an entity, whether it is new or not; a list that is not empty replaces the stated one."""

    description: Text = ""
    aliases: Annotated[
        tuple[str, ...],
        Field(max_length=100, description="Other names that find it.", examples=[["NWE"]]),
    ] = ()
    category: Annotated[str, Field(max_length=400, examples=["algorithm"])] = ""
    difficulty: Annotated[str, Field(max_length=400, examples=["beginner"])] = ""
    tags: Annotated[tuple[str, ...], Field(max_length=100, examples=[["graphs"]])] = ()
    acl_tags: Tags = ()

    @property
    def concept(self) -> Concept:
        return Concept(
            aliases=self.aliases,
            category=self.category,
            difficulty=self.difficulty,
            tags=self.tags,
        )


class EntityEdit(ConceptBody):
    """What a person writes of an entity; an empty field stays as documents state it."""

    name: Annotated[str, Field(max_length=400)] = ""
    kind: Annotated[str, Field(max_length=100, examples=["organization"])] = ""
    sources: Annotated[
        tuple[str, ...],
        Field(max_length=100, description="Passages that support it, by reference or id."),
    ] = ()

    def to_edit(self) -> ManualEdit:
        return ManualEdit(
            name=self.name,
            kind=self.kind,
            description=self.description,
            sources=self.sources,
            concept=self.concept,
        )


class NewEntityBody(ConceptBody):
    """An entity that no document mentions yet; mentions of its name are linked to it."""

    name: Annotated[str, Field(max_length=400, examples=["Osprey Plant"])]
    kind: Annotated[str, Field(max_length=100, examples=["site"])] = ""

    def to_edit(self) -> ManualEdit:
        return ManualEdit(
            name=self.name, kind=self.kind, description=self.description, concept=self.concept
        )


class NamesBody(Schema):
    """Several entities at once: if one of them does not exist, nothing is changed."""

    names: Annotated[Names, Field(min_length=1)]


class NameBody(Schema):
    """One entity."""

    name: EntityName


class RelationBody(Schema):
    """A relation between two entities; `comparison` and `useCase` only with COMPARED_TO."""

    source: EntityName
    target: Annotated[str, Field(examples=["Tarn Valley"])]
    predicate: Annotated[Predicate, BeforeValidator(parse_predicate)] = Predicate.RELATED_TO
    keywords: Annotated[str, Field(max_length=1000)] = ""
    description: Text = ""
    weight: Annotated[float, Field(description="Added to that of the documents.")] = 1.0
    comparison: Text = ""
    use_case: Text = ""
    acl_tags: Tags = ()

    def to_mention(self) -> RelationMention:
        return RelationMention(
            subject=self.source,
            object=self.target,
            predicate=self.predicate,
            keywords=self.keywords,
            description=self.description,
            weight=self.weight,
            comparison=self.comparison,
            use_case=self.use_case,
        )


class RelationKeysBody(Schema):
    """Several relations at once, by their keys: if one of them does not exist, nothing is changed."""

    relations: Annotated[
        list[str],
        Field(min_length=1, max_length=100, examples=[["Nordwind Energie RELATED_TO Tarn Valley"]]),
    ]


class RelationList(Schema):
    """The relations that a change concerned."""

    relations: list[RelationSchema]


def merge_response(result: MergeResult) -> MergeResponse:
    """Return what a merge did."""
    return MergeResponse.model_validate(json_graph.merge_result(result), by_alias=True)


def merge_page(found: Sequence[ActiveMerge], following: str | None) -> MergePage:
    """Return a page of merges."""
    document = {
        "merges": [json_graph.active_merge(each) for each in found],
        "nextAfter": following,
    }
    return MergePage.model_validate(document, by_alias=True)


def proposal_list(found: Sequence[MergeProposal]) -> ProposalList:
    """Return merge proposals."""
    document = {"proposals": [json_graph.proposal(each) for each in found]}
    return ProposalList.model_validate(document, by_alias=True)


def split_response(result: SplitResult) -> SplitResponse:
    """Return what a split did."""
    return SplitResponse.model_validate(json_graph.split_result(result), by_alias=True)


def split_page(found: Sequence[ActiveSplit], following: str | None) -> SplitPage:
    """Return a page of splits."""
    document = {
        "splits": [json_graph.active_split(each) for each in found],
        "nextAfter": following,
    }
    return SplitPage.model_validate(document, by_alias=True)
