"""The verbs on API keys: create, list, rotate, revoke."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from lightwell.domain.access import parse_tags
from lightwell.domain.api_keys import (
    LONGEST_GRACE,
    ApiKey,
    KeyId,
    Token,
    new_token,
    parse_key_name,
)
from lightwell.domain.business_systems import SourceId
from lightwell.domain.directory import PersonId, parse_person_name
from lightwell.domain.documents import PUSHED
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import ProjectId
from lightwell.domain.scopes import Scope, parse_scopes
from lightwell.records import api_keys, directory, projects, sources
from lightwell.records.access_classes import get_or_create_project
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeys:
    """The keys of a tenant's projects. Its caller must be an administrator, or hold the database itself."""

    database: Database
    tenant: str

    async def create(  # noqa: PLR0913 - the columns of one key
        self,
        project: str,
        name: str,
        *,
        scopes: Iterable[str],
        tags: Iterable[str],
        person: str = "",
        source: str = "",
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, Token]:
        """Store a new key and return it with its token, which cannot be shown again; raise `Invalid`, `NotFound`.

        `person` names a person of the directory (`parse_person_name`), "" for none: then the key has that person's current
        tags, of which `tags` leave those that it names, and all if there are none. `source` names the source into which a key with the scope `push` pushes. A project that does not exist is created.
        """
        of_tags = parse_tags(tags)
        if expires_at is not None and expires_at <= await self.database.now():
            raise Invalid("The key would have expired already")
        checked = _check_push(parse_scopes(scopes), source, is_reader=bool(person or of_tags))
        token = new_token()
        project_id = await get_or_create_project(self.database, self.tenant, project)
        key = await api_keys.insert(
            self.database,
            project_id,
            token,
            name=parse_key_name(name),
            scopes=checked,
            acl_tags=of_tags,
            person=await self._person(project_id, person) if person else None,
            source=await self._source(project_id, source) if source else None,
            expires_at=expires_at,
        )
        return key, token

    async def list(self, project: str) -> list[ApiKey]:
        """Return the project's keys, the oldest first, expired and revoked ones included; raise `NotFound`."""
        return await api_keys.list_keys(self.database, await self._project(project))

    async def name_people(self, project: str, keys: Iterable[ApiKey]) -> dict[PersonId, str]:
        """Return what people call the persons of these keys: their e-mail addresses, or else their names or ids."""
        project_id = await self._project(project)
        named: dict[PersonId, str] = {}
        for person_id in {key.person for key in keys if key.person}:
            person = await directory.find_person(
                self.database, project_id, parse_person_name(str(person_id))
            )
            name = (person.email or person.display_name) if person else ""
            named[person_id] = name or str(person_id)
        return named

    async def rotate(
        self, project: str, key_id: UUID, *, grace: timedelta = timedelta()
    ) -> tuple[ApiKey, Token]:
        """Give a key a new secret and return it with its token; the old secret stays valid for `grace`.

        Raises `NotFound` where the project has no valid key with this id, `Invalid` for a grace below 0 or above 90 days.
        """
        if not timedelta() <= grace <= LONGEST_GRACE:
            raise Invalid(f"The old secret may stay valid for 0 to {LONGEST_GRACE.days} days")
        token = new_token(KeyId(key_id))
        project_id = await self._project(project)
        key = await api_keys.rotate(self.database, project_id, token, grace)
        if key is None:
            raise NotFound(f"The project {project!r} has no valid API key {key_id}")
        return key, token

    async def revoke(self, project: str, key_id: UUID) -> None:
        """Revoke a key of the project at once; raise `NotFound` where it has none with this id."""
        if not await api_keys.revoke(self.database, await self._project(project), KeyId(key_id)):
            raise NotFound(f"The project {project!r} has no API key {key_id}")

    async def list_projects(self) -> Sequence[tuple[str, datetime]]:
        """Return the names of the tenant's projects, in order, and when each was made."""
        return await projects.list_names(self.database, self.tenant)

    async def _project(self, project: str) -> ProjectId:
        return await projects.find(self.database, self.tenant, project)

    async def _person(self, project_id: ProjectId, name: str) -> PersonId:
        person = await directory.find_person(self.database, project_id, parse_person_name(name))
        if person is None:
            raise NotFound(f"There is no person {name!r}")
        return person.id

    async def _source(self, project_id: ProjectId, name: str) -> SourceId:
        source = await sources.get(self.database, project_id, name)
        if source.system != PUSHED:
            raise Invalid(
                f"The source {source.name!r} reads {source.system} itself: nothing is pushed into it"
            )
        return source.id


def _check_push(scopes: frozenset[Scope], source: str, *, is_reader: bool) -> frozenset[Scope]:
    """Return the scopes; raise `Invalid` for a key that could push into no source, or do more than push into one."""
    if Scope.PUSH not in scopes and not source:
        return scopes
    if not source:
        raise Invalid("A key with the scope push is for one source: name it")
    if scopes != frozenset({Scope.PUSH}) or is_reader:
        raise Invalid(
            "A key that pushes into a source does nothing else: it has the scope push alone, no access tags and no person"
        )
    return scopes
