"""What replies about questions, entities and documents share: citations, the entities that a name may mean, and what models cost."""

from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field

from lightwell.entrypoints.operations.replies import (
    Locator,
    Moment,
    OnServer,
    Reply,
    Rounded,
    SourceAddress,
    read_from,
)


def _part_or_none(span: tuple[int, int] | None) -> tuple[int, int] | None:
    return span if span and any(span) else None


Highlight = Annotated[
    tuple[int, int] | None, BeforeValidator(_part_or_none), Field(examples=[[0, 51]])
]


class Citation(Reply):
    """A quotation with its document. `id` is the mark in the answer; `highlight` the key sentence in `snippet`.

    Some fields have two keys, because two parts of the specification name them differently.
    """

    id: Annotated[str, Field(examples=["[1]"])]
    chunk_id: str
    chunk_ref: str
    document_ref: str
    document_title: str
    document_url: Annotated[str, read_from("documentUrl", "source_url")]
    source_url: str
    address: OnServer
    source_address: SourceAddress
    source_system: str
    source_type: str
    created_at: Moment
    dated_at: Annotated[
        Moment | None,
        Field(description="The date that the document states of itself; null for none."),
    ]
    snippet: str
    highlight: Highlight
    score: Rounded
    relevance_score: Annotated[Rounded, read_from("relevanceScore", "score")]
    locator: Locator
    supplied_by_hand: Annotated[
        bool,
        read_from("suppliedByHand", "is_supplied"),
        Field(
            description="Whether somebody handed the passage in, in place of what the document's source says."
        ),
    ]


class Candidate(Reply):
    """An entity that a name may mean."""

    entity_id: Annotated[UUID, read_from("entityId", "entity.id")]
    entity_ref: Annotated[str, read_from("entityRef", "entity.ref")]
    entity_name: Annotated[str, read_from("entityName", "entity.name")]
    entity_type: Annotated[str, read_from("entityType", "entity.kind")]
    distinguishing: dict[str, str]


class AmbiguousName(Reply):
    """A name that may mean several entities: a pick list. The reference of one of them settles it."""

    name: str
    candidates: list[Candidate]


class Usage(Reply):
    """What calls of models cost; `byOperationType` counts the tokens that were sent and written together."""

    calls: int
    total_input_tokens: int
    total_output_tokens: int
    by_operation_type: dict[str, int]
