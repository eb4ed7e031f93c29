"""Calls about the graph: entities, relations, merges, merge proposals and splits. `edit_calls` has edits."""

from collections.abc import Sequence
from uuid import UUID

from lightwell.domain.graph import MergeStrategy
from lightwell.entrypoints.operations.calls import Call, reader_of, segment
from lightwell.entrypoints.operations.replies import PageQuery
from lightwell.entrypoints.schemas.corrections import (
    ConfirmationBody,
    EntityList,
    MergeBody,
    MergePage,
    MergeResponse,
    PairBody,
    ProposalList,
    ProposalQuery,
    SplitBody,
    SplitPage,
    SplitResponse,
)
from lightwell.entrypoints.schemas.graph import (
    EntityDetailsSchema,
    EntityPage,
    EntityQuery,
    NeighbourhoodQuery,
    NeighbourhoodResponse,
    RelationPage,
    RelationQuery,
)

_PATH = "/v1/graph"
_read_entities = reader_of(EntityPage)
_read_entity = reader_of(EntityDetailsSchema)
_read_relations = reader_of(RelationPage)
_read_neighbourhood = reader_of(NeighbourhoodResponse)
_read_merge = reader_of(MergeResponse)
_read_merges = reader_of(MergePage)
_read_apart = reader_of(EntityList)
_read_proposals = reader_of(ProposalList)
_read_split = reader_of(SplitResponse)
_read_splits = reader_of(SplitPage)


def list_entities(query: EntityQuery | None = None) -> Call[EntityPage]:
    """List a page of the entities that documents you see mention."""
    return Call(method="GET", path=f"{_PATH}/entities", query=query, read=_read_entities)


def get_entity(name: str) -> Call[EntityDetailsSchema]:
    """Return an entity, by its name, reference or id, with its relations and the passages that mention it."""
    return Call(method="GET", path=f"{_PATH}/entities/{segment(name)}", read=_read_entity)


def list_relations(query: RelationQuery | None = None) -> Call[RelationPage]:
    """List a page of the relations that documents you see state."""
    return Call(method="GET", path=f"{_PATH}/relations", query=query, read=_read_relations)


def explore_neighbourhood(
    entity: str, *, depth: int = 1, limit: int = 100
) -> Call[NeighbourhoodResponse]:
    """Return the entities that up to `depth` relations lead to, at most `limit`, and the relations between them."""
    query = NeighbourhoodQuery(entity=entity, depth=depth, limit=limit)
    return Call(method="GET", path=f"{_PATH}/neighbourhood", query=query, read=_read_neighbourhood)


def merge_entities(
    sources: Sequence[str],
    target: str,
    *,
    strategy: MergeStrategy = MergeStrategy.CONCATENATE,
) -> Call[MergeResponse]:
    """Merge several entities into one; their names become aliases."""
    body = MergeBody(sources=list(sources), target=target, strategy=strategy)
    path = f"{_PATH}/merges"
    return Call(method="POST", path=path, body=body, read=_read_merge, is_repeatable=False)


def list_merges(query: PageQuery | None = None) -> Call[MergePage]:
    """List a page of active merges of which you see both sides, the latest first."""
    return Call(method="GET", path=f"{_PATH}/merges", query=query, read=_read_merges)


def undo_merge(merge: UUID | str) -> Call[EntityList]:
    """Undo a merge, by its id; return the entities that are apart again."""
    path = f"{_PATH}/merges/{UUID(str(merge))}"
    return Call(method="DELETE", path=path, read=_read_apart, is_repeatable=False)


def list_merge_proposals(*, about: str = "", limit: int = 20) -> Call[ProposalList]:
    """List entities that may be one, with the evidence."""
    query = ProposalQuery(about=about, limit=limit)
    return Call(method="GET", path=f"{_PATH}/proposals", query=query, read=_read_proposals)


def confirm_merge_proposal(
    one: str, other: str, *, strategy: MergeStrategy = MergeStrategy.CONCATENATE
) -> Call[MergeResponse]:
    """Merge the entities of a proposal, `other` into `one`."""
    body = ConfirmationBody(one=one, other=other, strategy=strategy)
    path = f"{_PATH}/proposals/confirm"
    return Call(method="POST", path=path, body=body, read=_read_merge, is_repeatable=False)


def reject_merge_proposal(one: str, other: str) -> Call[EntityList]:
    """Reject a proposed merge; it is not proposed again."""
    body = PairBody(one=one, other=other)
    path = f"{_PATH}/proposals/reject"
    return Call(method="POST", path=path, body=body, read=_read_apart, is_repeatable=False)


def split_entity(
    entity: str, into: str, *, documents: Sequence[str] = (), passages: Sequence[str] = ()
) -> Call[SplitResponse]:
    """Split an entity whose name means two things: its mentions in these documents and passages move to `into`."""
    body = SplitBody(entity=entity, into=into, documents=tuple(documents), passages=tuple(passages))
    path = f"{_PATH}/splits"
    return Call(method="POST", path=path, body=body, read=_read_split, is_repeatable=False)


def list_splits(query: PageQuery | None = None) -> Call[SplitPage]:
    """List a page of active splits in documents that you see, the latest first."""
    return Call(method="GET", path=f"{_PATH}/splits", query=query, read=_read_splits)


def undo_split(split: UUID | str) -> Call[EntityList]:
    """Undo a split, by its id; return what has the mentions again."""
    path = f"{_PATH}/splits/{UUID(str(split))}"
    return Call(method="DELETE", path=path, read=_read_apart, is_repeatable=False)
