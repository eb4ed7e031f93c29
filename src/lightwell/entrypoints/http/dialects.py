"""What routes of another program's API have in common: how they tell a problem, and that they are audited."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from lightwell.entrypoints.http.problems import Dialect


def speaking(dialect: Dialect) -> type[APIRoute]:
    """Return the class of a router's routes whose problems are told in this dialect, from the reading of the body on."""

    class Spoken(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def note_and_handle(request: Request) -> Response:
                request.state.dialect = dialect
                return await handle(request)

            return note_and_handle

    return Spoken
