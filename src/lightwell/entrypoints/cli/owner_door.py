"""Asks the server that has the store here open, if one runs: a command need not load models and open the database then."""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from lightwell.domain.access import Tags
from lightwell.entrypoints.operations.calls import Call
from lightwell.entrypoints.owner_door import READER, SAME, describe, door_path, is_own, write_tags
from lightwell.ownership import reason_to_distrust
from lightwell.settings import Settings

T = TypeVar("T")

_SECONDS = 60.0
"""A server that takes longer is not waited for: the command opens the store."""


@dataclass(frozen=True, slots=True)
class _Response:
    content: bytes
    headers: Mapping[str, str]


async def ask_at_door(make: Callable[[], Call[T]], tags: Tags, chosen: Settings) -> tuple[T] | None:
    """Return the reply of the server that has this store open; None where none answers, whatever the reason."""
    path = door_path(chosen)
    if path is None or not _is_own_socket(path):
        return None
    head = {"Host": "localhost", "Connection": "close", READER: write_tags(tags), SAME: describe(chosen)}  # fmt: skip
    try:
        call = make()
        async with asyncio.timeout(_SECONDS):
            response = await _exchange(path, _request(call, head))
        return None if response is None else (call.read(response),)
    except (OSError, TimeoutError, ValidationError):
        return None


def _is_own_socket(path: Path) -> bool:
    """Return whether this user alone has made the socket and can connect to it."""
    try:
        status, folder = path.lstat(), path.parent.stat()
    except OSError:
        return False
    is_own = stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and not status.st_mode & 0o077 and not reason_to_distrust(folder)


def _request(call: Call[object], head: Mapping[str, str]) -> bytes:
    body = call.content or b""
    lines = {**head, **call.headers, "Content-Length": str(len(body))}
    fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{call.method} {call.target} HTTP/1.1\r\n{fields}\r\n".encode() + body


async def _exchange(path: Path, request: bytes) -> _Response | None:
    """Return the response to a request, if it is a success; raise `OSError`."""
    reading, writing = await asyncio.open_unix_connection(os.fspath(path))
    try:
        if not is_own(writing.get_extra_info("socket")):
            return None
        writing.write(request)
        head, _, content = (await reading.read()).partition(b"\r\n\r\n")
    finally:
        writing.close()
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.title(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    is_whole = headers.get("Content-Length") == str(len(content))
    return _Response(content, headers) if is_whole and status[:10] == "HTTP/1.1 2" else None
