"""Entities, relations and what people corrected as JSON, with the keys that HTTP uses."""

import lightwell.entrypoints.json_output as json_output
from lightwell.domain.exports import ExportedRelation
from lightwell.domain.graph import Entity, EntityDetails, Relation
from lightwell.domain.graph_views import EntityNeighbourhood, EntitySource
from lightwell.domain.merges import ActiveMerge, MergeProposal, MergeResult
from lightwell.domain.splits import ActiveSplit, SplitResult
from lightwell.entrypoints.json_output import Json, entity_names, time_text


def entity(entity: Entity) -> Json:
    """Return an entity as one reader sees it."""
    return {
        **entity_names(entity),
        "primaryUrl": entity.primary_url,
        "description": entity.description,
        "aliases": list(entity.concept.aliases),
        "category": entity.concept.category,
        "difficulty": entity.concept.difficulty,
        "tags": list(entity.concept.tags),
        "createdAt": time_text(entity.created_at),
        "updatedAt": time_text(entity.updated_at),
        "chunkCount": entity.chunk_count,
        "sourceChunkIds": list(entity.sources),
        "sourceFilePaths": list(entity.paths),
    }


def entity_details(details: EntityDetails) -> Json:
    """Return an entity with its other names and its relations."""
    return {
        **entity(details.entity),
        "aliases": list(details.aliases),
        "relations": [relation(each) for each in details.relations],
    }


def entity_source(source: EntitySource) -> Json:
    """Return a passage that mentions an entity."""
    chunk = source.chunk
    return {
        "chunkId": str(chunk.id),
        "chunkRef": chunk.ref,
        "documentId": str(chunk.document_id),
        "documentRef": str(chunk.document_ref),
        "documentUrl": chunk.url,
        "documentTitle": chunk.title,
        "createdAt": chunk.created_at.isoformat(),
        "snippet": source.snippet,
        "locator": json_output.locator(chunk.locator),
    }


def neighbourhood(found: EntityNeighbourhood) -> Json:
    """Return what is around an entity; relations name their ends by id, too."""
    return {
        "entities": [{**entity(each.entity), "depth": each.depth} for each in found.neighbours],
        "relations": [
            {
                **relation(each),
                "sourceEntityId": str(each.ends[0]),
                "targetEntityId": str(each.ends[1]),
            }
            for each in found.relations
        ],
        "isCut": found.is_cut,
    }


def relation(relation: Relation) -> Json:
    """Return a relation of an entity; `source` and `target` are names."""
    return {
        "source": relation.source,
        "target": relation.target,
        "predicate": relation.predicate.value,
        "keywords": relation.keywords,
        "description": relation.description,
        "comparison": relation.comparison,
        "useCase": relation.use_case,
        "weight": relation.weight,
        "chunkCount": relation.chunk_count,
        "sourceChunkIds": list(relation.sources),
        "sourceFilePaths": list(relation.paths),
    }


def listed_relation(relation: ExportedRelation) -> Json:
    """Return a relation of a list, which also has its key and the references of its ends."""
    return {
        "relation": str(relation.key),
        "source": relation.source_name,
        "sourceRef": relation.source,
        "target": relation.target_name,
        "targetRef": relation.target,
        "predicate": relation.predicate.value,
        "keywords": ", ".join(relation.keywords),
        "description": relation.description,
        "comparison": relation.comparison,
        "useCase": relation.use_case,
        "weight": relation.weight,
        "chunkCount": relation.chunk_count,
        "sourceChunkIds": list(relation.sources),
        "sourceFilePaths": list(relation.paths),
    }


def merge_result(result: MergeResult) -> Json:
    """Return what a merge did."""
    return {
        "mergeId": str(result.merge_id),
        "targetEntity": entity(result.target_entity),
        "relationsRedirected": result.relations_redirected,
        "sourceEntitiesDeleted": result.source_entities_deleted,
        "relationsDeduped": result.relations_deduped,
        "note": result.note,
    }


def active_merge(merge: ActiveMerge) -> Json:
    """Return a merge that is in effect."""
    return {
        "mergeId": str(merge.merge_id),
        "target": merge.target,
        "sources": list(merge.sources),
        "strategy": merge.strategy.value,
        "mergedAt": merge.merged_at.isoformat(),
    }


def proposal(proposal: MergeProposal) -> Json:
    """Return two entities that may be one, with the evidence."""
    return {
        "confidence": proposal.confidence,
        "entities": [entity(proposal.one), entity(proposal.other)],
        "evidence": dict(proposal.evidence),
        "sharedNeighbours": list(proposal.shared_neighbours),
    }


def split_result(result: SplitResult) -> Json:
    """Return what a split did; `rest` is null where nothing is left of the entity."""
    return {
        "splitId": str(result.split_id),
        "part": entity(result.part),
        "rest": entity(result.rest) if result.rest else None,
        "passages": result.passages,
    }


def active_split(held: ActiveSplit) -> Json:
    """Return a split that is in effect."""
    return {
        "splitId": str(held.split_id),
        "part": held.part,
        "names": list(held.names),
        "documents": list(held.urls),
        "passages": held.passages,
        "madeAt": held.split_at.isoformat(),
    }
