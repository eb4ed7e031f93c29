"""A folder of files, or a single file, as a source."""

import asyncio
import hashlib
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG

from lightwell.connectors._file_settings import (
    FileSettingsLayer,
    parse_front_matter,
    resolve_settings,
)
from lightwell.connectors._folder_rules import (
    CHECK_PERMISSIONS,
    SETTINGS_NAME,
    FolderAbove,
    address_of_file,
    gitignores_above,
    ignored_settings,
    printable_name,
    rules_of,
    settings_above,
)
from lightwell.connectors._gitignore import is_left_out
from lightwell.connectors._skipping import (
    BY_GITIGNORE,
    BY_SETTINGS,
    EMPTY,
    MANIFESTS,
    why_skip_content,
    why_skip_file,
    why_skip_folder,
)
from lightwell.domain.access import Tags
from lightwell.domain.documents import SOURCE_ADDRESS, Format, NewDocument
from lightwell.domain.errors import Invalid, SourceFailed, Unreadable
from lightwell.domain.folder_tags import NOTHING_REMEMBERED, FolderTags
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.parse import is_blank
from lightwell.ingest.parse.formats import detect_format, has_known_extension, unsupported_format
from lightwell.ingest.parse.front_matter import (
    MAX_YAML_CHARACTERS,
    parse_yaml_mapping,
    split_front_matter,
)
from lightwell.ownership import open_regular_file, reason_to_distrust
from lightwell.ports import (
    Change,
    ChangedDocument,
    RemovedDocument,
    SkippedFiles,
    UnchangedDocument,
    UnreadableDocument,
)

_TEMPLATE = b"{{"
MAX_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _FileEntry:
    """A file below the root with the settings of the folders above it, or the problem with it. `address` is that for browsers.

    `skipped` says as what it is counted that is left out, "" for what is not counted. `is_named`: it is the root itself.
    """

    path: Path
    source_id: str
    layers: Sequence[FileSettingsLayer] = ()
    reason: str = ""
    message: str = ""
    address: str = ""
    skipped: str | None = None
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """All readable files below `root`; `folder_tags`, or else `default_tags`, apply where no setting gives `acl_tags`.

    Settings of folders above the root apply, too, so a file has the same tags whichever root is chosen. They end at
    the first folder that other users own or may write to.

    `reads_foreign`: a parser elsewhere reads what Lightwell does not. `format` applies to all files; None detects it from each extension and the first bytes.
    """

    root: Path
    default_tags: Tags
    max_bytes: int = MAX_BYTES
    format: Format | None = None
    folder_tags: FolderTags = NOTHING_REMEMBERED
    reads_foreign: bool = False

    @property
    def scope(self) -> str:
        return self.root.resolve().as_uri()

    def describe_ignored_settings(self) -> list[str]:
        """Return a message for each settings file above the root that is ignored because other users may have written it."""
        above, ignored = ignored_settings(self.root.resolve())
        return [
            f"{folder / SETTINGS_NAME} does not apply: {above} {reason_to_distrust(above.stat())}"
            for folder in ignored
        ]

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield removed files, then every file by path; raise `SourceFailed` if the root cannot be read.

        An unchanged document comes without its content. A file that cannot be read is unreadable, not removed. What is
        skipped by its name, a .gitignore or settings counts as removed; of an unknown format as unreadable, if it was read before.
        """
        root, listing = await asyncio.to_thread(self._walk)
        skipped = Counter(entry.skipped for entry in listing if entry.skipped)
        entries = [entry for entry in listing if entry.skipped is None]
        present = {entry.path.as_uri() for entry in entries}
        unreadable = tuple(entry.path.as_uri() + "/" for entry in entries if entry.reason)
        address = root.as_uri()
        below = address.rstrip("/") + "/"
        urls = sorted(hashes)
        for url in urls:
            is_inside = url == address or url.startswith(below)
            if is_inside and url not in present and not url.startswith(unreadable):
                yield RemovedDocument(url=url)
        for entry in entries:
            change = await asyncio.to_thread(self._change, entry, hashes, urls)
            if isinstance(change, str):
                skipped[change] += 1
            else:
                yield change
        if skipped:
            yield SkippedFiles(kinds=dict(skipped.most_common()))

    def _walk(self) -> tuple[Path, list[_FileEntry]]:
        try:
            root = self.root.resolve(strict=True)
            above = [*gitignores_above(root), *settings_above(root)]
            if not root.is_dir():
                return root, list(_single_file(root, above))
            os.scandir(root).close()
        except Invalid as error:
            raise SourceFailed(str(error)) from error
        except OSError as error:
            raise SourceFailed(
                f"{self.root} cannot be read: {error.strerror}; check the path"
            ) from error
        walk = _Walk(root, self.folder_tags)
        return root, list(walk.folder(root, above))

    def _change(
        self, entry: _FileEntry, hashes: Mapping[str, str], urls: Sequence[str]
    ) -> Change | str:
        """Return what became of a file, or as what it is counted that is skipped: no document, and was none before.

        `urls` are those of the hashes, sorted.
        """
        url = entry.path.as_uri()
        is_new = url not in hashes and not entry.is_named
        try:
            document = self._document(entry, url)
        except Unreadable as error:
            if (
                is_new
                and not _has_below(urls, url)
                and (skipped := why_skip_content(entry.path.name, error.reason))
            ):
                return skipped
            return UnreadableDocument(url=url, reason=error.reason, message=str(error))
        except Invalid as error:
            return UnreadableDocument(url=url, reason="settings", message=f"front matter: {error}")
        except OSError as error:
            return UnreadableDocument(
                url=url, reason="unreadable", message=f"{error.strerror}; {CHECK_PERMISSIONS}"
            )
        except Exception as error:  # noqa: BLE001 - one file must not end the walk; it is reported with its reason
            failure = document_failure(error, url)
            message = str(error) if failure is None else failure.message
            return UnreadableDocument(url=url, reason="internal", message=message)
        if is_new and is_blank(document.content):
            return EMPTY
        if hashes.get(url) == document.content_hash:
            return UnchangedDocument(url=url, document=replace(document, content=b""))
        return ChangedDocument(document=document)

    def _document(self, entry: _FileEntry, url: str) -> NewDocument:
        if entry.reason:
            raise Unreadable(entry.reason, entry.message)
        if self.format is None and not has_known_extension(
            entry.path.name, reads_foreign=self.reads_foreign
        ):
            raise unsupported_format(entry.path.name)
        content, modified = self._read_file(entry.path)
        format = self.format or detect_format(
            entry.path.name, content, reads_foreign=self.reads_foreign
        )
        layers = (
            [*entry.layers, _own_settings(content)] if format is Format.MARKDOWN else entry.layers
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
    _, ignored = ignored_settings(root.resolve())
    return remembered.below(ignored[0].as_uri()) if ignored else remembered


def find_place_tags(file: Path, remembered: FolderTags) -> Tags | None:
    """Return the tags that a file has by its place alone, whatever its content says; None where settings there ignore it.

    Raises `SourceFailed` for settings that cannot be read. `remembered` are those that apply.
    """
    try:
        above = settings_above(file)
    except Invalid as error:
        raise SourceFailed(str(error)) from error
    if any(folder.ignores(file) for folder in above):
        return None
    layers = [layer for folder in above for layer in folder.layers_for(file)]
    return resolve_settings(remembered.find(file.as_uri()) or frozenset(), layers).acl_tags


def _single_file(path: Path, above: Sequence[FolderAbove]) -> Iterator[_FileEntry]:
    if S_ISREG(path.stat().st_mode):
        layers = [layer for folder in above for layer in folder.layers_for(path)]
        yield _FileEntry(
            path,
            printable_name(path.name),
            layers,
            address=address_of_file(path, above),
            is_named=True,
        )


@dataclass(frozen=True, slots=True)
class _Walk:
    """The files below `root`. A folder that was given access tags itself is read although its name would be skipped."""

    root: Path
    folder_tags: FolderTags

    def folder(self, folder: Path, above: Sequence[FolderAbove]) -> Iterator[_FileEntry]:
        """Yield the folder's files and those of its folders, all in the order of their paths."""
        try:
            here = [*above, *rules_of(folder)]
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except Invalid as error:
            yield _FileEntry(folder, _source_id(folder, self.root), (), "settings", str(error))
            return
        except OSError as error:
            message = f"{error.strerror}; {CHECK_PERMISSIONS}"
            yield _FileEntry(folder, _source_id(folder, self.root), (), "unreadable", message)
            return
        is_package = not MANIFESTS.isdisjoint(entry.name for entry in entries)
        for entry in entries:
            skipped = self._why_skip(entry, here, is_in_package=is_package)
            if skipped is None:
                yield from self._entries(entry, here)
            else:
                yield _FileEntry(Path(entry.path), "", skipped=skipped)

    def _why_skip(
        self, entry: os.DirEntry[str], above: Sequence[FolderAbove], *, is_in_package: bool
    ) -> str | None:
        """Return as what an entry is counted that is skipped, "" for what is not counted; None if it is read."""
        path, is_folder = Path(entry.path), entry.is_dir(follow_symlinks=False)
        by_name = (
            why_skip_folder(entry.name, is_in_package=is_in_package)
            if is_folder
            else why_skip_file(entry.name)
        )
        if entry.name.startswith("."):
            return by_name
        if any(parent.ignores(path) for parent in above):
            return BY_SETTINGS
        if path.as_uri() in self.folder_tags.by_url or any(parent.keeps(path) for parent in above):
            return None
        rules = [parent.gitignore for parent in above if parent.gitignore]
        return BY_GITIGNORE if is_left_out(path, rules, is_folder=is_folder) else by_name

    def _entries(
        self, entry: os.DirEntry[str], above: Sequence[FolderAbove]
    ) -> Iterator[_FileEntry]:
        path = Path(entry.path)
        if entry.is_symlink():
            if _points_outside(path, self.root):
                message = f"it is a link to a file outside {self.root.name or self.root}; copy the file into the folder"
                yield _FileEntry(path, _source_id(path, self.root), (), "outside", message)
        elif entry.is_dir(follow_symlinks=False):
            yield from self.folder(path, above)
        elif entry.is_file(follow_symlinks=False):
            layers = [layer for folder in above for layer in folder.layers_for(path)]
            address = address_of_file(path, above)
            yield _FileEntry(path, _source_id(path, self.root), layers, address=address)


def _with_address(metadata: Mapping[str, str], address: str) -> Mapping[str, str]:
    """Return the metadata with the file's address; what the file itself says of its address is no word of the folder's owner."""
    others = {name: text for name, text in metadata.items() if name != SOURCE_ADDRESS}
    return {**others, SOURCE_ADDRESS: address} if address else others


def _has_below(urls: Sequence[str], url: str) -> bool:
    """Return whether a document is known below this URL, as where a link is now in the place of a folder; `urls` are sorted."""
    place = bisect_left(urls, f"{url}/")
    return place < len(urls) and urls[place].startswith(f"{url}/")


def _points_outside(link: Path, root: Path) -> bool:
    """Return whether a link points to an existing file outside the root; files inside are found without the link."""
    try:
        return not link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _own_settings(content: bytes) -> FileSettingsLayer:
    """Return what a markdown document says of itself; raise `Invalid`, or `Unreadable` for a template, from which documents are made."""
    try:
        return parse_front_matter_of(content)
    except Invalid as error:
        if _TEMPLATE in content.partition(b"\n---")[0]:
            raise Unreadable("template", f"front matter: {error}") from error
        raise


def parse_front_matter_of(content: bytes) -> FileSettingsLayer:
    """Return what a markdown document says of itself; raise `Invalid` naming what is wrong there."""
    yaml, _ = split_front_matter(
        content[: MAX_YAML_CHARACTERS * 4].decode("utf-8-sig", errors="replace")
    )
    return parse_front_matter(parse_yaml_mapping(yaml))


def _source_id(path: Path, root: Path) -> str:
    return printable_name(path.relative_to(root).as_posix())
