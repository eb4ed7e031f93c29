"""Identifies whoever sends a request, and limits how often."""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import httpx

from lightwell.domain.errors import Invalid
from lightwell.domain.principals import Principal
from lightwell.domain.rate_limits import Allowance, RateLimits
from lightwell.domain.scopes import parse_scopes
from lightwell.domain.texts import split_at_commas
from lightwell.domain.token_claims import ClaimNames, TokenIdentity, read_claims
from lightwell.domain.web_sessions import Secret
from lightwell.entrypoints.http.failed_logins import FailedLogins
from lightwell.entrypoints.http.oidc import Issuer, TokenVerifier
from lightwell.entrypoints.http.oidc_sign_in import Attempt, Provider
from lightwell.entrypoints.http.problems import TooManyRequests, Unauthenticated
from lightwell.knowledge_base.principals import Principals
from lightwell.knowledge_base.rate_limiter import RateLimiter
from lightwell.knowledge_base.web_sessions import WebSessions
from lightwell.records.database import Database
from lightwell.settings import Settings

T = TypeVar("T")

_ISSUER_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcTokens:
    """The tokens of the configured issuer: who verifies them, and which claims count."""

    verifier: TokenVerifier
    names: ClaimNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What this server accepts: API keys, sessions of browsers, and tokens where an issuer is configured.

    Only what somebody types or a program is given is limited by failures. The secret of a session cannot be guessed, and the pages of an
    office that are still open when sessions have ended would keep everybody behind the same address out.
    """

    principals: Principals
    sessions: WebSessions
    oidc: OidcTokens | None
    failed_logins: FailedLogins
    provider: Provider | None
    limiter: RateLimiter

    async def identify(self, credential: str, address: str) -> Principal:
        """Return for whom the credential speaks; raise `Unauthenticated`, or `TooManyRequests` after many failures of the address."""
        return await _attempt(self.failed_logins, credential, address, self._find)

    async def identify_session(self, secret: Secret) -> Principal:
        """Return for whom the session of a browser speaks; raise `Unauthenticated`."""
        principal = await self.principals.of_session(secret)
        if principal is None:
            raise Unauthenticated
        return principal

    async def identify_key(self, key: str, address: str) -> Principal:
        """Return for whom the API key speaks; raise as `identify` does, for tokens of an issuer, too."""
        return await _attempt(self.failed_logins, key, address, self.principals.of_key)

    async def identify_code(
        self, attempt: Attempt, code: str, callback: str, address: str
    ) -> TokenIdentity:
        """Return whom the issuer has signed in, for the code that it sent with the browser; raise as `identify` does."""
        if self.provider is None:
            raise Unauthenticated
        find = partial(self.provider.identify, attempt, callback=callback)
        return await _attempt(self.failed_logins, code, address, find)

    async def redeem(self, link: str, address: str, browser: str) -> Secret:
        """Use a link that signs a person in, and return the secret of the session; raise as `identify` does."""
        redeem = partial(self.sessions.redeem, browser=browser)
        return await _attempt(self.failed_logins, link, address, redeem)

    async def count(self, principal: Principal) -> Allowance | None:
        """Count a request of the principal; raise `TooManyRequests` beyond a rate limit. None without limits."""
        allowance = await self.limiter.take(principal)
        if allowance is not None and allowance.retry_seconds:
            raise TooManyRequests(
                f"At most {allowance.quota.requests} requests per minute ({allowance.quota.policy})",
                retry_seconds=allowance.retry_seconds,
                allowance=allowance,
            )
        return allowance

    async def _find(self, credential: str) -> Principal | None:
        if self.oidc is None or credential.count(".") != 2:
            return await self.principals.of_key(credential)
        claims = await self.oidc.verifier.verify(credential)
        identity = None if claims is None else read_claims(claims, self.oidc.names)
        return None if identity is None else await self.principals.of_token(identity)


async def _attempt(
    failed: FailedLogins, credential: str, address: str, find: Callable[[str], Awaitable[T | None]]
) -> T:
    """Return what the credential finds, and note whether it finds anything."""
    if not credential:
        raise Unauthenticated
    if wait := failed.wait_seconds(address, credential):
        raise TooManyRequests(
            "Too many requests without a valid credential came from this address",
            retry_seconds=math.ceil(wait),
        )
    result = await find(credential)
    if result is None:
        failed.note_failure(address, credential)
        raise Unauthenticated
    failed.note_success(credential)
    return result


@asynccontextmanager
async def open_credentials(settings: Settings, database: Database) -> AsyncGenerator[Credentials]:
    """Open what the settings accept; raise `Invalid` where they contradict themselves."""
    limits = RateLimits(
        per_key=settings.server.key_requests_per_minute,
        per_tenant=settings.server.tenant_requests_per_minute,
    )
    limiter = RateLimiter(database=database, tenant=settings.tenant, limits=limits)
    await limiter.delete_full()
    async with httpx.AsyncClient(timeout=_ISSUER_TIMEOUT_SECONDS) as client:
        yield Credentials(
            principals=Principals(database=database, tenant=settings.tenant),
            sessions=WebSessions(database=database, tenant=settings.tenant),
            oidc=_oidc_tokens(settings, client) if _accepts_tokens(settings) else None,
            provider=_provider(settings, client) if settings.oidc.client_id else None,
            failed_logins=FailedLogins(),
            limiter=limiter,
        )


def _accepts_tokens(settings: Settings) -> bool:
    """Return whether programs may show an issuer's tokens; an issuer alone has neither an audience nor a client."""
    return bool(settings.oidc.issuer) and bool(
        settings.oidc.audience or not settings.oidc.client_id
    )


def _oidc_tokens(settings: Settings, client: httpx.AsyncClient) -> OidcTokens:
    verifier = _verifier(settings, client, settings.oidc.audience)
    return OidcTokens(verifier=verifier, names=_claim_names(settings))


def _provider(settings: Settings, client: httpx.AsyncClient) -> Provider:
    if not settings.oidc.issuer:
        raise Invalid("LIGHTWELL_OIDC_CLIENT_ID needs the issuer, too: LIGHTWELL_OIDC_ISSUER")
    return Provider(
        verifier=_verifier(settings, client, settings.oidc.client_id),
        client_id=settings.oidc.client_id,
        client_secret=settings.oidc.client_secret.get_secret_value(),
        names=_claim_names(settings),
    )


def _verifier(settings: Settings, client: httpx.AsyncClient, audience: str) -> TokenVerifier:
    issuer = Issuer(
        url=settings.oidc.issuer,
        audience=audience,
        algorithms=frozenset(split_at_commas(settings.oidc.algorithms)),
    )
    return TokenVerifier(issuer=issuer, client=client)


def _claim_names(settings: Settings) -> ClaimNames:
    return ClaimNames(
        person=settings.oidc.person_claim,
        tags=settings.oidc.tags_claim,
        project=settings.oidc.project_claim,
        home=settings.project,
        scopes=parse_scopes(split_at_commas(settings.oidc.scopes)),
    )
