"""An export of Notion or Confluence as a source of documents: its pages, its tables and its files."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from lightwell.connectors._file_settings import FileSettingsLayer, resolve_settings
from lightwell.connectors._folder_rules import settings_above
from lightwell.connectors.exports.archive import Archive, Member, open_archive
from lightwell.connectors.exports.pages import (
    SEPARATOR,
    Page,
    all_rows_of,
    has_notion_id,
    is_confluence,
    name_of,
    places_above,
    read_notion,
    read_page,
)
from lightwell.connectors.files import Files, parse_front_matter_of
from lightwell.domain.access import Tags
from lightwell.domain.documents import FILE, Format, NewDocument
from lightwell.domain.errors import Invalid, SourceFailed, Unreadable
from lightwell.domain.folder_tags import NOTHING_REMEMBERED, FolderTags
from lightwell.ingest.parse.formats import detect_format, has_known_extension
from lightwell.ports import (
    Change,
    ChangedDocument,
    RemovedDocument,
    SkippedFiles,
    UnchangedDocument,
    UnreadableDocument,
)

_INDEX = "index.html"
_HTML = (".html", ".htm")
_NO_EXPORT = (
    "it is an archive, and no export of Notion or Confluence: unpack it, and ingest the folder"
)
_DECORATION = frozenset(("styles", "images", "icons"))
"""Folders of a Confluence export that hold what its pages look like."""


@dataclass(frozen=True, slots=True)
class ExportedWiki:
    """The pages, tables and files of an export. Access tags are those of a file at the archive's place; a page in Markdown may name its own."""

    root: Path
    default_tags: Tags
    max_bytes: int
    folder_tags: FolderTags = NOTHING_REMEMBERED

    @property
    def scope(self) -> str:
        return self.root.resolve().as_uri()

    def describe_ignored_settings(self) -> list[str]:
        """Return what `Files` returns for the archive."""
        return Files(root=self.root, default_tags=self.default_tags).describe_ignored_settings()

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield what is gone, then every file by its path; raise `SourceFailed` for an archive that cannot be read."""
        root = await asyncio.to_thread(self.root.resolve)
        try:
            layers = [layer for folder in settings_above(root) for layer in folder.layers_for(root)]
        except Invalid as error:
            raise SourceFailed(str(error)) from error
        with ExitStack() as stack:
            archive = await asyncio.to_thread(stack.enter_context, open_archive(root))
            export = await asyncio.to_thread(_Export.read, archive, self.max_bytes)
            if export is None:
                yield UnreadableDocument(url=self.scope, reason="unsupported", message=_NO_EXPORT)
                return
            members = {self._url(member.path): member for member in export.members()}
            for url in sorted(hashes.keys() - members.keys()):
                yield RemovedDocument(url=url)
            for url, member in members.items():
                yield await asyncio.to_thread(self._change, export, member, (url, layers), hashes)
        if export.skipped:
            yield SkippedFiles(kinds=export.skipped)

    def _url(self, path: PurePosixPath) -> str:
        return f"{self.scope}/{quote(path.as_posix())}"

    def _change(
        self,
        export: "_Export",
        member: Member,
        place: tuple[str, list[FileSettingsLayer]],
        hashes: Mapping[str, str],
    ) -> Change:
        url, layers = place
        try:
            document = self._document(export, member, url, layers)
        except Unreadable as error:
            return UnreadableDocument(url=url, reason=error.reason, message=str(error))
        except Invalid as error:
            return UnreadableDocument(url=url, reason="settings", message=f"front matter: {error}")
        if hashes.get(url) == document.content_hash:
            return UnchangedDocument(url=url, document=replace(document, content=b""))
        return ChangedDocument(document=document)

    def _document(
        self, export: "_Export", member: Member, url: str, layers: list[FileSettingsLayer]
    ) -> NewDocument:
        content = export.archive.read(member, self.max_bytes)
        format_ = detect_format(member.path.name, content)
        if format_ is Format.MARKDOWN:
            layers = [*layers, parse_front_matter_of(content)]
        page = export.page(member, content, format_)
        remembered = self.folder_tags.find(url)
        settings = resolve_settings(self.default_tags if remembered is None else remembered, layers)
        place = SEPARATOR.join(page.above)
        facts = {"path": place, "author": page.author}
        digest = hashlib.sha256(page.content)
        digest.update(f"\0{page.title}\0{settings.topic}\0{place}".encode())
        return NewDocument(
            system=FILE,
            kind="document",
            source_id=member.path.as_posix(),
            url=url,
            format=format_,
            title=page.title,
            topic=settings.topic,
            acl_tags=settings.acl_tags,
            acl_origin=settings.acl_origin,
            content=page.content,
            content_hash=digest.hexdigest(),
            updated_at=datetime(*member.info.date_time, tzinfo=UTC),
            metadata={**settings.metadata, **{name: fact for name, fact in facts.items() if fact}},
            is_file=True,
        )


@dataclass(slots=True)
class _Export:
    """An archive that is an export; `files` are the titles of attached files and what they are attached to, by path."""

    archive: Archive
    is_confluence: bool
    files: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    skipped: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def read(cls, archive: Archive, max_bytes: int) -> "_Export | None":
        """Return the export that an archive is, None for another archive."""
        pages = [page for page in archive.members if page.path.suffix.lower() in _HTML]
        index = next((page for page in pages if page.path.name == _INDEX), None)
        if index and is_confluence(archive.read(index, max_bytes)):
            export = cls(archive, is_confluence=True)
            for member in pages:
                export._note_files(member, max_bytes)
            return export
        if any(has_notion_id(member.path) for member in archive.members):
            return cls(archive, is_confluence=False)
        return None

    def members(self) -> Iterator[Member]:
        """Yield the files that are documents; the others are counted."""
        names = {member.path for member in self.archive.members}
        self.skipped.clear()
        for member in self.archive.members:
            path = member.path
            is_view = bool(all_rows := all_rows_of(path)) and path.with_name(all_rows) in names
            is_around = self.is_confluence and (
                path.name == _INDEX or not _DECORATION.isdisjoint(path.parts[:-1])
            )
            if is_view or is_around:
                continue
            if path.suffix and has_known_extension(path.name):
                yield member
            else:
                kind = path.suffix or path.name
                self.skipped[kind] = self.skipped.get(kind, 0) + 1

    def page(self, member: Member, content: bytes, format_: Format) -> Page:
        """Return a page or file with its title and where it lies."""
        path = member.path
        if format_ is Format.MARKDOWN:
            return read_notion(path, content)
        if format_ is Format.HTML:
            return read_page(path, content)
        if attached := self.files.get(path.as_posix()):
            return Page(title=attached[0] or path.name, above=(attached[1],), content=content)
        title = name_of(path.stem) if path.suffix.lower() == ".csv" else path.name
        return Page(title=title, above=places_above(path), content=content)

    def _note_files(self, member: Member, max_bytes: int) -> None:
        try:
            page = read_page(member.path, self.archive.read(member, max_bytes))
        except Unreadable:
            return
        for link, label in page.files:
            if link.startswith("attachments/"):
                path = (member.path.parent / link).as_posix()
                self.files.setdefault(path, (label, page.title))
