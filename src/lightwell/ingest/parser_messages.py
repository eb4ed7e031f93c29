"""The protocol between the parser and its processes: length-prefixed frames, with JSON for structured data.

Not pickle: a process that a hostile document has taken over could send a pickle that runs code in its parent. JSON is
checked against these types and is nothing but data.
"""

import struct
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import IO, ClassVar

from pydantic import ConfigDict, TypeAdapter

from lightwell.domain.documents import MAX_DOCUMENT_CHUNKS, ChunkDraft, Format, Part
from lightwell.domain.originals import Picture, PictureRequest

MAX_FRAME = 1024**3
"""Bytes; a longer frame cannot be a valid reply."""

_LENGTH = struct.Struct("!Q")


CPU_SECONDS, CPU_SECONDS_PER_MB = 10, 10
"""CPU seconds that a file may take: a base, plus an amount per million bytes. Ordinary files need up to 2.3 per million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserLimits:
    """Limits per document: wall-clock `seconds`, and CPU seconds, at most `cpu_seconds` and less for small files.

    Of a document with more than `max_chunks` chunks, the first ones are returned.
    """

    memory_bytes: int = 2048 * 1024**2
    cpu_seconds: int = 60
    seconds: float = 300.0
    max_chunks: int = MAX_DOCUMENT_CHUNKS

    def cpu_seconds_for(self, size: int) -> int:
        """Return the CPU seconds that a file of `size` bytes may take."""
        return min(self.cpu_seconds, CPU_SECONDS + ceil(CPU_SECONDS_PER_MB * size / 1_000_000))


SCAN_SECONDS = 3600.0
"""What a file of scanned pages may take beyond the limit: its process gives itself more for each page that it reads."""

PICTURE_SECONDS, PICTURE_CPU_SECONDS = 20.0, 10
"""What one picture may take, of whatever file: somebody waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The message of a process that is ready."""

    limits_memory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A document to parse; its bytes follow in a frame of their own. `is_split`: not its text is wanted, but its parts."""

    format: Format
    name: str
    is_split: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedDocument:
    """A parsed document: its own metadata and its chunks, which omit nothing but white space and the last `omitted` chunks.

    `pages` counts those of the formats whose pages are drawn.
    """

    title: str
    author: str
    updated_at: datetime | None
    chunks: tuple[ChunkDraft, ...]
    omitted: int = 0
    pages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why there is no document: an `Unreadable`'s reason and message, or the type and place of any other error."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply to one request: a document, its parts, a picture of a page, or a refusal."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        ser_json_bytes="base64", val_json_bytes="base64"
    )

    document: ChunkedDocument | None = None
    picture: Picture | None = None
    parts: tuple[Part, ...] | None = None
    refusal: Refusal | None = None


HELLO, REPLY = TypeAdapter(Hello), TypeAdapter(Reply)
REQUEST: TypeAdapter[Request | PictureRequest] = TypeAdapter(Request | PictureRequest)
LIMITS = TypeAdapter(ParserLimits)

OUT_OF_MEMORY, UNEXPECTED = "memory", "unexpected"
"""Reasons that the process gives itself; no format's parser uses them."""


def write_frame(stream: IO[bytes], content: bytes) -> None:
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes:
    """Return the next frame; raise `EOFError` if the other side has ended or sends an invalid frame."""
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    if length > MAX_FRAME:
        raise EOFError
    return _read_exactly(stream, length)


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content
