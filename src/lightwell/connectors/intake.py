"""What clients of a server hand in: the content of files, URLs, and paths below the folders that are open to them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lightwell.connectors.files import find_applicable_tags, find_place_tags
from lightwell.connectors.single_document import (
    Origin,
    RequestedDocument,
    make_document,
    upload_origin,
)
from lightwell.connectors.web import Page, WebFetcher, modified_at
from lightwell.domain.access import TagAuthority
from lightwell.domain.documents import WEB, NewDocument
from lightwell.domain.errors import Invalid, NotFound, SourceFailed, Unreadable
from lightwell.domain.folder_tags import NO_FILE, FolderTags
from lightwell.domain.requests import IngestRequest
from lightwell.domain.texts import require_text
from lightwell.logs import logger
from lightwell.ports import ChangedDocument, UnreadableDocument

_log = logger(__name__)

__all__ = ["Intake", "Origin", "is_web_url", "upload_origin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Reads documents that clients name or send. `roots` are the folders whose files they may name.

    `reads_foreign`: a parser elsewhere reads what Lightwell does not.
    """

    max_bytes: int
    roots: tuple[Path, ...]
    fetcher: WebFetcher
    reads_foreign: bool = False

    def read_upload(self, request: IngestRequest, origin: Origin, content: bytes) -> NewDocument:
        """Return an uploaded document; raise `Unreadable` or `Invalid`."""
        return make_document(
            request, origin, content, self.max_bytes, reads_foreign=self.reads_foreign
        )

    async def read_page(self, request: IngestRequest) -> NewDocument:
        """Return the document of the request's URL; raise `Invalid`, `TooLarge`, `Unreadable` or `SourceFailed`."""
        page = await self.fetcher.fetch(request.document_url)
        return await asyncio.to_thread(self._read_page, request, page)

    async def read_file(
        self,
        request: IngestRequest,
        find_folder_tags: Callable[[str], Awaitable[FolderTags]],
        authority: TagAuthority,
    ) -> NewDocument:
        """Return the document of the request's path, with the tags that the file, its settings or the ingestion of its folder give it.

        A request gives a file no tags: whoever may name files would read those of others. `find_folder_tags` returns what
        is remembered around a URL. Raises `Invalid` or `Unreadable`, and the same `NotFound` for a file that is not
        there as for one that the authority may not see, or that settings ignore; for settings that cannot be read `NotFound`, too, or
        `SourceFailed` for an administrator.
        """
        if request.acl_tags:
            raise Invalid(
                "aclTags are for URLs: who sees a file is said by its front matter, a .lightwell.yaml, or `lightwell ingest --acl`"
            )
        path = find_below(request.document_url, self.roots)
        remembered = find_applicable_tags(path, await find_folder_tags(path.as_uri()))
        try:
            of_place = await asyncio.to_thread(find_place_tags, path, remembered)
        except SourceFailed as error:  # its words may quote settings that are none of the caller's
            if authority.is_unlimited:
                raise
            _log.warning("a file was not read", url=path.as_uri(), why=str(error))
            raise NotFound(NO_FILE) from None
        source = RequestedDocument(
            replace(request, document_url=str(path)),
            max_bytes=self.max_bytes,
            folder_tags=remembered,
            reads_foreign=self.reads_foreign,
        )
        async for change in source.changes({}):
            match change:
                # A link that was put in the way meanwhile leads to another file, which other tags may protect.
                case ChangedDocument(document=document) if (
                    of_place is not None
                    and document.url == path.as_uri()
                    and authority.reads(document.acl_tags)
                ):
                    return document
                case UnreadableDocument(reason=reason, message=message) if authority.reads(
                    of_place or frozenset()
                ):
                    raise Unreadable(reason, message)
                case _:
                    pass
        raise NotFound(NO_FILE)

    def _read_page(self, request: IngestRequest, page: Page) -> NewDocument:
        # The source id is chosen when the document is registered, since only then it is known who has it already.
        origin = Origin(system=WEB, kind="page", source_id="", url=page.url, name=page.name)
        document = make_document(
            request, origin, page.content, self.max_bytes, reads_foreign=self.reads_foreign
        )
        payload = {
            "fetchedUrl": page.final_url,
            "contentType": page.content_type,
            "bytes": len(page.content),
            "modifiedAt": modified_at(page) or None,
        }
        return replace(document, raw_payload=payload)


def is_web_url(text: str) -> bool:
    """Return whether the text is meant as an HTTP or HTTPS URL."""
    return text.strip().lower().startswith(("http://", "https://"))


def find_below(name: str, roots: Sequence[Path]) -> Path:
    """Return the file of a path or `file:` URL below one of the roots; raise `Invalid` for another place, else `NotFound`.

    Links are followed first. What is outside is refused whether or not it exists, and hidden files do not exist.
    """
    text = require_text(name, "documentUrl").strip()
    scheme = text.partition(":")[0].lower() if ":" in text else ""
    if not text or (not text.startswith("/") and scheme not in ("", "file")):
        raise Invalid("documentUrl must be an http or https URL, or the path of a file")
    if not roots:
        raise Invalid(
            "This server reads no paths: upload the file. LIGHTWELL_INGEST_ROOTS opens folders"
        )
    try:
        path = Path(unquote(urlsplit(text).path) if scheme == "file" else text)
        resolved = path.resolve()
        root = next(
            (root for root in (root.resolve() for root in roots) if resolved.is_relative_to(root)),
            None,
        )
        if root is None or not path.is_absolute():
            raise Invalid("The path is not below a folder that this server may read")
        if (
            any(part.startswith(".") for part in resolved.relative_to(root).parts)
            or not resolved.is_file()
        ):
            raise NotFound(NO_FILE)
    except (OSError, RuntimeError, ValueError) as error:
        raise NotFound(NO_FILE) from error
    return resolved
