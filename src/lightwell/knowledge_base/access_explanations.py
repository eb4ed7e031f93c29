"""Explains to an administrator why somebody sees a document, or does not."""

from dataclasses import dataclass
from uuid import UUID

from lightwell.domain.access_explanations import AccessExplanation, explain_access
from lightwell.domain.api_keys import KeyId
from lightwell.domain.directory import Person, PersonName, parse_person_name
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import ProjectId
from lightwell.domain.texts import require_text
from lightwell.records import api_keys, directory
from lightwell.records.database import Database
from lightwell.records.documents import documents


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessExplainer:
    """Explains access within one project. It takes no reader: its caller must be an administrator."""

    database: Database
    project_id: ProjectId

    async def explain(
        self, document: str, *, person: str = "", key: UUID | None = None
    ) -> AccessExplanation:
        """Return why the person, or whoever shows the key, sees the document of this id, reference or URL, or why not.

        Raises `Invalid` unless one of the two is given, `NotFound` where the document, the person or the key does not exist.
        """
        if bool(person) == (key is not None):
            raise Invalid("Name who is meant: either `person` or `key`")
        access = await documents.find_access(
            self.database, self.project_id, require_text(document, "The document")
        )
        if access is None:
            raise NotFound(f"There is no document {document!r}")
        shown_key = key and await api_keys.find(self.database, self.project_id, KeyId(key))
        if key and shown_key is None:
            raise NotFound(f"There is no API key {key}")
        named = PersonName(shown_key.person) if shown_key and shown_key.person else None
        about = await self._person(parse_person_name(person) if person else named)
        groups = await directory.list_groups_of(self.database, about.id) if about else []
        return explain_access(access, about, groups, shown_key, await self.database.now())

    async def _person(self, name: PersonName | None) -> Person | None:
        if name is None:
            return None
        person = await directory.find_person(self.database, self.project_id, name)
        if person is None:
            raise NotFound("There is no such person")
        return person
