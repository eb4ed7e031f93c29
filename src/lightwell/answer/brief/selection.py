"""The cited lines of a brief: chosen word for word, or written by a model and checked like an answer."""

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
from lightwell.answer.context import passage_text
from lightwell.answer.extractive import is_heading
from lightwell.answer.quotes import Quote, make_quote, render_quote, shorten
from lightwell.answer.reply import verify_reply
from lightwell.answer.verification import support
from lightwell.domain.briefs import MAX_CITATIONS, EntityPassage
from lightwell.domain.evidence import Evidence
from lightwell.domain.fences import fence
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity
from lightwell.domain.ids import ChunkId
from lightwell.ports import ChatModel, Message
from lightwell.text.dates import find_first_date
from lightwell.text.open_cues import open_issue_score
from lightwell.text.tokens import token_count
from lightwell.text.units import split_into_units

MAX_REPLY_TOKENS = 800
FEWEST_CITATIONS = 3

_MAX_LINES = 3
_MAX_SHOWN = 8
_MAX_DESCRIBED = 2


class Part(StrEnum):
    """What a line is for; the words by which a model begins each part."""

    ABOUT = "ABOUT"
    LATELY = "LATELY"
    OPEN = "OPEN"


_PART_HEAD = re.compile(rf"^[^\w\n]*({'|'.join(Part)})[^\w\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSentence:
    """A unit of a passage that speaks of the entity, and how well it serves each part.

    `said_at` is the day that it names, else that of its document; it is `dated` where that stands in the unit, or in the document's
    name or title. `names_it` is whether the unit, or its
    document's title, does; else it stands under a heading that does.
    """

    quote: Quote
    said_at: datetime
    dated: bool
    names_entity: bool
    definition_score: float
    news_score: float
    open_issue_score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftLine:
    """A line before its citations are numbered."""

    part: Part
    text: str
    quotes: tuple[Quote, ...]
    said_at: datetime


def candidate_sentences(
    passages: Sequence[EntityPassage], entity_names: EntityNames
) -> list[CandidateSentence]:
    """Return every unit that names the entity or stands under its name, in the order of the passages.

    Where none does, the passages that are known to speak of it do in other words: then all their units.
    """
    heard = [
        each
        for passage in passages
        for each in _candidates_in(passage, entity_names, everywhere=False)
    ]
    known = (passage for passage in passages if passage.mention_count)
    return heard or [
        each for passage in known for each in _candidates_in(passage, entity_names, everywhere=True)
    ]


def extract_lines(entity: Entity, sentences: Sequence[CandidateSentence]) -> list[DraftLine]:
    """Return the lines that units make word for word; `heard` is newest first."""
    taken = _Deduplicator()
    about = _supported_description(entity, sentences) or _drafts(
        Part.ABOUT, taken.without_repeated(_by_definition_score(sentences), 1)
    )
    for draft in about:
        taken.add(draft)
    still_open = sorted(
        _newest_first(each for each in sentences if each.open_issue_score),
        key=lambda each: (each.open_issue_score < 2, not each.dated),
    )
    left = _drafts(Part.OPEN, taken.without_repeated(still_open, _MAX_LINES))
    lately = _drafts(
        Part.LATELY, _newest_first(taken.without_repeated(_newest(sentences, taken), _MAX_LINES))
    )
    drafts = [*about, *lately, *left]
    spare = _by_definition_score([each for each in sentences if each.names_entity])
    quoted = {each.evidence.chunk.id for draft in drafts for each in draft.quotes}
    more = taken.without_repeated(
        _from_other_passages(spare, quoted), FEWEST_CITATIONS - len(quoted)
    )
    missing = (
        FEWEST_CITATIONS - len(more) - len({each.place for one in drafts for each in one.quotes})
    )
    more += taken.without_repeated(spare, missing)
    return [*about, *_drafts(Part.ABOUT, more), *lately, *left]


def passes_verification(sentence: CandidateSentence) -> bool:
    """Return whether the unit would stand the check of an answer: what gives a model orders does not."""
    given = sentence.quote
    return bool(
        support.supporting_quotes(
            given.text, [support.prepare_passage(given.evidence)], frozenset()
        )
    )


def best_definition(sentences: Sequence[CandidateSentence]) -> str:
    """Return the unit that best says what the entity is, "" for none."""
    return next(
        (each.quote.text for each in _by_definition_score(sentences) if passes_verification(each)),
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
    """Return the lines that the model writes and its citations carry; raise `ModelFailed`.

    It is shown the passages of the chosen lines first, so that a part it leaves empty may keep those.
    """
    shown = _passages_to_show(passages, drafts, max_tokens)
    evidence = [_evidence(each) for each in shown]
    dates = {each.chunk.id: each.said_at for each in shown}
    reply = await model.reply(build_messages(entity, evidence), max_tokens=MAX_REPLY_TOKENS)
    made: list[DraftLine] = []
    for part, text in _parts(reply.text):
        made += [
            DraftLine(
                part=part,
                text=each.text,
                quotes=each.quotes,
                said_at=find_first_date(each.text) or dates[each.quotes[0].evidence.chunk.id],
            )
            for each in verify_reply(text, evidence, entity.name)[:_MAX_LINES]
        ]
    done = {draft.part for draft in made}
    return _add_extracted([*made, *(draft for draft in drafts if draft.part not in done)], drafts)


def _add_extracted(lines: list[DraftLine], drafts: Sequence[DraftLine]) -> list[DraftLine]:
    """Return the lines with chosen ones added, as long as they quote fewer than three passages."""
    quoted = {each.evidence.chunk.id for draft in lines for each in draft.quotes}
    for draft in drafts:
        chunk = draft.quotes[0].evidence.chunk.id
        if len(quoted) < FEWEST_CITATIONS and chunk not in quoted:
            quoted.add(chunk)
            lines.append(draft)
    return lines


def build_messages(entity: Entity, evidence: Sequence[Evidence]) -> list[Message]:
    """Return what the model is sent; `evidence` is numbered from 1."""
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
    """Return the drafts that five citations carry, in the order of their parts, and the marks to give them.

    Each part's first line goes before any part's second one. Where fewer than three passages are quoted, each quote
    has a mark of its own.
    """
    passages = {each.evidence.chunk.id for draft in drafts for each in draft.quotes}
    marks = CitationMarks(by_quote=len(passages) < FEWEST_CITATIONS)
    places: dict[Part, int] = {}
    ranked: list[tuple[int, DraftLine]] = []
    for draft in drafts:
        ranked.append((places.setdefault(draft.part, 0), draft))
        places[draft.part] += 1
    held: set[tuple[str, int]] = set()
    kept: list[DraftLine] = []
    for _, draft in sorted(ranked, key=lambda pair: pair[0]):
        keys = {marks.key(each) for each in draft.quotes}
        if len(held | keys) <= MAX_CITATIONS:
            held |= keys
            kept.append(draft)
    return sorted(kept, key=lambda draft: list(Part).index(draft.part)), marks


@dataclass(slots=True)
class _Deduplicator:
    """What has been said already, so that nothing is said twice."""

    said: set[str] = field(default_factory=set[str])

    def add(self, draft: DraftLine) -> None:
        self.said |= {fold_words(each.text) for each in draft.quotes}

    def without_repeated(
        self, sentences: Iterable[CandidateSentence], most: int
    ) -> list[CandidateSentence]:
        """Return the first units that say something new, and take them."""
        found: list[CandidateSentence] = []
        for each in sentences:
            said = fold_words(each.quote.text)
            if len(found) < most and said not in self.said and passes_verification(each):
                self.said.add(said)
                found.append(each)
        return found


def _candidates_in(
    passage: EntityPassage, entity_names: EntityNames, *, everywhere: bool
) -> Iterator[CandidateSentence]:
    chunk, entry = passage.chunk, _evidence(passage)
    for unit in split_into_units(chunk.text):
        text = chunk.text[unit.start : unit.end]
        start = chunk.locator.start + unit.start
        section = chunk.layout.locate(start, start + 1).section
        above = " › ".join((chunk.title, *section, unit.context))
        if everywhere or entity_names.occur_in(f"{above} › {text}"):
            near = everywhere or entity_names.occur_in(" › ".join((*section, unit.context, text)))
            own = make_quote(entry, unit.start, unit.end, context=unit.context)
            day, heads = find_first_date(text), is_heading(own)
            news = near or (day is not None and not text.startswith("|"))
            yield CandidateSentence(
                quote=own,
                said_at=day or passage.said_at,
                dated=day is not None or passage.said_at != chunk.updated_at,
                names_entity=everywhere or entity_names.occur_in(f"{chunk.title} › {text}"),
                definition_score=definition_score(text, entity_names),
                news_score=news_score(text, entity_names)
                if news and not heads and has_content(text)
                else 0.0,
                open_issue_score=0
                if heads
                else open_issue_score(text, " › ".join((*section[-1:], unit.context))),
            )


def _evidence(passage: EntityPassage) -> Evidence:
    return Evidence(
        chunk=passage.chunk,
        relevance=passage.relevance,
        score=float(passage.mention_count),
        cosine_distance=None,
    )


def _drafts(part: Part, sentences: Iterable[CandidateSentence]) -> list[DraftLine]:
    return [
        DraftLine(
            part=part,
            text=shorten(render_quote(each.quote)),
            quotes=(each.quote,),
            said_at=each.said_at,
        )
        for each in sentences
    ]


def _supported_description(
    entity: Entity, sentences: Sequence[CandidateSentence]
) -> list[DraftLine]:
    """Return the sentences of the entity's description that passages carry, checked as if a model wrote them.

    What a person wrote is that person's word: no passage is cited for it, whatever names the entity.
    """
    if entity.described_by_hand:
        return []
    passages = {each.quote.evidence.chunk.id: each for each in sentences}
    evidence = [each.quote.evidence for each in [*passages.values()][:_MAX_SHOWN]]
    dates = {each.quote.place: each.said_at for each in sentences}
    marks = "".join(f"[{number}]" for number in range(1, len(evidence) + 1))
    found: list[DraftLine] = []
    for text in _sentences(entity.description):
        for each in verify_reply(f"{text} {marks}.", evidence, entity.name)[:1]:
            first = each.quotes[0]
            said_at = dates.get(first.place, passages[first.evidence.chunk.id].said_at)
            found.append(
                DraftLine(part=Part.ABOUT, text=each.text, quotes=(first,), said_at=said_at)
            )
    return found[:_MAX_DESCRIBED]


def _sentences(description: str) -> Iterator[str]:
    for said in description.split(DESCRIPTION_SEPARATOR):
        for unit in split_into_units(said):
            yield said[unit.start : unit.end].rstrip(" .")


def _by_definition_score(sentences: Sequence[CandidateSentence]) -> list[CandidateSentence]:
    """Return the units by how well they say what the entity is, then by how much they tell, then the most relevant; the newest first."""
    return sorted(
        (each for each in sentences if each.definition_score or each.news_score),
        key=lambda each: (-each.definition_score, -each.news_score, -each.quote.evidence.relevance),
    )


def _from_other_passages(
    sentences: Iterable[CandidateSentence], quoted: Collection[ChunkId]
) -> list[CandidateSentence]:
    """Return the first unit of each passage that is not quoted yet."""
    first: dict[ChunkId, CandidateSentence] = {}
    for each in sentences:
        first.setdefault(each.quote.evidence.chunk.id, each)
    return [each for chunk, each in first.items() if chunk not in quoted]


def _newest(
    sentences: Sequence[CandidateSentence], taken: _Deduplicator
) -> list[CandidateSentence]:
    """Return of each document its newest unit that is not taken yet, the newest first; the most telling one of a day.

    Units without a date count only where none has one.
    """
    by_document: dict[str, list[CandidateSentence]] = {}
    for each in sentences:
        if each.news_score and fold_words(each.quote.text) not in taken.said:
            by_document.setdefault(each.quote.evidence.chunk.url, []).append(each)
    best = [
        max(own, key=lambda each: (each.dated, each.said_at, each.news_score))
        for own in by_document.values()
    ]
    return _newest_first([each for each in best if each.dated] or best)


def _newest_first(sentences: Iterable[CandidateSentence]) -> list[CandidateSentence]:
    return sorted(sentences, key=lambda each: each.said_at, reverse=True)


def _passages_to_show(
    passages: Sequence[EntityPassage], drafts: Sequence[DraftLine], max_tokens: int
) -> list[EntityPassage]:
    wanted = [each.evidence.chunk.id for draft in drafts for each in draft.quotes]
    first = {chunk: place for place, chunk in reversed(list(enumerate(wanted)))}
    ranked = sorted(passages, key=lambda each: first.get(each.chunk.id, len(wanted)))
    shown: list[EntityPassage] = []
    for each in ranked[:_MAX_SHOWN]:
        cost = token_count(passage_text(_evidence(each)))
        if not shown or cost <= max_tokens:
            shown.append(each)
            max_tokens -= cost
    return shown


def _parts(reply: str) -> list[tuple[Part, str]]:
    """Return the text of each part of the reply; what stands before the first is left out."""
    pieces = _PART_HEAD.split(reply)
    return [(Part(word), text) for word, text in zip(pieces[1::2], pieces[2::2], strict=True)]
