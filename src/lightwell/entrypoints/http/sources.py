"""Sources of the administrator's project: business systems that are synced into it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from lightwell.entrypoints.http.authentication import Administering, projects_of
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.schemas.sources import (
    RetrySchema,
    SourceBody,
    SourceChangeBody,
    SourceDetailsSchema,
    SourceList,
    SourceQuery,
    SourceSchema,
    SyncBody,
    details_schema,
    source_schema,
)
from lightwell.knowledge_base.sources import Sources

router = APIRouter(prefix="/v1/sources", tags=["sources"])


async def _sources(
    principal: Administering, projects: Annotated[Projects, Depends(projects_of)]
) -> Sources:
    return (await projects.open(principal.project, principal.project_id)).sources


Held = Annotated[Sources, Depends(_sources)]


@router.get("")
async def list_sources(held: Held) -> SourceList:
    """List the sources of the project by name."""
    return SourceList(sources=[source_schema(each) for each in await held.list()])


@router.post("", status_code=201)
async def add_source(body: SourceBody, held: Held) -> SourceSchema:
    """Add a source; its token must be in the server's environment. It is synced at once, and regularly from then on."""
    return source_schema(await held.create(body.to_source()))


@router.get("/{source}")
async def get_source(
    source: str, held: Held, query: Annotated[SourceQuery, Query()]
) -> SourceDetailsSchema:
    """Show a source, by its name or its id, with its latest syncs and the items that could not be read."""
    return details_schema(await held.show(source, limit=query.limit))


@router.patch("/{source}")
async def change_source(source: str, body: SourceChangeBody, held: Held) -> SourceSchema:
    """Change a source's options or how often it is synced."""
    return source_schema(await held.change(source, body.to_change()))


@router.post("/{source}/sync", status_code=202)
async def sync_source(source: str, body: SyncBody, held: Held) -> SourceSchema:
    """Ask for a sync now, also of a source that failed; `GET` shows how it went."""
    if body.start_over:
        await held.start_over(source)
    requested = await held.request_sync(
        source, with_sweep=body.sweep, allows_mass_deletion=body.allow_mass_deletion
    )
    return source_schema(requested)


@router.post("/{source}/pause")
async def pause_source(source: str, held: Held) -> SourceSchema:
    """Pause a source: it is synced no more until it is resumed."""
    return source_schema(await held.pause(source))


@router.post("/{source}/resume")
async def resume_source(source: str, held: Held) -> SourceSchema:
    """Go on with a paused source at once."""
    return source_schema(await held.resume(source))


@router.post("/{source}/retry", status_code=202)
async def retry_failures(source: str, held: Held) -> RetrySchema:
    """Try all items that could not be read again at once."""
    return RetrySchema(retried=await held.retry(source))


@router.delete("/{source}", status_code=204)
async def remove_source(source: str, held: Held) -> Response:
    """Remove a source with its documents and its groups. The system itself is left alone.

    A sync that runs may end first, for up to ten seconds; then the request is refused, and the source stays paused.
    """
    await held.remove(source)
    return Response(status_code=204)
