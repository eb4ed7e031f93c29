"""What people correct in the graph: merges, merge proposals, splits and edits. A change needs the scope `curate`."""

from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.ids import MergeId, SplitId
from lightwell.domain.relation_keys import parse_relation_key
from lightwell.entrypoints.http.authentication import Caller, Curating, Reading
from lightwell.entrypoints.http.graph import EntityPath
from lightwell.entrypoints.http.usage import usage_headers
from lightwell.entrypoints.operations.replies import PageQuery, cut_page
from lightwell.entrypoints.schemas.corrections import (
    ConfirmationBody,
    EntityEdit,
    EntityList,
    MergeBody,
    MergePage,
    MergeResponse,
    NameBody,
    NamesBody,
    NewEntityBody,
    PairBody,
    ProposalList,
    ProposalQuery,
    RelationBody,
    RelationKeysBody,
    RelationList,
    SplitBody,
    SplitPage,
    SplitResponse,
    merge_page,
    merge_response,
    proposal_list,
    split_page,
    split_response,
)
from lightwell.entrypoints.schemas.graph import (
    EntitySchema,
    RelationSchema,
    entity_schema,
    relation_schema,
)

router = APIRouter(prefix="/v1/graph", tags=["graph"])


@router.post("/merges", status_code=201)
async def merge_entities(body: MergeBody, caller: Curating, response: Response) -> MergeResponse:
    """Merge several entities into one; their names become aliases. It also holds for documents that come later."""
    with usage_headers(response):
        done = await caller.knowledge_base.graph.merge(
            caller.reader, body.sources, body.target, strategy=body.strategy
        )
    return merge_response(done)


@router.get("/merges")
async def list_merges(caller: Reading, query: Annotated[PageQuery, Query()]) -> MergePage:
    """List active merges of which you see both sides, the latest first."""
    after = MergeId(query.after_id) if query.after_id else None
    found = await caller.knowledge_base.graph.merges(
        caller.reader, after=after, limit=query.limit + 1
    )
    return merge_page(*cut_page(found, query, lambda each: str(each.merge_id)))


@router.delete("/merges/{merge_id}")
async def undo_merge(merge_id: UUID, caller: Curating, response: Response) -> EntityList:
    """Undo a merge completely; return the entities that are apart again."""
    with usage_headers(response):
        apart = await caller.knowledge_base.graph.unmerge(caller.reader, str(merge_id))
    return EntityList(entities=[entity_schema(each) for each in apart])


@router.get("/proposals")
async def list_merge_proposals(
    caller: Reading, query: Annotated[ProposalQuery, Query()]
) -> ProposalList:
    """List entities that may be one, with the evidence: of one entity, or of the 500 that were mentioned last."""
    found = await caller.knowledge_base.graph.proposals(
        caller.reader, about=query.about, limit=query.limit
    )
    return proposal_list(found)


@router.post("/proposals/confirm", status_code=201)
async def confirm_merge_proposal(
    body: ConfirmationBody, caller: Curating, response: Response
) -> MergeResponse:
    """Merge the two entities of a proposal that is still listed, `other` into `one`."""
    with usage_headers(response):
        done = await caller.knowledge_base.graph.confirm(
            caller.reader, body.one, body.other, strategy=body.strategy
        )
    return merge_response(done)


@router.post("/proposals/reject")
async def reject_merge_proposal(body: PairBody, caller: Curating) -> EntityList:
    """Reject a proposed merge; it is not proposed again."""
    pair = await caller.knowledge_base.graph.reject(caller.reader, body.one, body.other)
    return EntityList(entities=[entity_schema(each) for each in pair])


@router.post("/splits", status_code=201)
async def split_entity(body: SplitBody, caller: Curating, response: Response) -> SplitResponse:
    """Split an entity whose name means two things. Ingesting the documents again keeps the split."""
    with usage_headers(response):
        done = await caller.knowledge_base.graph.split(
            caller.reader,
            body.entity,
            body.into,
            documents=body.documents,
            passages=body.passages,
        )
    return split_response(done)


@router.get("/splits")
async def list_splits(caller: Reading, query: Annotated[PageQuery, Query()]) -> SplitPage:
    """List active splits in documents that you see, the latest first."""
    after = SplitId(query.after_id) if query.after_id else None
    found = await caller.knowledge_base.graph.splits(
        caller.reader, after=after, limit=query.limit + 1
    )
    return split_page(*cut_page(found, query, lambda each: str(each.split_id)))


@router.delete("/splits/{split_id}")
async def undo_split(split_id: UUID, caller: Curating, response: Response) -> EntityList:
    """Undo a split in the documents that you see; return what has the mentions again."""
    with usage_headers(response):
        whole = await caller.knowledge_base.graph.unsplit(caller.reader, str(split_id))
    return EntityList(entities=[entity_schema(each) for each in whole])


@router.post("/entities", status_code=201)
async def create_entity(body: NewEntityBody, caller: Curating, response: Response) -> EntitySchema:
    """Create an entity; mentions of its name in documents are linked to it."""
    tags = _audience(caller, body.acl_tags)
    with usage_headers(response):
        made = await caller.knowledge_base.graph.create(caller.reader, body.to_edit(), tags=tags)
    return entity_schema(made)


@router.post("/entities/delete")
async def delete_entities(body: NamesBody, caller: Curating, response: Response) -> EntityList:
    """Hide several entities, now and in future, wherever you have all access tags of a document that mentions it; documents are unchanged."""
    with usage_headers(response):
        were = await caller.knowledge_base.graph.delete_entities(caller.reader, body.names)
    return EntityList(entities=[entity_schema(each) for each in were])


@router.post("/entities/restore")
async def restore_entity(body: NameBody, caller: Curating, response: Response) -> EntitySchema:
    """Show a hidden entity again, as documents describe it."""
    with usage_headers(response):
        return entity_schema(await caller.knowledge_base.graph.restore(caller.reader, body.name))


@router.patch("/entities/{name:path}")
async def edit_entity(
    name: EntityPath, body: EntityEdit, caller: Curating, response: Response
) -> EntitySchema:
    """Set an entity's name, kind, description or sources; this overrides what documents say, also later ones."""
    tags = _audience(caller, body.acl_tags)
    with usage_headers(response):
        now = await caller.knowledge_base.graph.edit(caller.reader, name, body.to_edit(), tags=tags)
    return entity_schema(now)


@router.delete("/entities/{name:path}")
async def delete_entity(name: EntityPath, caller: Curating, response: Response) -> EntitySchema:
    """Hide an entity, now and in future, wherever you have all access tags of a document that mentions it; return what it was."""
    with usage_headers(response):
        return entity_schema(await caller.knowledge_base.graph.delete(caller.reader, name))


@router.put("/relations")
async def relate_entities(
    body: RelationBody, caller: Curating, response: Response
) -> RelationSchema:
    """Add or replace what people say of a relation between two entities."""
    tags = _audience(caller, body.acl_tags)
    with usage_headers(response):
        made = await caller.knowledge_base.graph.relate(caller.reader, body.to_mention(), tags=tags)
    return relation_schema(made)


@router.post("/relations/delete")
async def delete_relations(
    body: RelationKeysBody, caller: Curating, response: Response
) -> RelationList:
    """Hide relations, now and in future, wherever you have all access tags of a document that mentions it."""
    wanted = [parse_relation_key(each) for each in body.relations]
    with usage_headers(response):
        were = await caller.knowledge_base.graph.delete_relations(caller.reader, wanted)
    return RelationList(relations=[relation_schema(each) for each in were])


def _audience(caller: Caller, given: Iterable[str]) -> Tags:
    """Return the access tags of an edit, none if none are given; raise `Invalid` for tags that the caller may not give.

    What people write overrides what documents state, so nobody writes it for readers of other tags.
    """
    tags = parse_tags(given)
    if tags:
        caller.authority.require_new(tags)
    return tags
