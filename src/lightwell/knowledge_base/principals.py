"""Who a request speaks for: from what a client showed to a principal."""

from dataclasses import dataclass

from lightwell.domain.api_keys import parse_token
from lightwell.domain.directory import PersonName
from lightwell.domain.principals import Principal
from lightwell.records import api_keys, directory
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Principals:
    """The principals of a tenant. Each call reads the database, so that a change of access holds at the next request."""

    database: Database
    tenant: str

    async def of_key(self, text: str) -> Principal | None:
        """Return for whom the API key with this token speaks; None for any other text, and for a key that is not valid."""
        token = parse_token(text)
        return token and await api_keys.authenticate(self.database, self.tenant, token)

    async def acting_for(self, principal: Principal, name: PersonName) -> Principal | None:
        """Return the principal that acts for a person of the same project; None where nobody active has this name."""
        person = await directory.find_person(self.database, principal.project_id, name)
        return principal.act_for(person) if person and person.active else None
