"""The files in an archive, read one after the other within limits; nothing is unpacked to where its name says."""

import tempfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from lightwell.domain.errors import SourceFailed, Unreadable

_MAX_MEMBERS = 50_000
_MAX_INNER = 200
_MAX_INNER_BYTES = 20 * 1000**3
"""Of all archives in it together."""

_MAX_READ_BYTES = 20 * 1000**3
"""Of all files together, unpacked."""

_MAX_NAME = 1_000
_PART = 1_000_000
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive; `path` is its name without what is no part of a path, and without an archive around it."""

    path: PurePosixPath
    info: zipfile.ZipInfo
    inside: zipfile.ZipFile


@dataclass(slots=True)
class Archive:
    """An open archive, with the archives that are directly in it, since Notion packs parts of an export once more."""

    members: tuple[Member, ...]
    _read: int = field(default=0)

    def read(self, member: Member, max_bytes: int) -> bytes:
        """Return a file; raise `Unreadable` for one that is too large, encrypted or damaged, `SourceFailed` where all are too much."""
        content = bytearray()
        try:
            with member.inside.open(member.info) as file:
                while part := file.read(_PART):
                    content += part
                    self._read += len(part)
                    if len(content) > max_bytes:
                        limit = f"{max_bytes / 1000**2:,.0f} MB"
                        raise Unreadable("too_large", f"it is larger than {limit}")
                    if self._read > _MAX_READ_BYTES:
                        limit = f"{_MAX_READ_BYTES / 1000**3:,.0f} GB"
                        raise SourceFailed(f"The archive has more than {limit}, unpacked")
        except RuntimeError:
            raise Unreadable("encrypted", "it asks for a password") from None
        except _BROKEN as error:
            raise Unreadable("broken", f"it is damaged: {type(error).__name__}") from None
        return bytes(content)


@contextmanager
def open_archive(path: Path) -> Generator[Archive]:
    """Open an archive; raise `SourceFailed` for one that cannot be read."""
    with ExitStack() as stack:
        try:
            outer = stack.enter_context(zipfile.ZipFile(path))
            members = list(_members(outer))
            packed = [member for member in members if _is_packed(member.path)]
            members = [member for member in members if not _is_packed(member.path)]
            left = _MAX_INNER_BYTES
            if len(packed) > _MAX_INNER:
                raise SourceFailed(f"{path} has more than {_MAX_INNER} archives in it")
            for member in packed:
                inner = stack.enter_context(tempfile.TemporaryFile())
                left -= _copy(member, inner, left)
                members += _members(stack.enter_context(zipfile.ZipFile(inner)))
        except (RuntimeError, *_BROKEN) as error:
            raise SourceFailed(
                f"{path} cannot be read: it is damaged, locked or too large ({type(error).__name__})"
            ) from None
        if len(members) > _MAX_MEMBERS:
            raise SourceFailed(f"{path} has more than {_MAX_MEMBERS:,} files")
        yield Archive(tuple(sorted(members, key=lambda member: member.path)))


def _members(archive: zipfile.ZipFile) -> Generator[Member]:
    if len(archive.infolist()) > _MAX_MEMBERS:
        raise ValueError("too many files")
    for info in archive.infolist():
        path = PurePosixPath(info.filename.replace("\\", "/"))
        parts = [part for part in path.parts if part not in ("/", ".")]
        is_hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
        if parts and not info.is_dir() and not is_hidden and len(info.filename) <= _MAX_NAME:
            yield Member(PurePosixPath(*parts), info, archive)


def _is_packed(path: PurePosixPath) -> bool:
    return len(path.parts) == 1 and path.suffix.lower() == ".zip"


def _copy(member: Member, target: IO[bytes], most: int) -> int:
    """Copy a file of at most so many bytes, and return how many it has."""
    size = 0
    with member.inside.open(member.info) as file:
        while part := file.read(_PART):
            size += len(part)
            if size > most:
                raise ValueError("too large")
            target.write(part)
    return size
