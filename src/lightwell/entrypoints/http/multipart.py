"""Forms with files, read from the network to temporary files; limits hold while the bytes arrive.

The temporary files have no names: they are gone when the process ends, however it ends.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import HTTPException, Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from lightwell.domain.errors import Invalid, TooLarge

_MAX_FIELDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadLimits:
    """Bytes of a whole request, bytes of each file in it, files, and seconds until all has arrived."""

    request_bytes: int
    file_bytes: int
    files: int = 100
    seconds: float = 900.0


class _LimitedParser(MultiPartParser):
    """Starlette's parser, with a limit on the bytes of each file."""

    def __init__(
        self, headers: Headers, stream: AsyncGenerator[bytes, None], limits: UploadLimits
    ) -> None:
        super().__init__(headers, stream, max_files=limits.files, max_fields=_MAX_FIELDS)
        self._max_file_bytes = limits.file_bytes
        self._file_bytes = 0

    def on_part_begin(self) -> None:
        self._file_bytes = 0
        super().on_part_begin()

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._file_bytes += end - start
        if self._file_bytes > self._max_file_bytes:
            raise TooLarge(f"A file has at most {self._max_file_bytes:,} bytes")
        super().on_part_data(data, start, end)


@asynccontextmanager
async def read_form(request: Request, limits: UploadLimits) -> AsyncGenerator[FormData, None]:
    """Yield the form that the request carries, with its files; raise `TooLarge` as soon as a limit is passed, or `Invalid`."""
    kind, parameters = parse_options_header(request.headers.get("content-type", ""))
    if kind.lower() != b"multipart/form-data":
        raise Invalid("Send the files as multipart/form-data")
    if parameters.get(b"charset", b"utf-8").lower() != b"utf-8":
        # Starlette would decode fields with any codec of Python, of which one takes a minute for a megabyte.
        raise Invalid("The fields of a form are in UTF-8")
    parser = _LimitedParser(request.headers, _limited(request, limits), limits)
    try:
        async with asyncio.timeout(limits.seconds):
            form = await parser.parse()
    except TimeoutError as error:
        message = f"An upload has at most {limits.seconds:g} seconds to arrive"
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, message) from error
    except MultiPartException as error:
        raise Invalid(f"The form cannot be read: {error.message}") from error
    try:
        yield form
    finally:
        await form.close()


async def _limited(request: Request, limits: UploadLimits) -> AsyncGenerator[bytes, None]:
    received = 0
    body: AsyncIterator[bytes] = request.stream()
    async for part in body:
        received += len(part)
        if received > limits.request_bytes:
            raise TooLarge(f"An upload has at most {limits.request_bytes:,} bytes")
        yield part
