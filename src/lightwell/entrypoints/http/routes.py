"""Makes routes of operations."""

import inspect
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from lightwell.entrypoints.http.audit import note_ids
from lightwell.entrypoints.http.authentication import caller_with, projects_of
from lightwell.entrypoints.http.usage import usage_headers
from lightwell.entrypoints.operations.declaration import Caller, Operation, Subject

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


CallerOf = Callable[[Operation[..., object]], Callable[..., Awaitable[Caller]]]


def _by_credential(operation: Operation[..., object]) -> Callable[..., Awaitable[Caller]]:
    return caller_with(operation.scope, operation.alone)


def router_of(subject: Subject, caller_of: CallerOf = _by_credential) -> APIRouter:
    """Return a router with the operations of a subject; `caller_of` returns the dependency that gives an operation its caller."""
    router = APIRouter(tags=[subject.tag])
    for operation in subject.operations:
        router.add_api_route(
            operation.path,
            _endpoint(operation, caller_of(operation)),
            methods=[operation.method],
            response_model=operation.hints["return"] if operation.has_reply else None,
            response_class=JSONResponse if operation.has_reply else Response,
            status_code=operation.status,
            name=operation.run.__name__,
            description=operation.description,
        )
    return router


def _endpoint(
    operation: Operation[..., object], caller_of: Callable[..., Awaitable[Caller]]
) -> Callable[..., Awaitable[object]]:
    """Return what FastAPI calls: it runs the operation, and says in the headers what models cost and where its job is."""

    async def endpoint(
        caller: Caller, http: Request, response: Response, request: object = None, **parts: object
    ) -> object:
        if request is not None and operation.is_request_whole:
            parts[operation.request_names[0]] = request
        elif request is not None:
            parts |= {name: getattr(request, name) for name in operation.request_names}
        with usage_headers(response):
            reply = await operation.run(caller, **parts)
        for name, header in operation.headers.items():
            response.headers[header] = str(getattr(reply, name))
        if operation.has_job:
            projects_of(http).has_work.set()
            if operation.status == HTTPStatus.ACCEPTED:
                response.headers["Location"] = f"/v1/jobs/{getattr(reply, 'job_id', '')}"
        if operation.audited:
            note_ids(http, operation.audited, getattr(reply, operation.audited))
        return reply

    types: dict[str, object] = {
        "caller": Annotated[Caller, Depends(caller_of)],
        "http": Request,
        "response": Response,
        **{name: operation.hints[name] for name in operation.path_names},
    }
    if (request := operation.request) is not None:
        types["request"] = Annotated[request, Query()] if operation.has_query else request
    vars(endpoint)["__signature__"] = inspect.Signature(
        [inspect.Parameter(name, _KEYWORD, annotation=kind) for name, kind in types.items()]
    )
    return endpoint
