"""How LightRAG's clients speak to a server: where, with which credentials, and how they hear of a problem."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from lightwell.entrypoints.http.dialects import speaking
from lightwell.entrypoints.http.problems import Dialect

PREFIX: Final = "/lightrag"
"""Below it are all of LightRAG's routes, as with LightRAG's own LIGHTRAG_API_PREFIX: at the root, some have the paths of others."""

VERSION: Final = "1.5.7"

LIGHTRAG: Final = Dialect()
"""Its clients look for `detail`, which every problem has."""

_Spoken: Final = speaking(LIGHTRAG)


class _Route(_Spoken):
    """Takes the key also from `X-API-Key`, where programs that call LightRAG send it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read_key_and_handle(request: Request) -> Response:
            key = request.headers.get("x-api-key")
            if key and "authorization" not in request.headers:
                shown = (b"authorization", f"Bearer {key}".encode("latin-1"))
                scope = {**request.scope, "headers": [*request.scope["headers"], shown]}
                request = Request(scope, request.receive)
            return await handle(request)

        return read_key_and_handle


def make_router() -> APIRouter:
    """Return a router for a part of LightRAG's routes."""
    return APIRouter(prefix=PREFIX, tags=["LightRAG"], route_class=_Route)
