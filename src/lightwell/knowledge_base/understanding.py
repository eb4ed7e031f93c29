"""Of which documents a question says that it is asked, as far as its reader has such documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from lightwell.domain.access import Reader
from lightwell.domain.questions import Filters, Mode, Question, UnderstoodFilter
from lightwell.records import document_values
from lightwell.records.database import Database
from lightwell.text.answer_types.owed import read_owed
from lightwell.text.asked_documents import Part, Phrase, asks_for_documents, find_phrases, without
from lightwell.text.terms import terms

_NAMED = (Part.SYSTEM, Part.TYPE, Part.AUTHOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """The question to search for, without the words of the `filters` that were understood in it.

    `asks_for_documents` is whether no other words are left. `everywhere` is asked of all documents where that finds nothing: with its types, and with a day that it names, which may be one that they speak of.
    """

    question: Question
    everywhere: Question
    asks_for_documents: bool = False
    filters: tuple[UnderstoodFilter, ...] = ()

    @property
    def note(self) -> str:
        """What to say where nothing was found so."""
        words = ", ".join(
            f"“{words}”" for words in dict.fromkeys(phrase.words for phrase in self.filters)
        )
        return f"No document that matches {words} answers; all documents were searched."


async def understand(database: Database, reader: Reader, question: Question) -> Understood:
    """Return the question with the filters that its words mean, beside those that it has; without any, it stays as it is.

    Systems, types and people are looked up among the reader's documents, where the question names any; "last month" is told from the server's day.
    """
    if question.mode is Mode.BYPASS or not question.filters.from_words:
        return Understood(question=question, everywhere=question)
    today = datetime.now().astimezone().date()
    phrases = _beside(question.text, question.filters, find_phrases(question.text, today))
    phrases = await _existing(database, reader, phrases)
    if not any(phrase.part is not Part.TYPE for phrase in phrases):
        return Understood(question=question, everywhere=question)
    narrow = _without(question, phrases)
    kept = [
        phrase
        for phrase in phrases
        if phrase.part is Part.TYPE or _names_day(question.text, phrase)
    ]
    return Understood(
        question=replace(narrow, filters=_narrow(question.filters, phrases)),
        everywhere=_without(question, [phrase for phrase in phrases if phrase not in kept]),
        asks_for_documents=asks_for_documents(question.text, phrases),
        filters=tuple(
            UnderstoodFilter(
                field=phrase.part.value,
                value=value,
                words=question.text[phrase.start : phrase.end],
            )
            for phrase in phrases
            for value in phrase.values
        ),
    )


def _without(question: Question, phrases: Sequence[Phrase]) -> Question:
    """Return the question without these words, or but for the types, or as it is: something to search for is left."""
    beside_types = [phrase for phrase in phrases if phrase.part is not Part.TYPE]
    texts = [without(question.text, cut) for cut in (phrases, beside_types)]
    return replace(question, text=next(filter(terms, texts), question.text))


def _names_day(question: str, phrase: Phrase) -> bool:
    words = question[phrase.start : phrase.end]
    return phrase.part in (Part.SINCE, Part.UNTIL) and any(sign.isdigit() for sign in words)


def _beside(question: str, filters: Filters, phrases: Sequence[Phrase]) -> list[Phrase]:
    """Return the phrases of what the question's own filters leave open."""
    is_due = read_owed(question) is not None  # then its days are those of what is owed
    chosen = {
        Part.SYSTEM: filters.systems,
        Part.TYPE: filters.kinds,
        Part.AUTHOR: filters.authors,
        Part.SINCE: is_due or filters.since or filters.until,
        Part.UNTIL: is_due or filters.since or filters.until,
    }
    return [phrase for phrase in phrases if not chosen[phrase.part]]


async def _existing(database: Database, reader: Reader, phrases: Sequence[Phrase]) -> list[Phrase]:
    """Return the phrases with those of their values that the reader's documents have; an author as these write the name, if in one way."""
    named = {
        part: [value for phrase in phrases if phrase.part is part for value in phrase.values]
        for part in _NAMED
    }
    if not any(named.values()):
        return list(phrases)
    documented = await document_values.find_named(
        database,
        reader,
        systems=named[Part.SYSTEM],
        kinds=named[Part.TYPE],
        authors=named[Part.AUTHOR],
    )
    existing: list[Phrase] = []
    for phrase in phrases:
        values = phrase.values
        if phrase.part in _NAMED:
            rows = [row for row in documented if row.field == phrase.part and row.named in values]
            written = {row.value.casefold(): row.value for row in rows}
            is_one = phrase.part is Part.AUTHOR and len(written) == 1
            values = (
                tuple(written.values())
                if is_one
                else tuple(dict.fromkeys(row.named for row in rows))
            )
        if values:
            existing.append(replace(phrase, values=values))
    return existing


def _narrow(filters: Filters, phrases: Sequence[Phrase]) -> Filters:
    values: dict[Part, tuple[str, ...]] = {}
    for phrase in phrases:
        values[phrase.part] = (*values.get(phrase.part, ()), *phrase.values)
    days = {
        part: date.fromisoformat(values[part][0])
        for part in (Part.SINCE, Part.UNTIL)
        if part in values
    }
    return replace(
        filters,
        systems=filters.systems or values.get(Part.SYSTEM, ()),
        kinds=filters.kinds or values.get(Part.TYPE, ()),
        authors=filters.authors or values.get(Part.AUTHOR, ()),
        since=filters.since or days.get(Part.SINCE),
        until=filters.until or days.get(Part.UNTIL),
    )
