"""The verbs on API keys: create, list, revoke, authenticate."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from lightwell.domain.access import parse_tags
from lightwell.domain.api_keys import (
    ApiKey,
    KeyId,
    Token,
    new_token,
    parse_key_name,
    parse_scopes,
    parse_token,
)
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import ProjectId
from lightwell.records import api_keys
from lightwell.records.access_classes import get_or_create_project
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeys:
    """The keys of a tenant's projects. Its caller must be an administrator, or hold the database itself."""

    database: Database
    tenant: str

    async def create(
        self,
        project: str,
        name: str,
        *,
        scopes: Iterable[str],
        tags: Iterable[str],
        user: str = "",
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, Token]:
        """Store a new key and return it with its token, which cannot be shown again; raise `Invalid`."""
        if expires_at is not None and expires_at <= await self.database.now():
            raise Invalid("The key would have expired already")
        token = new_token()
        key = await api_keys.insert(
            self.database,
            await get_or_create_project(self.database, self.tenant, project),
            token,
            name=parse_key_name(name),
            scopes=parse_scopes(scopes),
            acl_tags=parse_tags(tags),
            user=user,
            expires_at=expires_at,
        )
        return key, token

    async def authenticate(self, text: str) -> tuple[ApiKey, str] | None:
        """Return the valid key that a client's token belongs to, with its project's name; None for any other text."""
        token = parse_token(text)
        return token and await api_keys.authenticate(self.database, self.tenant, token)

    async def list(self, project: str) -> list[ApiKey]:
        """Return the project's keys, the oldest first, expired and revoked ones included."""
        return await api_keys.list_keys(self.database, await self._project(project))

    async def revoke(self, project: str, key_id: UUID) -> None:
        """Revoke a key of the project at once; raise `NotFound` where it has none with this id."""
        if not await api_keys.revoke(self.database, await self._project(project), KeyId(key_id)):
            raise NotFound(f"The project {project!r} has no API key {key_id}")

    async def _project(self, project: str) -> ProjectId:
        return await get_or_create_project(self.database, self.tenant, project)
