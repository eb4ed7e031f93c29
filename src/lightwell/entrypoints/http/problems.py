"""Errors as problem documents (RFC 9457), in one form for every route, with `code` and `requestId` in addition.

What a caller may not see gives the same 404 as what does not exist.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from starlette.exceptions import HTTPException

from lightwell.domain.errors import (
    BudgetSpent,
    Forbidden,
    Invalid,
    LightwellError,
    ModelBusy,
    ModelFailed,
    NotFound,
    Refused,
    SourceFailed,
    StoreFailed,
    TooLarge,
    Unreadable,
)
from lightwell.domain.rate_limits import Allowance
from lightwell.domain.texts import only_text

CONTENT_TYPE = "application/problem+json"

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
"""Where RFC 9728 has clients look for the issuer of a server's tokens."""

_STATUSES: tuple[tuple[type[LightwellError], HTTPStatus], ...] = (
    (Invalid, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (Refused, HTTPStatus.UNAUTHORIZED),
    (BudgetSpent, HTTPStatus.TOO_MANY_REQUESTS),
    (ModelBusy, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelFailed, HTTPStatus.BAD_GATEWAY),
    (SourceFailed, HTTPStatus.BAD_GATEWAY),
    (StoreFailed, HTTPStatus.SERVICE_UNAVAILABLE),
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (Unreadable, HTTPStatus.UNPROCESSABLE_ENTITY),
)
"""From an error to its status, the nearest class first; 500 for all others."""


class Problem(BaseModel):
    """A problem document. `code` is stable and for programs, `detail` says what to do."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    request_id: str


def _nothing_more(_: Request, __: Problem) -> Mapping[str, object]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How clients of another program's API find out what is wrong.

    `fields` says what a problem document has in addition, `statuses` which of ours are others there.
    """

    fields: Callable[[Request, Problem], Mapping[str, object]] = _nothing_more
    statuses: Mapping[HTTPStatus, HTTPStatus] = field(default_factory=dict[HTTPStatus, HTTPStatus])


class Unauthenticated(Exception):
    """No valid API key came with the request."""


class TooManyRequests(Exception):
    """The caller, or its address, must wait; `allowance` is what is left of its quota, where it has one."""

    status: HTTPStatus = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_requests"

    def __init__(
        self, message: str, *, retry_seconds: int, allowance: Allowance | None = None
    ) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds
        self.allowance = allowance


class Overloaded(TooManyRequests):
    """The server is busy with requests of this kind, whoever sends them."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "busy"


def problem_response(request: Request, status: HTTPStatus, code: str, detail: str) -> JSONResponse:
    """Return the problem as a response, in the dialect of the request's route where it has one."""
    dialect: Dialect | None = getattr(request.state, "dialect", None)
    if dialect is not None:
        status = dialect.statuses.get(status, status)
    body = Problem(
        title=status.phrase,
        status=status,
        detail=only_text(detail),  # it may quote what a client sent
        code=code,
        request_id=getattr(request.state, "request_id", ""),
    )
    document = body.model_dump(mode="json", by_alias=True)
    if dialect is not None:
        document |= dialect.fields(request, body)
    return JSONResponse(
        document,
        status_code=status,
        media_type=CONTENT_TYPE,
        headers=_challenge(request) if status is HTTPStatus.UNAUTHORIZED else None,
    )


def _challenge(request: Request) -> dict[str, str]:
    """Return how to authenticate; where the server accepts an issuer's tokens, also where that issuer is named."""
    credentials = getattr(request.app.state, "credentials", None)
    if credentials is None or credentials.oidc is None:
        return {"WWW-Authenticate": "Bearer"}
    path = "/mcp" if request.url.path == "/mcp" else ""
    where = f"{str(request.base_url).rstrip('/')}{RESOURCE_METADATA}{path}"
    return {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'}


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error of every route with a problem document."""

    @app.exception_handler(LightwellError)
    async def expected(request: Request, error: LightwellError) -> JSONResponse:
        status = next(
            (status for kind, status in _STATUSES if isinstance(error, kind)),
            HTTPStatus.INTERNAL_SERVER_ERROR,
        )
        return problem_response(request, status, error.code, str(error))

    @app.exception_handler(Unauthenticated)
    async def unauthenticated(request: Request, _: Unauthenticated) -> JSONResponse:
        detail = (
            "Send a valid API key: `Authorization: Bearer lw_…`; `lightwell keys create` makes one"
        )
        return problem_response(request, HTTPStatus.UNAUTHORIZED, "unauthenticated", detail)

    @app.exception_handler(TooManyRequests)
    async def too_many(request: Request, error: TooManyRequests) -> JSONResponse:
        if error.allowance is not None:
            request.state.allowance = error.allowance
        reply = problem_response(request, error.status, error.code, str(error))
        reply.headers["Retry-After"] = str(error.retry_seconds)
        return reply

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors()
        )
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return problem_response(request, status, Invalid.code, wrong)

    @app.exception_handler(HTTPException)
    async def of_the_framework(request: Request, error: HTTPException) -> JSONResponse:
        status = HTTPStatus(error.status_code)
        is_too_large = status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        code = TooLarge.code if is_too_large else status.name.lower()
        reply = problem_response(request, status, code, str(error.detail))
        reply.headers.update(error.headers or {})  # such as `Allow`
        return reply

    @app.exception_handler(Exception)
    async def unexpected(request: Request, _: Exception) -> JSONResponse:
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        detail = "The server failed; its log has the request id"
        return problem_response(request, status, LightwellError.code, detail)
