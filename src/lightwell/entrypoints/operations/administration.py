"""Projects, API keys, and why somebody sees a document: `http/administration.py` has the routes, `cli/keys.py` the commands."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

import lightwell.domain.api_keys as domain
from lightwell.domain.access_explanations import Obstacle
from lightwell.domain.api_keys import LONGEST_GRACE, Scope
from lightwell.entrypoints.operations.directory import AclTags, TextOrNull
from lightwell.entrypoints.operations.replies import Moment, Reply, Schema, Sorted, read_from


class ProjectBody(Schema):
    """A new project."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["trial"])]


class Project(Reply):
    name: str
    created_at: Moment


class Projects(Reply):
    projects: list[Project]


class KeyBody(Schema):
    """A new key. It reads with `aclTags`, or with the current tags of `person`, which `aclTags` then narrow."""

    name: Annotated[str, Field(max_length=200, examples=["Ada's laptop"])]
    scopes: Annotated[tuple[Scope, ...], Field(max_length=len(Scope))] = (Scope.READ,)
    acl_tags: AclTags = ()
    person: Annotated[
        str,
        Field(
            max_length=400, description="An id, an e-mail address, or an id such as telegram:123."
        ),
    ] = ""
    source: Annotated[
        str,
        Field(
            max_length=40, description="The source into which it pushes, with the scope push alone."
        ),
    ] = ""
    days: Annotated[
        int | None, Field(ge=1, le=3650, description="It expires after so many days; null: never.")
    ] = None


class RotationBody(Schema):
    """How long the old secret stays valid."""

    grace_hours: Annotated[int, Field(ge=0, le=int(LONGEST_GRACE.total_seconds() // 3600))] = 0


class ApiKey(Reply):
    """A key without its secret."""

    key_id: Annotated[UUID, read_from("keyId", "id")]
    name: str
    scopes: Annotated[list[Scope], AfterValidator(sorted)]
    acl_tags: Sorted
    person_id: Annotated[UUID | None, read_from("personId", "person")]
    source_id: Annotated[UUID | None, read_from("sourceId", "source")]
    created_at: Moment
    expires_at: Moment | None
    last_used_at: Moment | None
    revoked_at: Moment | None


class ApiKeys(Reply):
    keys: list[ApiKey]


class NewApiKey(ApiKey):
    """A key with its secret, which is shown only this once."""

    key: str


class NewProject(Reply):
    """A project with its first key, which administers it; the secret is shown only this once."""

    name: str
    admin_key: NewApiKey


class DocumentAccess(Reply):
    document_id: Annotated[UUID, read_from("documentId", "id")]
    document_url: Annotated[str, read_from("documentUrl", "url")]
    acl_tags: Sorted
    state: str


class TagOrigin(Reply):
    """From where somebody has a tag, and whether the document has it, too."""

    tag: str
    origin: Annotated[
        str,
        read_from("from", "kind"),
        Field(serialization_alias="from", examples=["person", "group", "key"]),
    ]
    name: TextOrNull
    shared: bool


class AccessExplanation(Reply):
    """Why somebody sees a document: a tag that is `shared`; or why not: `obstacles`."""

    visible: bool
    document: DocumentAccess
    tags: Annotated[list[TagOrigin], read_from("tags", "origins")]
    obstacles: list[Obstacle]


def with_secret(key: domain.ApiKey, token: domain.Token) -> NewApiKey:
    """Return a key with its secret."""
    return NewApiKey.of(ApiKey.model_validate(key), key=token.text)
