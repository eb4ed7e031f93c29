"""Projects, API keys, and why somebody sees a document."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from lightwell.domain.access_explanations import AccessExplanation, Obstacle
from lightwell.domain.api_keys import LONGEST_GRACE, ApiKey, Scope, Token
from lightwell.entrypoints import json_directory
from lightwell.entrypoints.operations.replies import Schema
from lightwell.entrypoints.schemas.directory import AclTags


class ProjectBody(Schema):
    """A new project."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["trial"])]


class ProjectSchema(Schema):
    name: str
    created_at: str


class ProjectList(Schema):
    projects: list[ProjectSchema]


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
    days: Annotated[
        int | None, Field(ge=1, le=3650, description="It expires after so many days; null: never.")
    ] = None


class RotationBody(Schema):
    """How long the old secret stays valid."""

    grace_hours: Annotated[int, Field(ge=0, le=int(LONGEST_GRACE.total_seconds() // 3600))] = 0


class KeySchema(Schema):
    """A key without its secret."""

    key_id: UUID
    name: str
    scopes: list[str]
    acl_tags: list[str]
    person_id: UUID | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class NewKeySchema(KeySchema):
    """A key with its secret, which is shown only this once."""

    key: str


class NewProjectSchema(Schema):
    """A project with its first key, which administers it; the secret is shown only this once."""

    name: str
    admin_key: NewKeySchema


class KeyList(Schema):
    keys: list[KeySchema]


class DocumentAccessSchema(Schema):
    document_id: UUID
    document_url: str
    acl_tags: list[str]
    state: str


class TagOriginSchema(Schema):
    """From where somebody has a tag, and whether the document has it, too."""

    tag: str
    origin: Annotated[str, Field(alias="from", examples=["person", "group", "key"])]
    name: str | None
    shared: bool


class ExplanationSchema(Schema):
    """Why somebody sees a document: a tag that is `shared`; or why not: `obstacles`."""

    visible: bool
    document: DocumentAccessSchema
    tags: list[TagOriginSchema]
    obstacles: list[Obstacle]


def key_schema(key: ApiKey) -> KeySchema:
    """Return the key as the server sends it."""
    return KeySchema.model_validate(json_directory.api_key(key))


def new_key_schema(key: ApiKey, token: Token) -> NewKeySchema:
    """Return the key with its secret."""
    return NewKeySchema.model_validate({**json_directory.api_key(key), "key": token.text})


def explanation_schema(explanation: AccessExplanation) -> ExplanationSchema:
    """Return the explanation as the server sends it."""
    return ExplanationSchema.model_validate(json_directory.access_explanation(explanation))
