"""Who I am, and how to sign in: `http/sessions.py` has the routes."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from lightwell.domain.access import parse_tags
from lightwell.domain.directory import PersonChange, parse_display_name
from lightwell.domain.scopes import Scope, parse_person_scopes
from lightwell.entrypoints.operations.directory import AclTags, TextOrNull
from lightwell.entrypoints.operations.replies import Moment, Reply, Schema, Sorted, read_from


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
    """An access tag that I may give to new documents: `name` is the group's that has it, else the tag; `isOwn` where nobody else has it.

    `isSynced` where a source gave it to a group that it maintains.
    """

    tag: str
    name: str
    is_own: bool
    is_synced: bool


class Me(Reply):
    """For whom the request speaks, and what it may do. `csrfToken` is empty without a session; `canLookTwice` where a chat model answers."""

    person_id: UUID | None
    name: str
    email: TextOrNull
    project: str
    scopes: Annotated[list[Scope], AfterValidator(sorted)]
    tags: Sorted
    places: list[Place]
    can_look_twice: bool
    csrf_token: str


class InvitationBody(Schema):
    """Whom to invite, and what that person gets. For somebody who is in the directory already, only `person` and `days`."""

    person: Annotated[
        str,
        Field(
            max_length=400,
            description="An e-mail address; of somebody who is in the directory also an id or an external id.",
            examples=["ada@halden.example"],
        ),
    ]
    name: Annotated[str, Field(max_length=200, examples=["Ada Lindqvist"])] = ""
    groups: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    acl_tags: AclTags = ()
    scopes: Annotated[
        tuple[Scope, ...],
        Field(max_length=len(Scope), description="Without any: read and ingest."),
    ] = ()
    days: Annotated[int, Field(ge=1, le=30, description="How long the link is valid.")] = 7

    def to_change(self) -> PersonChange:
        """Return what the person gets; raise `Invalid`."""
        return new_person(self.name, self.acl_tags, self.scopes)


def new_person(name: str, acl_tags: Sequence[str], scopes: Sequence[str]) -> PersonChange:
    """Return what an invitation gives, None where it gives nothing; raise `Invalid`."""
    return PersonChange(
        display_name=parse_display_name(name) or None,
        acl_tags=parse_tags(acl_tags) or None,
        scopes=parse_person_scopes(scopes) if scopes else None,
    )


class Invitation(Reply):
    """A link that signs a person in once, without what signs in."""

    invitation_id: Annotated[UUID, read_from("invitationId", "id")]
    person_id: Annotated[UUID, read_from("personId", "person")]
    email: TextOrNull
    display_name: str
    created_at: Moment
    expires_at: Moment


class NewInvitation(Invitation):
    """An invitation with its address, which is shown only this once."""

    url: str


class Invitations(Reply):
    invitations: list[Invitation]


class BrowserSession(Reply):
    """Where a person is signed in; `browser` is how the browser calls itself, such as "Firefox, Linux"."""

    session_id: Annotated[UUID, read_from("sessionId", "id")]
    browser: str
    created_at: Moment
    last_used_at: Moment
    expires_at: Moment


class BrowserSessions(Reply):
    sessions: list[BrowserSession]
