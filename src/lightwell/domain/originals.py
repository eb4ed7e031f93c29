"""Originals: a document's bytes as its source delivered them."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from lightwell.domain.documents import FILE, UPLOAD, WEB, Format, NewDocument
from lightwell.domain.formats import EXTENSIONS
from lightwell.domain.ids import DocumentId, JobId

_MAX_NAME_LENGTH = 150
_NOT_IN_NAMES = frozenset('/\\:*?"<>|')


class Place(StrEnum):
    """Where an original is once it was read: in the store, in the folder that its URL names, or nowhere. Stored."""

    STORE = "store"
    FOLDER = "folder"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """An original that a reader may have. `job` is the one that read it, and its id; `size` is in bytes."""

    job: JobId
    document: DocumentId
    url: str
    title: str
    format: Format
    place: Place
    size: int
    sha256: bytes
    pages: int

    @property
    def name(self) -> str:
        """A file name that is safe everywhere: no path, no control or bidirectional signs, with an extension."""
        url = urlsplit(self.url)
        return safe_file_name(PurePosixPath(unquote(url.fragment or url.path)).name, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureRequest:
    """A page of a PDF to draw, from 1, `width` pixels wide. `quote` is marked; `occurrence` counts from 0 where the page has it several times."""

    page: int
    width: int
    quote: str = ""
    occurrence: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A page as a PNG; `marks` counts the marked lines."""

    png: bytes
    width: int
    height: int
    marks: int


def place_of(document: NewDocument) -> Place:
    """Return where the bytes of a new document are kept: here what was handed in, fetched, or attached to an item."""
    if document.system in (UPLOAD, WEB) or document.is_file:
        return Place.STORE
    if document.system != FILE:
        return Place.NONE
    if urlsplit(document.url).fragment:
        return Place.NONE  # a thread of a mailbox, whose original is the mailbox
    return Place.FOLDER if document.url.startswith("file://") else Place.STORE


def safe_file_name(name: str, original: Original) -> str:
    """Return this name, the document's title, or "document", made safe, with an extension of the format if it has none."""
    for text in (name, original.title):
        safe = "".join(sign for sign in text if sign.isprintable() and sign not in _NOT_IN_NAMES)
        safe = safe.strip(" .")
        if safe:
            break
    else:
        safe = "document"
    suffix = PurePosixPath(safe).suffix or EXTENSIONS.get(original.format, ("",))[0]
    stem = safe.removesuffix(suffix)[: _MAX_NAME_LENGTH - len(suffix)].rstrip(" .") or "document"
    return f"{stem}{suffix}"
