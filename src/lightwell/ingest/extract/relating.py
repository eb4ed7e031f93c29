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
    best,
    keywords_between,
    predicate_between,
    quote_about,
    ranked,
    readable,
)
from lightwell.ingest.extract.sentences import Sentence

MAX_RELATION_MENTIONS = 12
CO_OCCURRENCE_CONFIDENCE = 0.5
"""The confidence of a relation whose only evidence is a shared sentence."""
STATED_CONFIDENCE = 0.7
"""The confidence of a relation that the words between two names state."""
_MAX_RELATED_PER_SENTENCE = 5
"""A sentence with more names is a list, so only the first of them are related."""

_MIN_WORDS = 5

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


def list_headed(lines: Sequence[Sentence]) -> Mapping[str, str]:
    """Return the sentence after each heading, by the heading's normalised words."""
    return {
        normalize_name(readable(heading.text)): line.text
        for heading, line in pairwise(lines)
        if heading.is_heading and line.is_prose
    }


def with_quotes(
    mentions: Mapping[str, Mention], sentences: Sequence[QuotedSentence], headed: Mapping[str, str]
) -> dict[str, Mention]:
    """Return the mentions with their best quotes. A document and a term are described by what follows their heading, too."""
    quotes: dict[str, list[Quote]] = {}
    for sentence in sentences:
        for key in sentence.keys:
            if key in mentions:
                quotes.setdefault(key, []).append(quote_about(sentence.text, mentions[key].name))
    for key, mention in mentions.items():
        first = headed.get(key) or _first_sentence(mention, sentences)
        if first and len(first.split()) >= _MIN_WORDS:
            quotes.setdefault(key, []).append(ranked(readable(first), APPOSES))
    return {
        key: replace(mention, quote=best(quotes.get(key, ()))) for key, mention in mentions.items()
    }


def _first_sentence(mention: Mention, sentences: Sequence[QuotedSentence]) -> str:
    is_document = mention.type is MentionType.METADATA
    return sentences[0].text if is_document and sentences else ""


def relate_co_occurring(
    sentences: Iterable[QuotedSentence], mentions: Mapping[str, Mention]
) -> tuple[RelationMention, ...]:
    """Return the pairs with the most shared sentences; ties go to rarer names, then to nearer ones."""
    stated = [one for sentence in sentences for one in _list_stated(sentence, mentions)]
    shared = Counter(one.pair for one in stated)
    by_pair: dict[Pair, list[_Stated]] = {}
    for one in stated:
        by_pair.setdefault(one.pair, []).append(one)

    def sort_key(pair: Pair) -> tuple[int, int, int]:
        nearest = min(one.distance for one in by_pair[pair])
        return -shared[pair], sum(mentions[key].count for key in pair), nearest

    return tuple(
        _relation(by_pair[pair], mentions)
        for pair in sorted(shared, key=sort_key)[:MAX_RELATION_MENTIONS]
    )


def _list_stated(sentence: QuotedSentence, mentions: Mapping[str, Mention]) -> Iterator[_Stated]:
    places = sorted(
        (at, key)
        for key in sentence.keys[:_MAX_RELATED_PER_SENTENCE]
        if key in mentions and (at := sentence.text.find(mentions[key].name)) >= 0
    )
    for (first, (at, one)), (second, (to, other)) in combinations(enumerate(places), 2):
        end = at + len(mentions[one].name)
        if end > to:
            continue
        gap = sentence.text[end:to] if second == first + 1 else ""
        yield _Stated(
            source=one,
            target=other,
            predicate=predicate_between(gap),
            keywords=keywords_between(gap),
            text=sentence.text,
            distance=second - first,
        )


def _relation(stated: Sequence[_Stated], mentions: Mapping[str, Mention]) -> RelationMention:
    """Return what the sentences say of one pair: the first with a predicate decides, else the first."""
    told = next((one for one in stated if one.predicate is not Predicate.RELATED_TO), stated[0])
    is_stated = told.predicate is not Predicate.RELATED_TO
    quotes = [ranked(one.text, int(one is not told)) for one in stated]
    return RelationMention(
        subject=mentions[told.source].name,
        object=mentions[told.target].name,
        predicate=told.predicate,
        keywords=told.keywords or next((one.keywords for one in stated if one.keywords), ""),
        weight=float(len(stated)),
        confidence=STATED_CONFIDENCE if is_stated else CO_OCCURRENCE_CONFIDENCE,
        quote=best(quotes) if quotes else NO_QUOTE,
    )
