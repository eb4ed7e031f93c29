"""Principals: for whom a request speaks, and what it may do."""

from dataclasses import dataclass, replace

from lightwell.domain.access import Tags
from lightwell.domain.business_systems import SourceId
from lightwell.domain.directory import Person, PersonId
from lightwell.domain.ids import ProjectId
from lightwell.domain.scopes import OF_PROGRAMS, Scope

SESSION = "session:"
"""What the credential of a browser's session begins with."""

KEY = "key:"
"""What that of an API key begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whom a request speaks for, resolved anew for each request.

    `credential` names what was shown, `key:<id>`, `oidc:<subject>` or `session:<id>`; it is no secret. `tags` make the reader. `user` owns
    sessions and conversations: the person, else the key, and "" for an issuer's token that names nobody. `person` is whom the credential names, `acting_for` whom the
    request names in addition. `name` is what people call a credential without a person: the key's name, or the name that a token says.
    `source` is the one into which a key pushes.
    """

    project_id: ProjectId
    project: str
    credential: str
    scopes: frozenset[Scope]
    tags: Tags
    user: str = ""
    person: PersonId | None = None
    acting_for: PersonId | None = None
    name: str = ""
    source: SourceId | None = None

    @property
    def caller(self) -> str:
        """What limits count by: the credential; of a session, whose it is, so that several sessions have no more than one."""
        return self.user if self.is_session else self.credential

    @property
    def is_session(self) -> bool:
        """Whether a browser showed its session."""
        return self.credential.startswith(SESSION)

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def act_for(self, person: Person) -> "Principal":
        """Return the principal that acts for a person: with that person's tags and without the credential's own.

        It administers nothing, whatever the credential may.
        """
        scopes = frozenset(Scope) if Scope.ADMIN in self.scopes else self.scopes
        return replace(
            self,
            scopes=scopes - OF_PROGRAMS - {Scope.ADMIN},
            tags=person.tags,
            user=person.user,
            acting_for=person.id,
        )


def tags_of_key(key_tags: Tags, person_tags: Tags | None) -> Tags:
    """Return the tags that a key with these tags of its own reads with; `person_tags` are the current ones of the person it names, None for nobody.

    The tags of a key that names a person narrow that person's tags: it has those of both. Without tags it has all of
    the person's.
    """
    if person_tags is None:
        return key_tags
    return person_tags & key_tags if key_tags else person_tags
