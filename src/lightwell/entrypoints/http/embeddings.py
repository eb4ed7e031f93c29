"""The embedding model of the administrator's project, and its change to another while questions go on."""

from typing import Annotated

from fastapi import APIRouter, Depends

from lightwell.entrypoints.http.authentication import Administering, projects_of
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.schemas.embeddings import (
    ChangeEstimateSchema,
    ModelBody,
    SpaceList,
    estimate_schema,
    space_list,
)
from lightwell.knowledge_base.embeddings import Embeddings

router = APIRouter(prefix="/v1/admin/embeddings", tags=["administration"])

Opened = Annotated[Projects, Depends(projects_of)]


async def _embeddings(principal: Administering, projects: Opened) -> Embeddings:
    return (await projects.open(principal.project, principal.project_id)).embeddings


Held = Annotated[Embeddings, Depends(_embeddings)]


@router.get("")
async def show_spaces(held: Held) -> SpaceList:
    """Show the model of the project's vectors, and how far a change to another one is."""
    return space_list(await held.list())


@router.post("/estimate")
async def estimate_change(body: ModelBody, held: Held) -> ChangeEstimateSchema:
    """Say what a change to this model takes; eight passages are embedded to measure it."""
    return estimate_schema(await held.estimate(body.model))


@router.post("/change", status_code=202)
async def start_change(
    body: ModelBody, principal: Administering, held: Held
) -> ChangeEstimateSchema:
    """Begin a change to this model, which workers carry out; `GET` shows how far it is. Questions use the old model until it is complete."""
    return estimate_schema(await held.start(body.model))


@router.delete("/change")
async def cancel_change(held: Held) -> SpaceList:
    """End the change that is under way, and drop what was embedded for it; the project keeps its model."""
    await held.cancel()
    return space_list(await held.list())
