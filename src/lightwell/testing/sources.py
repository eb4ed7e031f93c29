"""A source in memory, for tests."""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from lightwell.domain.documents import Format, NewDocument
from lightwell.ports import Change, ChangedDocument, RemovedDocument, UnchangedDocument


def make_document(
    name: str, text: str, tags: Iterable[str], *, title: str = "", topic: str = ""
) -> NewDocument:
    """Return a plain text or markdown document, as a source would report it."""
    content = text.encode()
    return NewDocument(
        system="file",
        kind="document",
        source_id=name,
        url=f"file:///shelf/{name}",
        format=Format.MARKDOWN if name.endswith(".md") else Format.TEXT,
        title=title,
        topic=topic,
        acl_tags=frozenset(tags),
        content=content,
        content_hash=hashlib.sha256(
            b"\n".join([content, title.encode(), topic.encode()])
        ).hexdigest(),
        updated_at=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InMemorySource:
    """A `Connector` over these documents; known documents that are absent here are reported as removed."""

    documents: tuple[NewDocument, ...]
    scope: str = "file:///shelf/"

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        for url in sorted(hashes.keys() - {document.url for document in self.documents}):
            yield RemovedDocument(url=url)
        for document in self.documents:
            if hashes.get(document.url) == document.content_hash:
                yield UnchangedDocument(url=document.url, document=document)
            else:
                yield ChangedDocument(document=document)
