"""What all graph stores are given, rows for their `UNWIND`, and the values of what they return."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from lightwell.graph_ports import CopiedChunk, GraphScope, SharedEntity, Subgraph

Row = Mapping[str, object]
"""One row of a statement's parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRows:
    """The chunks of a batch, the entities that they name, what they mention, and what they state."""

    chunks: Sequence[Row]
    entities: Sequence[Row]
    mentions: Sequence[Row]
    relations: Sequence[Row]


def make_rows(chunks: Sequence[CopiedChunk]) -> BatchRows:
    """Return the rows of these chunks; entities come once each, by id."""
    names: dict[str, str] = {}
    mentions: list[Row] = []
    relations: list[Row] = []
    for chunk in chunks:
        own = {"chunk": str(chunk.id), "class_id": chunk.class_id, "url": chunk.url}
        for each in chunk.mentions:
            names[str(each.entity)] = each.name
            said = {"kind": each.kind, "description": each.description}
            counted = {"frequency": each.frequency, "confidence": each.confidence}
            mentions.append({**own, **said, **counted, "entity": str(each.entity)})
        for each in chunk.relations:
            ends = {"source": str(each.source), "target": str(each.target)}
            names |= {ends["source"]: each.source_name, ends["target"]: each.target_name}
            stated = {"relation": str(each.relation), "topic": chunk.topic}
            said = {"predicate": each.predicate, "description": each.description}
            figures = {"weight": each.weight, "confidence": each.confidence}
            relations.append({**own, **ends, **stated, **said, **figures})
    return BatchRows(
        chunks=[_chunk_row(chunk) for chunk in chunks],
        entities=[{"id": one, "name": names[one]} for one in sorted(names)],
        mentions=mentions,
        relations=relations,
    )


def make_shared_rows(entities: Sequence[SharedEntity]) -> list[Row]:
    """Return a row for each shared entity."""
    return [
        {"entity": str(each.entity), "root": str(each.root), "share": each.share}
        for each in entities
    ]


def make_subgraph(
    scope: GraphScope,
    mentions: Iterable[tuple[str, Sequence[str]]],
    relations: Iterable[tuple[str, str, float]],
) -> Subgraph:
    """Return the subgraph of these rows: each chunk with its entities, and source, target and weight of each relation."""
    roots = {str(one): root.bytes for one, root in scope.roots.items()}
    return Subgraph(
        mentions={
            id_bytes(chunk): b"".join(roots.get(each) or id_bytes(each) for each in entities)
            for chunk, entities in mentions
        },
        relations=[
            (id_bytes(source), id_bytes(target), weight) for source, target, weight in relations
        ],
    )


def id_texts(ids: Sequence[UUID]) -> list[str]:
    """Return ids as the stores keep them."""
    return [str(each) for each in ids]


def id_bytes(text: str) -> bytes:
    """Return the bytes of an id that a store keeps as text."""
    return bytes.fromhex(text.replace("-", ""))


def _chunk_row(chunk: CopiedChunk) -> Row:
    return {
        "chunk": str(chunk.id),
        "document": str(chunk.document_id),
        "class_id": chunk.class_id,
        "topic": chunk.topic,
        "preview": chunk.preview,
    }
