"""One document that somebody hands in: a file, or content that comes with the request."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from uuid import UUID

from lightwell.connectors._file_settings import resolve_settings
from lightwell.connectors.files import MAX_BYTES, Files, parse_front_matter_of
from lightwell.domain.documents import UPLOAD, Format, NewDocument
from lightwell.domain.errors import Invalid, TooLarge, Unreadable
from lightwell.domain.folder_tags import NOTHING_REMEMBERED, FolderTags
from lightwell.domain.ids import new_id
from lightwell.domain.requests import IngestRequest
from lightwell.domain.texts import require_text
from lightwell.ingest.parse.formats import detect_format
from lightwell.ports import (
    Change,
    ChangedDocument,
    Connector,
    UnchangedDocument,
    UnreadableDocument,
)

_MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a document comes from. The extension of `name` tells its format, where its first bytes do not."""

    system: str
    kind: str
    source_id: str
    url: str
    name: str


def upload_origin(file_name: str, known_as: tuple[str, str] = ("", "")) -> Origin:
    """Return the origin of an uploaded file: a new document, whatever others are called. Its name is no path.

    What the same user uploads under the same external id is one document; `known_as` is both, "" for none.
    """
    last = file_name.replace("\\", "/").rpartition("/")[2]
    name = "".join(sign for sign in last if sign.isprintable())
    name = name.strip()[-_MAX_NAME_LENGTH:] or "document"
    upload = str(_known_id(*known_as) if all(known_as) else new_id())
    url = f"{UPLOAD}:///{upload}/{quote(name, safe='')}"
    return Origin(system=UPLOAD, kind="document", source_id=upload, url=url, name=name)


def _known_id(user: str, external_id: str) -> UUID:
    """Return the id of what a user uploads under an external id: each user has ids of their own, so that nobody meets those of others."""
    digest = hashlib.sha256(f"{user}\0{external_id}".encode()).digest()
    return UUID(bytes=digest[:16], version=5)


@dataclass(frozen=True, slots=True)
class RequestedDocument:
    """A `Connector` with exactly one document, which counts as changed at each request.

    `folder_tags` apply to a file as in `Files`.
    """

    request: IngestRequest
    max_bytes: int = MAX_BYTES
    folder_tags: FolderTags = NOTHING_REMEMBERED
    reads_foreign: bool = False

    @property
    def scope(self) -> str:
        return self.request.document_url if self.request.content is not None else self._file.scope

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield the document; raise `Invalid` for a remote URL without content, and `SourceFailed` for a missing file."""
        if self.request.content is not None:
            yield self._change(self.request.content)
            return
        async for change in self._file.changes({}):
            match change:
                case ChangedDocument(document=document) | UnchangedDocument(document=document):
                    yield ChangedDocument(document=_with_request(document, self.request))
                case _:
                    yield change

    @property
    def _file(self) -> Connector:
        path = _path_from_url(self.request.document_url)
        if path.is_dir():
            raise Invalid(
                f"{path} is a folder: a request is for one document; use `lightwell ingest`"
            )
        return Files(
            root=path,
            default_tags=self.request.acl_tags,
            max_bytes=self.max_bytes,
            format=self.request.format,
            folder_tags=self.folder_tags,
            reads_foreign=self.reads_foreign,
        )

    def _change(self, content: bytes) -> Change:
        url = require_text(self.request.document_url, "The document's URL").strip()
        parts = urlsplit(url)
        if parts.scheme not in ("", "http", "https", "file"):
            raise Invalid(
                f"{parts.scheme}: is no scheme of a document's URL: use https, http or file"
            )
        name = unquote(parts.path).rsplit("/", 1)[-1]
        origin = Origin(system="file", kind="document", source_id=url, url=url, name=name)
        try:
            return ChangedDocument(
                document=make_document(
                    self.request,
                    origin,
                    content,
                    self.max_bytes,
                    reads_foreign=self.reads_foreign,
                )
            )
        except Unreadable as error:
            return UnreadableDocument(url=url, reason=error.reason, message=str(error))


def make_document(
    request: IngestRequest,
    origin: Origin,
    content: bytes,
    max_bytes: int,
    *,
    reads_foreign: bool = False,
) -> NewDocument:
    """Return the document of this content; raise `Unreadable`, or `Invalid` for front matter that is wrong.

    What markdown says of itself in its front matter counts as in a file, its access tags included.
    """
    if len(content) > max_bytes:
        limit = f"{max_bytes / 1024**2:,.0f} MB"
        raise TooLarge(f"it is larger than {limit}; split it, or raise LIGHTWELL_MAX_FILE_BYTES")
    format = request.format or detect_format(origin.name, content, reads_foreign=reads_foreign)
    layers = [parse_front_matter_of(content)] if format is Format.MARKDOWN else []
    settings = resolve_settings(request.acl_tags, layers)
    document = NewDocument(
        system=origin.system,
        kind=origin.kind,
        source_id=origin.source_id,
        url=origin.url,
        format=format,
        title=settings.title,
        topic=settings.topic,
        acl_tags=settings.acl_tags,
        acl_origin=settings.acl_origin,
        content=content,
        content_hash=hashlib.sha256(content).hexdigest(),
        updated_at=None,
        metadata=settings.metadata,
    )
    return _with_request(document, request)


def _with_request(document: NewDocument, request: IngestRequest) -> NewDocument:
    """Return the document with what the request says of it."""
    title = require_text(request.title, "The title").strip() or document.title
    topic = document.topic or require_text(request.topic, "The topic").strip()
    identity = f"{document.content_hash}\0{title}\0{topic}\0{request.format}"
    return replace(
        document,
        title=title,
        topic=topic,
        format=request.format or document.format,
        metadata={**document.metadata, **request.metadata},
        content_hash=hashlib.sha256(identity.encode()).hexdigest(),
    )


def _path_from_url(url: str) -> Path:
    """Return the local path of a path or `file:` URL; raise `Invalid` for any other URL or an empty one."""
    if not url.strip():
        raise Invalid(
            "documentUrl cannot be empty: name a file, or a URL together with its content"
        )
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if "://" in url:
        raise Invalid(
            f"{parts.scheme}: URLs are not fetched: send the document's content along, or save it and name the file"
        )
    return Path(url)
