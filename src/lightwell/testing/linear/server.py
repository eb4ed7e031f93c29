"""Linear's GraphQL API over a workspace: tokens, limits, errors, and webhooks, as an ASGI application."""

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from typing import cast
from uuid import NAMESPACE_URL, uuid5

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lightwell.testing.linear.graphql import (
    NotUnderstood,
    Operation,
    Row,
    execute,
    measure_complexity,
    parse,
)
from lightwell.testing.linear.workspace import BadInput, LinearWorkspace

TOKEN, WEBHOOK_SECRET = "lin_api_test", "lin_wh_test"
_MOST_POINTS = 10_000
_WINDOW = timedelta(hours=1)

Execute = Callable[[str, Mapping[str, object]], Row]
"""From a query and its variables to the response's body."""


@dataclass(slots=True, kw_only=True)
class LinearServer:
    """The API of a workspace. `run` answers queries; without it, this module does, for the connector's queries only.

    `requests` holds what was asked, `responses` what to answer instead of the truth, the next first. At zero
    `remaining` requests it refuses until `reset_at`; times are the workspace's.
    """

    workspace: LinearWorkspace
    run: Execute | None = None
    token: str = TOKEN
    secret: str = WEBHOOK_SECRET
    limit: int = 2500
    remaining: int = 2500
    reset_at: datetime | None = None
    requests: list[str] = field(default_factory=list[str])
    points: float = 0.0
    responses: list[Response] = field(default_factory=list[Response])
    before: Callable[[str], None] = lambda name: None

    @property
    def app(self) -> Callable[..., Awaitable[None]]:
        return Starlette(routes=[Route("/graphql", self._answer, methods=["POST"])])

    def exhaust(self, seconds: float) -> None:
        """Let the budget of requests be empty for so many seconds."""
        self.remaining, self.reset_at = 0, self.workspace.now + timedelta(seconds=seconds)

    def sign_webhook(
        self, type: str, id: str, action: str = "update", *, sent_at: datetime, **data: object
    ) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of a genuine webhook about an object; `data` is added to its fields."""
        row = self.workspace.rows.get(type, {}).get(id, {})
        body = json.dumps(
            {
                "action": action,
                "type": type,
                "actor": {"id": self.workspace.viewer, "type": "user"},
                "createdAt": sent_at.isoformat(),
                "data": {"id": id, **_name_ids(row), **data},
                "url": row.get("url"),
                "organizationId": self.workspace.url_key,
                "webhookTimestamp": round(sent_at.timestamp() * 1000),
                "webhookId": str(uuid5(NAMESPACE_URL, "webhook")),
            }
        ).encode()
        return {
            "linear-signature": hmac.new(self.secret.encode(), body, sha256).hexdigest(),
            "linear-delivery": str(uuid5(NAMESPACE_URL, body.decode())),
            "linear-event": type,
            "linear-timestamp": str(round(sent_at.timestamp() * 1000)),
        }, body

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        query, variables = str(body["query"]), cast("Row", body.get("variables") or {})
        name = str(body.get("operationName") or "")
        self.requests.append(name)
        self.before(name)
        if self.responses:
            return self.responses.pop(0)
        credentials = request.headers.get("authorization", "")
        if credentials not in (self.token, f"Bearer {self.token}"):
            return _refuse(401, "authentication error", "AUTHENTICATION_ERROR", "Not authenticated")
        if refusal := self._count():
            return refusal
        try:
            content = self.run(query, variables) if self.run else self._run(query, variables)
        except NotUnderstood as error:
            return _refuse(400, "graphql error", "GRAPHQL_VALIDATION_FAILED", str(error))
        except BadInput as error:
            return _refuse(400, "invalid input", "INPUT_ERROR", str(error))
        # In ASCII, so that half a character arrives, too.
        return Response(json.dumps(content), headers=self._headers(), media_type="application/json")

    def _run(self, query: str, variables: Mapping[str, object]) -> Row:
        operation: Operation = parse(query)
        points = measure_complexity(operation, variables)
        self.points += points
        if points > _MOST_POINTS:
            raise BadInput(f"Query too complex: {points:,.0f} points")
        return {"data": execute(operation, self.workspace, variables, self.workspace.resolve)}

    def _count(self) -> Response | None:
        """Take a request from the budget; return the refusal where it is empty."""
        now = self.workspace.now
        if self.reset_at is None or now >= self.reset_at:
            self.remaining = self.limit if self.reset_at else self.remaining
            self.reset_at = now + _WINDOW
        if self.remaining <= 0:
            refusal = _refuse(400, "ratelimited", "RATELIMITED", "Rate limit exceeded")
            refusal.headers.update(self._headers())
            return refusal
        self.remaining -= 1
        return None

    def _headers(self) -> dict[str, str]:
        reset = self.reset_at or self.workspace.now
        return {
            "date": format_datetime(self.workspace.now, usegmt=True),
            "x-ratelimit-requests-limit": str(self.limit),
            "x-ratelimit-requests-remaining": str(self.remaining),
            "x-ratelimit-requests-reset": str(round(reset.timestamp() * 1000)),
            "x-ratelimit-complexity-remaining": str(round(3_000_000 - self.points)),
        }


def _refuse(status: int, type: str, code: str, message: str) -> Response:
    extensions = {"type": type, "code": code, "userPresentableMessage": message}
    return JSONResponse({"errors": [{"message": message, "extensions": extensions}]}, status)


def _name_ids(row: Row) -> Row:
    """Return a row's ids of other objects as a webhook names them."""
    names = ("issue", "relatedIssue", "project", "team", "customer", "user")
    return {f"{name}Id": row[name] for name in names if row.get(name)}
