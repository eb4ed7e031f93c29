"""The line of the audit log for a request, and the headers that say what is left of the caller's rate limit."""

from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from pydantic.alias_generators import to_camel
from starlette.requests import Request

from lightwell.domain.principals import SESSION, Principal
from lightwell.domain.rate_limits import WINDOW_SECONDS, Allowance
from lightwell.entrypoints.audit_log import only_ids


def audit_entry(request: Request, status: int | None, milliseconds: int) -> dict[str, object]:
    """Return the line: who, for whom, what and how it ended; `status` is None where no response began.

    The route is its template. Of its parameters only ids are written, never a name, a query or a body; a route that acts on
    several things notes their ids itself (`note_ids`).
    """
    principal: Principal | None = getattr(request.state, "principal", None)
    route = request.scope.get("route")
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "requestId": request.state.request_id,
        "credential": principal.credential if principal else None,
        "personId": str(principal.person) if principal and principal.person else None,
        "actingFor": str(principal.acting_for) if principal and principal.acting_for else None,
        "project": principal.project if principal else None,
        "method": request.method,
        "route": getattr(route, "path", None),
        "ids": only_ids(request.path_params) | getattr(request.state, "audited_ids", {}),
        "status": status,
        "durationMs": milliseconds,
        "address": request.client.host if request.client else None,
    }


def is_of_session(request: Request) -> bool:
    """Return whether a session of a browser was shown."""
    principal: Principal | None = getattr(request.state, "principal", None)
    return principal is not None and principal.credential.startswith(SESSION)


def note_ids(request: Request, name: str, ids: Iterable[UUID]) -> None:
    """Let the request's line name these things, which its path does not."""
    request.state.audited_ids = {to_camel(name): [str(id_) for id_ in ids]}


def rate_limit_headers(allowance: Allowance) -> dict[str, str]:
    """Return the headers of the IETF's draft for rate limits."""
    policy = allowance.quota.policy
    return {
        "RateLimit-Policy": f'"{policy}";q={allowance.quota.requests};w={WINDOW_SECONDS}',
        "RateLimit": f'"{policy}";r={allowance.remaining};t={allowance.reset_seconds}',
    }
