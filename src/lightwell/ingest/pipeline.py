"""The way in: what does a document say?

    claimed jobs ─ cut ─► staged chunks ─ embed ─► vectors ─ read ─► mentions ─ publish ─► visible ─ refresh

Each step commits what it made and the name of the next, so a crash repeats the step in flight and no other.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from lightwell.domain.documents import NewDocument, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.domain.graph import Extraction
from lightwell.domain.ids import ChunkId, DocumentId, new_id
from lightwell.domain.jobs import JobState
from lightwell.domain.terms import frequencies
from lightwell.ingest.chunking import chunk_hash, chunks, embedded_text
from lightwell.ingest.parse import parse
from lightwell.ingest.way import Outcome, Way, refresh, settle
from lightwell.ports import ChunkToRead
from lightwell.records import chunks as staging
from lightwell.records import jobs, publishing
from lightwell.records.chunks import StagedChunk
from lightwell.records.jobs import Claim
from lightwell.records.publishing import PublishedTerms, PublishedText

READ_AGAIN = "read again"
"""The step at which a published document begins when its chunks are to be read anew, as they are."""


def name_of(url: str) -> str:
    """Return the last part of a URL's path, as its file is called."""
    return PurePosixPath(unquote(urlsplit(url).path)).name


def title_of(given: Claim | NewDocument, parsed: ParsedDocument) -> str:
    """Return the title that the source gives, or else the document itself, or else its file's name."""
    return given.title or parsed.title or PurePosixPath(name_of(given.url)).stem


def chunk_to_read(title: str, chunk: StagedChunk) -> ChunkToRead:
    """Return what an extractor is given of a chunk of the document with this title."""
    return ChunkToRead(
        id=chunk.id, document_title=title, draft=chunk.draft, is_first=chunk.draft.index == 0
    )


async def ingest(way: Way, batch: Sequence[Claim], tell: Callable[[Outcome], None]) -> None:
    """Bring these jobs to their end.

    A document that cannot be read fails by itself. Raises `ModelFailed` when a model does, `Lost` when another
    worker has taken over: the jobs then stay where they are.
    """
    async with way.preparing:
        batch, staged = await _prepared(way, batch, tell)
    if batch:
        unread = [claim for claim in batch if claim.step != "index"]
        await _read_and_publish(way, unread, staged)
        await _index(way, batch)
        await refresh(way, batch[0].project_id)
        await _finish(way, batch, staged, tell)


async def _prepared(
    way: Way, batch: Sequence[Claim], tell: Callable[[Outcome], None]
) -> tuple[list[Claim], list[StagedChunk]]:
    """Cut and embed what is not yet; return the jobs whose documents could be read, and the chunks to be read."""
    readable = await _cut(way, [claim for claim in batch if claim.step == ""], tell)
    batch = [claim for claim in batch if claim.step != "" or claim.job_id in readable]
    fresh = [claim for claim in batch if claim.step not in ("index", READ_AGAIN)]
    again = [claim for claim in batch if claim.step == READ_AGAIN]
    staged = await staging.staged(way.database, [claim.document_id for claim in fresh])
    await _embed(way, [claim for claim in fresh if claim.step != "read"], staged)
    known = await staging.published(way.database, [claim.document_id for claim in again])
    return batch, [*staged, *known]


async def _cut(way: Way, batch: Sequence[Claim], tell: Callable[[Outcome], None]) -> set[object]:
    """Parse and chunk; return the jobs whose documents could be read."""
    parsed: list[tuple[Claim, ParsedDocument]] = []
    for claim in batch:
        try:
            parsed.append((claim, await asyncio.to_thread(_parsed, claim)))
        except Unreadable as error:
            await jobs.fail(
                way.database, claim.job_id, way.worker, code=error.code, message=str(error)
            )
            tell(Outcome(url=claim.url, chunks=0, error=str(error)))
    if not parsed:
        return set()
    staged = {claim.job_id: await asyncio.to_thread(_staged, claim, text) for claim, text in parsed}
    async with way.database.transaction() as connection:
        await jobs.advance(
            connection,
            list(staged),
            way.worker,
            state=JobState.EMBEDDING,
            step="embed",
            progress=25,
        )
        await staging.stage(
            connection,
            {claim.document_id: claim.ref for claim, _ in parsed},
            [chunk for document in staged.values() for chunk in document],
        )
        await jobs.cut(
            connection,
            [
                jobs.Cut(
                    job_id=claim.job_id,
                    chunks=len(staged[claim.job_id]),
                    title=title_of(claim, text),
                    author=text.author,
                )
                for claim, text in parsed
            ],
        )
    return set(staged)


async def _embed(way: Way, batch: Sequence[Claim], staged: Sequence[StagedChunk]) -> None:
    """Compute the vectors that are missing; equal text is never embedded twice."""
    if not batch:
        return
    by_document = {claim.document_id: claim for claim in batch}
    wanted = [chunk for chunk in staged if chunk.document_id in by_document]
    done = await staging.embedded(way.database, way.space.id, [chunk.id for chunk in wanted])
    missing = await _reuse(way, batch[0], [chunk for chunk in wanted if chunk.id not in done])
    titles = await _titles(way, batch)
    for start in range(0, len(missing), way.embedded_at_once):
        part = missing[start : start + way.embedded_at_once]
        distinct = {chunk.hash: chunk for chunk in part}
        texts = [
            embedded_text(titles[chunk.document_id], chunk.draft) for chunk in distinct.values()
        ]
        vectors = dict(zip(distinct, await way.embedder.documents(texts), strict=True))
        counted: dict[DocumentId, int] = {}
        for chunk in part:
            counted[chunk.document_id] = counted.get(chunk.document_id, 0) + 1
        async with way.database.transaction() as connection:
            await staging.stage_vectors(
                connection, way.space.id, {chunk.id: vectors[chunk.hash] for chunk in part}
            )
            await jobs.counted(
                connection,
                {by_document[document].job_id: count for document, count in counted.items()},
            )
    async with way.database.transaction() as connection:
        await jobs.advance(
            connection,
            [claim.job_id for claim in batch],
            way.worker,
            state=JobState.EXTRACTING,
            step="read",
            progress=75,
        )


async def _reuse(way: Way, claim: Claim, missing: Sequence[StagedChunk]) -> list[StagedChunk]:
    """Take the vectors of equal text that is already published; return the chunks that still lack one."""
    if not missing:
        return []
    same = await staging.same_hash(
        way.database, claim.project_id, [chunk.hash for chunk in missing]
    )
    if not same:
        return list(missing)
    vectors = await way.vectors.vectors(way.space.id, list(same.values()))
    found = {hash_: vectors[chunk] for hash_, chunk in same.items() if chunk in vectors}
    async with way.database.transaction() as connection:
        await staging.stage_vectors(
            connection,
            way.space.id,
            {chunk.id: found[chunk.hash] for chunk in missing if chunk.hash in found},
        )
    return [chunk for chunk in missing if chunk.hash not in found]


async def _read_and_publish(
    way: Way, batch: Sequence[Claim], chunks: Sequence[StagedChunk]
) -> None:
    if not batch:
        return
    titles = await _titles(way, batch)
    said = await _extractions(way, chunks, titles)
    again = {claim.document_id for claim in batch if claim.step == READ_AGAIN}
    staged = [chunk for chunk in chunks if chunk.document_id not in again]
    fresh = [claim.document_id for claim in batch if claim.document_id not in again]
    texts = [_published(document_id, staged) for document_id in fresh]
    words = await asyncio.to_thread(
        lambda: [_words(titles[chunk.document_id], chunk) for chunk in staged]
    )
    async with way.database.transaction() as connection:
        await jobs.advance(
            connection,
            [claim.job_id for claim in batch],
            way.worker,
            state=JobState.EXTRACTING,
            step="index",
            progress=90,
        )
        project_id = batch[0].project_id
        if texts:
            its = {chunk.id: said[chunk.id] for chunk in staged}
            await publishing.publish(connection, project_id, texts, words, its)
        if again:
            its = {chunk.id: said[chunk.id] for chunk in chunks if chunk.document_id in again}
            await publishing.reread(connection, project_id, list(again), its)


async def _extractions(
    way: Way, chunks: Sequence[StagedChunk], titles: dict[DocumentId, str]
) -> dict[ChunkId, Extraction]:
    to_read = [chunk_to_read(titles[chunk.document_id], chunk) for chunk in chunks]
    return dict(
        zip((chunk.id for chunk in chunks), await way.extractor.extract(to_read), strict=True)
    )


async def _index(way: Way, batch: Sequence[Claim]) -> None:
    """Bring the vector index to what PostgreSQL shows by now."""
    await settle(way, batch[0].project_id)
    documents = [claim.document_id for claim in batch]
    vectors = await staging.published_vectors(way.database, way.space.id, documents)
    if vectors:
        await way.vectors.put(way.space.id, vectors)


async def _finish(
    way: Way, batch: Sequence[Claim], staged: Sequence[StagedChunk], tell: Callable[[Outcome], None]
) -> None:
    async with way.database.transaction() as connection:
        await staging.unstage_vectors(connection, [claim.document_id for claim in batch])
        await jobs.complete(connection, [claim.job_id for claim in batch], way.worker)
    for claim in batch:
        count = sum(chunk.document_id == claim.document_id for chunk in staged)
        tell(Outcome(url=claim.url, chunks=count, error=""))


async def _titles(way: Way, batch: Sequence[Claim]) -> dict[DocumentId, str]:
    return await staging.titles(way.database, [claim.document_id for claim in batch])


def _parsed(claim: Claim) -> ParsedDocument:
    if claim.attempts > jobs.MOST_ATTEMPTS:
        raise Unreadable(
            "crashed", "Reading this document ended its worker again and again; it is set aside"
        )
    return parse(claim.upload, claim.format, name=name_of(claim.url))


def _staged(claim: Claim, parsed: ParsedDocument) -> list[StagedChunk]:
    title = title_of(claim, parsed)
    return [
        StagedChunk(
            id=ChunkId(new_id()),
            document_id=claim.document_id,
            hash=bytes.fromhex(chunk_hash(title, draft)),
            draft=draft,
        )
        for draft in chunks(parsed)
    ]


def _published(document_id: DocumentId, staged: Sequence[StagedChunk]) -> PublishedText:
    """Put a document's text together again; between chunks only white space was left out."""
    parts = [chunk.draft for chunk in staged if chunk.document_id == document_id]
    text = ""
    for draft in parts:
        text = text.ljust(draft.start) + draft.text
    languages = [draft.language for draft in parts]
    return PublishedText(
        document_id=document_id,
        text=text,
        language=max(set(languages), key=lambda language: (languages.count(language), language)),
        chunks=len(parts),
    )


def _words(title: str, chunk: StagedChunk) -> PublishedTerms:
    counted = frequencies(embedded_text(title, chunk.draft))
    return PublishedTerms(chunk_id=chunk.id, length=sum(counted.values()), frequencies=counted)
