"""What whoever runs the server looks at: its health, its models, its audit log. It needs an admin key of the server's own project."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from lightwell.domain.operations import Check
from lightwell.entrypoints.audit_reading import Wanted, read_latest
from lightwell.entrypoints.http.administration import require_home
from lightwell.entrypoints.http.authentication import Administering
from lightwell.entrypoints.operations.operating import (
    AuditEntries,
    AuditEntry,
    Health,
    HealthCheck,
    LocalModels,
    LocalModelsList,
    ModelInUse,
    ModelsInUse,
    Trial,
    TrialBody,
)
from lightwell.models.local_endpoints import PLACES, Place, find_models, try_model
from lightwell.records import operations as figures
from lightwell.settings import Settings
from lightwell.wiring import Resources
from lightwell.wiring.examination import examine

router = APIRouter(
    prefix="/v1/admin", tags=["administration"], dependencies=[Depends(require_home)]
)

_KEPT = timedelta(minutes=5)
"""How long an examination holds: it calls each model once, which may cost money."""


@dataclass(slots=True)
class Operating:
    """What this process can say of itself; `places` are where models are looked for."""

    resources: Resources
    places: tuple[Place, ...] = PLACES
    _checks: tuple[Check, ...] = ()
    _checked_at: datetime | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def checks(self, *, anew: bool) -> tuple[datetime, tuple[Check, ...]]:
        """Return what `lightwell doctor` finds, at most five minutes old, and when it was found."""
        asked_at = datetime.now(UTC)
        async with self._lock:
            checked_at = self._checked_at
            if checked_at is None or checked_at < asked_at - (timedelta() if anew else _KEPT):
                self._checks = tuple(await examine(self.resources.settings))
                self._checked_at = checked_at = datetime.now(UTC)
            return checked_at, self._checks


def operating_of(request: Request) -> Operating:
    """Return what this process can say of itself."""
    return request.app.state.operating


Opened = Annotated[Operating, Depends(operating_of)]


@router.get("/health")
async def get_health(
    opened: Opened,
    *,
    anew: Annotated[
        bool,
        Query(description="Whether to check now; else a check of the last five minutes holds."),
    ] = False,
) -> Health:
    """Say of each component whether it works and how to mend it, as `lightwell doctor` does, and what waits."""
    checked_at, checks = await opened.checks(anew=anew)
    database = opened.resources.database
    queue, sources = await figures.queue(database), await figures.sources(database)
    return Health(
        version=version("lightwell"),
        checked_at=checked_at,
        checks=[HealthCheck.model_validate(check) for check in checks],
        jobs={state.value: count for state, count in queue.jobs.items()},
        sources=dict(sources.sources),
    )


@router.get("/models")
async def get_models(opened: Opened) -> ModelsInUse:
    """Say which models this server uses."""
    settings = opened.resources.settings
    chat, reranker = settings.chat, settings.reranker
    return ModelsInUse(
        chat=ModelInUse(model=chat.model, url=_shown(chat.url)) if chat.url else None,
        embedding=ModelInUse(
            model=opened.resources.models[0].name, url=_shown(settings.embedding.url or "")
        ),
        reranker=ModelInUse(model=reranker.model, url=_shown(reranker.url))
        if reranker.url
        else None,
        price_input=chat.price_input,
        price_output=chat.price_output,
    )


@router.get("/models/find")
async def find_local_models(opened: Opened) -> LocalModelsList:
    """Look for servers of models at well-known ports of this machine, and nowhere else."""
    servers = await find_models(opened.places)
    return LocalModelsList(servers=[LocalModels.model_validate(models) for models in servers])


@router.post("/models/try")
async def try_local_model(body: TrialBody, opened: Opened) -> Trial:
    """Ask a model that was found on this machine one short question."""
    return Trial.model_validate(await try_model(body.url, body.model, opened.places))


@router.get("/audit")
async def list_audit_entries(
    principal: Administering,
    opened: Opened,
    *,
    person: Annotated[UUID | None, Query(description="Only of this person, or for them.")] = None,
    only_changes: Annotated[bool, Query(alias="onlyChanges")] = False,
    only_failures: Annotated[bool, Query(alias="onlyFailures")] = False,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> AuditEntries:
    """List the latest lines of the project in the audit log, the latest first, where it is a file."""
    wanted = Wanted(
        project=principal.project,
        person=str(person) if person else "",
        only_changes=only_changes,
        only_failures=only_failures,
    )
    target = _audit_target(opened.resources.settings)
    entries = await asyncio.to_thread(read_latest, target, wanted, limit=limit)
    return AuditEntries(
        is_file=entries is not None,
        entries=[line for entry in entries or [] if (line := _audit_entry(entry)) is not None],
    )


def _audit_entry(entry: Mapping[str, object]) -> AuditEntry | None:
    """Return a line, without keys that are not known here; None for one that another program wrote."""
    fields = [to_camel(name) for name in AuditEntry.model_fields]
    try:
        return AuditEntry.model_validate(
            {field: entry[field] for field in fields if field in entry}
        )
    except ValidationError:
        return None


def _audit_target(settings: Settings) -> str:
    return settings.server.audit_log


def _shown(url: str) -> str:
    """Return the address without what may be a secret: user, password and query."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}" if parts.hostname else ""
