"""Tokens of an OpenID Connect issuer: its keys, fetched and kept, and whether it signed a token for this server."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from lightwell.domain.errors import Invalid, SourceFailed
from lightwell.logs import logger

KEY_KINDS: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The type and curve of the keys of each algorithm. All are asymmetric: no published key can sign a token."""

Claims = Mapping[str, object]

_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_REFETCH_SECONDS = 60.0
_MAX_AGE_SECONDS = 3600.0
_FETCH_SECONDS = 10.0
_LEEWAY_SECONDS = 30
_MAX_BYTES = 1_000_000
_MIN_RSA_BITS = 2048
_MAX_TOKEN_LENGTH = 16_384

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Who signs tokens, for whom, and how. Raises `Invalid` for an issuer without TLS that is not on this machine."""

    url: str
    audience: str
    algorithms: frozenset[str]

    def __post_init__(self) -> None:
        if not self.audience:
            raise Invalid("An OIDC issuer needs an audience: LIGHTWELL_OIDC_AUDIENCE")
        if unknown := self.algorithms - KEY_KINDS.keys() or not self.algorithms:
            raise Invalid(
                f"LIGHTWELL_OIDC_ALGORITHMS: {unknown}; choose from {', '.join(KEY_KINDS)}"
            )
        _require_safe(self.url)


@dataclass(kw_only=True)
class TokenVerifier:
    """Verifies the tokens of one issuer, with keys that it fetches when they are needed and keeps for an hour.

    A token that names an unknown key has them fetched again, at most once a minute, so a rotation is followed and invented
    names cost nothing. While the issuer cannot be reached, the keys that are known stay valid, and only one request at a time waits for it.
    """

    issuer: Issuer
    client: httpx.AsyncClient
    clock: Callable[[], float] = time.monotonic
    _keys: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _fetched_at: float = float("-inf")
    _tried_at: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def verify(self, token: str) -> Claims | None:
        """Return the claims of a token that the issuer signed for this server and that is valid now; None for any other.

        Raises `SourceFailed` where no key is known because the issuer cannot be reached.
        """
        if len(token) > _MAX_TOKEN_LENGTH:
            return None
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            return None
        algorithm = str(header.get("alg"))
        if algorithm not in self.issuer.algorithms:
            return None
        if str(header.get("typ", "jwt")).lower() not in _TYPES or "crit" in header:
            return None
        key = await self._key(header.get("kid"), algorithm)
        if key is None:
            return None
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self.issuer.audience,
                issuer=self.issuer.url,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.InvalidTokenError:
            return None

    async def _key(self, key_id: object, algorithm: str) -> jwt.PyJWK | None:
        """Return the issuer's key of this id, or its only key for a token that names none."""
        is_stale = self.clock() - self._fetched_at > _MAX_AGE_SECONDS
        if is_stale and not (self._keys and self._lock.locked()):
            await self._fetch_once()
        key = self._find(key_id, algorithm)
        if key is None:
            await self._fetch_once()
            key = self._find(key_id, algorithm)
        if key is None and not self._keys:
            raise SourceFailed(
                "The OIDC issuer's keys cannot be fetched; its tokens cannot be checked"
            )
        return key

    def _find(self, key_id: object, algorithm: str) -> jwt.PyJWK | None:
        named = [
            key for key in self._keys if _fits(key, algorithm) and key_id in (None, key.get("kid"))
        ]
        return _parse_key(named[0], algorithm) if len(named) == 1 else None

    async def _fetch_once(self) -> None:
        """Fetch the keys, unless that was tried within the last minute."""
        async with self._lock:
            now = self.clock()
            if now - self._tried_at < _REFETCH_SECONDS:
                return
            self._tried_at = now
            try:
                async with asyncio.timeout(_FETCH_SECONDS):
                    self._keys = await self._fetch()
                self._fetched_at = now
            except (SourceFailed, TimeoutError) as error:
                _log.warning("the keys of the OIDC issuer were not fetched", error=str(error))

    async def _fetch(self) -> list[dict[str, Any]]:
        described = await describe_issuer(self.client, self.issuer.url)
        keys = (await get_json(self.client, endpoint_of(described, "jwks_uri"))).get("keys")
        if not isinstance(keys, list):
            raise SourceFailed("The issuer's key set has no keys")
        listed = cast("list[object]", keys)
        return [cast("dict[str, Any]", key) for key in listed if isinstance(key, dict)]


async def describe_issuer(client: httpx.AsyncClient, url: str) -> Mapping[str, object]:
    """Return what the issuer says of itself (OpenID Connect Discovery); raise `SourceFailed`."""
    described = await get_json(client, f"{url.rstrip('/')}/.well-known/openid-configuration")
    if described.get("issuer") != url:
        raise SourceFailed("The issuer's description names another issuer than the settings")
    return described


def endpoint_of(described: Mapping[str, object], name: str) -> str:
    """Return an address that the issuer's description names; raise `SourceFailed` where it has no TLS and is not on this machine."""
    url = str(described.get(name))
    try:
        _require_safe(url)
    except Invalid as error:
        raise SourceFailed(str(error)) from error
    return url


async def get_json(
    client: httpx.AsyncClient, url: str, form: Mapping[str, str] | None = None, **more: Any
) -> dict[str, object]:
    """Return the JSON object at a URL, or the reply to a form; follow no redirect, read at most a megabyte. Raises `SourceFailed`."""
    body = bytearray()
    method = "GET" if form is None else "POST"
    try:
        async with client.stream(method, url, data=form, follow_redirects=False, **more) as reply:
            if reply.status_code != 200:
                raise SourceFailed(f"The OIDC issuer answered {reply.status_code}")
            async for part in reply.aiter_bytes():
                body += part
                if len(body) > _MAX_BYTES:
                    raise SourceFailed("The OIDC issuer sent too much")
        document = json.loads(body)
    except (httpx.HTTPError, ValueError) as error:
        raise SourceFailed(f"The OIDC issuer cannot be reached: {type(error).__name__}") from error
    if not isinstance(document, dict):
        raise SourceFailed("The OIDC issuer sent no JSON object")
    return cast("dict[str, object]", document)


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve = KEY_KINDS[algorithm]
    return (
        key.get("kty") == kind
        and (curve is None or key.get("crv") == curve)
        and key.get("alg", algorithm) == algorithm
        and key.get("use", "sig") == "sig"
    )


def _parse_key(key: dict[str, Any], algorithm: str) -> jwt.PyJWK | None:
    """Return the key, None for one that cannot be read or that is too short."""
    try:
        parsed = jwt.PyJWK(key, algorithm)
    except jwt.PyJWTError:
        return None
    material: object = parsed.key
    if isinstance(material, RSAPublicKey) and material.key_size < _MIN_RSA_BITS:
        return None
    return parsed


def _require_safe(url: str) -> None:
    parts = urlsplit(url)
    on_this_machine = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or not (
        parts.scheme == "https" or (parts.scheme == "http" and on_this_machine)
    ):
        raise Invalid(f"An OIDC issuer needs an https:// address, not {url!r}")
