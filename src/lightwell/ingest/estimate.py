"""Estimates what an ingestion takes: passages, time, bytes, calls and tokens. No endpoint is called, and nothing is written."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from lightwell.domain.access import Reader, Tags
from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.ids import ChunkId, DocumentId, new_id
from lightwell.ingest.containers import WithParts
from lightwell.ingest.context import IngestContext
from lightwell.ingest.extract.llm_extractor import LLMExtractor
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.pipeline import choose_title, extraction_input, file_name_from_url
from lightwell.ingest.sampling import Sample, measure
from lightwell.ports import ChangedDocument, Connector, ExtractionInput, UnreadableDocument
from lightwell.records import access_classes
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import registered
from lightwell.records.llm_cache import cache
from lightwell.records.llm_cache.cache import CacheKey, ExtractionStatistics
from lightwell.text.tokens import token_count

_CHUNKS_PER_QUERY = 200
_DOCUMENTS_PER_QUERY = 50
_MIN_EXTRACTIONS = 20
_DEFAULT_STATISTICS = ExtractionStatistics(output_share=0.4, gleaning_share=0.3)
"""Used until the project has enough extractions of its own to learn from."""
_STORED_SHARE = 7.7
"""Bytes on disk for each byte of text, without token vectors: text, analyses, terms, graph and profiles with their indexes (measured)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Expected cost: bytes on disk, seconds on this machine, and model `calls` and their tokens, including gleaning.

    `text_bytes` is the size of the texts, `seconds` measured with a few of them, without the time of calls. `cached` counts
    chunks whose replies are in the cache and cost nothing. Summaries of long descriptions are not included.
    """

    documents: int
    unreadable: int
    chunks: int
    text_bytes: int
    disk_bytes: int
    seconds: float = field(compare=False)
    cached: int
    calls: int
    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


_ZERO = Estimate(
    documents=0,
    unreadable=0,
    chunks=0,
    text_bytes=0,
    disk_bytes=0,
    seconds=0.0,
    cached=0,
    calls=0,
    input_tokens=0,
    output_tokens=0,
)


async def estimate(
    context: IngestContext, connectors: Sequence[Connector], system: str
) -> Estimate:
    """Return what syncing these sources is expected to take; rule extraction costs no tokens.

    Cached replies count only if a reader with the document's access tags sees them, so the numbers reveal nothing
    about other documents.
    """
    total, sample = _ZERO, Sample()
    seen_keys: set[CacheKey] = set()
    readers_by_tags: dict[Tags, Reader] = {}
    for connector in connectors:
        async for document in _new_or_changed(context, connector, system):
            parsed = await _parse(context, document, total) if document is not None else None
            if parsed is None or document is None:
                total = replace(total, unreadable=total.unreadable + 1)
                continue
            total, passages = parsed
            sample.offer(passages)
            tags = document.acl_tags
            if not isinstance(context.extractor, LLMExtractor):
                continue
            if tags not in readers_by_tags:
                readers_by_tags[tags] = await access_classes.resolve_reader(
                    context.database, context.project_id, tags
                )
            for start in range(0, len(passages), _CHUNKS_PER_QUERY):
                batch = passages[start : start + _CHUNKS_PER_QUERY]
                total = await _add_calls(
                    context, readers_by_tags[tags], context.extractor, batch, seen_keys, total
                )
    all_tags = frozenset[str]().union(*readers_by_tags)
    reader = await access_classes.resolve_reader(context.database, context.project_id, all_tags)
    passage = await measure(context, sample)
    at_once = max(1, min(context.parser.processes, total.documents))
    total = replace(
        total,
        seconds=total.seconds / at_once + total.chunks * passage.seconds,
        disk_bytes=round(total.text_bytes * _STORED_SHARE + total.chunks * passage.vector_bytes),
    )
    return await _add_gleaning(total, context, reader)


async def _parse(
    context: IngestContext, document: NewDocument, total: Estimate
) -> tuple[Estimate, list[ExtractionInput]] | None:
    """Return the document's passages, and the total with them and the seconds of parsing; None for one that cannot be read."""
    begun = monotonic()
    if document.format is Format.FOREIGN:
        return None  # an estimate sends nothing anywhere
    try:
        parsed = await context.parser.parse(
            document.content, document.format, name=file_name_from_url(document.url)
        )
        title = choose_title(document, parsed)
        passages = [
            ExtractionInput(
                id=ChunkId(new_id()),
                document_title=title,
                draft=draft,
                is_first=draft.index == 0,
            )
            for draft in parsed.chunks
        ]
    except Exception as error:
        if document_failure(error, document.url) is None:
            raise
        return None
    return replace(
        total,
        documents=total.documents + 1,
        chunks=total.chunks + len(passages),
        text_bytes=total.text_bytes + sum(len(passage.draft.text.encode()) for passage in passages),
        seconds=total.seconds + monotonic() - begun,
    ), passages


async def estimate_reextraction(
    context: IngestContext, reader: Reader, published: Sequence[DocumentId]
) -> Estimate:
    """Return what extracting these published documents again is expected to take; it stores no further text."""
    total, seen_keys = replace(_ZERO, documents=len(published)), set[CacheKey]()
    sample = Sample()
    for start in range(0, len(published), _DOCUMENTS_PER_QUERY):
        batch = published[start : start + _DOCUMENTS_PER_QUERY]
        titles = await staging.get_titles(context.database, batch)
        published_chunks = await staging.list_published(context.database, batch)
        inputs = [extraction_input(titles[chunk.document_id], chunk) for chunk in published_chunks]
        total = replace(
            total,
            chunks=total.chunks + len(inputs),
            text_bytes=total.text_bytes
            + sum(len(passage.draft.text.encode()) for passage in inputs),
        )
        sample.offer(inputs)
        if isinstance(context.extractor, LLMExtractor):
            total = await _add_calls(context, reader, context.extractor, inputs, seen_keys, total)
    passage = await measure(context, sample, is_reextraction=True)
    total = replace(total, seconds=total.chunks * passage.seconds)
    return await _add_gleaning(total, context, reader)


async def _new_or_changed(
    context: IngestContext, connector: Connector, system: str
) -> AsyncIterator[NewDocument | None]:
    """Yield the documents that a sync would read, and None for each that the source cannot deliver."""
    up_to_date = await registered.list_up_to_date(
        context.database,
        context.project_id,
        system,
        connector.scope,
        max_chunks=context.parser.limits.max_chunks,
    )
    async for change in WithParts(connector, context.parser).changes(
        {url: document.content_hash for url, document in up_to_date.items()}
    ):
        if isinstance(change, ChangedDocument):
            yield change.document
        elif isinstance(change, UnreadableDocument):
            yield None


async def _add_calls(
    context: IngestContext,
    audience: Reader,
    extractor: LLMExtractor,
    inputs: Sequence[ExtractionInput],
    seen: set[CacheKey],
    estimate: Estimate,
) -> Estimate:
    input_by_keys = {tuple(extractor.first_cache_keys(chunk)): chunk for chunk in inputs}
    all_keys = [key for keys in input_by_keys for key in keys]
    cached_keys = seen | await cache.find_extracted(context.database, audience, all_keys)
    uncached = [chunk for keys, chunk in input_by_keys.items() if cached_keys.isdisjoint(keys)]
    seen.update(all_keys)
    input_tokens = await asyncio.to_thread(
        lambda: sum(
            token_count(message.content)
            for chunk in uncached
            for message in extractor.first_request(chunk).messages
        )
    )
    return replace(
        estimate,
        cached=estimate.cached + len(inputs) - len(uncached),
        calls=estimate.calls + len(uncached),
        input_tokens=estimate.input_tokens + input_tokens,
    )


async def _add_gleaning(estimate: Estimate, context: IngestContext, reader: Reader) -> Estimate:
    statistics = await cache.get_extraction_statistics(
        context.database, reader, min_replies=_MIN_EXTRACTIONS
    )
    statistics = statistics or _DEFAULT_STATISTICS
    extractor = context.extractor
    is_gleaning = isinstance(extractor, LLMExtractor) and extractor.max_gleanings > 0
    factor = 1 + statistics.gleaning_share if is_gleaning else 1.0
    input_tokens = round(estimate.input_tokens * factor)
    return replace(
        estimate,
        calls=round(estimate.calls * factor),
        input_tokens=input_tokens,
        output_tokens=round(input_tokens * statistics.output_share),
    )
