"""Who I am, and how to sign in: `http/sessions.py` has the routes."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from lightwell.domain.scopes import Scope
from lightwell.entrypoints.operations.directory import TextOrNull
from lightwell.entrypoints.operations.replies import Reply, Schema, Sorted


class KeySignIn(Schema):
    """An API key, for which the browser gets a session."""

    key: Annotated[str, Field(max_length=200)]


class LinkSignIn(Schema):
    """What stands in a sign-in link behind the `#`."""

    token: Annotated[str, Field(max_length=200)]


class SignOutBody(Schema):
    """Which sessions end."""

    everywhere: Annotated[
        bool, Field(description="End the sessions in all browsers, not only in this one.")
    ] = False


class Issuer(Reply):
    """The configured OpenID Connect issuer; `name` is its host."""

    name: str


class SignInWays(Reply):
    """How one can sign in here; `oidc` is null where no issuer is configured."""

    oidc: Issuer | None
    key: bool
    link: bool


class Place(Reply):
    """An access tag that I may give to new documents: `name` is the group's that has it, else the tag; `isOwn` where nobody else has it."""

    tag: str
    name: str
    is_own: bool


class Me(Reply):
    """For whom the request speaks, and what it may do. `csrfToken` is empty without a session."""

    person_id: UUID | None
    name: str
    email: TextOrNull
    project: str
    scopes: Annotated[list[Scope], AfterValidator(sorted)]
    tags: Sorted
    places: list[Place]
    csrf_token: str
