"""The cited lines of a brief: extracted word for word, or written by a model and verified as an answer is."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from importlib import resources

from lightwell.answer.brief.citation_marks import CitationMarks
from lightwell.answer.brief.cues import (
    EntityNames,
    definition_score,
    fold_words,
    has_content,
    news_score,
)
from lightwell.answer.brief.items import (
    NO_LINES,
    ItemLine,
    ItemLines,
    is_field_block,
    spoken_at,
)
from lightwell.answer.extractive import is_heading
from lightwell.answer.open_points import open_issue_score
from lightwell.answer.prompt import passage_text
from lightwell.answer.quotes import Quote, render_quote, split_into_quotes
from lightwell.answer.reply import verify_reply
from lightwell.domain.briefs import MAX_CITATIONS, EntityPassage
from lightwell.domain.documents import WorkState
from lightwell.domain.evidence import Evidence
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity
from lightwell.domain.ids import ChunkId
from lightwell.domain.prompt_fencing import fence
from lightwell.ports import ChatModel, Message
from lightwell.text.dates import find_first_date, first_moment
from lightwell.text.pieces import shorten
from lightwell.text.regex import regex
from lightwell.text.tokens import token_count
from lightwell.text.units import unit_spans

MAX_REPLY_TOKENS = 800
FEWEST_CITATIONS = 3

_MAX_LINES = 3
_MAX_SHOWN = 8
_MAX_DESCRIBED = 2
_DEFINES = 3.5
"""The definition score from which a sentence says what something is."""
_TODO = regex(r"\W*(?:TODO|FIXME|XXX|TBD)\b")
"""How a note of an author to itself begins."""


class Part(StrEnum):
    """The parts of a brief; a model writes these words above each part."""

    ABOUT = "ABOUT"
    LATELY = "LATELY"
    OPEN = "OPEN"


_PART_HEAD = regex(rf"^[^\w\n]*({'|'.join(Part)})[^\w\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSentence:
    """A sentence, list item or table row about the entity, with a score for each part of the brief.

    `said_at` is the day that it names, in an item the day of its message, else the day of its document, which orders sentences only where the document states no
    date: the sentence is not `dated` then. `names_entity` says whether the sentence or its document's title names the entity; else a
    heading above it does. `speaker` is who wrote the message that it belongs to.
    """

    quote: Quote
    said_at: datetime
    dated: bool
    names_entity: bool
    speaker: str = ""
    definition_score: float
    news_score: float
    open_issue_score: int

    @property
    def shown_date(self) -> datetime | None:
        """The date that the brief gives, None where neither the sentence nor its document states one."""
        return self.said_at if self.dated else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLine:
    """A line before its citations are numbered."""

    part: Part
    text: str
    quotes: tuple[Quote, ...]
    said_at: datetime | None


def candidate_sentences(
    passages: Sequence[EntityPassage], entity_names: EntityNames
) -> list[CandidateSentence]:
    """Return the sentences that name the entity or stand under a heading that does, in the order of the passages.

    Where there are none, passages that mention the entity do so in other words: then all sentences of these.
    """
    named = [
        sentence
        for passage in passages
        for sentence in _candidates_in(passage, entity_names, everywhere=False)
    ]
    mentioning = (passage for passage in passages if passage.mention_count)
    return named or [
        sentence
        for passage in mentioning
        for sentence in _candidates_in(passage, entity_names, everywhere=True)
    ]


def extract_lines(
    entity: Entity, sentences: Sequence[CandidateSentence], items: ItemLines = NO_LINES
) -> list[DraftLine]:
    """Return the lines that quote sentences and fields word for word: about the entity, what is new, what is open.

    What items say is open comes first. Where the entity has a record, only a sentence that defines it is about it in place of that.
    """
    taken = _Deduplicator()
    least = _DEFINES if items.record else 0.0
    defining = [sentence for sentence in sentences if sentence.definition_score >= least]
    about = (
        _supported_description(entity, sentences)
        or _drafts(Part.ABOUT, taken.without_repeated(_by_definition_score(defining), 1))
        or _item_drafts(Part.ABOUT, items.record)
    )
    stated = _item_drafts(Part.OPEN, items.open_lines)
    for draft in (*about, *stated):
        taken.add(draft)
    still_open = sorted(
        _newest_first(sentence for sentence in sentences if sentence.open_issue_score),
        key=lambda sentence: (sentence.open_issue_score < 2, not sentence.dated),
    )
    room = _MAX_LINES - len(stated)
    left = [*stated, *_drafts(Part.OPEN, taken.without_repeated(still_open, room))]
    lately = _drafts(
        Part.LATELY, _newest_first(taken.without_repeated(_newest(sentences, taken), _MAX_LINES))
    )
    drafts = [*about, *lately, *left]
    spare = _by_definition_score([sentence for sentence in sentences if sentence.names_entity])
    quoted = {quote.evidence.chunk.id for draft in drafts for quote in draft.quotes}
    more = taken.without_repeated(
        _from_other_passages(spare, quoted), FEWEST_CITATIONS - len(quoted)
    )
    missing = (
        FEWEST_CITATIONS
        - len(more)
        - len({quote.place for draft in drafts for quote in draft.quotes})
    )
    more += taken.without_repeated(spare, missing)
    return [*about, *_drafts(Part.ABOUT, more), *lately, *left]


def may_be_quoted(sentence: CandidateSentence) -> bool:
    """Return whether the sentence gives a model no orders."""
    quote = sentence.quote
    return not quote.evidence.analysis.is_inside_injection(quote.start)


def best_definition(sentences: Sequence[CandidateSentence]) -> str:
    """Return the sentence that best says what the entity is, "" for none."""
    return next(
        (
            sentence.quote.text
            for sentence in _by_definition_score(sentences)
            if may_be_quoted(sentence)
        ),
        "",
    )


async def generate_lines(
    model: ChatModel,
    entity: Entity,
    passages: Sequence[EntityPassage],
    drafts: Sequence[DraftLine],
    *,
    max_tokens: int,
) -> list[DraftLine]:
    """Return the lines that the model writes and that its citations support; raise `ModelFailed`.

    The model sees the passages of the extracted lines first. A part that it leaves empty keeps the extracted lines.
    """
    shown = _passages_to_show(passages, drafts, max_tokens)
    evidence = [passage.evidence for passage in shown]
    dates = {passage.chunk.id: passage.chunk.dated_at for passage in shown}
    reply = await model.reply(brief_messages(entity, evidence), max_tokens=MAX_REPLY_TOKENS)
    made: list[DraftLine] = []
    _, *pieces = _PART_HEAD.split(reply.text)  # text before the first part is left out
    for part, text in zip(map(Part, pieces[::2]), pieces[1::2], strict=True):
        made += [
            DraftLine(
                part=part,
                text=statement.text,
                quotes=statement.quotes,
                said_at=find_first_date(statement.text)
                or dates[statement.quotes[0].evidence.chunk.id],
            )
            for statement in verify_reply(text, evidence, entity.name)[:_MAX_LINES]
        ]
    done = {draft.part for draft in made}
    return _add_extracted([*made, *(draft for draft in drafts if draft.part not in done)], drafts)


def _add_extracted(lines: list[DraftLine], drafts: Sequence[DraftLine]) -> list[DraftLine]:
    """Return the lines, with extracted ones added as long as fewer than three passages are quoted."""
    quoted = {quote.evidence.chunk.id for draft in lines for quote in draft.quotes}
    for draft in drafts:
        chunk = draft.quotes[0].evidence.chunk.id
        if len(quoted) < FEWEST_CITATIONS and chunk not in quoted:
            quoted.add(chunk)
            lines.append(draft)
    return lines


def brief_messages(entity: Entity, evidence: Sequence[Evidence]) -> list[Message]:
    """Return the messages for the model; passages are numbered from 1."""
    rules = (resources.files("lightwell.answer.brief") / "prompts" / "brief.md").read_text("utf-8")
    blocks = "\n\n".join(
        f"[{number}]\n{fence(passage_text(entry))}" for number, entry in enumerate(evidence, 1)
    )
    return [
        Message(role="system", content=rules),
        Message(
            role="user",
            content=f"Passages:\n\n{blocks}\n\nThe brief is on: {entity.name} ({entity.kind})",
        ),
    ]


def limit_citations(drafts: Sequence[DraftLine]) -> tuple[list[DraftLine], CitationMarks]:
    """Return the drafts that need at most five citations, in the order of their parts, and the empty citation marks.

    The first line of each part is kept before the second line of any, and what is open before what is new. Where fewer than three passages are quoted, each
    quote has a citation of its own.
    """
    passages = {quote.evidence.chunk.id for draft in drafts for quote in draft.quotes}
    marks = CitationMarks(by_quote=len(passages) < FEWEST_CITATIONS)
    places: dict[Part, int] = {}
    ranked: list[tuple[int, DraftLine]] = []
    for draft in drafts:
        ranked.append((places.setdefault(draft.part, 0), draft))
        places[draft.part] += 1
    cited: set[tuple[str, int]] = set()
    kept: list[DraftLine] = []
    for _, draft in sorted(ranked, key=lambda pair: (pair[0], pair[1].part is Part.LATELY)):
        keys = {marks.key(quote) for quote in draft.quotes}
        if len(cited | keys) <= MAX_CITATIONS:
            cited |= keys
            kept.append(draft)
    return sorted(kept, key=lambda draft: list(Part).index(draft.part)), marks


@dataclass(slots=True)
class _Deduplicator:
    """Remembers what stands in the brief, so that nothing stands there twice."""

    said: set[str] = field(default_factory=set[str])

    def add(self, draft: DraftLine) -> None:
        self.said |= {fold_words(quote.text) for quote in draft.quotes}

    def without_repeated(
        self, sentences: Iterable[CandidateSentence], most: int
    ) -> list[CandidateSentence]:
        """Return the first `most` sentences that repeat nothing, and remember them."""
        kept: list[CandidateSentence] = []
        for sentence in sentences:
            folded = fold_words(sentence.quote.text)
            if len(kept) < most and folded not in self.said and may_be_quoted(sentence):
                self.said.add(folded)
                kept.append(sentence)
        return kept


def _candidates_in(
    passage: EntityPassage, entity_names: EntityNames, *, everywhere: bool
) -> Iterator[CandidateSentence]:
    chunk, entry = passage.chunk, passage.evidence
    for quote in split_into_quotes(entry):
        text, context = quote.text, quote.context
        if is_field_block(chunk, text):
            continue
        start = chunk.locator.start + quote.start
        section = chunk.layout.locate(start, start + 1).section
        is_of_item = passage.is_part
        near = everywhere or is_of_item or entity_names.occur_in(*section, context, text)
        names_entity = everywhere or entity_names.occur_in(chunk.title, text)
        if near or names_entity:
            heads = is_heading(quote) or (
                bool(_TODO.match(text)) and not entity_names.occur_in(text)
            )
            speaker, spoken = spoken_at(chunk, section) if is_of_item else ("", None)
            day = spoken if is_of_item else first_moment(quote.unit.facts.dates)
            is_closed = chunk.work_state is WorkState.CLOSED
            is_task = is_of_item and chunk.work_state is not None and spoken is None
            news = not is_task and (near or (day is not None and not text.startswith("|")))
            yield CandidateSentence(
                quote=quote,
                said_at=day or chunk.updated_at,
                dated=day is not None or chunk.dated_at is not None,
                names_entity=names_entity,
                speaker=speaker,
                definition_score=0.0 if heads else definition_score(text, entity_names),
                news_score=news_score(text, entity_names)
                if news and not heads and has_content(text)
                else 0.0,
                open_issue_score=0
                if heads or is_closed
                else open_issue_score(text, " › ".join((*section[-1:], context))),
            )


def _drafts(part: Part, sentences: Iterable[CandidateSentence]) -> list[DraftLine]:
    return [
        DraftLine(
            part=part,
            text=_said_by(sentence),
            quotes=(sentence.quote,),
            said_at=sentence.shown_date,
        )
        for sentence in sentences
    ]


def _said_by(sentence: CandidateSentence) -> str:
    """Return the sentence, after whoever wrote it in a message."""
    text = shorten(render_quote(sentence.quote))
    return f"{sentence.speaker}: {text}" if sentence.speaker else text


def _item_drafts(part: Part, lines: Iterable[ItemLine]) -> list[DraftLine]:
    return [
        DraftLine(part=part, text=line.text, quotes=(line.quote,), said_at=line.said_at)
        for line in lines
    ]


def _supported_description(
    entity: Entity, sentences: Sequence[CandidateSentence]
) -> list[DraftLine]:
    """Return the sentences of the entity's description that passages support, verified as if a model had written them.

    A description that a person wrote is left out: no document is cited for what a person says.
    """
    if entity.described_by_hand:
        return []
    passages = {sentence.quote.evidence.chunk.id: sentence for sentence in sentences}
    dates = {sentence.quote.place: sentence.shown_date for sentence in sentences}
    drafts: list[DraftLine] = []
    for text in _sentences(entity.description):
        evidence = _passages_to_verify(text, sentences)
        marks = "".join(f"[{number}]" for number in range(1, len(evidence) + 1))
        for statement in verify_reply(f"{text} {marks}.", evidence, entity.name)[:1]:
            first = statement.quotes[0]
            said_at = dates.get(first.place, passages[first.evidence.chunk.id].shown_date)
            drafts.append(
                DraftLine(part=Part.ABOUT, text=statement.text, quotes=(first,), said_at=said_at)
            )
    return drafts[:_MAX_DESCRIBED]


def _passages_to_verify(text: str, sentences: Sequence[CandidateSentence]) -> list[Evidence]:
    """Return the passages that say the text word for word, else all, at most eight: others may have most of its words."""
    folded = fold_words(text)
    quoted = [sentence for sentence in sentences if folded in fold_words(sentence.quote.text)]
    passages = {
        sentence.quote.evidence.chunk.id: sentence.quote.evidence
        for sentence in quoted or sentences
    }
    return [*passages.values()][:_MAX_SHOWN]


def _sentences(description: str) -> Iterator[str]:
    for part in description.split(DESCRIPTION_SEPARATOR):
        for start, end in unit_spans(part):
            yield part[start:end].rstrip(" .")


def _by_definition_score(sentences: Sequence[CandidateSentence]) -> list[CandidateSentence]:
    """Return the sentences by definition score, then news score, then relevance, best first; of equal ones the newest first."""
    return sorted(
        (sentence for sentence in sentences if sentence.definition_score or sentence.news_score),
        key=lambda sentence: (
            -sentence.definition_score,
            -sentence.news_score,
            -sentence.quote.evidence.relevance,
        ),
    )


def _from_other_passages(
    sentences: Iterable[CandidateSentence], quoted: Collection[ChunkId]
) -> list[CandidateSentence]:
    """Return the first sentence of each passage that is not quoted yet."""
    first: dict[ChunkId, CandidateSentence] = {}
    for sentence in sentences:
        first.setdefault(sentence.quote.evidence.chunk.id, sentence)
    return [sentence for chunk, sentence in first.items() if chunk not in quoted]


def _newest(
    sentences: Sequence[CandidateSentence], taken: _Deduplicator
) -> list[CandidateSentence]:
    """Return the newest sentence of each document that does not stand in the brief yet, newest first.

    Of one day the sentence with the highest news score is taken. Sentences without a date count only where none has one.
    """
    by_document: dict[str, list[CandidateSentence]] = {}
    for sentence in sentences:
        if sentence.news_score and fold_words(sentence.quote.text) not in taken.said:
            by_document.setdefault(sentence.quote.evidence.chunk.url, []).append(sentence)
    best = [
        max(
            candidates, key=lambda sentence: (sentence.dated, sentence.said_at, sentence.news_score)
        )
        for candidates in by_document.values()
    ]
    return _newest_first([sentence for sentence in best if sentence.dated] or best)


def _newest_first(sentences: Iterable[CandidateSentence]) -> list[CandidateSentence]:
    return sorted(sentences, key=lambda sentence: sentence.said_at, reverse=True)


def _passages_to_show(
    passages: Sequence[EntityPassage], drafts: Sequence[DraftLine], max_tokens: int
) -> list[EntityPassage]:
    wanted = [quote.evidence.chunk.id for draft in drafts for quote in draft.quotes]
    first = {chunk: place for place, chunk in reversed(list(enumerate(wanted)))}
    ranked = sorted(passages, key=lambda passage: first.get(passage.chunk.id, len(wanted)))
    shown: list[EntityPassage] = []
    for passage in ranked[:_MAX_SHOWN]:
        cost = token_count(passage_text(passage.evidence))
        if not shown or cost <= max_tokens:
            shown.append(passage)
            max_tokens -= cost
    return shown
