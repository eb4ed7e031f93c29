"""A stand-in for the engine: it pulls a source into a dictionary, and counts what would have cost a job."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import httpx

from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import AttachedFile, ItemPage, UnreadableItem
from lightwell.ports import ItemSource


@dataclass(slots=True)
class Shelf:
    """What was pulled: the documents of each item, and the cursor of each stream."""

    documents: dict[GlobalRef, tuple[NewDocument, ...]] = field(
        default_factory=dict[GlobalRef, tuple[NewDocument, ...]]
    )
    cursors: dict[str, str] = field(default_factory=dict[str, str])
    unreadable: list[UnreadableItem] = field(default_factory=list[UnreadableItem])
    changed: list[str] = field(default_factory=list[str])

    async def sync(self, source: ItemSource, *, pages: int = 10**9) -> None:
        """Pull all streams, or as many pages as given; `changed` lists what this pull changed."""
        self.changed = []
        for stream in source.streams:
            async for page in source.pull(stream, self.cursors.get(stream, "")):
                await self.store(page)
                self.cursors[stream] = page.cursor
                pages -= 1
                if not pages:
                    return

    async def sweep(self, source: ItemSource) -> None:
        """Fetch what is here and is not listed, as the engine does."""
        listed = {
            ref
            for stream in source.streams
            async for refs in source.list_present(stream)
            for ref in refs
        }
        await self.fetch(source, self.documents.keys() - listed)

    async def fetch(self, source: ItemSource, refs: Iterable[GlobalRef]) -> ItemPage:
        self.changed = []
        page = await source.fetch(list(refs))
        await self.store(page)
        return page

    async def store(self, page: ItemPage) -> None:
        for item in page.items:
            known = {each.url: each for each in self.documents.get(item.ref, ())}
            old = {url: each.content_hash for url, each in known.items()}
            files = [await read_file(each, known) for each in item.files]
            documents = (*item.documents, *files)
            new = {each.url: each.content_hash for each in documents}
            self.changed += [url for url, hash_ in new.items() if old.get(url) != hash_]
            self.changed += sorted(old.keys() - new.keys())
            self.documents[item.ref] = documents
        for ref in page.removed:
            self.documents.pop(ref, None)
        self.unreadable += page.unreadable

    def one(self, ref: str) -> NewDocument:
        """Return the only document of an item."""
        (document,) = self.documents[GlobalRef(ref)]
        return document

    def text(self, ref: str) -> str:
        return "\n---\n".join(each.content.decode() for each in self.documents[GlobalRef(ref)])

    def hashes(self) -> dict[str, str]:
        return {each.url: each.content_hash for item in self.documents.values() for each in item}


async def read_file(file: AttachedFile, known: Mapping[str, NewDocument]) -> NewDocument:
    """Return the file's document, with the content that is known already."""
    old = known.get(file.document.url)
    if old is None or old.file_version != file.document.file_version:
        return await file.read()
    return replace(file.document, content=old.content, format=old.format, has_content=True)


def in_parts(response: httpx.Response) -> httpx.Response:
    """Return the response as it comes from a network: with a body that nobody has read."""
    stream = httpx.ByteStream(response.content)
    return httpx.Response(response.status_code, headers=response.headers, stream=stream)
