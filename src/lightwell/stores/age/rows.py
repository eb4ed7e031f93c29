"""The rows of the tables in which AGE keeps a copy's nodes and edges, as statements take them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import LiteralString, cast
from uuid import UUID

from lightwell.ports import CopiedChunk, CopiedEntity, CopiedRelation, GraphBatch
from lightwell.stores.age import cypher
from lightwell.stores.copied_rows import ConceptKey, Row, id_texts, make_edge_rows, name_concepts

Facts = Mapping[str, object]
"""The parameters of one statement."""

Edge = tuple[str, str, Row]
"""The keys of both ends, and the properties."""


def list_forgetting(batch: GraphBatch) -> list[tuple[LiteralString, Facts]]:
    """Return the statements that forget what the batch replaces or no longer has; each tells which entities that may leave alone."""
    gone = batch.gone
    chunks = _keys(id_texts([*(chunk.id for chunk in batch.chunks), *gone.chunks]))
    relations = [
        *((relation.id, relation.class_id) for relation in batch.relations),
        *gone.relations,
    ]
    return [
        (cypher.EMPTY_ENTITIES, _keys(map(_key, gone.entities))),
        *((statement, chunks) for statement in cypher.DELETE_EDGES),
        (cypher.DELETE_RELATIONS, _keys(map(_key, relations))),
    ]


def list_writing(batch: GraphBatch) -> list[tuple[LiteralString, Facts]]:
    """Return the statements that write what the batch has, in their order."""
    edges = make_edge_rows(batch)
    named = name_concepts(batch)
    return [
        (cypher.DELETE_CHUNKS, _keys(id_texts(batch.gone.chunks))),
        (cypher.WRITE_CHUNKS, _nodes({str(chunk.id): _chunk(chunk) for chunk in batch.chunks})),
        (cypher.ADD_ENTITIES, _nodes({_key(key): _bare(key, name) for key, name in named.items()})),
        (
            cypher.WRITE_ENTITIES,
            _nodes(
                {_key((entity.id, entity.class_id)): _entity(entity) for entity in batch.entities}
            ),
        ),
        (cypher.WRITE_EDGES["MENTIONS"], _edges([_mention(row) for row in edges.mentions])),
        (cypher.WRITE_EDGES["STATES"], _edges([_statement(row) for row in edges.statements])),
        (cypher.WRITE_RELATIONS, _edges([_relation(relation) for relation in batch.relations])),
    ]


def _keys(keys: Iterable[str]) -> Facts:
    return {"keys": [json.dumps(key) for key in keys]}


def _nodes(nodes: Mapping[str, Row]) -> Facts:
    return {**_keys(nodes), "properties": [json.dumps(node) for node in nodes.values()]}


def _edges(edges: Sequence[Edge]) -> Facts:
    return {
        "starts": [json.dumps(start) for start, _, _ in edges],
        "ends": [json.dumps(end) for _, end, _ in edges],
        "properties": [json.dumps(properties) for _, _, properties in edges],
    }


def _key(subject: tuple[UUID | str, int]) -> str:
    """Return the key of what a class says of an entity or a relation."""
    return f"{subject[0]}:{subject[1]}"


def _chunk(chunk: CopiedChunk) -> Row:
    return {
        "chunk_id": str(chunk.id),
        "document_id": str(chunk.document_id),
        "class_id": chunk.class_id,
        "topic": chunk.topic,
        "preview": chunk.preview,
    }


def _bare(key: ConceptKey, name: str) -> Row:
    """Return an entity of which its class says nothing yet; it is called by its name in normal form."""
    entity, class_id = key
    return {
        "entity_key": _key(key),
        "entity_id": entity,
        "class_id": class_id,
        "name": name,
        "normalized_name": name,
    }


def _entity(entity: CopiedEntity) -> Row:
    return {
        **_bare((str(entity.id), entity.class_id), entity.name),
        "name": entity.display_name,
        "type": entity.kind,
        "description": entity.description,
        "source_chunk_ids": id_texts(entity.source_chunks),
        "source_file_paths": list(entity.source_paths),
    }


def _mention(row: Row) -> Edge:
    kept = {name: row[name] for name in ("class_id", "frequency", "confidence")}
    return str(row["chunk"]), f"{row['entity']}:{row['class_id']}", kept


def _statement(row: Row) -> Edge:
    return str(row["chunk"]), f"{row['entity']}:{row['class_id']}", cast("Row", row["properties"])


def _relation(relation: CopiedRelation) -> Edge:
    class_id = relation.class_id
    properties = {
        "relation_key": _key((relation.id, class_id)),
        "relation_id": str(relation.id),
        "class_id": class_id,
        "predicate": relation.predicate,
        "keywords": relation.keywords,
        "description": relation.description,
        "weight": relation.weight,
        "comparison": relation.comparison,
        "use_case": relation.use_case,
        "source_chunk_ids": id_texts(relation.source_chunks),
        "source_file_paths": list(relation.source_paths),
    }
    return _key((relation.source, class_id)), _key((relation.target, class_id)), properties
