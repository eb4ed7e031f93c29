"""Administration: projects, API keys, and why somebody sees a document. An administrator's key opens its own project only.

Projects are made and deleted with a key of the project that the server's settings name.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response

import lightwell.entrypoints.operations.administration as administration
from lightwell.domain.api_keys import Scope
from lightwell.domain.errors import Forbidden, Invalid
from lightwell.entrypoints.http.authentication import Administering, projects_of
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.administration import (
    AccessExplanation,
    ApiKey,
    ApiKeys,
    KeyBody,
    NewApiKey,
    NewProject,
    Project,
    ProjectBody,
    RotationBody,
    with_secret,
)
from lightwell.knowledge_base.access_explanations import AccessExplainer

router = APIRouter(prefix="/v1/admin", tags=["administration"])

Opened = Annotated[Projects, Depends(projects_of)]


async def require_home(principal: Administering, projects: Opened) -> None:
    """Raise `Forbidden` unless the administrator is of the project that the server's settings name."""
    if principal.project != projects.home:
        raise Forbidden("This needs an admin key of the project that the server's settings name")


@router.get("/projects", dependencies=[Depends(require_home)])
async def list_projects(projects: Opened) -> administration.Projects:
    """List the projects of the server."""
    named = await projects.keys.list_projects()
    return administration.Projects(
        projects=[Project(name=name, created_at=created_at) for name, created_at in named]
    )


@router.post("/projects", status_code=201, dependencies=[Depends(require_home)])
async def create_project(body: ProjectBody, projects: Opened) -> NewProject:
    """Make a project, and its first key, which administers it."""
    if body.name in [name for name, _ in await projects.keys.list_projects()]:
        raise Invalid(f"There is a project {body.name!r} already")
    key, token = await projects.keys.create(
        body.name, "first administrator", scopes=[Scope.ADMIN], tags=[]
    )
    return NewProject(name=body.name, admin_key=with_secret(key, token))


@router.delete("/projects/{project}", status_code=204, dependencies=[Depends(require_home)])
async def delete_project(
    project: str,
    projects: Opened,
    confirm: Annotated[str, Query(description="The project's name again.")],
) -> Response:
    """Delete a project with everything in it, whoever may see it."""
    if confirm != project:
        raise Invalid("To confirm, repeat the project's name: ?confirm=NAME")
    if project == projects.home:
        raise Invalid("The server's own project is deleted with `lightwell project delete`")
    await projects.delete(project)
    return Response(status_code=204)


@router.get("/keys")
async def list_keys(principal: Administering, projects: Opened) -> ApiKeys:
    """List the project's keys, the oldest first, without their secrets."""
    keys = await projects.keys.list(principal.project)
    return ApiKeys(keys=[ApiKey.model_validate(key) for key in keys])


@router.post("/keys", status_code=201)
async def create_key(body: KeyBody, principal: Administering, projects: Opened) -> NewApiKey:
    """Make a key of the project, and show its secret once."""
    expires_at = None if body.days is None else datetime.now(UTC) + timedelta(days=body.days)
    key, token = await projects.keys.create(
        principal.project,
        body.name,
        scopes=body.scopes,
        tags=body.acl_tags,
        person=body.person,
        source=body.source,
        expires_at=expires_at,
    )
    return with_secret(key, token)


@router.post("/keys/{key}/rotate")
async def rotate_key(
    key: UUID, body: RotationBody, principal: Administering, projects: Opened
) -> NewApiKey:
    """Give a key a new secret, and show it once; id, scopes and tags stay."""
    grace = timedelta(hours=body.grace_hours)
    return with_secret(*await projects.keys.rotate(principal.project, key, grace=grace))


@router.delete("/keys/{key}", status_code=204)
async def revoke_key(key: UUID, principal: Administering, projects: Opened) -> Response:
    """Revoke a key; the next request with it is refused."""
    await projects.keys.revoke(principal.project, key)
    return Response(status_code=204)


@router.get("/access/explain")
async def explain_access(
    principal: Administering,
    projects: Opened,
    document: Annotated[str, Query(description="Its id, reference or URL.")],
    person: Annotated[str, Query(description="A person's id, e-mail address or external id.")] = "",
    key: UUID | None = None,
) -> AccessExplanation:
    """Say through which tags of a person, group or key somebody sees a document, or why not."""
    explainer = AccessExplainer(database=projects.keys.database, project_id=principal.project_id)
    return AccessExplanation.model_validate(
        await explainer.explain(document, person=person, key=key)
    )
