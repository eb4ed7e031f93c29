"""Quotes for the mentions of a passage, and relations between names of one sentence, with the sentence as their quote."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from lightwell.domain.graph import (
    NO_QUOTE,
    Mention,
    MentionType,
    Predicate,
    Quote,
    RelationMention,
    normalize_name,
)
from lightwell.ingest.extract.descriptions import (
    APPOSES,
    NAMES,
    best,
    keywords_between,
    predicate_between,
    quote_about,
    ranked,
    readable,
)
from lightwell.ingest.extract.sentences import Sentence
from lightwell.text.regex import regex

MAX_RELATION_MENTIONS = 12
CO_OCCURRENCE_CONFIDENCE = 0.5
"""The confidence of a relation whose only evidence is a shared sentence."""
STATED_CONFIDENCE = 0.7
"""The confidence of a relation that the words between two names state."""
_MAX_RELATED_PER_SENTENCE = 5
"""A sentence with more names is a list, so only the first of them are related."""

_MIN_WORDS = 5
_WORDS = regex(r"[^\W\d_]{2,30} [^\W\d_][^|@]{2,80}$")
"""A cell that says something: two words or more, and no address."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedSentence:
    """A readable sentence of running text, with the normalised names that it has."""

    text: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """What one sentence says of a pair of names: from `source` to `target`, in the order of the sentence."""

    source: str
    target: str
    predicate: Predicate
    keywords: str
    text: str
    distance: int

    @property
    def pair(self) -> Pair:
        return min(self.source, self.target), max(self.source, self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What describes names that no sentence has: the sentence after a heading and the second cell of a row, by the
    normalised heading and first cell, and the first sentence of the passage.
    """

    headed: Mapping[str, str]
    rows: Mapping[str, str]
    first: str


def read_surroundings(lines: Sequence[Sentence]) -> Surroundings:
    """Return what headings and rows of tables say of names."""
    headed = {
        normalize_name(readable(heading.text)): line.text
        for heading, line in pairwise(lines)
        if heading.is_heading and line.is_prose
    }
    sentences = (line.text for line in lines if line.is_prose)
    first = next((text for text in sentences if len(text.split()) >= _MIN_WORDS), "")
    rows = [
        [cell.strip() for cell in line.text.strip("| ").split("|")]
        for line in lines
        if line.text.startswith("|")
    ]
    texts = {
        normalize_name(row[0]): f"{row[0]}: {row[1]}"
        for row in rows
        if len(row) > 1 and _WORDS.match(row[1])
    }
    return Surroundings(headed=headed, rows=texts, first=first)


def with_quotes(
    mentions: Mapping[str, Mention], sentences: Sequence[QuotedSentence], around: Surroundings
) -> dict[str, Mention]:
    """Return the mentions with their best quotes; a title is described by the passage's first sentence, too."""
    quotes: dict[str, list[Quote]] = {}
    for sentence in sentences:
        for key in sentence.keys:
            if key in mentions:
                quotes.setdefault(key, []).append(quote_about(sentence.text, mentions[key].name))
    for key, mention in mentions.items():
        is_title = mention.type is MentionType.METADATA
        first = around.headed.get(key) or (around.first if is_title else "")
        if len(first.split()) >= _MIN_WORDS:
            quotes.setdefault(key, []).append(ranked(readable(first), APPOSES))
        elif key in around.rows:
            quotes.setdefault(key, []).append(ranked(readable(around.rows[key]), NAMES))
    return {
        key: replace(mention, quote=best(quotes.get(key, ()))) for key, mention in mentions.items()
    }


def relate_co_occurring(
    sentences: Iterable[QuotedSentence], mentions: Mapping[str, Mention]
) -> tuple[RelationMention, ...]:
    """Return the pairs with the most shared sentences; ties go to rarer names, then to nearer ones."""
    stated = [statement for sentence in sentences for statement in _list_stated(sentence, mentions)]
    shared = Counter(statement.pair for statement in stated)
    by_pair: dict[Pair, list[_Stated]] = {}
    for statement in stated:
        by_pair.setdefault(statement.pair, []).append(statement)

    def sort_key(pair: Pair) -> tuple[int, int, int]:
        nearest = min(statement.distance for statement in by_pair[pair])
        return -shared[pair], sum(mentions[key].count for key in pair), nearest

    return tuple(
        _relation(by_pair[pair], mentions)
        for pair in sorted(shared, key=sort_key)[:MAX_RELATION_MENTIONS]
    )


def _list_stated(sentence: QuotedSentence, mentions: Mapping[str, Mention]) -> Iterator[_Stated]:
    places = sorted(
        (start, key)
        for key in sentence.keys[:_MAX_RELATED_PER_SENTENCE]
        if key in mentions and (start := sentence.text.find(mentions[key].name)) >= 0
    )
    for (first, (start, source)), (second, (next_start, target)) in combinations(
        enumerate(places), 2
    ):
        end = start + len(mentions[source].name)
        if end > next_start:
            continue
        gap = sentence.text[end:next_start] if second == first + 1 else ""
        yield _Stated(
            source=source,
            target=target,
            predicate=predicate_between(gap),
            keywords=keywords_between(gap),
            text=sentence.text,
            distance=second - first,
        )


def _relation(stated: Sequence[_Stated], mentions: Mapping[str, Mention]) -> RelationMention:
    """Return what the sentences say of one pair: the first with a predicate decides, else the first."""
    main = next(
        (statement for statement in stated if statement.predicate is not Predicate.RELATED_TO),
        stated[0],
    )
    is_stated = main.predicate is not Predicate.RELATED_TO
    quotes = [ranked(statement.text, int(statement is not main)) for statement in stated]
    return RelationMention(
        subject=mentions[main.source].name,
        object=mentions[main.target].name,
        predicate=main.predicate,
        keywords=main.keywords
        or next((statement.keywords for statement in stated if statement.keywords), ""),
        weight=float(len(stated)),
        confidence=STATED_CONFIDENCE if is_stated else CO_OCCURRENCE_CONFIDENCE,
        quote=best(quotes) if quotes else NO_QUOTE,
    )
