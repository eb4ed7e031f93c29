"""Signing in with an OpenID Connect issuer: authorization code with PKCE, state and nonce, all bound to one browser."""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from lightwell.domain.errors import SourceFailed
from lightwell.domain.token_claims import ClaimNames, TokenIdentity, read_claims
from lightwell.entrypoints.http.oidc import (
    Claims,
    TokenVerifier,
    describe_issuer,
    endpoint_of,
    get_json,
)
from lightwell.logs import logger
from lightwell.text.regex import regex

ATTEMPT_SECONDS = 600
"""How long somebody may take to sign in with the issuer."""

_MAX_AGE_SECONDS = 3600.0
_MAX_NEXT_LENGTH = 2000
_UNSAFE = regex(r"[\\\x00-\x20\x7f]|^//|^/v1/")
"""What may lead away from this server, as browsers read addresses, or to no page of it."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A sign-in that one browser has begun; it keeps the values itself, in a cookie. `next` is where it goes on afterwards."""

    state: str
    nonce: str
    verifier: str
    next: str

    @property
    def challenge(self) -> str:
        """What the issuer gets of the verifier beforehand (PKCE, S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    @property
    def text(self) -> str:
        """The value of the cookie."""
        return ".".join((self.state, self.nonce, self.verifier, quote(self.next, safe="")))

    def has_state(self, state: str) -> bool:
        """Return whether the issuer sent back the state of this attempt."""
        return hmac.compare_digest(self.state.encode(), state.encode())


def new_attempt(wanted: str) -> Attempt:
    """Return a new attempt, which goes on at `wanted` if that is a page of this server."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return Attempt(state=state, nonce=nonce, verifier=verifier, next=safe_next(wanted))


def parse_attempt(text: str) -> Attempt | None:
    """Return the attempt of a cookie, None for another text."""
    state, *rest = text.split(".", 3)
    if len(rest) != 3 or not all((state, *rest)):
        return None
    nonce, verifier, wanted = rest
    return Attempt(state=state, nonce=nonce, verifier=verifier, next=safe_next(unquote(wanted)))


def safe_next(address: str) -> str:
    """Return the address if it is a path of a page of this server, else `/`."""
    is_path = address.startswith("/") and not _UNSAFE.search(address)
    return address if is_path and len(address) <= _MAX_NEXT_LENGTH else "/"


@dataclass(kw_only=True)
class Provider:
    """The issuer, as people sign in with it; `verifier` accepts the tokens that it makes for this client."""

    verifier: TokenVerifier
    client_id: str
    client_secret: str
    names: ClaimNames
    clock: Callable[[], float] = time.monotonic
    _described: Mapping[str, object] = field(default_factory=dict[str, object])
    _described_at: float = float("-inf")

    @property
    def name(self) -> str:
        """The issuer's host."""
        return urlsplit(self.verifier.issuer.url).hostname or ""

    async def address_of(self, attempt: Attempt, callback: str) -> str:
        """Return where the browser signs in; raise `SourceFailed` where the issuer cannot be reached."""
        endpoint = endpoint_of(await self._describe(), "authorization_endpoint")
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": callback,
            "scope": "openid profile email",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"

    async def identify(self, attempt: Attempt, code: str, callback: str) -> TokenIdentity | None:
        """Return whom the issuer has signed in, for the code that it sent with the browser; None where it does not confirm it."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback,
            "client_id": self.client_id,
            "code_verifier": attempt.verifier,
        }
        try:
            described = await self._describe()
            endpoint = endpoint_of(described, "token_endpoint")
            secret = self._authentication(described, form)
            reply = await get_json(self.verifier.client, endpoint, form, **secret)
            claims = await self.verifier.verify(str(reply.get("id_token", "")))
        except SourceFailed as error:
            _log.warning("a sign-in with the OIDC issuer failed", error=str(error))
            return None
        if claims is None or not self._is_for(claims, attempt):
            return None
        return read_claims(claims, self.names)

    def _is_for(self, claims: Claims, attempt: Attempt) -> bool:
        """Return whether the token was made for this attempt and for this client."""
        nonce, audience = claims.get("nonce"), claims.get("aud")
        is_alone = audience in (self.client_id, [self.client_id])
        authorized = claims.get("azp", self.client_id if is_alone else None)
        return (
            isinstance(nonce, str)
            and hmac.compare_digest(nonce.encode(), attempt.nonce.encode())
            and authorized == self.client_id
        )

    def _authentication(
        self, described: Mapping[str, object], form: dict[str, str]
    ) -> dict[str, Any]:
        """Return how the client proves who it is: by the header, or in the form where the issuer takes nothing else."""
        if not self.client_secret:
            return {}
        methods = described.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if isinstance(methods, list) and "client_secret_basic" in methods:
            return {"auth": (quote(self.client_id, safe=""), quote(self.client_secret, safe=""))}
        form["client_secret"] = self.client_secret
        return {}

    async def _describe(self) -> Mapping[str, object]:
        now = self.clock()
        if now - self._described_at > _MAX_AGE_SECONDS:
            issuer = self.verifier.issuer.url
            self._described = await describe_issuer(self.verifier.client, issuer)
            self._described_at = now
        return self._described
