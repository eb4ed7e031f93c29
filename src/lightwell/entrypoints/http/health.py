"""Whether the process is alive, and whether it can answer. Neither needs a key, and neither tells of documents."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel

from lightwell.domain.errors import StoreFailed
from lightwell.entrypoints.http.authentication import projects_of
from lightwell.entrypoints.http.projects import Projects

router = APIRouter(prefix="/health", tags=["health"])


class Liveness(BaseModel):
    status: str = "ok"


class Readiness(BaseModel):
    """Whether each component works."""

    status: str
    components: dict[str, str]


@router.get("/live")
async def live() -> Liveness:
    """Say that the process runs."""
    return Liveness()


@router.get("/ready", responses={503: {"model": Readiness}})
async def ready(
    response: Response, projects: Annotated[Projects, Depends(projects_of)]
) -> Readiness:
    """Say whether questions can be answered; 503 where they cannot."""
    try:
        await projects.keys.database.now()
    except StoreFailed:
        response.status_code = 503
        return Readiness(status="unavailable", components={"database": "failed"})
    return Readiness(status="ok", components={"database": "ok"})
