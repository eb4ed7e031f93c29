"""What people correct in the graph: merges, merge proposals, splits and edits. A change needs the scope `curate`."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field

import lightwell.domain.graph as values
from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.api_keys import Scope
from lightwell.domain.concepts import CONCEPT_FIELDS, Concept
from lightwell.domain.decisions import DecidedKind
from lightwell.domain.graph import (
    ManualEdit,
    MergeStrategy,
    Predicate,
    RelationMention,
    parse_predicate,
    parse_relation_key,
)
from lightwell.domain.ids import MergeId, SplitId
from lightwell.domain.item_structure import LinkType
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.graph import Entity, Relation
from lightwell.entrypoints.operations.replies import (
    After,
    EntityName,
    Moment,
    NextAfter,
    PageLimit,
    Reply,
    Schema,
    page_of,
    parse_after,
    read_from,
)

corrections = Subject(prefix="/v1/graph", tag="graph")

Names = Annotated[list[EntityName], Field(max_length=100)]
Strategy = Annotated[MergeStrategy, Field(description="How the descriptions are combined.")]
SomeWords = Annotated[str, Field(max_length=400)]
Text = Annotated[str, Field(max_length=20_000)]
SomeTexts = Annotated[tuple[str, ...], Field(max_length=100)]
AclTags = Annotated[
    tuple[str, ...],
    Field(
        max_length=100,
        description="Who may see the change: access tags. By default those of your groups whose documents mention the entity.",
        examples=[["team:sales"]],
    ),
]


class EntityList(Reply):
    """The entities that a change concerned."""

    entities: list[Entity]


class RelationList(Reply):
    """The relations that a change concerned."""

    relations: list[Relation]


class Merge(Reply):
    """What a merge did; `DELETE /v1/graph/merges/{mergeId}` undoes it."""

    merge_id: UUID
    target_entity: Entity
    relations_redirected: int
    source_entities_deleted: int
    relations_deduped: int
    note: str


class ActiveMerge(Reply):
    """A merge that is in effect, by the names of its sides."""

    merge_id: UUID
    target: str
    sources: list[str]
    strategy: MergeStrategy
    merged_at: Moment


class MergePage(Reply):
    """Merges of which you see both sides, the latest first."""

    merges: list[ActiveMerge]
    next_after: NextAfter


class Proposal(Reply):
    """Two entities that may be one, with the evidence; nothing is merged by itself."""

    confidence: float
    entities: list[Entity]
    evidence: dict[str, str]
    shared_neighbours: list[str]
    attributes: Annotated[
        list[dict[str, str]],
        Field(description="What documents state of each of the two: `email`, `domain`."),
    ]


class ProposalList(Reply):
    """Merge proposals, the most confident first."""

    proposals: list[Proposal]


class Decided(Reply):
    """A decision that is in effect.

    `DELETE /v1/links/{id}` or `DELETE /v1/graph/merges/{id}` takes it back, and a rejected merge, whose `id` is empty,
    `POST /v1/graph/proposals/reopen` with its `entities`. `decidedBy` is empty where it is not known.
    """

    kind: DecidedKind
    is_confirmed: bool
    id: str
    names: list[str]
    entities: list[UUID]
    link_type: LinkType | None
    decided_at: Moment
    decided_by: str


class DecidedList(Reply):
    """Decisions about links and merges, the latest first."""

    decisions: list[Decided]


class Split(Reply):
    """What a split did: `part` has the moved mentions, `rest` what is left, null where nothing is."""

    split_id: UUID
    part: Entity
    rest: Entity | None
    passages: int


class ActiveSplit(Reply):
    """A split that is in effect."""

    split_id: UUID
    part: str
    names: list[str]
    documents: Annotated[list[str], read_from("documents", "urls")]
    passages: int
    made_at: Annotated[Moment, read_from("madeAt", "split_at")]


class SplitPage(Reply):
    """Splits in documents that you see, the latest first."""

    splits: list[ActiveSplit]
    next_after: NextAfter


class _Concept(Schema):
    """What a person writes of an entity, whether it is new or not; a list that is not empty replaces the stated one."""

    kind: Annotated[str, Field(max_length=100, examples=["organization"])] = ""
    description: Text = ""
    aliases: Annotated[
        SomeTexts, Field(description="Other names that find it.", examples=[["NWE"]])
    ] = ()
    category: Annotated[SomeWords, Field(examples=["algorithm"])] = ""
    difficulty: Annotated[SomeWords, Field(examples=["beginner"])] = ""
    tags: Annotated[SomeTexts, Field(examples=[["graphs"]])] = ()
    acl_tags: AclTags = ()

    def edit_of(self, name: str) -> ManualEdit:
        """Return what is written of the entity of this name."""
        return ManualEdit(
            name=name,
            kind=self.kind,
            description=self.description,
            concept=Concept(**self.model_dump(include={*CONCEPT_FIELDS})),
        )


class NewEntity(_Concept):
    """An entity that no document mentions yet; mentions of its name are linked to it."""

    name: Annotated[SomeWords, Field(examples=["Osprey Plant"])]


class EntityEdit(_Concept):
    """What a person writes of an entity; an empty field stays as documents state it."""

    name: SomeWords = ""
    sources: Annotated[
        SomeTexts, Field(description="Passages that support it, by reference or id.")
    ] = ()


class StatedRelation(Schema):
    """A relation between two entities; `comparison` and `useCase` only with COMPARED_TO."""

    source: EntityName
    target: Annotated[str, Field(examples=["Tarn Valley"])]
    predicate: Annotated[Predicate, BeforeValidator(parse_predicate)] = Predicate.RELATED_TO
    keywords: Annotated[str, Field(max_length=1000)] = ""
    description: Text = ""
    weight: Annotated[float, Field(description="Added to that of the documents.")] = 1.0
    comparison: Text = ""
    use_case: Text = ""
    acl_tags: AclTags = ()


@corrections.operation("POST", "/merges", scope=Scope.CURATE, status=201)
async def merge_entities(
    caller: Caller,
    sources: Annotated[Names, Field(examples=[["Nordwind AG"]])],
    target: EntityName,
    strategy: Strategy = MergeStrategy.CONCATENATE,
) -> Merge:
    """Merge several entities into one; their names become aliases. It also holds for documents that come later."""
    graph = caller.knowledge_base.graph
    return Merge.model_validate(
        await graph.merge(caller.reader, sources, target, strategy=strategy)
    )


@corrections.operation("GET", "/merges")
async def list_merges(caller: Caller, limit: PageLimit = 100, after: After = "") -> MergePage:
    """List active merges of which you see both sides, the latest first."""
    following = await caller.knowledge_base.graph.merges(
        caller.reader, after=parse_after(after, MergeId), limit=limit + 1
    )
    page, next_after = page_of(following, limit, lambda merge: str(merge.merge_id))
    return MergePage(
        merges=[ActiveMerge.model_validate(merge) for merge in page], next_after=next_after
    )


@corrections.operation("DELETE", "/merges/{merge:path}", scope=Scope.CURATE)
async def undo_merge(
    caller: Caller,
    merge: Annotated[str, Field(description="The id of a merge, or an entity that was merged.")],
) -> EntityList:
    """Undo a merge completely; return the entities that are apart again."""
    return _entities(await caller.knowledge_base.graph.unmerge(caller.reader, merge))


@corrections.operation("GET", "/proposals")
async def list_merge_proposals(
    caller: Caller,
    about: Annotated[
        str, Field(max_length=400, description="Only possible duplicates of this entity.")
    ] = "",
    limit: Annotated[int, Field(ge=1, le=200, description="How many, at most.")] = 20,
) -> ProposalList:
    """List entities that may be one, with the evidence: of one entity, or of the 500 that were mentioned last."""
    proposals = await caller.knowledge_base.graph.proposals(caller.reader, about=about, limit=limit)
    return ProposalList(proposals=[Proposal.model_validate(proposal) for proposal in proposals])


@corrections.operation("POST", "/proposals/confirm", scope=Scope.CURATE, status=201)
async def confirm_merge_proposal(
    caller: Caller,
    one: EntityName,
    other: Annotated[str, Field(examples=["Nordwind AG"])],
    strategy: Strategy = MergeStrategy.CONCATENATE,
) -> Merge:
    """Merge the two entities of a proposal that is still listed, `other` into `one`."""
    graph = caller.knowledge_base.graph
    return Merge.model_validate(await graph.confirm(caller.reader, one, other, strategy=strategy))


@corrections.operation("POST", "/proposals/reject", scope=Scope.CURATE)
async def reject_merge_proposal(
    caller: Caller, one: EntityName, other: Annotated[str, Field(examples=["Nordwind AG"])]
) -> EntityList:
    """Reject a proposed merge; it is not proposed again."""
    return _entities(await caller.knowledge_base.graph.reject(caller.reader, one, other))


@corrections.operation("POST", "/proposals/reopen", scope=Scope.CURATE)
async def reopen_merge_proposal(
    caller: Caller, one: EntityName, other: Annotated[str, Field(examples=["Nordwind AG"])]
) -> EntityList:
    """Take back the rejection of a merge; it may be proposed again."""
    return _entities(await caller.knowledge_base.graph.reopen(caller.reader, one, other))


@corrections.operation("GET", "/decisions")
async def list_decisions(
    caller: Caller,
    limit: Annotated[int, Field(ge=1, le=200, description="How many, at most.")] = 50,
) -> DecidedList:
    """List what people decided last about links and merges of which you see both sides."""
    decisions = await caller.knowledge_base.graph.decisions(caller.reader, limit=limit)
    return DecidedList(decisions=[Decided.model_validate(decision) for decision in decisions])


@corrections.operation("POST", "/splits", scope=Scope.CURATE, status=201)
async def split_entity(
    caller: Caller,
    entity: EntityName,
    into: Annotated[SomeWords, Field(examples=["Nordwind Oslo"])],
    documents: SomeTexts = (),
    passages: SomeTexts = (),
) -> Split:
    """Split an entity whose name means two things: its mentions in these documents and passages move to `into`.

    Ingesting the documents again keeps the split.
    """
    graph = caller.knowledge_base.graph
    return Split.model_validate(
        await graph.split(caller.reader, entity, into, documents=documents, passages=passages)
    )


@corrections.operation("GET", "/splits")
async def list_splits(caller: Caller, limit: PageLimit = 100, after: After = "") -> SplitPage:
    """List active splits in documents that you see, the latest first."""
    following = await caller.knowledge_base.graph.splits(
        caller.reader, after=parse_after(after, SplitId), limit=limit + 1
    )
    page, next_after = page_of(following, limit, lambda split: str(split.split_id))
    return SplitPage(
        splits=[ActiveSplit.model_validate(split) for split in page], next_after=next_after
    )


@corrections.operation("DELETE", "/splits/{split:path}", scope=Scope.CURATE)
async def undo_split(
    caller: Caller,
    split: Annotated[str, Field(description="The id of a split, or the entity that it made.")],
) -> EntityList:
    """Undo a split in the documents that you see; return what has the mentions again."""
    return _entities(await caller.knowledge_base.graph.unsplit(caller.reader, split))


@corrections.operation("POST", "/entities", scope=Scope.CURATE, status=201)
async def create_entity(caller: Caller, entity: NewEntity) -> Entity:
    """Create an entity; mentions of its name in documents are linked to it."""
    tags = _audience(caller, entity.acl_tags)
    edit = entity.edit_of(entity.name)
    graph = caller.knowledge_base.graph
    return Entity.model_validate(await graph.create(caller.reader, edit, tags=tags))


@corrections.operation("POST", "/entities/delete", scope=Scope.CURATE)
async def delete_entities(
    caller: Caller, names: Annotated[Names, Field(min_length=1)]
) -> EntityList:
    """Hide several entities, now and in future, wherever you have all access tags of a document that mentions it; documents are unchanged.

    If one of them does not exist, nothing is changed.
    """
    return _entities(await caller.knowledge_base.graph.delete_entities(caller.reader, names))


@corrections.operation("POST", "/entities/restore", scope=Scope.CURATE)
async def restore_entity(
    caller: Caller,
    name: Annotated[
        str, Field(description="A name, or the id that it had.", examples=["Nordwind Energie"])
    ],
) -> Entity:
    """Show a hidden entity again, as documents describe it."""
    return Entity.model_validate(await caller.knowledge_base.graph.restore(caller.reader, name))


@corrections.operation("PATCH", "/entities/{name:path}", scope=Scope.CURATE)
async def edit_entity(caller: Caller, name: EntityName, edit: EntityEdit) -> Entity:
    """Set an entity's name, kind, description, sources or concept; this overrides what documents say, also later ones."""
    tags = _audience(caller, edit.acl_tags)
    written = replace(edit.edit_of(edit.name), sources=edit.sources)
    graph = caller.knowledge_base.graph
    return Entity.model_validate(await graph.edit(caller.reader, name, written, tags=tags))


@corrections.operation("DELETE", "/entities/{name:path}", scope=Scope.CURATE)
async def delete_entity(caller: Caller, name: EntityName) -> Entity:
    """Hide an entity, now and in future, wherever you have all access tags of a document that mentions it; return what it was."""
    return Entity.model_validate(await caller.knowledge_base.graph.delete(caller.reader, name))


@corrections.operation("PUT", "/relations", scope=Scope.CURATE, is_repeatable=True)
async def relate_entities(caller: Caller, relation: StatedRelation) -> Relation:
    """Add or replace what people say of a relation between two entities."""
    tags = _audience(caller, relation.acl_tags)
    mention = RelationMention(
        subject=relation.source,
        object=relation.target,
        **relation.model_dump(exclude={"source", "target", "acl_tags"}),
    )
    graph = caller.knowledge_base.graph
    return Relation.model_validate(await graph.relate(caller.reader, mention, tags=tags))


@corrections.operation("POST", "/relations/delete", scope=Scope.CURATE)
async def delete_relations(
    caller: Caller,
    relations: Annotated[
        list[str],
        Field(
            min_length=1,
            max_length=100,
            description="Their keys.",
            examples=[["Nordwind Energie RELATED_TO Tarn Valley"]],
        ),
    ],
) -> RelationList:
    """Hide relations, now and in future, wherever you have all access tags of a document that mentions it.

    If one of them does not exist, nothing is changed.
    """
    keys = [parse_relation_key(key) for key in relations]
    were = await caller.knowledge_base.graph.delete_relations(caller.reader, keys)
    return RelationList(relations=[Relation.model_validate(relation) for relation in were])


def _entities(entities: Iterable[values.Entity]) -> EntityList:
    return EntityList(entities=[Entity.model_validate(entity) for entity in entities])


def _audience(caller: Caller, words: Iterable[str]) -> Tags:
    """Return the access tags of an edit, none if none are given; raise `Invalid` for tags that the caller may not give.

    What people write overrides what documents state, so nobody writes it for readers of other tags.
    """
    tags = parse_tags(words)
    if tags:
        caller.authority.require_new(tags)
    return tags
