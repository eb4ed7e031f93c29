"""What we owe: open items of business systems with a deadline, and what our own people told others that we do by a day."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from lightwell.answer.item_fields import FIELD, title_with_fields
from lightwell.answer.quotes import (
    Quote,
    SupportedSentence,
    make_quote,
    quotes_without_orders,
    render_quote,
    weighted_coverage,
)
from lightwell.domain.access import Reader
from lightwell.domain.documents import PLAIN_SYSTEMS, Chunk
from lightwell.domain.evidence import Commitment, Evidence, Retrieval
from lightwell.domain.ids import EntityId
from lightwell.domain.question_names import match_names
from lightwell.domain.questions import Mode
from lightwell.records import owed as records
from lightwell.records.database import Database
from lightwell.records.graph import entity_passages
from lightwell.text.answer_types import speech_act_terms
from lightwell.text.answer_types.facts import Mark
from lightwell.text.answer_types.owed import Period, asked_period, read_owed
from lightwell.text.dates import PartialDate
from lightwell.text.negation import has_negation
from lightwell.text.regex import regex
from lightwell.text.sentences import is_question
from lightwell.text.terms import terms
from lightwell.text.word_lists import any_of, load_word_lists, whole_words

MAX_OWED = 20
STATED_RELEVANCE, _SAID = 0.9, 0.75
"""The relevance of a deadline that a system states, and of what our own people said: of the lines that answer the test questions and those for
what is open in `tests/business_world.py`, 32 of 32 and 29 of 29 were right; sentences are less sure elsewhere, since words decide."""

_MAX_SUBJECTS = 3
_MIN_COVERAGE = 0.5
_LISTS = load_word_lists("lightwell.answer")["ours"]
_OURS = regex(rf"\b{any_of(_LISTS['first_person'])}\b", re.IGNORECASE)
_WILL = regex(rf"{whole_words(_LISTS['will'])}|['’]ll\b", re.IGNORECASE)
_NOT_OURS = regex(whole_words(_LISTS["not_ours"]), re.IGNORECASE)
_DEADLINES = frozenset({"Deadline", "Due", "Target"})
_SHOWN = _DEADLINES | {"Task about", "Assignee", "Lead", "Owner"}
_SPEAKER = regex(r"(.+), \d{4}-\d{2}-\d{2}\b")
_SUBJECT_OF = regex(r"\b(?:did|has|have|hat|haben|a) (?:the )?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a question wants: in which days, about what, said by whom; `is_bound` where days or names bind it already."""

    period: Period | None
    weights: dict[str, float]
    speaker: str
    is_bound: bool


_ANYTHING = _Wanted(period=None, weights={}, speaker="", is_bound=True)


async def find_owed(database: Database, reader: Reader, retrieval: Retrieval) -> Retrieval:
    """Return the retrieval with what we owe, where the question asks for it: at most twenty, the earliest day first.

    Days are told from the server's, as in filters. A name binds the answer to what mentions the thing of that name, or what belongs to it;
    as the subject of the question, to what its bearer said or is assigned to.
    """
    question = (
        retrieval.question.text
    )  # as it was written: a word of another language is no misspelt one
    asked_for = read_owed(question)
    if asked_for is None or retrieval.question.mode is Mode.BYPASS:
        return retrieval
    today = datetime.now().astimezone().date()
    period = asked_period(question, today)
    if asked_for.is_late:
        period = Period(first=date.min, last=today - timedelta(days=1))
    names, subjects = await find_subjects(database, reader, retrieval)
    owed_filter = records.OwedFilter(
        first=period.first if period else date.min,
        last=period.last if period else date.max,
        subjects=subjects,
        filters=retrieval.question.filters,
    )
    chunks = await records.list_owed(database, reader, owed_filter)
    about = asked_for.terms - frozenset(terms(" ".join(names)))
    weights = {term: retrieval.weights.get(term, 1.0) for term in sorted(about)}
    wanted = _Wanted(
        period=period,
        weights=weights,
        speaker=_subject_of(question, names),
        is_bound=bool(names or period) and not asked_for.asks_when,
    )
    return replace(retrieval, owed=_choose(chunks, wanted))


async def find_subjects(
    database: Database, reader: Reader, retrieval: Retrieval
) -> tuple[tuple[str, ...], list[Sequence[EntityId]]]:
    """Return the names in the question that systems have things for, normalised, and all that belongs to the things of each."""
    analysis = retrieval.analysis
    called = await records.find_called(database, reader, analysis.candidate_names)
    bearers = {
        name: [entity.id for entity in called if f"{entity.name} ".startswith(f"{name} ")]
        for name in analysis.candidate_names
    }
    names = match_names(analysis.name_runs, [name for name, ids in bearers.items() if ids])
    subjects = [
        await entity_passages.list_belongings(database, reader, bearers[name])
        for name in names[:_MAX_SUBJECTS]
    ]
    return names, list(subjects)


def _subject_of(question: str, names: Sequence[str]) -> str:
    """Return which of the names is the subject of the question, as in "What did Nora promise?", "" for none."""
    folded = question.casefold()
    for name in names:
        place = folded.find(name)
        if place > 0 and _SUBJECT_OF.search(folded[:place]):
            return name
    return ""


def owed_sentences(retrieval: Retrieval) -> list[SupportedSentence]:
    """Return what we owe as sentences, in order."""
    return [
        SupportedSentence(
            text=commitment.text,
            quotes=(make_quote(commitment.evidence, commitment.start, commitment.end),),
        )
        for commitment in retrieval.owed or ()
    ]


def without_owed(
    retrieval: Retrieval, sentences: Sequence[SupportedSentence]
) -> list[SupportedSentence]:
    """Return the sentences that say something else than what we owe, which is listed already, and may answer how the question asks for it.

    Where it asks for a list, such a sentence names a day or a time, or promises something. Where it asks what is open and systems know with
    whom, they have said it all, and no other words of an item count.
    """
    listed = {quote.place for sentence in owed_sentences(retrieval) for quote in sentence.quotes}
    others = [
        sentence
        for sentence in sentences
        if listed.isdisjoint(quote.place for quote in sentence.quotes)
    ]
    if retrieval.analysis.asks_what_is_open and retrieval.owed is not None:
        return [
            sentence
            for sentence in others
            if all(quote.evidence.chunk.system in PLAIN_SYSTEMS for quote in sentence.quotes)
        ]
    asked_for = read_owed(retrieval.question.text)
    if asked_for is None or asked_for.asks_when:
        return others
    return [sentence for sentence in others if any(map(_tells_of_debt, sentence.quotes))]


def with_owed(retrieval: Retrieval) -> Retrieval:
    """Return the retrieval with the passages of what we owe before all others, for a model to read."""
    passages = {
        commitment.evidence.chunk.id: commitment.evidence for commitment in retrieval.owed or ()
    }
    if not passages:
        return retrieval
    others = (
        entry
        for entry in retrieval.evidence
        if passages.keys().isdisjoint(chunk.id for chunk in entry.published_chunks)
    )
    best = max(entry.relevance for entry in passages.values())
    return replace(
        retrieval,
        evidence=(*passages.values(), *others),
        best_relevance=max(best, retrieval.best_relevance),
    )


def _tells_of_debt(quote: Quote) -> bool:
    """Return whether a quote names a day or a time, of an item a deadline, or promises something."""
    units = [
        unit
        for unit in quote.evidence.analysis.units
        if unit.start < quote.end and quote.start < unit.end
    ]
    is_item = quote.evidence.chunk.system not in PLAIN_SYSTEMS
    return any(
        Mark.DEADLINE in unit.facts.marks
        or speech_act_terms(unit.terms)
        or (unit.facts.date_texts and not is_item)
        for unit in units
    )


def _choose(chunks: Sequence[Chunk], wanted: _Wanted) -> tuple[Commitment, ...]:
    """Return what fits best, ordered by day; where neither a day nor a name binds it, only what has half of what is asked about."""
    scored = [
        (_coverage(commitment, wanted), commitment)
        for chunk in chunks
        for commitment in _commitments(chunk, wanted)
    ]
    if wanted.weights and not wanted.is_bound:
        scored = [pair for pair in scored if pair[0] >= _MIN_COVERAGE]
    scored.sort(key=lambda pair: (-pair[0], pair[1].due or date.max, pair[1].text))
    chosen = [commitment for _, commitment in scored[:MAX_OWED]]
    return tuple(sorted(chosen, key=lambda commitment: commitment.due or date.max))


def list_commitments(chunk: Chunk) -> Iterator[Commitment]:
    """Yield all that a passage says is owed: its item's deadline first."""
    return _commitments(chunk, _ANYTHING)


def message_head(section: Sequence[str]) -> tuple[str, str] | None:
    """Return the heading of the message that has these headings above it, and who wrote it; None where no message has."""
    match = _SPEAKER.match(section[-1]) if section else None
    return (section[-1], match[1]) if match else None


def _coverage(commitment: Commitment, wanted: _Wanted) -> float:
    """Return how much of what is asked about the commitment names, or, less surely, its document, kind and system."""
    chunk = commitment.evidence.chunk
    own_terms = frozenset(terms(f"{commitment.text} {chunk.title}"))
    all_terms = own_terms.union(
        commitment.evidence.analysis.terms, terms(f"{chunk.kind} {chunk.system}")
    )
    own_share = weighted_coverage(own_terms, wanted.weights)
    return 0.5 * (own_share + weighted_coverage(all_terms, wanted.weights))


def _commitments(chunk: Chunk, wanted: _Wanted) -> Iterator[Commitment]:
    if chunk.due is not None and chunk.index == 0:
        yield from _stated(chunk, chunk.due, wanted)
    if chunk.own_authors:
        yield from _said(chunk, wanted)


def _stated(chunk: Chunk, due: date, wanted: _Wanted) -> Iterator[Commitment]:
    """Yield the item with its deadline, where it is in the days wanted: its title, and the fields that say of what it is part, who does it, and by when."""
    fields = [field for field in FIELD.finditer(chunk.text) if field[1] in _SHOWN]
    place = next(
        (
            n
            for n, field in enumerate(fields)
            if field[1] in _DEADLINES and field[2].startswith(due.isoformat())
        ),
        None,
    )
    if place is None or (wanted.period and due not in wanted.period):
        return
    header = [field for field in fields if field.start() < fields[place].start()][-3:]
    header += fields[place : place + 2]
    shown = {
        field[1]: field
        for field in header
        if not (field[1] in _DEADLINES and field is not fields[place])
    }
    people = " ".join(field[2] for field in shown.values() if field[1] not in _DEADLINES)
    if wanted.speaker and wanted.speaker not in people.casefold():
        return
    yield Commitment(
        evidence=Evidence(chunk=chunk, relevance=STATED_RELEVANCE, score=0.0, cosine_distance=None),
        start=min(field.start() for field in shown.values()),
        end=max(field.end() for field in shown.values()),
        text=title_with_fields(chunk, shown.values()),
        due=due,
    )


def _said(chunk: Chunk, wanted: _Wanted) -> Iterator[Commitment]:
    """Yield what our own people say in the passage that they will do by a day."""
    entry = Evidence(chunk=chunk, relevance=_SAID, score=0.0, cosine_distance=None)
    signed = {field[1]: field[2] for field in FIELD.finditer(chunk.text)}
    for quote in quotes_without_orders(entry):
        if not _is_commitment(quote):
            continue
        head, speaker = _said_by(quote, signed)
        if speaker not in chunk.own_authors or wanted.speaker not in speaker.casefold():
            continue
        days = [day for day in map(_day, quote.unit.facts.dates) if day]
        if wanted.period and not any(day in wanted.period for day in days):
            continue
        yield Commitment(
            evidence=entry,
            start=quote.start,
            end=quote.end,
            text=f"{head}: {render_quote(quote)}",
            due=days[-1] if days else None,
        )


def _is_commitment(quote: Quote) -> bool:
    """Return whether a sentence says in the first person what is done by a day, or on a day to come; no question, request or condition."""
    text, facts = quote.text, quote.unit.facts
    is_timed = Mark.DEADLINE in facts.marks or (facts.dates and _WILL.search(text))
    if not is_timed or is_question(text):
        return False
    return bool(_OURS.search(text)) and not (_NOT_OURS.search(text) or has_negation(text))


def _said_by(quote: Quote, signed: dict[str, str]) -> tuple[str, str]:
    """Return what says who wrote a sentence and when, and who it is: the heading of a message, else how its document is signed."""
    chunk = quote.evidence.chunk
    start = chunk.locator.start + quote.start
    if head := message_head(chunk.layout.locate(start, start + 1).section):
        return head
    author = signed.get("Author", "")
    return ", ".join(filter(None, (author, signed.get("Date", "")))), author


def _day(partial: PartialDate) -> date | None:
    try:
        return date(partial.year, partial.month, partial.day)
    except ValueError:
        return None
