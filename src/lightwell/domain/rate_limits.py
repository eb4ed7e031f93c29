"""Rate limits: how many requests a caller may send in a minute."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.domain.principals import Principal

WINDOW_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """At most `requests` in a minute by whoever `bucket` stands for, all at once or one by one; `policy` names the rule."""

    policy: str
    bucket: str
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What is left of a quota after a request: `remaining` requests now, all of them in `reset_seconds`.

    `retry_seconds` is 0 where the request is allowed, otherwise when the next one is.
    """

    quota: Quota
    remaining: int
    reset_seconds: int
    retry_seconds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """Requests per minute for each key (and each person for whom it acts) and for each tenant; 0 is no limit."""

    per_key: int
    per_tenant: int

    def quotas(self, principal: Principal, tenant: str) -> tuple[Quota, ...]:
        """Return the quotas that a request of the principal counts for."""
        caller = f"{principal.project_id} {principal.caller} {principal.acting_for or ''}"
        limits = (("key", caller, self.per_key), ("tenant", tenant, self.per_tenant))
        return tuple(
            Quota(
                policy=policy,
                bucket=hashlib.sha256(f"{tenant}\n{policy}\n{who}".encode()).hexdigest(),
                requests=requests,
            )
            for policy, who, requests in limits
            if requests
        )


def make_allowance(quota: Quota, full_in: float, *, allowed: bool) -> Allowance:
    """Return what is left where the bucket is full again in `full_in` seconds."""
    step = WINDOW_SECONDS / quota.requests
    return Allowance(
        quota=quota,
        remaining=max(0, math.floor((WINDOW_SECONDS - full_in) / step + 1e-6)) if allowed else 0,
        reset_seconds=max(0, math.ceil(full_in)),
        retry_seconds=0 if allowed else max(1, math.ceil(full_in + step - WINDOW_SECONDS)),
    )


def strictest(allowances: Sequence[Allowance]) -> Allowance:
    """Return the allowance that decides: the longest wait, else the one with the fewest requests left."""
    return max(allowances, key=lambda allowance: (allowance.retry_seconds, -allowance.remaining))
