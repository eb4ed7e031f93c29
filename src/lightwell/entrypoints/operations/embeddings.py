"""The embedding model of the project, and its change to another while questions go on. It needs the scope `admin`."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.operations.replies import Moment, Reply, read_from

if TYPE_CHECKING:
    from lightwell.knowledge_base.embeddings import Embeddings

embeddings = Subject(prefix="/v1/admin/embeddings", tag="administration")

ModelName = Annotated[
    str,
    Field(
        max_length=400,
        description="The bundled model, or the one that LIGHTWELL_NEXT_EMBEDDING_MODEL names; empty: the latter.",
        examples=["bge-small-en-v1.5-int8/windows-1"],
    ),
]
Seconds = Annotated[float, AfterValidator(lambda seconds: round(seconds, 1))]


class Space(Reply):
    """The vectors of one model: how many passages and descriptions there are, and how many lack a vector.

    `secondsLeft` is null where nothing is being filled, or nothing is done yet.
    """

    model: Annotated[str, read_from("model", "space.model")]
    dimension: Annotated[int, read_from("dimension", "space.dimension")]
    status: Annotated[
        Literal["preparing", "building", "active", "retired", "dropping"],
        read_from("status", "space.status"),
    ]
    chunks: int
    missing_chunks: int
    profiles: int
    missing_profiles: int
    percent: Annotated[int, Field(ge=0, le=100)]
    seconds_left: Seconds | None
    tokens: int
    started_at: Moment | None
    ended_at: Moment | None


class SpaceList(Reply):
    """The project's spaces, the oldest first."""

    spaces: list[Space]


class ChangeEstimate(Reply):
    """What a change takes: `price` is null where it is unknown, `seconds` are those of one process."""

    model: str
    dimension: int
    chunks: int
    profiles: int
    tokens: int
    price: float | None
    seconds: Seconds


async def spaces_of(embeddings: "Embeddings") -> SpaceList:
    """Return the project's spaces."""
    return SpaceList(spaces=[Space.model_validate(space) for space in await embeddings.list()])


@embeddings.operation("GET", scope=Scope.ADMIN)
async def show_spaces(caller: Caller) -> SpaceList:
    """Show the model of the project's vectors, and how far a change to another one is."""
    return await spaces_of(caller.knowledge_base.embeddings)


@embeddings.operation("POST", "/estimate", scope=Scope.ADMIN)
async def estimate_change(caller: Caller, model: ModelName = "") -> ChangeEstimate:
    """Say what a change to this model takes; eight passages are embedded to measure it."""
    return ChangeEstimate.model_validate(await caller.knowledge_base.embeddings.estimate(model))


@embeddings.operation("POST", "/change", scope=Scope.ADMIN, status=202)
async def start_change(caller: Caller, model: ModelName = "") -> ChangeEstimate:
    """Begin a change to this model, which workers carry out; `GET` shows how far it is. Questions use the old model until it is complete."""
    return ChangeEstimate.model_validate(await caller.knowledge_base.embeddings.start(model))


@embeddings.operation("DELETE", "/change", scope=Scope.ADMIN)
async def cancel_change(caller: Caller) -> SpaceList:
    """End the change that is under way, and drop what was embedded for it; the project keeps its model."""
    await caller.knowledge_base.embeddings.cancel()
    return await spaces_of(caller.knowledge_base.embeddings)
