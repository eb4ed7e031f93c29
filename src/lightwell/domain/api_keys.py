"""API keys: what a program or a person shows to be let in."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NewType
from uuid import UUID

from lightwell.domain.access import Tags
from lightwell.domain.business_systems import SourceId
from lightwell.domain.directory import PersonId
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import new_id
from lightwell.domain.scopes import Scope
from lightwell.text.regex import regex

KeyId = NewType("KeyId", UUID)

LONGEST_GRACE = timedelta(days=90)
"""How long an old secret may stay valid after a rotation, at most."""

_PREFIX = "lw"
_SECRET_BYTES = 32
_TOKEN = regex(rf"{_PREFIX}_([0-9a-f]{{32}})_([A-Za-z0-9_-]{{43}})")
_MAX_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key without its secret. It reads with `acl_tags`, or with the current tags of the `person` whom it names (`principals.tags_of_key`).

    `source` is the source into which it pushes, None for a key without the scope `push`. `expires_at` is None for a key that does not expire, `last_used_at` for one that was never used; it is exact to a minute.
    """

    id: KeyId
    name: str
    scopes: frozenset[Scope]
    acl_tags: Tags
    person: PersonId | None
    source: SourceId | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Token:
    """What a client sends: the key's id and its secret. It is never stored or logged, and `repr` hides it."""

    key_id: KeyId
    secret: str

    def __repr__(self) -> str:
        return f"Token({self.key_id})"

    @property
    def text(self) -> str:
        """The token as a client sends it: `lw_<id>_<secret>`."""
        return f"{_PREFIX}_{self.key_id.hex}_{self.secret}"

    @property
    def secret_hash(self) -> bytes:
        """SHA-256 of the secret, which is random and long, so that a slow hash would add nothing."""
        return hashlib.sha256(self.secret.encode()).digest()

    def matches(self, secret_hash: bytes) -> bool:
        """Return whether this is the hash of the secret, in a time that does not depend on it."""
        return hmac.compare_digest(self.secret_hash, secret_hash)


def user_of_key(key: KeyId) -> str:
    """Return the `user` of the readers that speak for a key which names no person; a rotation keeps it."""
    return f"key {key}"


def new_token(key_id: KeyId | None = None) -> Token:
    """Return a token with a new secret, for a key that exists or with a new id."""
    return Token(key_id or KeyId(new_id()), secrets.token_urlsafe(_SECRET_BYTES))


def parse_token(text: str) -> Token | None:
    """Return the token that a client sent, None where it is none of ours."""
    match = _TOKEN.fullmatch(text)
    return Token(KeyId(UUID(match[1])), match[2]) if match else None


def parse_key_name(text: str) -> str:
    """Return the name of a key, trimmed; raise `Invalid` where it is empty or too long."""
    name = " ".join(text.split())
    if not 1 <= len(name) <= _MAX_NAME_LENGTH:
        raise Invalid(f"The name of a key has 1 to {_MAX_NAME_LENGTH} characters")
    return name
