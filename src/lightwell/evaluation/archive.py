"""Unpacks the documents of a collection from an archive that is not trusted."""

import hashlib
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath

from lightwell.domain.errors import Invalid

MAX_FILES = 100_000
MAX_BYTES = 2 * 1024**3
"""Bytes of all files together, unpacked."""

_LONGEST_PATH = 1000
_PIECE = 1024 * 1024


def unpack(archive: Path, below: Path) -> Path:
    """Return the folder below `below` that holds the archive's files; an archive is unpacked once.

    Only regular files and folders are taken. Raises `Invalid` for an archive that cannot be read, that has a link, a device or a path that leads out of
    the folder, or that is too large.
    """
    folder = below / _file_hash(archive)
    if folder.is_dir():
        return folder
    below.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=below, prefix=".unpacking-") as temporary:
        unpacked = Path(temporary) / "files"
        unpacked.mkdir()
        try:
            _copy_members(archive, unpacked)
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise Invalid(
                f"{archive} cannot be unpacked: {error}; make it with `tar -czf`"
            ) from error
        shutil.move(unpacked, folder)
    return folder


def _copy_members(archive: Path, folder: Path) -> None:
    files = size = 0
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            path = _path_within(archive, member)
            if member.isdir() or path is None:
                continue
            files, size = files + 1, size + member.size
            if files > MAX_FILES or size > MAX_BYTES:
                raise Invalid(
                    f"{archive} has more than {MAX_FILES:,} files or {MAX_BYTES // 1024**3} GiB;"
                    " unpack it yourself and name the folder with --documents"
                )
            _copy(tar, member, folder / path)


def _path_within(archive: Path, member: tarfile.TarInfo) -> PurePosixPath | None:
    """Return the path for a member, None for the root itself; raise `Invalid` unless it is a file or folder inside."""
    path = PurePosixPath(member.name)
    if not (member.isreg() or member.isdir()):
        raise Invalid(
            f"{archive}: {member.name!r} is a link or a device; archive the files themselves"
        )
    if path.is_absolute() or ".." in path.parts or "\0" in member.name or "\\" in member.name:
        raise Invalid(f"{archive}: {member.name!r} leads out of the archive; use relative paths")
    if len(member.name) > _LONGEST_PATH:
        raise Invalid(f"{archive}: a path has more than {_LONGEST_PATH:,} characters; shorten it")
    return path if path.parts else None


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    if content is None:
        raise tarfile.ReadError(f"{member.name!r} has no content")
    with content, target.open("xb") as file:
        shutil.copyfileobj(content, file)


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}; check its permissions") from error
    return digest.hexdigest()[:32]
