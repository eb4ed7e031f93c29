"""Methods for a project's documents: list and read them, hand them in, change who sees them, delete and export them."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.access import Reader, TagAuthority, Tags
from lightwell.domain.audiences import (
    MAX_NAMES,
    AccessPreview,
    Audience,
    AudienceChange,
    TagChange,
    describe_tag,
    own_ways,
)
from lightwell.domain.document_lists import DocumentCount, DocumentFilter
from lightwell.domain.document_views import DocumentView, ReadingPlace
from lightwell.domain.documents import Chunk, Deletion, Document, Locator, Status
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.exports import ExportConfig, Exported, ExportProgress
from lightwell.domain.folder_tags import FolderTags
from lightwell.domain.graph import DESCRIPTION_SEPARATOR
from lightwell.domain.ids import ChunkId, DocumentId
from lightwell.domain.requests import IdempotencyKey, IngestResponse
from lightwell.domain.withdrawals import Act, Withdrawal, hash_tag
from lightwell.ingest import deletion, submission
from lightwell.ingest.context import IngestContext, follow_space
from lightwell.ingest.derived_data import apply_pending_changes, finish_derived_for
from lightwell.ingest.submission import Submission
from lightwell.knowledge_base.document_views import view_document
from lightwell.records import audiences, folder_tags, projects, search
from lightwell.records.database import Database, repeatable
from lightwell.records.documents import documents, published_chunks
from lightwell.records.documents import submitted as submitted_documents
from lightwell.records.jobs import queue

LARGEST_PAGE = 1000
_EVERY = DocumentFilter()
_BEGINNING = ReadingPlace()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPassage:
    """What stands from `start` to `end` in a document's text; the other two are given where it is a chunk."""

    start: int
    end: int
    text: str
    chunk_id: ChunkId | None = None
    locator: Locator | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentText:
    """A document's published text, and the passage of it that was asked for."""

    document: Document
    text: str
    passage: TextPassage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """One project's documents, as far as a reader sees them.

    A document is named by its id, reference or URL. `separator` joins the parts of exported descriptions.
    """

    context: IngestContext
    separator: str = DESCRIPTION_SEPARATOR

    async def list(
        self, reader: Reader, wanted: DocumentFilter = _EVERY, *, after: str = "", limit: int = 100
    ) -> list[Document]:
        """Return up to `limit` documents, by URL or in the order that is wanted, those after the URL or cursor given.

        Raises `Invalid` for a text that is no cursor of this order.
        """
        database = self.context.database
        return await documents.list_page(database, reader, wanted, after=after, limit=limit)

    async def iterate(
        self, reader: Reader, *, after: str = "", limit: int = 100
    ) -> AsyncGenerator[Document, None]:
        """Yield up to `limit` documents as `list` does, a page at a time."""
        while limit > 0:
            size = min(limit, LARGEST_PAGE)
            page = await self.list(reader, after=after, limit=size)
            for document in page:
                yield document
            if len(page) < size:
                return
            after, limit = page[-1].cursor, limit - len(page)

    async def count(self, reader: Reader) -> Sequence[DocumentCount]:
        """Return how many documents the reader sees of each system, type and state, in this order."""
        return await documents.count_by_kind(self.context.database, reader)

    async def get(self, reader: Reader, name: str) -> Document:
        """Return a document; raise `NotFound`."""
        return await documents.get(self.context.database, reader, name)

    async def text(self, reader: Reader, name: str) -> str:
        """Return the published text of a document; raise `NotFound`."""
        return (await self.read(reader, name)).text

    async def read(
        self,
        reader: Reader,
        name: str,
        *,
        span: tuple[int, int] | None = None,
        chunk: ChunkId | None = None,
    ) -> DocumentText:
        """Return a document's text with the passage that is asked for; raise `NotFound`, `Invalid`."""
        database = self.context.database
        document = await documents.get(database, reader, name)
        text = await documents.get_text(database, reader, document.id)
        if chunk is not None:
            cited = (await search.get_chunks(database, reader, [chunk])).get(chunk)
            if cited is None or cited.document_id != document.id:
                raise NotFound(f"There is no passage {chunk} in this document")
            place = cited.locator
            passage = TextPassage(
                start=place.start,
                end=place.end,
                text=text[place.start : place.end],
                chunk_id=chunk,
                locator=place,
            )
            return DocumentText(document=document, text=text, passage=passage)
        if span is None:
            return DocumentText(document=document, text=text)
        start, end = span
        if not 0 <= start <= end <= len(text):
            raise Invalid(f"The text has {len(text):,} characters: start and end must lie within")
        passage = TextPassage(start=start, end=end, text=text[start:end])
        return DocumentText(document=document, text=text, passage=passage)

    async def view(
        self, reader: Reader, name: str, place: ReadingPlace = _BEGINNING
    ) -> DocumentView:
        """Return a part of a document as something to read; raise `NotFound`, `Invalid`."""
        return await view_document(self.context.database, reader, name, place)

    async def audience(self, reader: Reader, name: str, *, shows_names: bool = False) -> Audience:
        """Return who can see one of the reader's documents; raise `NotFound`.

        `shows_names` lists people, which is for administrators. Others get the names of groups, and how many people these reach.
        """
        database = self.context.database
        document = await documents.get(database, reader, name)
        holders = await audiences.list_holders(database, reader, document.acl_tags)
        everybody, reached = await audiences.count_people(database, reader, document.acl_tags)
        return Audience(
            parts=tuple(
                describe_tag(
                    of_tag,
                    everybody=everybody,
                    has_it=of_tag.tag in reader.tags,
                    shows_names=shows_names,
                )
                for of_tag in holders
            ),
            people=reached,
            mine=tuple(
                way for of_tag in holders if of_tag.tag in reader.tags for way in own_ways(of_tag)
            ),
        )

    async def chunks(
        self, reader: Reader, name: str, *, after: int = 0, limit: int = 100
    ) -> Sequence[Chunk]:
        """Return up to `limit` chunks of a document by index, without the first `after`; raise `NotFound`."""
        database = self.context.database
        document = await documents.get(database, reader, name)
        chunk_ids = await published_chunks.list_by_document(
            database, reader, document.id, after=after, limit=min(limit, LARGEST_PAGE)
        )
        chunks = await search.get_chunks(database, reader, chunk_ids)
        return [chunks[chunk_id] for chunk_id in chunk_ids if chunk_id in chunks]

    async def status(self, reader: Reader) -> Status:
        """Return counts of what the reader may see."""
        database = self.context.database
        visible = await documents.count_visible(database, reader)
        return Status(
            documents=await documents.count_by_state(database, reader),
            chunks=visible.chunks,
            waiting_chunks=visible.waiting_chunks,
            entities=visible.entities,
            relations=visible.relations,
            open_jobs=await queue.count_open_for(database, reader),
        )

    async def delete(self, reader: Reader, names: Sequence[str]) -> Deletion:
        """Turn some of the reader's documents into tombstones and update what is derived from them, once for all.

        No read finds them once this returns. Raises `NotFound`, and deletes none, when one of them does not exist.
        """
        document_ids = await _resolve_with_parts(self.context.database, reader, names)
        deleted = await deletion.delete(self.context, reader, document_ids)
        await finish_derived_for(self.context, reader)
        return deleted

    async def preview_deletion(self, reader: Reader, names: Sequence[str]) -> Deletion:
        """Return what `delete` of these documents would report now, and change nothing; raise `NotFound`."""
        document_ids = await _resolve_with_parts(self.context.database, reader, names)
        return await deletion.preview(self.context, reader, document_ids)

    async def erase(self, reader: Reader, names: Sequence[str]) -> Deletion:
        """Delete as `delete` does, without tombstones: not even the documents' names are left."""
        document_ids = await _resolve_with_parts(self.context.database, reader, names)
        erased = await deletion.erase(self.context, reader, document_ids)
        await finish_derived_for(self.context, reader)
        return erased

    async def export(
        self,
        reader: Reader,
        config: ExportConfig,
        *,
        on_progress: Callable[[ExportProgress], None] | None = None,
    ) -> Exported:
        """Write what the reader sees at this moment to files, and return which; raise `Invalid` where that is impossible.

        `on_progress` is called after each batch. An existing file is kept unless the config says otherwise.
        """
        # Its workbooks are a tenth of what a question would import.
        from lightwell.curate import exporting

        context = await follow_space(self.context)
        # An exported profile must not repeat what is hidden or deleted since it was made.
        await apply_pending_changes(context)
        if config.separator is None:
            config = replace(config, separator=self.separator)
        return await exporting.export(
            context.database,
            context.vectors,
            context.space,
            reader,
            config,
            on_progress or (lambda _: None),
        )

    async def submit(self, submitted: Submission) -> tuple[IngestResponse, ...]:
        """Register documents that somebody hands in: all or none, and durable when this returns; workers ingest them.

        Raises `Invalid`, `NotFound` and `KeyReused` as `ingest.submission` says.
        """
        return await submission.submit(self.context.database, submitted)

    async def find_earlier(
        self, reader: Reader, key: IdempotencyKey
    ) -> tuple[IngestResponse, ...] | None:
        """Return what the submission with this key got, None where it is new; raise `KeyReused`."""
        return await submission.find_earlier(self.context.database, reader, key)

    async def require_authority(
        self, reader: Reader, authority: TagAuthority, names: Sequence[str]
    ) -> None:
        """Raise `Invalid` unless whoever has this authority may replace and delete these documents; `NotFound`."""
        for name in names:
            document = await documents.get(self.context.database, reader, name)
            authority.require_all(document.acl_tags)

    async def change_access(
        self, reader: Reader, authority: TagAuthority, name: str, tags: Tags
    ) -> Document:
        """Give a document other access tags, and return it; every read follows at once. Raises `NotFound`, `Invalid`.

        The next sync of a document's source gives it the tags that the source says.
        """
        database = self.context.database
        document = await documents.get(database, reader, name)
        changed = await submission.change_access(database, reader, authority, document.id, tags)
        moment, hashes = await database.now(), frozenset(map(hash_tag, tags))
        self.context.note_withdrawals(
            [
                Withdrawal(document=document_id, act=Act.RETAGGED, at=moment, tag_hashes=hashes)
                for document_id in changed
            ]
        )
        await apply_pending_changes(self.context)
        await finish_derived_for(self.context, reader)
        return replace(document, acl_tags=tags)

    async def preview_access(
        self, reader: Reader, authority: TagAuthority, name: str, tags: Tags
    ) -> AccessPreview:
        """Return who would see a document with these tags and does not now, and the reverse; raise as `change_access` does.

        Names are for administrators. Nobody else learns of people who see the document through other tags than the reader's own.
        """
        database = self.context.database
        document = await documents.get(database, reader, name)
        authority.require_change(document.acl_tags, tags)
        change = TagChange(old=document.acl_tags, new=tags)
        if not authority.is_unlimited:
            change = change.among(authority.tags)
        everybody, _ = await audiences.count_people(database, reader, ())
        gaining, losing = await audiences.list_moved(database, reader, change)
        parts = {
            of_tag.tag: describe_tag(
                of_tag,
                everybody=everybody,
                has_it=of_tag.tag in reader.tags,
                shows_names=authority.is_unlimited,
            )
            for of_tag in await audiences.list_holders(database, reader, change.old ^ change.new)
        }

        def side(side_tags: Tags, people: Sequence[str]) -> AudienceChange:
            return AudienceChange(
                parts=tuple(part for tag, part in parts.items() if tag in side_tags),
                people=len(people),
                names=tuple(people[:MAX_NAMES]) if authority.is_unlimited else (),
            )

        return AccessPreview(gains=side(change.new, gaining), loses=side(change.old, losing))

    async def folder_tags(self, url: str) -> FolderTags:
        """Return the access tags that are remembered of a file or folder, of the folders above it, and of all below it.

        `url` is a `Connector.scope` of files. It takes no reader, since it is for whoever ingests the folder.
        """
        return await folder_tags.list_around(self.context.database, self.context.project_id, url)

    async def remember_folder_tags(self, url: str, tags: Tags, *, replaces_inside: bool) -> None:
        """Remember access tags for a file or folder, no tags for nobody; `replaces_inside` forgets those of what is in it."""
        context = self.context
        await folder_tags.remember(
            context.database, context.project_id, url, tags, replaces_inside=replaces_inside
        )

    async def claim(self, tag: str) -> bool:
        """Make this the owner's access tag of a project that nobody has used yet; return whether it is that now."""
        return await projects.claim(self.context.database, self.context.project_id, tag)


async def resolve_names(
    database: Database, reader: Reader, names: Sequence[str]
) -> list[DocumentId]:
    """Return the reader's documents of these names, each once; raise `NotFound`."""
    resolved = [(await documents.get(database, reader, name)).id for name in names]
    return list(dict.fromkeys(resolved))


@repeatable
async def _resolve_with_parts(
    database: Database, reader: Reader, names: Sequence[str]
) -> list[DocumentId]:
    """Return the reader's documents of these names and, of files, their parts; raise `NotFound`."""
    document_ids = await resolve_names(database, reader, names)
    async with database.transaction() as connection:
        return await submitted_documents.add_parts(connection, reader, document_ids)
