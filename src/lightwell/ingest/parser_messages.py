"""What a parser process is sent and replies: frames of a length and bytes, JSON where they have a shape.

Not pickle: a process that a hostile document has taken over could send a pickle that runs code in its parent. JSON is
checked against these types and is nothing but data.
"""

import struct
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import IO

from pydantic import TypeAdapter

from lightwell.domain.documents import ChunkDraft, Format

MAX_FRAME = 1024**3
"""Bytes; a longer frame is no reply of ours."""

_LENGTH = struct.Struct("!Q")


CPU_SECONDS, CPU_SECONDS_PER_MB = 10, 10
"""What a file may take of the processor: so much, and so much for each million bytes; honest files take up to 2.3 for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserLimits:
    """What one document may cost: `seconds` by the clock, of the processor at most `cpu_seconds`, a small file less."""

    memory_bytes: int = 2048 * 1024**2
    cpu_seconds: int = 60
    seconds: float = 300.0

    def cpu_seconds_for(self, size: int) -> int:
        """Return the seconds of the processor that a file of `size` bytes may take."""
        return min(self.cpu_seconds, CPU_SECONDS + ceil(CPU_SECONDS_PER_MB * size / 1_000_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a process says when it is ready."""

    limits_memory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A document to parse; its bytes follow in a frame of their own."""

    format: Format
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedDocument:
    """What a document says of itself, and its text in chunks; chunks lose nothing but white space."""

    title: str
    author: str
    updated_at: datetime | None
    chunks: tuple[ChunkDraft, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why there is no document: an `Unreadable`'s reason and message, or the type and place of any other error."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Either of the two."""

    document: ChunkedDocument | None = None
    refusal: Refusal | None = None


HELLO, REQUEST, REPLY = TypeAdapter(Hello), TypeAdapter(Request), TypeAdapter(Reply)

OUT_OF_MEMORY, UNEXPECTED = "memory", "unexpected"
"""Reasons of a refusal that no parser gives."""


def write_frame(stream: IO[bytes], content: bytes) -> None:
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes:
    """Return the next frame; raise `EOFError` where the other side has ended, or sends no frame of ours."""
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    if length > MAX_FRAME:
        raise EOFError
    return _read_exactly(stream, length)


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content
