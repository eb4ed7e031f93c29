"""Opens the owner's door of a server: the reading operations, for whichever reader the owner of the store names."""

import asyncio
import os
import socket
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Header, HTTPException, Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lightwell.domain.access import TagAuthority
from lightwell.entrypoints.http.authentication import projects_of
from lightwell.entrypoints.http.body_limit import BodyLimit
from lightwell.entrypoints.http.problems import add_error_handlers
from lightwell.entrypoints.http.routes import router_of
from lightwell.entrypoints.http.serving import Connection
from lightwell.entrypoints.operations.declaration import Caller, Subject
from lightwell.entrypoints.owner_door import READER, SAME, describe, door_path, is_own, read_tags
from lightwell.logs import logger
from lightwell.settings import Settings

_log = logger(__name__)


class OwnConnection(Connection):
    """A connection to a process of this user; any other one is closed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if not is_own(transport.get_extra_info("socket")):
            transport.abort()


class OwnerDoor:
    """An application of its own: no request over the network is ever looked at here, and none from here is taken for one.

    It answers with a reply, or with a status that says to open the store: what goes wrong, goes wrong there with the same words as ever.
    """

    connection = OwnConnection

    def __init__(self, served: FastAPI, subjects: tuple[Subject, ...], settings: Settings) -> None:
        self._served = served
        self._subjects = subjects
        self._settings = settings
        self._same = describe(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and Headers(scope=scope).get(SAME) == self._same:
            await self._routes(scope, receive, send)
        elif scope["type"] == "http":
            await Response(status_code=HTTPStatus.MISDIRECTED_REQUEST)(scope, receive, send)

    @cached_property
    def _routes(self) -> FastAPI:
        """The operations that read, made when the first command asks."""
        routes = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        routes.state = self._served.state
        add_error_handlers(routes)
        routes.add_middleware(BodyLimit)
        for subject in self._subjects:
            reading = [operation for operation in subject.operations if operation.only_reads]
            routes.include_router(
                router_of(replace(subject, operations=reading), lambda _: self._caller)
            )
        return routes

    async def _caller(self, request: Request, tags: Annotated[str, Header(alias=READER)]) -> Caller:
        """Return the caller; 409 for a reader who sees nothing, since the command has a note to print."""
        kb = await projects_of(request).open(self._settings.project)
        reader = await kb.reader(read_tags(tags) or await kb.owner_tags())
        if not reader.classes:
            raise HTTPException(HTTPStatus.CONFLICT)
        return Caller(
            knowledge_base=kb,
            reader=reader,
            authority=TagAuthority(tags=reader.tags, is_unlimited=True),
            server=self._settings.server.public_url.rstrip("/"),
        )

    @contextmanager
    def listening(self) -> Generator[list[socket.socket]]:
        """Yield the socket, none where the store has no door; a server that starts later on the same store has the door then."""
        path = door_path(self._settings)
        bound = _bind(path) if path else None
        if path is None or bound is None:
            yield []
            return
        made = path.lstat().st_ino
        try:
            with bound:
                yield [bound]
        finally:
            with suppress(FileNotFoundError):
                if path.lstat().st_ino == made:
                    path.unlink()


def _bind(path: Path) -> socket.socket | None:
    """Return a socket at this path that only this user can connect to; None where the file system has none."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Nobody else can enter the folder, so that nobody connects before the mode is set.
        with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
            made = Path(folder, "s")
            bound.bind(os.fspath(made))
            made.chmod(0o600)
            made.replace(path)
    except OSError as error:
        bound.close()
        _log.info("server.no_door", path=str(path), reason=str(error))
        return None
    return bound
