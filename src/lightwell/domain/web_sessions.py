"""Sessions of people in browsers, and the links by which one signs in once."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NewType
from uuid import UUID

from lightwell.domain.directory import PersonId
from lightwell.text.regex import regex

WebSessionId = NewType("WebSessionId", UUID)
LinkId = NewType("LinkId", UUID)

LONGEST_SESSION = timedelta(days=30)
"""After this a person signs in again, however often the session is used."""

LONGEST_OF_ISSUER = timedelta(hours=12)
"""The same for a sign-in with an issuer, which does not tell when it locks somebody out."""

LONGEST_PAUSE = timedelta(days=7)
"""A session that is not used for so long ends."""

LINK_OF_START = timedelta(hours=1)
"""How long the link is valid that a server prints when it starts."""

_SECRET_BYTES = 32
_SECRET = regex(r"[A-Za-z0-9_-]{43}")
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
"""Words of the header `User-Agent`, the telling ones first, and how people call what they stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSession:
    """A session without its secret; `last_used_at` is exact to a minute."""

    id: WebSessionId
    browser: str
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink:
    """A link, without its secret, that signs this person in once."""

    id: LinkId
    person: PersonId
    email: str
    display_name: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Secret:
    """What a browser shows: the cookie of a session, or what stands in a link. It is never stored or logged, and `repr` hides it."""

    text: str

    def __repr__(self) -> str:
        return "Secret()"

    @property
    def hash(self) -> bytes:
        """SHA-256 of the secret, by which the database finds it; it is random and long, so that a slow hash would add nothing."""
        return hashlib.sha256(self.text.encode()).digest()

    @property
    def csrf_token(self) -> str:
        """What a page of this server knows of its session, and a page of another server does not."""
        return hmac.new(self.text.encode(), b"csrf", hashlib.sha256).hexdigest()

    def has_csrf_token(self, text: str) -> bool:
        """Return whether this is the session's token, in a time that does not depend on it."""
        return hmac.compare_digest(self.csrf_token.encode(), text.encode())


def new_secret() -> Secret:
    """Return a new secret."""
    return Secret(secrets.token_urlsafe(_SECRET_BYTES))


def parse_secret(text: str) -> Secret | None:
    """Return the secret that a browser sent, None where it is none of ours."""
    return Secret(text) if _SECRET.fullmatch(text) else None


def sign_in_address(server: str, secret: Secret) -> str:
    """Return the address that signs somebody in once; the secret is behind the #, which no server or proxy sees."""
    return f"{server}/sign-in#{secret.text}"


def name_browser(user_agent: str) -> str:
    """Return what people call a browser that sends this `User-Agent`: "Firefox, Linux"; "" for one that is not known."""
    names = (
        next((name for word, name in words if word in user_agent), "")
        for words in (_BROWSERS, _SYSTEMS)
    )
    return ", ".join(name for name in names if name)
