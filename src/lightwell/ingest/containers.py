"""One file that holds several documents: a mail with its attachments, a mailbox with its threads.

The file stays a document. Each of its parts is one of its own, whose URL is that of the file with the part's key as fragment, and has
the file's access tags. So the source does not know of parts, and whatever delivers files delivers them.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from lightwell.domain.documents import Format, NewDocument, Part
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.parser import Parser
from lightwell.ports import (
    Change,
    ChangedDocument,
    Connector,
    RemovedDocument,
    UnchangedDocument,
    UnreadableDocument,
)

_FORMATS = frozenset({Format.MAIL})


@dataclass(frozen=True, slots=True)
class WithParts:
    """A source, and the parts of its files. A file that has not changed costs no parsing; its parts are those that are stored."""

    source: Connector
    parser: Parser

    @property
    def scope(self) -> str:
        return self.source.scope

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield the changes of the source; the parts of a file come before it, so that after a crash they are looked for again."""
        stored: dict[str, list[str]] = {}
        for url in hashes:
            if "#" in url:
                stored.setdefault(url.partition("#")[0], []).append(url)
        whole = {url: hash for url, hash in hashes.items() if "#" not in url}
        async for change in self.source.changes(whole):
            match change:
                case ChangedDocument(document=document) if document.format in _FORMATS:
                    async for part in self._split(document, stored.get(document.url, ()), hashes):
                        yield part
                case RemovedDocument(url=url):
                    for part_url in stored.get(url, ()):
                        yield RemovedDocument(url=part_url)
                    yield change
                case UnchangedDocument(url=url, document=document):
                    for part_url in stored.get(url, ()):
                        same = replace(document, url=part_url)
                        yield UnchangedDocument(url=part_url, document=same)
                    yield change
                case _:
                    yield change

    async def _split(
        self, document: NewDocument, stored: Sequence[str], hashes: Mapping[str, str]
    ) -> AsyncIterator[Change]:
        """Yield the parts that are gone, then the others, then the file itself."""
        try:
            parts = await self.parser.split(document.content, document.format, name=document.url)
        except Exception as error:
            failure = document_failure(error, document.url)
            if failure is None:
                raise
            yield UnreadableDocument(url=document.url, reason="unreadable", message=failure.message)
            return
        present = [_document_of(document, part) for part in parts]
        for url in sorted({*stored} - {part.url for part in present}):
            yield RemovedDocument(url=url)
        for part in present:
            if hashes.get(part.url) == part.content_hash:
                yield UnchangedDocument(url=part.url, document=replace(part, content=b""))
            else:
                yield ChangedDocument(document=part)
        # What its parts say, it does not repeat.
        format = Format.MAILBOX if parts else document.format
        yield ChangedDocument(document=replace(document, format=format))


def _document_of(document: NewDocument, part: Part) -> NewDocument:
    digest = hashlib.sha256(part.content)
    digest.update(f"\0{document.topic}".encode())
    return replace(
        document,
        source_id=f"{document.source_id}#{part.key}",
        url=f"{document.url}#{quote(part.key)}",
        format=part.format,
        title="",
        content=part.content,
        content_hash=digest.hexdigest(),
        is_file=part.is_file,
        raw_payload={**document.raw_payload, "part": part.key, "bytes": len(part.content)},
    )
