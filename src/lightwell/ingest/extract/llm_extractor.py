"""The extractor that asks a language model: chunk by chunk, each reply kept before it is read.

chunk ─ asked ─► reply ─ parsed ─► nothing usable? ask once more, then read by rules
                            └────► names missing? a second look ─► united, with what rules surely see
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from lightwell.domain.errors import SchemaDeclined
from lightwell.domain.graph import (
    Extraction,
    Mention,
    MentionType,
    RelationMention,
    join_descriptions,
    normalize_name,
)
from lightwell.ingest.concurrency import gather_or_cancel
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
from lightwell.ports import ExtractionInput, Message
from lightwell.records.llm_cache import cache as replies
from lightwell.records.llm_cache.cache import CachedReply, CacheKey, CacheType
from lightwell.records.llm_cache.cached_model import CachedModel, ModelRequest

_UNUSABLE = frozenset({Problem.EMPTY, Problem.REFUSED, Problem.MALFORMED, Problem.TRUNCATED})

_Written = Callable[[ExtractionSpec], Sequence[Message]]
"""A question as it is put in one form."""

_HEAD_START = 0.2
"""Seconds: the rules take the processor while the model thinks, and not while calls go out or come back."""

_log = logger(__name__)


def max_reply_tokens(chunk: ExtractionInput) -> int:
    """Return where a reply is cut: about four times what a dense passage has needed."""
    return 800 + 2 * chunk.draft.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Progress:
    """What a chunk says so far, and the replies it was heard from, in order; `latest` is the last one read."""

    latest: ParsedReply
    extraction: Extraction
    replies: tuple[UUID, ...]
    problems: Mapping[Problem, int]
    by_rules: bool = False


class LLMExtractor:
    """Reads chunks by a model, at most `passes` second looks each; what the model cannot say, rules do.

    Where the endpoint declines the schema that the form wanted needs, it goes on in the form `instead`. A reply that
    is kept in either form holds.
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
        """Return what each chunk says, in order; raise `ModelFailed`. Replies that arrived are kept even then."""
        heard = await gather_or_cancel(self._extract_chunk(chunk) for chunk in chunks)
        read = {chunk.id: one.replies for chunk, one in zip(chunks, heard, strict=True)}
        await replies.link_replies_to_chunks(self._model.database, read)
        _log_problems(heard)
        return [one.extraction for one in heard]

    def first_request(self, chunk: ExtractionInput) -> ModelRequest:
        """Return what the model is asked about a chunk first."""
        return self._requests(CacheType.ENTITY_EXTRACTION, chunk, _extraction_request(chunk))[0]

    def first_cache_keys(self, chunk: ExtractionInput) -> list[CacheKey]:
        """Return by what a reply to the first question may be kept."""
        asked = self._requests(CacheType.ENTITY_EXTRACTION, chunk, _extraction_request(chunk))
        return [self._model.cache_key(each) for each in asked]

    async def _extract_chunk(self, chunk: ExtractionInput) -> _Progress:
        first = asyncio.create_task(self._first(chunk))
        try:
            await asyncio.wait([first], timeout=_HEAD_START)
            by_rules = await asyncio.to_thread(rule_extractor.extract_by_rules, chunk)
            heard = await first
        finally:
            first.cancel()
            await asyncio.wait([first])
        if _is_unusable(heard.latest):
            return replace(heard, extraction=by_rules, by_rules=True)
        for _ in range(self.max_gleanings):
            if not should_glean(_has_seen(heard), by_rules):
                break
            known = [mention.name for mention in heard.extraction.mentions]
            heard = await self._extract_once(
                CacheType.GLEANING, chunk, _gleaning_request(chunk, known), heard
            )
        return replace(
            heard, extraction=merge_extractions(heard.extraction, _certain_mentions(by_rules))
        )

    async def _first(self, chunk: ExtractionInput) -> _Progress:
        heard = await self._extract_once(
            CacheType.ENTITY_EXTRACTION, chunk, _extraction_request(chunk), None
        )
        if not _is_unusable(heard.latest):
            return heard
        return await self._extract_once(
            CacheType.ENTITY_EXTRACTION, chunk, _repair_request(chunk), heard
        )

    async def _extract_once(
        self,
        kind: CacheType,
        chunk: ExtractionInput,
        written: _Written,
        before: _Progress | None,
    ) -> _Progress:
        kept = await self._reply(kind, chunk, written)
        parsed = await asyncio.to_thread(_parsed, kept, chunk)
        if before is None:
            return _Progress(
                latest=parsed,
                extraction=parsed.extraction,
                replies=(kept.id,),
                problems=parsed.problems,
            )
        return _Progress(
            latest=parsed,
            extraction=merge_extractions(before.extraction, parsed.extraction),
            replies=tuple(dict.fromkeys([*before.replies, kept.id])),
            problems=Counter(before.problems) + Counter(parsed.problems),
        )

    async def _reply(
        self, kind: CacheType, chunk: ExtractionInput, written: _Written
    ) -> CachedReply:
        asked, *instead = self._requests(kind, chunk, written)
        try:
            return await self._model.reply(asked, or_kept=instead)
        except SchemaDeclined:
            if not instead:
                raise
        return await self._model.reply(instead[0])

    def _requests(
        self, kind: CacheType, chunk: ExtractionInput, written: _Written
    ) -> list[ModelRequest]:
        """Return the question in the form wanted, and then in the one that stands in for it."""
        forms = (
            [self._spec.form]
            if self._fallback_form is None
            else [self._spec.form, self._fallback_form]
        )
        return [
            ModelRequest(
                kind=kind,
                messages=written(replace(self._spec, form=form)),
                max_tokens=max_reply_tokens(chunk),
                schema=reply_schema() if form is OutputForm.JSON else None,
                chunk=chunk.id,
            )
            for form in forms
        ]


def _extraction_request(chunk: ExtractionInput) -> _Written:
    return lambda wanted: extraction_messages(chunk, wanted)


def _gleaning_request(chunk: ExtractionInput, known: Sequence[str]) -> _Written:
    return lambda wanted: gleaning_messages(chunk, known, wanted)


def _repair_request(chunk: ExtractionInput) -> _Written:
    return lambda wanted: repair_messages(chunk, wanted)


def merge_extractions(one: Extraction, other: Extraction) -> Extraction:
    """Return both, each name and each statement once; where both have it, the first is filled up from the second."""
    mentions = {normalize_name(mention.name): mention for mention in one.mentions}
    for mention in other.mentions:
        key = normalize_name(mention.name)
        mentions[key] = _fill_gaps(mentions[key], mention) if key in mentions else mention
    statements: dict[tuple[str, str, str], RelationMention] = {}
    for said in (*one.relation_mentions, *other.relation_mentions):
        statements.setdefault(
            (normalize_name(said.subject), normalize_name(said.object), said.predicate), said
        )
    return Extraction(
        mentions=tuple(mentions.values()), relation_mentions=tuple(statements.values())
    )


def _fill_gaps(one: Mention, other: Mention) -> Mention:
    return replace(
        one,
        description=join_descriptions([one.description, other.description]),
        attributes={**other.attributes, **one.attributes},
    )


def _parsed(reply: CachedReply, chunk: ExtractionInput) -> ParsedReply:
    return parse_reply(reply.text, chunk, complete=reply.complete)


def _is_unusable(parsed: ParsedReply) -> bool:
    return not parsed.extraction.mentions and not _UNUSABLE.isdisjoint(parsed.problems)


def _has_seen(progress: _Progress) -> ParsedReply:
    return ParsedReply(extraction=progress.extraction, problems=progress.latest.problems)


def _certain_mentions(by_rules: Extraction) -> Extraction:
    """Return what needs no model to be believed: the title, e-mail addresses, identifiers.

    Questions name them letter by letter, models often leave them out, and they cost no token. Names that rules
    guess from capitals are left to the model, and so is what two names have to do with each other.
    """
    sure = tuple(mention for mention in by_rules.mentions if _is_certain(mention))
    return Extraction(mentions=sure, relation_mentions=())


def _is_certain(mention: Mention) -> bool:
    is_title = mention.type is MentionType.METADATA
    return is_title or mention.kind == "identifier" or "email" in mention.attributes


def _log_problems(heard: Sequence[_Progress]) -> None:
    problems: Counter[str] = Counter()
    for one in heard:
        problems.update({problem.name.lower(): count for problem, count in one.problems.items()})
    _log.info(
        "chunks read by the model",
        chunks=len(heard),
        replies=sum(len(one.replies) for one in heard),
        problems=dict(problems),
    )
    by_rules = sum(one.by_rules for one in heard)
    if by_rules:
        _log.warning(
            "the model's replies to some chunks could not be used; these were read by rules",
            chunks=by_rules,
            problems=dict(problems),
        )
