"""Embedding spaces, and the change of the embedding model."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from lightwell.entrypoints import json_embeddings
from lightwell.entrypoints.operations.replies import Schema
from lightwell.ingest.embedding_change import ChangeEstimate
from lightwell.records.embedding_space_progress import SpaceProgress
from lightwell.records.embedding_spaces import SpaceStatus


class ModelBody(Schema):
    """The model to change to."""

    model: Annotated[
        str,
        Field(
            max_length=400,
            description="A bundled model, or the one that LIGHTWELL_NEXT_EMBEDDING_MODEL names; empty: the latter.",
            examples=["bge-small-en-v1.5-int8"],
        ),
    ] = ""


class SpaceSchema(Schema):
    """The vectors of one model: how many passages and descriptions there are, and how many lack a vector.

    `secondsLeft` is null where nothing is being filled, or nothing is done yet.
    """

    model: str
    dimension: int
    status: SpaceStatus
    chunks: int
    missing_chunks: int
    profiles: int
    missing_profiles: int
    percent: Annotated[int, Field(ge=0, le=100)]
    seconds_left: float | None
    tokens: int
    started_at: str | None
    ended_at: str | None


class SpaceList(Schema):
    spaces: list[SpaceSchema]


class ChangeEstimateSchema(Schema):
    """What a change takes: `price` is null where it is unknown, `seconds` are those of one process."""

    model: str
    dimension: int
    chunks: int
    profiles: int
    tokens: int
    price: float | None
    seconds: float


def space_list(spaces: Sequence[SpaceProgress]) -> SpaceList:
    """Return the spaces as the server sends them."""
    found = [SpaceSchema.model_validate(json_embeddings.embedding_space(each)) for each in spaces]
    return SpaceList(spaces=found)


def estimate_schema(estimate: ChangeEstimate) -> ChangeEstimateSchema:
    """Return the estimate as the server sends it."""
    return ChangeEstimateSchema.model_validate(json_embeddings.change_estimate(estimate))
