"""What an ingestion would cost, before anything is spent or written down."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from lightwell.domain.access import Reader, Tags
from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import ChunkId, DocumentId, ProjectId, new_id
from lightwell.ingest.context import IngestContext
from lightwell.ingest.extract.llm_extractor import LLMExtractor
from lightwell.ingest.isolation import document_failure
from lightwell.ingest.pipeline import choose_title, extraction_input, file_name_from_url
from lightwell.ports import ChangedDocument, Connector, ExtractionInput
from lightwell.records import access_classes
from lightwell.records.documents import chunks as staging
from lightwell.records.documents import documents
from lightwell.records.llm_cache import cache
from lightwell.records.llm_cache.cache import CacheKey, ExtractionStatistics
from lightwell.text.tokens import token_count

_AT_ONCE = 200
_DOCUMENTS_AT_ONCE = 50
_MIN_EXPERIENCE = 20
_AT_FIRST = ExtractionStatistics(output_share=0.4, second_looks=0.3)
"""What is assumed before the project has shown otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is to be read, and what that takes: `calls` and their tokens are what is likely, second looks included.

    `kept` are the chunks whose replies are kept already. Summaries of long descriptions come on top.
    """

    documents: int
    unreadable: int
    chunks: int
    cached: int
    calls: int
    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


_NOTHING = Estimate(
    documents=0, unreadable=0, chunks=0, cached=0, calls=0, input_tokens=0, output_tokens=0
)


async def estimate(
    context: IngestContext, project_id: ProjectId, connector: Connector, system: str
) -> Estimate:
    """Return what following the source would ask of the model; what rules read costs nothing.

    What is known of the project is what those know who may see the documents: others' documents change no number.
    """
    found = _NOTHING
    seen: set[CacheKey] = set()
    audiences: dict[Tags, Reader] = {}
    async for document in _changed(context, project_id, connector, system):
        try:
            read = await _chunks(context, document)
        except Exception as error:
            if document_failure(error, document.url) is None:
                raise
            found = replace(found, unreadable=found.unreadable + 1)
            continue
        found = replace(found, documents=found.documents + 1, chunks=found.chunks + len(read))
        if isinstance(context.extractor, LLMExtractor):
            tags = document.acl_tags
            if tags not in audiences:
                audiences[tags] = await access_classes.reader(context.database, project_id, tags)
            for start in range(0, len(read), _AT_ONCE):
                part = read[start : start + _AT_ONCE]
                found = await _calls_for(
                    context, audiences[tags], context.extractor, part, seen, found
                )
    everyone = frozenset[str]().union(*audiences)
    reader = await access_classes.reader(context.database, project_id, everyone)
    seen_before = await cache.extraction_statistics(context.database, reader, least=_MIN_EXPERIENCE)
    return _with_second_looks(found, context, seen_before or _AT_FIRST)


async def estimate_reextraction(
    context: IngestContext, reader: Reader, published: Sequence[DocumentId]
) -> Estimate:
    """Return what reading these published documents again would ask of the model."""
    found, seen = replace(_NOTHING, documents=len(published)), set[CacheKey]()
    for start in range(0, len(published), _DOCUMENTS_AT_ONCE):
        part = published[start : start + _DOCUMENTS_AT_ONCE]
        titles = await staging.titles(context.database, part)
        known = await staging.list_published(context.database, part)
        read = [extraction_input(titles[chunk.document_id], chunk) for chunk in known]
        found = replace(found, chunks=found.chunks + len(read))
        if isinstance(context.extractor, LLMExtractor):
            found = await _calls_for(context, reader, context.extractor, read, seen, found)
    seen_before = await cache.extraction_statistics(context.database, reader, least=_MIN_EXPERIENCE)
    return _with_second_looks(found, context, seen_before or _AT_FIRST)


async def _changed(
    context: IngestContext, project_id: ProjectId, connector: Connector, system: str
) -> AsyncIterator[NewDocument]:
    known = await documents.known_by_url(context.database, project_id, system, connector.scope)
    async for change in connector.changes({url: one.content_hash for url, one in known.items()}):
        if isinstance(change, ChangedDocument):
            yield change.document


async def _chunks(context: IngestContext, document: NewDocument) -> list[ExtractionInput]:
    parsed = await context.parser.parse(
        document.content, document.format, name=file_name_from_url(document.url)
    )
    title = choose_title(document, parsed)
    return [
        ExtractionInput(
            id=ChunkId(new_id()), document_title=title, draft=draft, is_first=draft.index == 0
        )
        for draft in parsed.chunks
    ]


async def _calls_for(
    context: IngestContext,
    audience: Reader,
    reader: LLMExtractor,
    read: Sequence[ExtractionInput],
    seen: set[CacheKey],
    estimate: Estimate,
) -> Estimate:
    asked = {tuple(reader.first_cache_keys(chunk)): chunk for chunk in read}
    every = [sought for each in asked for sought in each]
    known = seen | await cache.has_extractions(context.database, audience, every)
    fresh = [chunk for each, chunk in asked.items() if known.isdisjoint(each)]
    seen.update(every)
    sent = await asyncio.to_thread(lambda: sum(_tokens(reader, chunk) for chunk in fresh))
    return replace(
        estimate,
        kept=estimate.cached + len(read) - len(fresh),
        calls=estimate.calls + len(fresh),
        input_tokens=estimate.input_tokens + sent,
    )


def _tokens(reader: LLMExtractor, chunk: ExtractionInput) -> int:
    messages = reader.first_request(chunk).messages
    return sum(token_count(message.content) for message in messages)


def _with_second_looks(
    estimate: Estimate, context: IngestContext, usual: ExtractionStatistics
) -> Estimate:
    is_gleaning = (
        isinstance(context.extractor, LLMExtractor) and context.extractor.max_gleanings > 0
    )
    more = 1 + usual.second_looks if is_gleaning else 1.0
    sent = round(estimate.input_tokens * more)
    return replace(
        estimate,
        calls=round(estimate.calls * more),
        input_tokens=sent,
        output_tokens=round(sent * usual.output_share),
    )
