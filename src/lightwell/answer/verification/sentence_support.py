"""Does what is cited support a sentence of an answer? A sentence that no quote supports is removed.

What this finds: figures, dates and names that the source lacks or gives to something else, denial turned round, a bound, a cause or a
whole that the source does not give (`overstatement.py`), words the source does not have, and injected instructions that were obeyed.
What it cannot find: names and roles exchanged within one sentence of the source, a bound or a condition left out, another duty,
frequency or time, an opposite word, a cause made of a sequence, a truth of the document that is a lie.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.answer.quotes import Quote, split_into_quotes
from lightwell.answer.verification.overstatement import is_overstated
from lightwell.domain.evidence import Evidence
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.text.dates import PartialDate, find_dates, mask_dates
from lightwell.text.figures import (
    UNIT_NAMES,
    Figure,
    conflict,
    facts_with_context,
    find_figures,
    may_be_equal,
)
from lightwell.text.markup import strip_bullet
from lightwell.text.negation import Clause, differ_in_negation, split_into_clauses
from lightwell.text.proper_names import find_names
from lightwell.text.regex import regex
from lightwell.text.terms import terms

MIN_SUPPORT = 0.5
"""The share of a sentence's words that one passage must have; what stands around its quote counts half.

A short sentence needs more: of two words one and a half, of one the whole.
"""

MIN_JOINT_SUPPORT = 0.6
"""The same where only several passages together support a sentence."""

_NEAR = 0.5
_UNIT_TERMS = frozenset(terms(" ".join(UNIT_NAMES)))
"""Words that are verified with their figures, which may stand in another unit."""
_DIGIT = regex(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPassage:
    """A passage as it is checked against; `around` are the terms of its title and headings.

    What orders a machine about is not among its `quotes`, unless what it says is asked for.
    """

    evidence: Evidence
    quotes: tuple[Quote, ...]
    around: frozenset[str]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SentenceFacts:
    """A sentence of an answer, taken apart: its `content` are its terms without numbers, where it has any.

    Each figure and date comes with the terms beside it.
    """

    text: str
    content: frozenset[str]
    figures: tuple[tuple[Figure | PartialDate, frozenset[str]], ...]
    names: tuple[frozenset[str], ...]
    known: frozenset[str]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _BestQuote:
    """The quote of a source that says most of a sentence."""

    source: CheckedPassage
    place: int

    @property
    def quote(self) -> Quote:
        return self.source.quotes[self.place]

    @property
    def near(self) -> frozenset[str]:
        return _near(self.source, self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuoteFacts:
    """What a quote says, with what it stands under; `own` are the figures and dates of its own words."""

    figures: frozenset[Figure | PartialDate]
    own: frozenset[Figure | PartialDate]
    terms: frozenset[str]


def prepare_passage(evidence: Evidence, *, with_orders: bool = False) -> CheckedPassage:
    """Return a passage ready to be checked against, without the orders in it unless these are asked for."""
    around = frozenset(terms(_heading(evidence)))
    quotes = tuple(
        quote
        for quote in split_into_quotes(evidence)
        if with_orders or not evidence.analysis.is_inside_injection(quote.start)
    )
    return CheckedPassage(
        evidence=evidence,
        quotes=quotes,
        around=around,
        terms=around.union(*(quote.terms for quote in quotes)),
    )


def collect_names(analysis: QuestionAnalysis, sources: Sequence[CheckedPassage]) -> frozenset[str]:
    """Return the terms of all names that the question and the passages contain."""
    names = [name for source in sources for name in find_names(_heading(source.evidence))]
    names += [source.evidence.analysis.facts.name_terms for source in sources]
    return frozenset[str]().union(*analysis.names, *names)


def find_supporting_quotes(
    text: str, sources: Sequence[CheckedPassage], known_terms: frozenset[str]
) -> tuple[Quote, ...]:
    """Return the quotes that support a sentence, the cited passages in order; () when they do not.

    Of several passages those stay that support it by themselves; where none does, all of them may support it together.
    """
    sentence = _sentence_facts(text, known_terms)
    alone = [quote for source in sources for quote in _supporting(sentence, [source], MIN_SUPPORT)]
    if alone or len(sources) < 2:
        return tuple(alone)
    return tuple(_supporting(sentence, sources, MIN_JOINT_SUPPORT))


def find_supporting_quotes_elsewhere(
    text: str,
    sources: Sequence[CheckedPassage],
    other_sources: Sequence[CheckedPassage],
    known_terms: frozenset[str],
) -> tuple[Quote, ...]:
    """Return the quotes of the one given passage that best supports what the cited ones do not; () when none does.

    It must support it by itself, with as many words as several together need, and no cited passage may say otherwise.
    """
    sentence = _sentence_facts(text, known_terms)
    if any(_contradicts(sentence, source) for source in sources):
        return ()

    def shared_terms(quotes: Sequence[Quote]) -> int:
        return len(sentence.content & frozenset[str]().union(*(quote.terms for quote in quotes)))

    others = [source for source in other_sources if source not in sources]
    supporting = [_supporting(sentence, [source], MIN_JOINT_SUPPORT) for source in others]
    return tuple(max(supporting, key=shared_terms, default=()))


def _contradicts(sentence: _SentenceFacts, source: CheckedPassage) -> bool:
    """Return whether a passage speaks of the same and has another figure, or denies it."""
    pick = _best(sentence, source)
    if pick is None or _support(sentence, [pick]) < MIN_SUPPORT:
        return False
    figures = [figure for figure, _ in sentence.figures]
    others = _facts_of(pick.quote).own.difference(figures)
    return _is_negated_or_altered(sentence, pick.quote) or any(
        _has_conflicting_fact(others, figure) for figure in figures
    )


def _sentence_facts(text: str, known_terms: frozenset[str]) -> _SentenceFacts:
    all_terms = frozenset(terms(text))
    undated_terms = frozenset(terms(mask_dates(text))) - _UNIT_TERMS
    return _SentenceFacts(
        text=text,
        content=frozenset(term for term in undated_terms if not _DIGIT.search(term)) or all_terms,
        figures=tuple(facts_with_context(text)),
        names=find_names(text, known_terms),
        known=known_terms,
        clauses=split_into_clauses(text),
    )


def _supporting(
    sentence: _SentenceFacts, sources: Sequence[CheckedPassage], least: float
) -> list[Quote]:
    picks = [pick for source in sources if (pick := _best(sentence, source)) is not None]
    if len(picks) < len(sources) or _support(sentence, picks) < _least(sentence, least):
        return []
    if not _names_are_supported(sentence, picks) or any(
        _is_negated_or_altered(sentence, pick.quote) for pick in picks
    ):
        return []
    further = _quotes_for_missing_facts(sentence, picks)
    if further is None:
        return []
    return list(
        {quote.place: quote for quote in (*(pick.quote for pick in picks), *further)}.values()
    )


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────


def _best(sentence: _SentenceFacts, source: CheckedPassage) -> _BestQuote | None:
    """Return the quote that has most of the sentence's words, and of equals most of its figures."""
    shares = [
        _share(sentence.content, quote.terms, _near(source, place))
        for place, quote in enumerate(source.quotes)
    ]
    most = max(shares, default=0.0)
    if not most:
        return None
    equals = [place for place, share in enumerate(shares) if share == most]

    def stated_count(place: int) -> int:
        figures = _facts_of(source.quotes[place]).figures
        return sum(_states(figures, figure) for figure, _ in sentence.figures)

    place = max(equals, key=lambda place: (stated_count(place), -place))
    return _BestQuote(source=source, place=place)


def _support(sentence: _SentenceFacts, best_quotes: Sequence[_BestQuote]) -> float:
    own_terms = frozenset[str]().union(*(best.quote.terms for best in best_quotes))
    near = frozenset[str]().union(*(best.near for best in best_quotes))
    return _share(sentence.content, own_terms, near)


def _least(sentence: _SentenceFacts, least: float) -> float:
    return max(least, MIN_SUPPORT + 0.5 / max(1, len(sentence.content)) - 1e-9)


def _share(wanted: frozenset[str], own_terms: frozenset[str], near: frozenset[str]) -> float:
    weight = len(wanted & own_terms) + _NEAR * len((wanted & near) - own_terms)
    return weight / len(wanted) if wanted else 0.0


def _near(source: CheckedPassage, place: int) -> frozenset[str]:
    stands_alone = _is_parallel(source.quotes[place])
    beside = [
        quote
        for quote in source.quotes[max(0, place - 1) : place + 2]
        if not (stands_alone and _is_parallel(quote))
    ]
    context = frozenset(terms(source.quotes[place].context))
    return frozenset[str]().union(source.around, context, *(quote.terms for quote in beside))


def _is_parallel(quote: Quote) -> bool:
    """Return whether a quote is a list item or a row, whose neighbours tell of something else."""
    text = quote.text.lstrip()
    return text.startswith("|") or strip_bullet(text) != text


# ── figures and dates ─────────────────────────────────────────────────────────────────────────────────


def _quotes_for_missing_facts(
    sentence: _SentenceFacts, best_quotes: Sequence[_BestQuote]
) -> list[Quote] | None:
    """Return the quotes that bring what figures and dates the picked ones lack; None when one is wrong."""
    stated = [_facts_of(best.quote) for best in best_quotes]
    mine = frozenset(figure for figure, _ in sentence.figures)
    further: list[Quote] = []
    for wanted, beside in sentence.figures:
        is_stated = any(_states(quote_facts.figures, wanted) for quote_facts in stated)
        if is_stated and any(_is_elsewhere(wanted, beside, best.quote) for best in best_quotes):
            return None
        if is_stated:
            continue
        if any(_has_conflicting_fact(quote_facts.own - mine, wanted) for quote_facts in stated):
            return None
        bringing = _quote_with_figure(
            wanted, beside or sentence.content, [best.source for best in best_quotes]
        )
        if bringing is None:
            return None
        further.append(bringing)
    return further


def _is_elsewhere(fact: Figure | PartialDate, beside: frozenset[str], quote: Quote) -> bool:
    """Return whether it is another figure of the quote that counts what this one does, or stands beside its words."""
    placed = facts_with_context(quote.text)
    mine = [near for other, near in placed if may_be_equal(fact, other)]
    others = [near for other, near in placed if conflict(fact, other)]
    if not mine or not others:
        return False
    own_context = frozenset[str]().union(*mine)
    theirs = frozenset[str]().union(*others)
    return not beside & (own_context - theirs) and bool(beside & (theirs - own_context))


def _quote_with_figure(
    fact: Figure | PartialDate, beside: frozenset[str], sources: Sequence[CheckedPassage]
) -> Quote | None:
    """Return the quote that holds a figure and most of the words beside it, at least half of them."""
    holding = [
        quote
        for source in sources
        for quote in source.quotes
        if 2 * len(quote.terms & beside) >= len(beside) and _states(_facts_of(quote).figures, fact)
    ]
    return max(holding, key=lambda quote: len(quote.terms & beside), default=None)


def _facts_of(quote: Quote) -> _QuoteFacts:
    text = _quote_in_context(quote)
    return _QuoteFacts(
        figures=find_figures(text).union(find_dates(text)),
        own=find_figures(quote.text).union(find_dates(quote.text)),
        terms=quote.terms | frozenset(terms(text)),
    )


def _states(stated: frozenset[Figure | PartialDate], fact: Figure | PartialDate) -> bool:
    return any(may_be_equal(fact, other) for other in stated)


def _has_conflicting_fact(
    stated: frozenset[Figure | PartialDate], fact: Figure | PartialDate
) -> bool:
    """Return whether another figure or date stands in this one's place."""
    return any(conflict(fact, other) for other in stated)


# ── names, denial ─────────────────────────────────────────────────────────────────────────────────────


def _names_are_supported(sentence: _SentenceFacts, best_quotes: Sequence[_BestQuote]) -> bool:
    """Return whether the sources have every name, and the quotes do not give another in a name's place.

    A row of a table speaks of what it names, with its head and its headings, and of nobody else.
    German writes every noun with a capital: there only those are names that stand in a passage or the question.
    """
    whole = frozenset[str]().union(*(best.source.terms for best in best_quotes))
    is_german = any(best.source.evidence.chunk.language == "de" for best in best_quotes)
    wanted = [name for name in sentence.names if not is_german or name <= sentence.known]
    if not all(name <= whole for name in wanted):
        return False
    quote_terms = frozenset[str]().union(*(_facts_of(best.quote).terms for best in best_quotes))
    absent = [name for name in wanted if not name & quote_terms]
    runs = [
        run
        for best in best_quotes
        for run in find_names(_quote_in_context(best.quote), sentence.known)
    ]
    # two names that share a part and differ in another, as Jonas Weber and Jonas Klein do
    if any(
        name & run and name - run and run - name
        for name in wanted
        if not name <= quote_terms
        for run in runs
    ):
        return False
    if is_german or not absent:
        return True
    if any(best.quote.text.startswith("|") for best in best_quotes):
        return False
    return not any(_has_other_names(sentence, best.quote) for best in best_quotes) and (
        len(wanted) == 1 or all(_is_free(name, sentence, best_quotes) for name in absent)
    )


def _is_free(
    name: frozenset[str], sentence: _SentenceFacts, best_quotes: Sequence[_BestQuote]
) -> bool:
    """Return whether a name that the quotes lack stands somewhere in the passages without somebody else."""
    naming = [
        quote
        for best in best_quotes
        for quote in best.source.quotes
        if name & _facts_of(quote).terms
    ]
    return any(not _has_other_names(sentence, quote) for quote in naming)


def _has_other_names(sentence: _SentenceFacts, quote: Quote) -> bool:
    mine = sentence.content.union(*sentence.names)
    return any(not name & mine for name in find_names(quote.text, sentence.known))


def _is_negated_or_altered(sentence: _SentenceFacts, quote: Quote) -> bool:
    """Return whether a quote denies what is claimed, or claims less."""
    clauses = split_into_clauses(quote.text)
    return differ_in_negation(sentence.clauses, clauses) or is_overstated(
        sentence.text, f"{quote.context}\n{quote.text}"
    )


def _quote_in_context(quote: Quote) -> str:
    """Return a quote with what it stands under."""
    return "\n".join((_heading(quote.evidence), quote.context, quote.text))


def _heading(evidence: Evidence) -> str:
    return "\n".join((evidence.chunk.title, *evidence.chunk.locator.section))
