"""A source with one requested document: a file, or content that the request contains."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lightwell.connectors.files import MAX_BYTES, Files
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import Invalid, Unreadable
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


@dataclass(frozen=True, slots=True)
class RequestedDocument:
    """A `Connector` with exactly one document, which counts as changed at each request."""

    request: IngestRequest
    max_bytes: int = MAX_BYTES

    @property
    def scope(self) -> str:
        return self.request.document_url if self.request.content is not None else self._file.scope

    async def changes(self, known: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield the document; raise `Invalid` for a remote URL without content, and `SourceFailed` for a missing file."""
        if self.request.content is not None:
            yield self._change(self.request.content)
            return
        async for change in self._file.changes({}):
            match change:
                case ChangedDocument(document=document) | UnchangedDocument(document=document):
                    yield ChangedDocument(document=self._with_request(document))
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
        )

    def _change(self, content: bytes) -> Change:
        request = self.request
        url = require_text(request.document_url, "The document's URL").strip()
        if len(content) > self.max_bytes:
            limit = f"{self.max_bytes / 1024**2:,.0f} MB"
            return UnreadableDocument(
                url=url,
                reason="too_large",
                message=f"it is larger than {limit}; split it, or raise LIGHTWELL_MAX_FILE_BYTES",
            )
        name = unquote(urlsplit(url).path).rsplit("/", 1)[-1]
        try:
            format = request.format or detect_format(name, content)
        except Unreadable as error:
            return UnreadableDocument(url=url, reason=error.reason, message=str(error))
        document = NewDocument(
            system="file",
            kind="document",
            source_id=url,
            url=url,
            format=format,
            title="",
            topic="",
            acl_tags=request.acl_tags,
            content=content,
            content_hash=hashlib.sha256(content).hexdigest(),
            updated_at=None,
        )
        return ChangedDocument(document=self._with_request(document))

    def _with_request(self, document: NewDocument) -> NewDocument:
        request = self.request
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
