"""What all graph stores are given, rows for their `UNWIND`, and the values of what they return."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from lightwell.ports import GraphBatch, GraphScope, SharedEntity, Subgraph
from lightwell.text.regex import regex

Row = Mapping[str, object]
"""One row of a statement's parameter."""

_SEPARATOR = regex(r"[,;|]")


ConceptKey = tuple[str, int]
"""An entity, and the access class that mentions it or says something of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRows:
    """What chunks mention, what they state (a row for each end), and what documents mention."""

    mentions: Sequence[Row]
    statements: Sequence[Row]
    documents: Sequence[Row]


def make_edge_rows(batch: GraphBatch) -> EdgeRows:
    """Return the rows of a batch's edges between chunks or documents and entities."""
    return EdgeRows(
        mentions=[
            {
                "chunk": str(chunk.id),
                "class_id": chunk.class_id,
                "entity": str(mention.entity),
                "frequency": mention.frequency,
                "confidence": mention.confidence,
                "is_code_topic": mention.is_topic and chunk.has_code,
                "is_formula_topic": mention.is_topic and chunk.has_formula,
            }
            for chunk in batch.chunks
            for mention in chunk.mentions
        ],
        statements=[
            {
                "chunk": str(chunk.id),
                "entity": str(entity),
                "class_id": chunk.class_id,
                "properties": {
                    "class_id": chunk.class_id,
                    "relation_id": str(statement.relation),
                    "role": role,
                    "source": str(statement.source),
                    "target": str(statement.target),
                    "predicate": statement.predicate,
                    "weight": statement.weight,
                    "confidence": statement.confidence,
                },
            }
            for chunk in batch.chunks
            for statement in chunk.statements
            for role, entity in (("source", statement.source), ("target", statement.target))
        ],
        documents=[
            {
                "document": str(document.id),
                "entity": str(mention.entity),
                "class_id": document.class_id,
                "frequency": mention.frequency,
                "relevance": mention.relevance,
            }
            for document in batch.documents
            for mention in document.mentions
        ],
    )


def name_concepts(batch: GraphBatch) -> dict[ConceptKey, str]:
    """Return what the edges of a batch lead to, in order, with their names in normal form."""
    names: dict[ConceptKey, str] = {}
    for chunk in batch.chunks:
        names |= {(str(mention.entity), chunk.class_id): mention.name for mention in chunk.mentions}
        for statement in chunk.statements:
            names[str(statement.source), chunk.class_id] = statement.source_name
            names[str(statement.target), chunk.class_id] = statement.target_name
    for document in batch.documents:
        names |= {
            (str(mention.entity), document.class_id): mention.name for mention in document.mentions
        }
    for relation in batch.relations:
        names[str(relation.source), relation.class_id] = relation.source_name
        names[str(relation.target), relation.class_id] = relation.target_name
    return dict(sorted(names.items()))


def split_words(attribute: str) -> list[str]:
    """Return the parts of an attribute that lists several, such as the aliases of an entity."""
    return [part.strip() for part in _SEPARATOR.split(attribute) if part.strip()]


def make_shared_rows(entities: Sequence[SharedEntity]) -> list[Row]:
    """Return a row for each shared entity."""
    return [
        {"entity": str(shared.entity), "root": str(shared.root), "share": shared.share}
        for shared in entities
    ]


def make_subgraph(
    scope: GraphScope,
    mentions: Iterable[tuple[str, Sequence[str]]],
    relations: Iterable[tuple[str, str, float]],
) -> Subgraph:
    """Return the subgraph of these rows: each chunk with its entities, and source, target and weight of each relation."""
    roots = {str(entity): root.bytes for entity, root in scope.roots.items()}
    return Subgraph(
        mentions={
            id_bytes(chunk): b"".join(roots.get(entity) or id_bytes(entity) for entity in entities)
            for chunk, entities in mentions
        },
        relations=[
            (id_bytes(source), id_bytes(target), weight) for source, target, weight in relations
        ],
    )


def id_texts(ids: Sequence[UUID]) -> list[str]:
    """Return ids as the stores keep them."""
    return [str(identifier) for identifier in ids]


def id_bytes(text: str) -> bytes:
    """Return the bytes of an id that a store keeps as text."""
    return bytes.fromhex(text.replace("-", ""))
