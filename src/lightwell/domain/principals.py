"""Principals: for whom a request speaks, and what it may do."""

from dataclasses import dataclass, replace

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import ApiKey, Scope
from lightwell.domain.directory import Person, PersonId
from lightwell.domain.ids import ProjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whom a request speaks for, resolved anew for each request.

    `credential` names what was shown, `key:<id>` or `oidc:<subject>`; it is no secret. `tags` make the reader. `user` owns
    sessions and conversations: the person, else the key, and "" for an issuer's token that names nobody. `person` is whom the credential names, `acting_for` whom the
    request names in addition.
    """

    project_id: ProjectId
    project: str
    credential: str
    scopes: frozenset[Scope]
    tags: Tags
    user: str = ""
    person: PersonId | None = None
    acting_for: PersonId | None = None

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def act_for(self, person: Person) -> "Principal":
        """Return the principal that acts for a person: with that person's tags and without the credential's own.

        It administers nothing, whatever the credential may.
        """
        scopes = frozenset(Scope) if Scope.ADMIN in self.scopes else self.scopes
        return replace(
            self,
            scopes=scopes - {Scope.ADMIN, Scope.IMPERSONATE},
            tags=person.tags,
            user=person.user,
            acting_for=person.id,
        )


def tags_of_key(key: ApiKey, person_tags: Tags | None) -> Tags:
    """Return the tags that a key reads with; `person_tags` are the current ones of the person it names, None for nobody.

    The tags of a key that names a person narrow that person's tags: it has those of both. Without tags it has all of
    the person's.
    """
    if person_tags is None:
        return key.acl_tags
    return person_tags & key.acl_tags if key.acl_tags else person_tags
