"""A folder of files, or a single file, as a source."""

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from stat import S_ISREG

from lightwell.connectors._file_settings import (
    FileSettingsLayer,
    FolderSettings,
    parse_folder_settings,
    parse_front_matter,
    resolve_settings,
)
from lightwell.domain.access import Tags
from lightwell.domain.documents import SOURCE_ADDRESS, Format, NewDocument
from lightwell.domain.errors import Invalid, SourceFailed, Unreadable
from lightwell.domain.folder_tags import NOTHING_REMEMBERED, FolderTags
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.parse.formats import detect_format, has_known_extension, unsupported_format
from lightwell.ingest.parse.front_matter import (
    MAX_YAML_CHARACTERS,
    parse_unique_mapping,
    parse_yaml_mapping,
    split_front_matter,
)
from lightwell.ownership import open_regular_file, reason_to_distrust
from lightwell.ports import (
    Change,
    ChangedDocument,
    RemovedDocument,
    UnchangedDocument,
    UnreadableDocument,
)

SETTINGS_NAME = ".lightwell.yaml"
MAX_BYTES = 50 * 1024 * 1024
_CHECK_PERMISSIONS = "check its permissions"

_IGNORED_EXTENSIONS = frozenset(
    """.png .jpg .jpeg .gif .bmp .tif .tiff .webp .svg .ico .heic .psd .ai .eps .mp3 .wav .ogg .flac .m4a .mp4
    .mov .avi .mkv .webm .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .jar .whl .deb .rpm .iso .dmg .exe .dll .so
    .dylib .o .a .class .pyc .bin .dat .db .sqlite .sqlite3 .ttf .otf .woff .woff2 .css .js .map .lock .tmp
    .bak .swp .part .ds_store .ini .lnk""".split()
)
"""Extensions that are skipped silently; any other unknown extension is reported."""


@dataclass(frozen=True, slots=True)
class _FileEntry:
    """A file below the root with the settings of the folders above it, or the problem with it. `address` is that for browsers."""

    path: Path
    source_id: str
    layers: Sequence[FileSettingsLayer] = ()
    reason: str = ""
    message: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class _FolderAbove:
    """A folder at or above a file, and its settings."""

    settings: FolderSettings
    folder: Path

    def ignores(self, path: Path) -> bool:
        return self.settings.ignores(path.relative_to(self.folder).as_posix())

    def address_of(self, path: Path) -> str:
        return self.settings.address_of(_printable_name(path.relative_to(self.folder).as_posix()))

    def layers_for(self, path: Path) -> list[FileSettingsLayer]:
        return self.settings.layers_for(path.relative_to(self.folder).as_posix())


@dataclass(frozen=True, slots=True)
class Files:
    """All readable files below `root`; `folder_tags`, or else `default_tags`, apply where no setting gives `acl_tags`.

    Settings of folders above the root apply, too, so a file has the same tags whichever root is chosen. They end at
    the first folder that other users own or may write to.

    `format` applies to all files; None detects it from each extension and the first bytes.
    """

    root: Path
    default_tags: Tags
    max_bytes: int = MAX_BYTES
    format: Format | None = None
    folder_tags: FolderTags = NOTHING_REMEMBERED

    @property
    def scope(self) -> str:
        return self.root.resolve().as_uri()

    def describe_ignored_settings(self) -> list[str]:
        """Return a message for each settings file above the root that is ignored because other users may have written it."""
        above, ignored = _ignored_settings(self.root.resolve())
        return [
            f"{folder / SETTINGS_NAME} does not apply: {above} {reason_to_distrust(above.stat())}"
            for folder in ignored
        ]

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield removed files, then every file by path; raise `SourceFailed` if the root cannot be read.

        An unchanged document comes without its content. A file that cannot be read is unreadable, not removed.
        """
        root, entries = await asyncio.to_thread(self._walk)
        present = {entry.path.as_uri() for entry in entries}
        unreadable = tuple(entry.path.as_uri() + "/" for entry in entries if entry.reason)
        address = root.as_uri()
        below = address.rstrip("/") + "/"
        for url in sorted(hashes):
            is_inside = url == address or url.startswith(below)
            if is_inside and url not in present and not url.startswith(unreadable):
                yield RemovedDocument(url=url)
        for entry in entries:
            yield await asyncio.to_thread(self._change, entry, hashes)

    def _walk(self) -> tuple[Path, list[_FileEntry]]:
        try:
            root = self.root.resolve(strict=True)
            above = _settings_above(root)
            if not root.is_dir():
                return root, list(_single_file(root, above))
            os.scandir(root).close()
        except Invalid as error:
            raise SourceFailed(str(error)) from error
        except OSError as error:
            raise SourceFailed(
                f"{self.root} cannot be read: {error.strerror}; check the path"
            ) from error
        return root, list(_walk_folder(root, root, above))

    def _change(self, entry: _FileEntry, hashes: Mapping[str, str]) -> Change:
        url = entry.path.as_uri()
        try:
            document = self._document(entry, url)
        except Unreadable as error:
            return UnreadableDocument(url=url, reason=error.reason, message=str(error))
        except Invalid as error:
            return UnreadableDocument(url=url, reason="settings", message=f"front matter: {error}")
        except OSError as error:
            return UnreadableDocument(
                url=url, reason="unreadable", message=f"{error.strerror}; {_CHECK_PERMISSIONS}"
            )
        except Exception as error:  # noqa: BLE001 - one file must not end the walk; it is reported with its reason
            failure = document_failure(error, url)
            message = str(error) if failure is None else failure.message
            return UnreadableDocument(url=url, reason="internal", message=message)
        if hashes.get(url) == document.content_hash:
            return UnchangedDocument(url=url, document=replace(document, content=b""))
        return ChangedDocument(document=document)

    def _document(self, entry: _FileEntry, url: str) -> NewDocument:
        if entry.reason:
            raise Unreadable(entry.reason, entry.message)
        if self.format is None and not has_known_extension(entry.path.name):
            raise unsupported_format(entry.path.name)
        content, modified = self._read_file(entry.path)
        format = self.format or detect_format(entry.path.name, content)
        layers = (
            [*entry.layers, parse_front_matter_of(content)]
            if format is Format.MARKDOWN
            else entry.layers
        )
        remembered = self.folder_tags.find(url)
        settings = resolve_settings(self.default_tags if remembered is None else remembered, layers)
        digest = hashlib.sha256(content)
        digest.update(f"\0{settings.title}\0{settings.topic}".encode())
        return NewDocument(
            system="file",
            kind="document",
            source_id=entry.source_id,
            url=url,
            format=format,
            title=settings.title,
            topic=settings.topic,
            acl_tags=settings.acl_tags,
            acl_origin=settings.acl_origin,
            content=content,
            content_hash=digest.hexdigest(),
            updated_at=modified,
            metadata=_with_address(settings.metadata, entry.address),
            raw_payload={
                "path": entry.source_id,
                "bytes": len(content),
                "modifiedAt": modified.isoformat() if modified else None,
            },
        )

    def _read_file(self, path: Path) -> tuple[bytes, datetime]:
        with open_regular_file(path) as file:
            status = os.fstat(file.fileno())
            content = file.read(self.max_bytes + 1) if status.st_size <= self.max_bytes else None
        if content is None or len(content) > self.max_bytes:
            limit = f"{self.max_bytes / 1024**2:,.0f} MB"
            raise Unreadable(
                "too_large",
                f"it is larger than {limit}; split it, or raise LIGHTWELL_MAX_FILE_BYTES",
            )
        return content, datetime.fromtimestamp(status.st_mtime, UTC)


def find_applicable_tags(root: Path, remembered: FolderTags) -> FolderTags:
    """Return the remembered tags that apply to a file or folder.

    Those of a folder with settings that do not apply, and of the folders above it, are left out: who wrote the settings may
    have meant fewer people.
    """
    _, ignored = _ignored_settings(root.resolve())
    return remembered.below(ignored[0].as_uri()) if ignored else remembered


def find_place_tags(file: Path, remembered: FolderTags) -> Tags | None:
    """Return the tags that a file has by its place alone, whatever its content says; None where settings there ignore it.

    Raises `SourceFailed` for settings that cannot be read. `remembered` are those that apply.
    """
    try:
        above = _settings_above(file)
    except Invalid as error:
        raise SourceFailed(str(error)) from error
    if any(folder.ignores(file) for folder in above):
        return None
    layers = [layer for folder in above for layer in folder.layers_for(file)]
    return resolve_settings(remembered.find(file.as_uri()) or frozenset(), layers).acl_tags


def _ignored_settings(root: Path) -> tuple[Path, list[Path]]:
    """Return the nearest folder above the root that other users may change, else the root, and the folders from there up whose settings are ignored for that."""
    above = root.parents[len(_trusted_parents(root)) :]
    return (above or [root])[0], [
        folder for folder in above if os.path.lexists(folder / SETTINGS_NAME)
    ]


def _settings_above(root: Path) -> list[_FolderAbove]:
    """Return the folders above the root that have settings, the outermost first.

    The search stops at the first folder that other users own or may write to: they must not decide who sees the files.
    """
    folders: list[_FolderAbove] = []
    for folder in _trusted_parents(root):
        if settings := _folder_settings(folder):
            path = folder / SETTINGS_NAME
            if reason := reason_to_distrust(path.lstat()):
                raise Invalid(
                    f"{path} {reason}; make yourself its owner and take write permission from others (`chown`,"
                    " `chmod go-w`), or remove it"
                )
            folders.append(_FolderAbove(settings, folder))
    return folders[::-1]


def _trusted_parents(root: Path) -> list[Path]:
    """Return the folders above the root, the nearest first, up to the first that other users own or may write to."""
    return list(takewhile(lambda folder: not reason_to_distrust(folder.stat()), root.parents))


def _single_file(path: Path, above: Sequence[_FolderAbove]) -> Iterator[_FileEntry]:
    if S_ISREG(path.stat().st_mode):
        layers = [layer for folder in above for layer in folder.layers_for(path)]
        yield _FileEntry(path, _printable_name(path.name), layers, address=_address_of(path, above))


def _walk_folder(folder: Path, root: Path, above: Sequence[_FolderAbove]) -> Iterator[_FileEntry]:
    """Yield the folder's files and those of its folders, all in the order of their paths."""
    try:
        settings = _folder_settings(folder)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except Invalid as error:
        yield _FileEntry(folder, _source_id(folder, root), (), "settings", str(error))
        return
    except OSError as error:
        message = f"{error.strerror}; {_CHECK_PERMISSIONS}"
        yield _FileEntry(folder, _source_id(folder, root), (), "unreadable", message)
        return
    here = [*above, _FolderAbove(settings, folder)] if settings else above
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(".") or any(parent.ignores(path) for parent in here):
            continue
        yield from _file_entries(entry, root, here)


def _file_entries(
    entry: os.DirEntry[str], root: Path, above: Sequence[_FolderAbove]
) -> Iterator[_FileEntry]:
    path = Path(entry.path)
    if entry.is_symlink():
        if _points_outside(path, root):
            message = (
                f"it is a link to a file outside {root.name or root}; copy the file into the folder"
            )
            yield _FileEntry(path, _source_id(path, root), (), "outside", message)
    elif entry.is_dir(follow_symlinks=False):
        yield from _walk_folder(path, root, above)
    elif entry.is_file(follow_symlinks=False) and path.suffix.lower() not in _IGNORED_EXTENSIONS:
        layers = [layer for folder in above for layer in folder.layers_for(path)]
        yield _FileEntry(path, _source_id(path, root), layers, address=_address_of(path, above))


def _address_of(path: Path, above: Sequence[_FolderAbove]) -> str:
    """Return the address of a file for browsers, as the nearest folder says it that says one; "" where none does."""
    addresses = (folder.address_of(path) for folder in reversed(above))
    return next(filter(None, addresses), "")


def _with_address(metadata: Mapping[str, str], address: str) -> Mapping[str, str]:
    """Return the metadata with the file's address; what the file itself says of its address is no word of the folder's owner."""
    others = {name: text for name, text in metadata.items() if name != SOURCE_ADDRESS}
    return {**others, SOURCE_ADDRESS: address} if address else others


def _points_outside(link: Path, root: Path) -> bool:
    """Return whether a link points to an existing file outside the root; files inside are found without the link."""
    try:
        return not link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _folder_settings(folder: Path) -> FolderSettings | None:
    """Return the settings of a folder, None without a settings file; raise `Invalid` if the file cannot be read."""
    path = folder / SETTINGS_NAME
    try:
        with open_regular_file(path) as file:
            content = file.read(MAX_YAML_CHARACTERS + 1)
        return parse_folder_settings(parse_unique_mapping(content.decode("utf-8-sig")), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        remedy = "replace the link by a file" if error.errno == errno.ELOOP else _CHECK_PERMISSIONS
        raise Invalid(f"{path} cannot be read: {error.strerror}; {remedy}") from error
    except Invalid as error:
        raise Invalid(f"{SETTINGS_NAME} of {folder.name!r}: {error}") from error
    except UnicodeDecodeError as error:
        raise Invalid(
            f"{SETTINGS_NAME} of {folder.name!r} is not UTF-8 text; save it as UTF-8"
        ) from error


def parse_front_matter_of(content: bytes) -> FileSettingsLayer:
    """Return what a markdown document says of itself; raise `Invalid` naming what is wrong there."""
    yaml, _ = split_front_matter(
        content[: MAX_YAML_CHARACTERS * 4].decode("utf-8-sig", errors="replace")
    )
    return parse_front_matter(parse_yaml_mapping(yaml))


def _source_id(path: Path, root: Path) -> str:
    return _printable_name(path.relative_to(root).as_posix())


def _printable_name(name: str) -> str:
    """Return a file name as valid Unicode, with bytes that are not UTF-8 escaped: PostgreSQL accepts nothing else."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")
