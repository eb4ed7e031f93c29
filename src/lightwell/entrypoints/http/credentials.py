"""Identifies whoever sends a request, and limits how often."""

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from lightwell.domain.api_keys import parse_scopes
from lightwell.domain.principals import Principal
from lightwell.domain.rate_limits import Allowance, RateLimits
from lightwell.domain.texts import split_at_commas
from lightwell.domain.token_claims import ClaimNames, read_claims
from lightwell.entrypoints.http.failed_logins import FailedLogins
from lightwell.entrypoints.http.oidc import Issuer, TokenVerifier
from lightwell.entrypoints.http.problems import TooManyRequests, Unauthenticated
from lightwell.knowledge_base.principals import Principals
from lightwell.knowledge_base.rate_limiter import RateLimiter
from lightwell.records.database import Database
from lightwell.settings import Settings

_ISSUER_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcTokens:
    """The tokens of the configured issuer: who verifies them, and which claims count."""

    verifier: TokenVerifier
    names: ClaimNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What this server accepts: API keys, and tokens where an issuer is configured."""

    principals: Principals
    oidc: OidcTokens | None
    failed_logins: FailedLogins
    limiter: RateLimiter

    async def identify(self, credential: str, address: str) -> Principal:
        """Return for whom the credential speaks; raise `Unauthenticated`, or `TooManyRequests` after many failures of the address."""
        if not credential:
            raise Unauthenticated
        if wait := self.failed_logins.wait_seconds(address, credential):
            raise TooManyRequests(
                "Too many requests without a valid credential came from this address",
                retry_seconds=math.ceil(wait),
            )
        principal = await self._find(credential)
        if principal is None:
            self.failed_logins.note_failure(address, credential)
            raise Unauthenticated
        self.failed_logins.note_success(credential)
        return principal

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
            oidc=_oidc_tokens(settings, client) if settings.oidc.issuer else None,
            failed_logins=FailedLogins(),
            limiter=limiter,
        )


def _oidc_tokens(settings: Settings, client: httpx.AsyncClient) -> OidcTokens:
    issuer = Issuer(
        url=settings.oidc.issuer,
        audience=settings.oidc.audience,
        algorithms=frozenset(split_at_commas(settings.oidc.algorithms)),
    )
    names = ClaimNames(
        person=settings.oidc.person_claim,
        tags=settings.oidc.tags_claim,
        project=settings.oidc.project_claim,
        home=settings.project,
        scopes=parse_scopes(split_at_commas(settings.oidc.scopes)),
    )
    return OidcTokens(verifier=TokenVerifier(issuer=issuer, client=client), names=names)
