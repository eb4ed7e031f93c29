"""The properties of nodes and of relationships between concepts, as somebody sees them who opens the copy with Neo4j's tools.

Names of properties follow Neo4j's habit (`createdAt`), except those that Lightwell reads by. A property that has no value is absent.
"""

from collections.abc import Sequence

from lightwell.ports import CopiedChunk, CopiedDocument, CopiedEntity, CopiedRelation
from lightwell.stores.copied_rows import Row, id_texts, split_words


def chunk_row(chunk: CopiedChunk) -> Row:
    """Return the row of a Chunk."""
    return {
        "chunk": str(chunk.id),
        "document": str(chunk.document_id),
        "properties": {
            "class_id": chunk.class_id,
            "topic": chunk.topic,
            "preview": chunk.preview,
            "hash": chunk.hash,
            "tokenCount": chunk.tokens,
            "hasCode": chunk.has_code,
            "hasFormula": chunk.has_formula,
            "hasTable": chunk.has_table,
        },
    }


def neighbour_rows(chunks: Sequence[CopiedChunk]) -> list[Row]:
    """Return a row for each two chunks of which one follows the other, where these include one of the two."""
    pairs = [
        *((chunk.before, chunk.id) for chunk in chunks if chunk.before),
        *((chunk.id, chunk.after) for chunk in chunks if chunk.after),
    ]
    return [{"before": str(before), "after": str(after)} for before, after in dict.fromkeys(pairs)]


def document_row(document: CopiedDocument) -> Row:
    """Return the row of a Document."""
    return {
        "document": str(document.id),
        "properties": {
            "class_id": document.class_id,
            "url": document.url,
            "title": document.title,
            "format": document.format,
            "author": document.author or None,
            "ingestedAt": document.ingested_at,
            "chunkCount": document.chunk_count,
            "status": document.status,
        },
    }


def concept_row(entity: CopiedEntity) -> Row:
    """Return the row of a Concept, with all that a change of the profile may change or remove."""
    return {
        "id": str(entity.id),
        "class_id": entity.class_id,
        "properties": {
            "name": entity.display_name,
            "normalizedName": entity.name,
            "kind": entity.kind,
            "aliases": split_words(entity.attributes.get("aliases", "")),
            "description": entity.description,
            "category": entity.attributes.get("category"),
            "difficulty": entity.attributes.get("difficulty"),
            "tags": split_words(entity.attributes.get("tags", "")),
            "createdAt": entity.created_at,
            "updatedAt": entity.updated_at,
        },
    }


def relation_row(relation: CopiedRelation) -> Row:
    """Return the row of a relationship between two Concepts."""
    return {
        "source": str(relation.source),
        "target": str(relation.target),
        "properties": {
            "relation_id": str(relation.id),
            "class_id": relation.class_id,
            "keywords": relation.keywords,
            "description": relation.description,
            "weight": relation.weight,
            "comparison": relation.comparison or None,
            "useCase": relation.use_case or None,
            "source_chunk_ids": id_texts(relation.source_chunks),
            "source_file_paths": list(relation.source_paths),
        },
    }
