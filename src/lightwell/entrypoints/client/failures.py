"""What a server refuses or fails at, as an error."""

from http import HTTPStatus
from typing import TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from lightwell.domain.errors import LightwellError
from lightwell.entrypoints.operations.calls import Call

T = TypeVar("T")

_REPEATABLE = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


class ServerError(LightwellError):
    """The server answered with a problem, or none could be reached: then `status` is 0.

    `code` is that of the problem, stable and for programs, `request_id` the id that its log has, "" where there is none. `retry_after` is how many
    seconds the server asks to wait, None where it does not say.
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int = 0,
        code: str = "unreachable",
        request_id: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.request_id = status, code, request_id
        self.retry_after = retry_after

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in _REPEATABLE or not self.status


class _Problem(BaseModel):
    model_config = ConfigDict(extra="ignore")

    detail: str
    code: str
    requestId: str = ""  # noqa: N815 - the key of the document


def raise_for_problem(response: httpx.Response) -> None:
    """Raise `ServerError` where this response, which has been read, is no success."""
    if response.is_success:
        return
    try:
        problem = _Problem.model_validate_json(response.content)
    except ValidationError:
        # A proxy answered, not Lightwell: its page is not shown.
        problem = _Problem(
            detail=f"The server answered {response.status_code} {response.reason_phrase}",
            code="no_problem_document",
        )
    wait = response.headers.get("Retry-After", "")
    raise ServerError(
        problem.detail,
        status=response.status_code,
        code=problem.code,
        request_id=problem.requestId,
        retry_after=float(wait) if wait.isascii() and wait.isdigit() else None,
    )


def read_reply(call: Call[T], reply: httpx.Response) -> T:
    """Return what the reply to a call says; raise `ServerError` where it has another form."""
    try:
        return call.read(reply)
    except ValidationError as error:
        # The error itself would show the reply, which may be the page of a proxy.
        raise ServerError(
            f"The reply has not the form that Lightwell's has: {error.error_count()} problems",
            status=reply.status_code,
            code="unexpected_reply",
        ) from None


def unreachable(error: httpx.TransportError, url: str) -> ServerError:
    """Return the error for a server that cannot be reached, or that broke off."""
    return ServerError(f"{url} cannot be reached: {str(error) or type(error).__name__}")
