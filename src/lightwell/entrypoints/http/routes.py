"""Makes routes of operations."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from lightwell.entrypoints.http.authentication import caller_with
from lightwell.entrypoints.http.usage import usage_headers
from lightwell.entrypoints.operations.declaration import Caller, Operation, Subject

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def router_of(subject: Subject) -> APIRouter:
    """Return a router with the operations of a subject."""
    router = APIRouter(tags=[subject.tag])
    for operation in subject.operations:
        router.add_api_route(
            operation.path,
            _endpoint(operation),
            methods=[operation.method],
            response_model=operation.hints["return"],
            status_code=operation.status,
            name=operation.run.__name__,
            description=inspect.getdoc(operation.run),
        )
    return router


def _endpoint(operation: Operation[..., object]) -> Callable[..., Awaitable[object]]:
    """Return what FastAPI calls: it runs the operation, and says in the headers what models cost."""

    async def endpoint(
        caller: Caller, response: Response, request: object = None, **parts: object
    ) -> object:
        if request is not None and operation.is_request_whole:
            parts[operation.request_names[0]] = request
        elif request is not None:
            parts |= {name: getattr(request, name) for name in operation.request_names}
        with usage_headers(response):
            return await operation.run(caller, **parts)

    types: dict[str, object] = {
        "caller": Annotated[Caller, Depends(caller_with(operation.scope))],
        "response": Response,
        **{name: operation.hints[name] for name in operation.path_names},
    }
    if (request := operation.request) is not None:
        types["request"] = Annotated[request, Query()] if operation.method == "GET" else request
    vars(endpoint)["__signature__"] = inspect.Signature(
        [inspect.Parameter(name, _KEYWORD, annotation=kind) for name, kind in types.items()]
    )
    return endpoint
