"""Whether the process is alive, and whether it can answer. Neither needs a key, and neither tells of documents."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from lightwell.domain.errors import ModelFailed, StoreFailed
from lightwell.records.database import count_migration_differences
from lightwell.records.disk import full_disk_message, log_size
from lightwell.wiring import Resources
from lightwell.wiring.database import is_database_running

router = APIRouter(prefix="/health", tags=["health"])

_OK, _FAILED = "ok", "failed"
_DEAD_SECONDS = 60.0
"""How long the embedded server may be away before the process counts as dead."""
_MODEL_SECONDS = 30.0
"""How long the last check of the embedding model holds: an endpoint may cost money."""


class Liveness(BaseModel):
    status: str = _OK


class Readiness(BaseModel):
    """Whether each component works."""

    status: str
    components: dict[str, str]


@dataclass(slots=True)
class ReadinessCheck:
    """Checks the components of a process; the embedding model at most every thirty seconds."""

    resources: Resources
    checked_at: float = field(default=float("-inf"))
    embedder: str = _OK
    down_since: float | None = None
    logged: int = field(init=False)

    def __post_init__(self) -> None:
        self.logged = log_size(self.resources.settings.data)

    async def is_alive(self) -> bool:
        """Return whether the embedded server runs or ran a minute ago, when a restart of the process may not be needed."""
        if await asyncio.to_thread(is_database_running, self.resources.settings):
            self.down_since = None
            return True
        now = asyncio.get_running_loop().time()
        self.down_since = now if self.down_since is None else self.down_since
        return now - self.down_since < _DEAD_SECONDS

    async def components(self) -> dict[str, str]:
        """Return each component with `ok`, `failed`, or what is wrong in two words."""
        return {
            "database": await self._database(),
            "migrations": await self._migrations(),
            "embedder": await self._embedder(),
            "disk": await asyncio.to_thread(self._disk),
        }

    async def _database(self) -> str:
        try:
            await self.resources.database.now()
        except StoreFailed:
            return _FAILED
        return _OK

    async def _migrations(self) -> str:
        try:
            pending, newer = await count_migration_differences(self.resources.database)
        except StoreFailed:
            return _FAILED
        if pending:
            return f"{pending} pending"
        return "database newer" if newer else _OK

    async def _embedder(self) -> str:
        now = asyncio.get_running_loop().time()
        if now - self.checked_at > _MODEL_SECONDS:
            self.checked_at = now
            try:
                await self.resources.embedder.embed_query("ready")
                self.embedder = _OK
            except ModelFailed:
                self.embedder = _FAILED
        return self.embedder

    def _disk(self) -> str:
        settings = self.resources.settings
        if settings.database_url is not None:
            return _OK
        return "full" if full_disk_message(settings.data, self.logged) else _OK


def check_of(request: Request) -> ReadinessCheck:
    """Return the check of this process."""
    return request.app.state.readiness


@router.get("/live", responses={503: {"model": Liveness}})
async def live(response: Response, check: Annotated[ReadinessCheck, Depends(check_of)]) -> Liveness:
    """Say that the process runs; 503 where its embedded database cannot be started again for a minute."""
    if await check.is_alive():
        return Liveness()
    response.status_code = 503
    return Liveness(status="database down")


@router.get("/ready", responses={503: {"model": Readiness}})
async def ready(
    response: Response, check: Annotated[ReadinessCheck, Depends(check_of)]
) -> Readiness:
    """Say whether questions can be answered, and which component fails; 503 where they cannot."""
    components = await check.components()
    working = all(state == _OK for state in components.values())
    if not working:
        response.status_code = 503
    return Readiness(status=_OK if working else "unavailable", components=components)
