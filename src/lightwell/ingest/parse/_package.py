"""Zip packages of XML, which office files and e-books are: opened within limits, parsed without entities."""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast
from urllib.parse import unquote

from lxml import etree  # pyright: ignore

from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._text import one_line, parse_datetime

MAX_UNPACKED = 200 * 1024 * 1024
MAX_RATIO = 200
MAX_MARKUP = 64 * 1024 * 1024
"""Bytes of XML in one document; the parsed tree needs more than ten times as much memory."""

MAX_ELEMENTS = 2_000_000
_SMALL_MEMBER = 1024 * 1024
_ENCRYPTED = 0x1
_COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MARKUP = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
_OLE = b"\xd0\xcf\x11\xe0"
_FAILURES = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError)
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"

DC = "{http://purl.org/dc/elements/1.1/}"
"""The namespace of Dublin Core, by which all these files name their title and author."""


class Element(Protocol):
    """The part of lxml's element that is used here; `tag` is no text where the node is none of an element."""

    @property
    def tag(self) -> str: ...
    @property
    def text(self) -> str | None: ...
    @property
    def tail(self) -> str | None: ...
    def __iter__(self) -> Iterator["Element"]: ...
    def get(self, key: str) -> str | None: ...
    def find(self, path: str) -> "Element | None": ...
    def iter(self, *tags: str) -> Iterator["Element"]: ...


@dataclass(frozen=True, slots=True)
class Package:
    """An opened package; `what` is what people call such a file."""

    _archive: zipfile.ZipFile
    _members: Mapping[str, zipfile.ZipInfo]
    what: str

    def read(self, name: str) -> bytes:
        """Return the bytes of a member, b"" where there is none."""
        if name not in self._members:
            return b""
        try:
            return self._archive.read(self._members[name])
        except _FAILURES as error:
            raise broken(self.what) from error

    def xml(self, name: str) -> Element | None:
        """Return the root of a member, None where there is none."""
        content = self.read(name)
        if not content:
            return None
        parser = etree.XMLParser(  # pyright: ignore
            resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
        )
        try:
            return cast("Element", etree.fromstring(content, parser))  # pyright: ignore
        except (SyntaxError, ValueError) as error:
            raise broken(self.what) from error

    def related(self, name: str) -> list[tuple[str, str, str]]:
        """Return the id, the last word of the type, and the name of each member to which a part of an Office file refers."""
        folder, file = posixpath.split(name)
        root = self.xml(f"{folder}/_rels/{file}.rels")
        return [
            (
                node.get("Id") or "",
                (node.get("Type") or "").rpartition("/")[2],
                resolve(name, node.get("Target") or ""),
            )
            for node in (root.iter(_RELATIONSHIP) if root is not None else ())
            if node.get("TargetMode") != "External"
        ]


def open_package(content: bytes, what: str) -> Package:
    """Return the package; raise `Unreadable` for one that is damaged, locked, or far larger than it seems."""
    if content.startswith(_OLE):
        raise _locked()
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (*_FAILURES, NotImplementedError) as error:
        raise broken(what) from error
    members = archive.infolist()
    markup = [member for member in members if member.filename.lower().endswith(_MARKUP)]
    if any(member.compress_type not in _COMPRESSION_METHODS for member in members):
        raise broken(what)
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise _locked()
    if (
        sum(member.file_size for member in members) > MAX_UNPACKED
        or sum(member.file_size for member in markup) > MAX_MARKUP
        or any(map(_is_bomb, members))
    ):
        raise Unreadable(
            "too_large", "it is far larger unpacked than packed; remove large pictures or split it"
        )
    package = Package(archive, {member.filename: member for member in members}, what)
    if sum(package.read(member.filename).count(b"<") for member in markup) > MAX_ELEMENTS:
        raise Unreadable(
            "too_large", f"it has over {MAX_ELEMENTS:,} paragraphs, cells and the like; split it"
        )
    return package


def broken(what: str) -> Unreadable:
    return Unreadable("broken", f"the {what} is incomplete; open it and save it again")


def resolve(base: str, target: str) -> str:
    """Return the name of the member to which a reference in another one leads."""
    path = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path)).lstrip("/")


def value_of(root: Element | None, *names: str) -> str:
    """Return the text of the first element of these names that has any, as one line; the first name that is there counts."""
    nodes = (node for name in names for node in (root.iter(name) if root is not None else ()))
    lines = (one_line(node.text or "") for node in nodes)
    return next(filter(None, lines), "")


def date_of(root: Element | None, *names: str) -> datetime | None:
    """Return the date that `value_of` these names is, None for none."""
    return parse_datetime(value_of(root, *names))


def nearest(element: Element, tags: frozenset[str], skipped: frozenset[str]) -> Iterator[Element]:
    """Yield the nearest descendants with one of these tags, in order, and none below what is skipped."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag not in skipped:
            yield from nearest(child, tags, skipped)


def _locked() -> Unreadable:
    return Unreadable("encrypted", "it asks for a password; save it without one")


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    ratio = member.file_size / max(member.compress_size, 1)
    return member.file_size > _SMALL_MEMBER and ratio > MAX_RATIO
