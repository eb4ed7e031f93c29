"""The extractor that uses a chat model, one chunk per call. Each reply is cached before it is parsed.

chunk ─ request ─► reply ─ parse ─► nothing usable? repair request once, then rule extraction
                              └───► names missing? gleaning ─► merged, plus what rules find with certainty
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from lightwell.domain.errors import SchemaUnsupported
from lightwell.domain.graph import (
    Extraction,
    Mention,
    MentionType,
    RelationMention,
    join_descriptions,
    normalize_name,
)
from lightwell.ingest.extract import rule_extractor
from lightwell.ingest.extract.extraction_prompt import (
    ExtractionSpec,
    OutputForm,
    extraction_messages,
    gleaning_messages,
    repair_messages,
    reply_schema,
    should_glean,
)
from lightwell.ingest.extract.reply_parser import ParsedReply, parse_reply
from lightwell.ingest.extract.reply_rows import Problem
from lightwell.logs import logger
from lightwell.metering import record_usage
from lightwell.ports import ExtractionInput, Message
from lightwell.records.llm_cache import cache as replies
from lightwell.records.llm_cache.cache import CachedReply, CacheKey, CacheType
from lightwell.records.llm_cache.cached_model import CachedModel, ModelRequest
from lightwell.tasks import cancel_and_wait, gather_or_cancel

_UNUSABLE = frozenset({Problem.EMPTY, Problem.REFUSED, Problem.MALFORMED, Problem.TRUNCATED})

_MessageBuilder = Callable[[ExtractionSpec], Sequence[Message]]
"""Builds the messages of a request for the given specification, so that a fallback form can be tried."""

_RULES_DELAY_SECONDS = 0.2
"""Seconds before rules run: they should use the CPU while the model computes, not while requests are being sent."""

_log = logger(__name__)


def max_reply_tokens(chunk: ExtractionInput) -> int:
    """Return the token limit of a reply: about four times what a dense passage has needed."""
    return 800 + 2 * chunk.draft.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkResult:
    """The extraction of a chunk so far, with the ids of its replies in order; `latest` is the last parsed reply."""

    latest: ParsedReply
    extraction: Extraction
    replies: tuple[UUID, ...]
    problems: Mapping[Problem, int]
    by_rules: bool = False


class LLMExtractor:
    """Extracts with a chat model and at most `max_gleanings` gleaning requests per chunk; rules replace unusable replies.

    If the endpoint declines the schema of the wanted form, requests use `fallback_form`. A cached reply in either
    form is used.
    """

    def __init__(
        self,
        model: CachedModel,
        spec: ExtractionSpec,
        *,
        max_gleanings: int,
        fallback_form: OutputForm | None = None,
    ) -> None:
        self._model = model
        self._spec = spec
        self._fallback_form = fallback_form
        self.max_gleanings = max_gleanings

    async def extract(self, chunks: Sequence[ExtractionInput]) -> list[Extraction]:
        """Return the chunks' extractions in order; raise `ModelFailed`. Replies that arrived stay in the cache even then."""
        results = await gather_or_cancel(self._extract_metered(chunk) for chunk in chunks)
        replies_by_chunk = {
            chunk.id: result.replies for chunk, result in zip(chunks, results, strict=True)
        }
        await replies.link_replies_to_chunks(self._model.database, replies_by_chunk)
        problems: Counter[str] = Counter()
        for result in results:
            problems.update(
                {problem.name.lower(): count for problem, count in result.problems.items()}
            )
        _log.info(
            "the model extracted from chunks",
            chunks=len(results),
            replies=sum(len(result.replies) for result in results),
            problems=dict(problems),
        )
        unknown = sum(result.extraction.unknown_predicates for result in results)
        if unknown:
            _log.warning("relations with unknown predicates became RELATED_TO", relations=unknown)
        by_rules = sum(result.by_rules for result in results)
        if by_rules:
            _log.warning(
                "the model's replies to some chunks could not be used; rules extracted from these chunks instead",
                chunks=by_rules,
                problems=dict(problems),
            )
        return [result.extraction for result in results]

    def first_request(self, chunk: ExtractionInput) -> ModelRequest:
        """Return the first request for a chunk."""
        return self._first_requests(chunk)[0]

    def first_cache_keys(self, chunk: ExtractionInput) -> list[CacheKey]:
        """Return the cache keys under which a reply to the first request may be stored, one per form."""
        return [self._model.cache_key(request) for request in self._first_requests(chunk)]

    def _first_requests(self, chunk: ExtractionInput) -> list[ModelRequest]:
        kind = CacheType.ENTITY_EXTRACTION
        return self._requests(kind, chunk, partial(extraction_messages, chunk))

    async def _extract_metered(self, chunk: ExtractionInput) -> _ChunkResult:
        with record_usage() as log:
            result = await self._extract_chunk(chunk)
        return replace(result, extraction=replace(result.extraction, usage=log.summary))

    async def _extract_chunk(self, chunk: ExtractionInput) -> _ChunkResult:
        first = asyncio.create_task(self._first_pass(chunk))
        try:
            await asyncio.wait([first], timeout=_RULES_DELAY_SECONDS)
            by_rules = await asyncio.to_thread(rule_extractor.extract_by_rules, chunk)
            result = await first
        finally:
            await cancel_and_wait(first)
        if _is_unusable(result.latest):
            return replace(result, extraction=by_rules, by_rules=True)
        for _ in range(self.max_gleanings):
            if not should_glean(
                ParsedReply(extraction=result.extraction, problems=result.latest.problems), by_rules
            ):
                break
            names = [mention.name for mention in result.extraction.mentions]
            result = await self._extract_once(
                CacheType.GLEANING, chunk, partial(gleaning_messages, chunk, names), result
            )
        # Titles, e-mail addresses and identifiers: questions contain them literally, and models often omit them.
        certain = tuple(mention for mention in by_rules.mentions if _is_certain(mention))
        certain_extraction = Extraction(mentions=certain, relation_mentions=())
        return replace(result, extraction=merge_extractions(result.extraction, certain_extraction))

    async def _first_pass(self, chunk: ExtractionInput) -> _ChunkResult:
        kind, messages = CacheType.ENTITY_EXTRACTION, partial(extraction_messages, chunk)
        result = await self._extract_once(kind, chunk, messages, None)
        if not _is_unusable(result.latest):
            return result
        return await self._extract_once(kind, chunk, partial(repair_messages, chunk), result)

    async def _extract_once(
        self,
        kind: CacheType,
        chunk: ExtractionInput,
        build_messages: _MessageBuilder,
        before: _ChunkResult | None,
    ) -> _ChunkResult:
        reply = await self._reply(kind, chunk, build_messages)
        parsed = await asyncio.to_thread(parse_reply, reply.text, chunk, complete=reply.complete)
        if before is None:
            return _ChunkResult(
                latest=parsed,
                extraction=parsed.extraction,
                replies=(reply.id,),
                problems=parsed.problems,
            )
        return _ChunkResult(
            latest=parsed,
            extraction=merge_extractions(before.extraction, parsed.extraction),
            replies=tuple(dict.fromkeys([*before.replies, reply.id])),
            problems=Counter(before.problems) + Counter(parsed.problems),
        )

    async def _reply(
        self, kind: CacheType, chunk: ExtractionInput, build_messages: _MessageBuilder
    ) -> CachedReply:
        request, *fallback = self._requests(kind, chunk, build_messages)
        try:
            return await self._model.reply(request, or_kept=fallback)
        except SchemaUnsupported:
            if not fallback:
                raise
        return await self._model.reply(fallback[0])

    def _requests(
        self, kind: CacheType, chunk: ExtractionInput, build_messages: _MessageBuilder
    ) -> list[ModelRequest]:
        """Return the request in the wanted form, followed by the one in the fallback form if there is any."""
        return [
            ModelRequest(
                kind=kind,
                messages=build_messages(replace(self._spec, form=form)),
                max_tokens=max_reply_tokens(chunk),
                schema=reply_schema() if form is OutputForm.JSON else None,
                chunk=chunk.id,
                class_id=chunk.class_id,
            )
            for form in (self._spec.form, self._fallback_form)
            if form is not None
        ]


def merge_extractions(first: Extraction, other: Extraction) -> Extraction:
    """Return the union, each name and each relation once.

    Where both have a name, the first mention keeps its values and takes missing attributes from the second.
    """
    mentions = {normalize_name(mention.name): mention for mention in first.mentions}
    for mention in other.mentions:
        key = normalize_name(mention.name)
        before = mentions.get(key)
        mentions[key] = (
            mention
            if before is None
            else replace(
                before,
                description=join_descriptions([before.description, mention.description]),
                attributes={**mention.attributes, **before.attributes},
            )
        )
    relations: dict[tuple[str, str, str], RelationMention] = {}
    for relation in (*first.relation_mentions, *other.relation_mentions):
        relations.setdefault(
            (normalize_name(relation.subject), normalize_name(relation.object), relation.predicate),
            relation,
        )
    return Extraction(
        mentions=tuple(mentions.values()),
        relation_mentions=tuple(relations.values()),
        unknown_predicates=first.unknown_predicates + other.unknown_predicates,
    )


def _is_unusable(parsed: ParsedReply) -> bool:
    return not parsed.extraction.mentions and not _UNUSABLE.isdisjoint(parsed.problems)


def _is_certain(mention: Mention) -> bool:
    is_title = mention.type is MentionType.METADATA
    return is_title or mention.kind == "identifier" or "email" in mention.attributes
