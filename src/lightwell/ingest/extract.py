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
from lightwell.domain.graph import Extraction, Mention, MentionType, Statement, joined, normalized
from lightwell.ingest import rules
from lightwell.ingest.reading import (
    Form,
    Wanted,
    gleaning_messages,
    reading_messages,
    repair_messages,
    reply_schema,
    worth_gleaning,
)
from lightwell.ingest.replies import Parsed, parse_reply
from lightwell.ingest.rows import Problem
from lightwell.ingest.together import together
from lightwell.logs import logger
from lightwell.ports import ChunkToRead, Message
from lightwell.records import replies
from lightwell.records.asking import Asked, Asking
from lightwell.records.replies import CacheType, Kept, Sought

_UNUSABLE = frozenset({Problem.EMPTY, Problem.REFUSED, Problem.MALFORMED, Problem.TRUNCATED})

_Written = Callable[[Wanted], Sequence[Message]]
"""A question as it is put in one form."""

_HEAD_START = 0.2
"""Seconds: the rules take the processor while the model thinks, and not while calls go out or come back."""

_log = logger(__name__)


def most_reply_tokens(chunk: ChunkToRead) -> int:
    """Return where a reply is cut: about four times what a dense passage has needed."""
    return 800 + 2 * chunk.draft.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """What a chunk says so far, and the replies it was heard from, in order; `latest` is the last one read."""

    latest: Parsed
    extraction: Extraction
    replies: tuple[UUID, ...]
    problems: Mapping[Problem, int]
    by_rules: bool = False


class ModelReader:
    """Reads chunks by a model, at most `passes` second looks each; what the model cannot say, rules do.

    Where the endpoint declines the schema that the form wanted needs, it goes on in the form `instead`. A reply that
    is kept in either form holds.
    """

    def __init__(
        self, asking: Asking, wanted: Wanted, *, passes: int, instead: Form | None = None
    ) -> None:
        self._asking = asking
        self._wanted = wanted
        self._instead = instead
        self.passes = passes

    async def extract(self, chunks: Sequence[ChunkToRead]) -> list[Extraction]:
        """Return what each chunk says, in order; raise `ModelFailed`. Replies that arrived are kept even then."""
        heard = await together(self._read(chunk) for chunk in chunks)
        read = {chunk.id: one.replies for chunk, one in zip(chunks, heard, strict=True)}
        await replies.refer(self._asking.database, read)
        _tell(heard)
        return [one.extraction for one in heard]

    def first_question(self, chunk: ChunkToRead) -> Asked:
        """Return what the model is asked about a chunk first."""
        return self._questions(CacheType.ENTITY_EXTRACTION, chunk, _reading(chunk))[0]

    def first_sought(self, chunk: ChunkToRead) -> list[Sought]:
        """Return by what a reply to the first question may be kept."""
        asked = self._questions(CacheType.ENTITY_EXTRACTION, chunk, _reading(chunk))
        return [self._asking.sought(each) for each in asked]

    async def _read(self, chunk: ChunkToRead) -> _Heard:
        first = asyncio.create_task(self._first(chunk))
        try:
            await asyncio.wait([first], timeout=_HEAD_START)
            by_rules = await asyncio.to_thread(rules.read, chunk)
            heard = await first
        finally:
            first.cancel()
            await asyncio.wait([first])
        if _is_unusable(heard.latest):
            return replace(heard, extraction=by_rules, by_rules=True)
        for _ in range(self.passes):
            if not worth_gleaning(_seen(heard), by_rules):
                break
            known = [mention.name for mention in heard.extraction.mentions]
            heard = await self._hear(CacheType.GLEANING, chunk, _gleaning(chunk, known), heard)
        return replace(heard, extraction=united(heard.extraction, _sure(by_rules)))

    async def _first(self, chunk: ChunkToRead) -> _Heard:
        heard = await self._hear(CacheType.ENTITY_EXTRACTION, chunk, _reading(chunk), None)
        if not _is_unusable(heard.latest):
            return heard
        return await self._hear(CacheType.ENTITY_EXTRACTION, chunk, _repairing(chunk), heard)

    async def _hear(
        self,
        kind: CacheType,
        chunk: ChunkToRead,
        written: _Written,
        before: _Heard | None,
    ) -> _Heard:
        kept = await self._replied(kind, chunk, written)
        parsed = await asyncio.to_thread(_parsed, kept, chunk)
        if before is None:
            return _Heard(
                latest=parsed,
                extraction=parsed.extraction,
                replies=(kept.id,),
                problems=parsed.problems,
            )
        return _Heard(
            latest=parsed,
            extraction=united(before.extraction, parsed.extraction),
            replies=tuple(dict.fromkeys([*before.replies, kept.id])),
            problems=Counter(before.problems) + Counter(parsed.problems),
        )

    async def _replied(self, kind: CacheType, chunk: ChunkToRead, written: _Written) -> Kept:
        asked, *instead = self._questions(kind, chunk, written)
        try:
            return await self._asking.reply(asked, or_kept=instead)
        except SchemaDeclined:
            if not instead:
                raise
        return await self._asking.reply(instead[0])

    def _questions(self, kind: CacheType, chunk: ChunkToRead, written: _Written) -> list[Asked]:
        """Return the question in the form wanted, and then in the one that stands in for it."""
        forms = [self._wanted.form] if self._instead is None else [self._wanted.form, self._instead]
        return [
            Asked(
                kind=kind,
                messages=written(replace(self._wanted, form=form)),
                most_tokens=most_reply_tokens(chunk),
                schema=reply_schema() if form is Form.JSON else None,
                chunk=chunk.id,
            )
            for form in forms
        ]


def _reading(chunk: ChunkToRead) -> _Written:
    return lambda wanted: reading_messages(chunk, wanted)


def _gleaning(chunk: ChunkToRead, known: Sequence[str]) -> _Written:
    return lambda wanted: gleaning_messages(chunk, known, wanted)


def _repairing(chunk: ChunkToRead) -> _Written:
    return lambda wanted: repair_messages(chunk, wanted)


def united(one: Extraction, other: Extraction) -> Extraction:
    """Return both, each name and each statement once; where both have it, the first is filled up from the second."""
    mentions = {normalized(mention.name): mention for mention in one.mentions}
    for mention in other.mentions:
        key = normalized(mention.name)
        mentions[key] = _filled(mentions[key], mention) if key in mentions else mention
    statements: dict[tuple[str, str, str], Statement] = {}
    for said in (*one.statements, *other.statements):
        statements.setdefault(
            (normalized(said.subject), normalized(said.object), said.predicate), said
        )
    return Extraction(mentions=tuple(mentions.values()), statements=tuple(statements.values()))


def _filled(one: Mention, other: Mention) -> Mention:
    return replace(
        one,
        description=joined([one.description, other.description]),
        attributes={**other.attributes, **one.attributes},
    )


def _parsed(kept: Kept, chunk: ChunkToRead) -> Parsed:
    return parse_reply(kept.text, chunk, complete=kept.complete)


def _is_unusable(parsed: Parsed) -> bool:
    return not parsed.extraction.mentions and not _UNUSABLE.isdisjoint(parsed.problems)


def _seen(heard: _Heard) -> Parsed:
    return Parsed(extraction=heard.extraction, problems=heard.latest.problems)


def _sure(by_rules: Extraction) -> Extraction:
    """Return what needs no model to be believed: the title, e-mail addresses, identifiers.

    Questions name them letter by letter, models often leave them out, and they cost no token. Names that rules
    guess from capitals are left to the model, and so is what two names have to do with each other.
    """
    sure = tuple(mention for mention in by_rules.mentions if _is_sure(mention))
    return Extraction(mentions=sure, statements=())


def _is_sure(mention: Mention) -> bool:
    is_title = mention.type is MentionType.METADATA
    return is_title or mention.kind == "identifier" or "email" in mention.attributes


def _tell(heard: Sequence[_Heard]) -> None:
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
