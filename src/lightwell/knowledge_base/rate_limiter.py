"""Counts the requests of callers against their rate limits."""

from dataclasses import dataclass

from lightwell.domain.principals import Principal
from lightwell.domain.rate_limits import Allowance, RateLimits, strictest
from lightwell.records import rate_limits
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimiter:
    """The rate limits of a tenant, shared by all its processes."""

    database: Database
    tenant: str
    limits: RateLimits

    async def take(self, principal: Principal) -> Allowance | None:
        """Count a request and return what decides about it; None without a limit, at no cost."""
        quotas = self.limits.quotas(principal, self.tenant)
        if not quotas:
            return None
        return strictest(await rate_limits.take(self.database, quotas))

    async def delete_full(self) -> None:
        """Delete what is stored of callers that have sent nothing for a minute."""
        await rate_limits.delete_full(self.database)
