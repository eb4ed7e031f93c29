"""Do quotes support a sentence of an answer? What a quote says, with what it stands under, must hold all figures, dates and names of the sentence.

Found besides: denial turned round, a bound, a cause or a whole that the quotes do not give (`overstatement.py`), and a sentence that speaks of something
else. Not found: names and roles exchanged, a condition left out, another duty or time, an opposite word, a truth of the document that is a lie.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice

from lightwell.answer.quotes import (
    Quote,
    make_quote,
    narrow,
    quotes_without_orders,
    split_into_quotes,
)
from lightwell.answer.verification.overstatement import is_overstated
from lightwell.answer.verification.verbatim import FoldedText, find_quote, fold
from lightwell.domain.evidence import Evidence
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.text.analysis.chunk import Span
from lightwell.text.dates import PartialDate, find_dates, mask_dates
from lightwell.text.figures import (
    UNIT_NAMES,
    Figure,
    conflict,
    facts_with_context,
    find_figures,
    may_be_equal,
)
from lightwell.text.injection import find_injections
from lightwell.text.injection.disguises import is_disguised
from lightwell.text.negation import Clause, clause_texts, differ_in_negation, split_into_clauses
from lightwell.text.pieces import LONGEST_SNIPPET
from lightwell.text.proper_names import find_names
from lightwell.text.regex import regex
from lightwell.text.terms import terms

MIN_SHARE = 0.25
"""The share of a sentence's words that its quotes must have; what stands around them counts half."""

MIN_SHARE_UNQUOTED = 0.5
"""The same of a sentence without quotes, whose support is looked for in the passages that it names."""

FEW = 2
"""A sentence of so few words and no figure is supported by all of them: half of "we promised the moon" is in every promise."""

MOST_QUOTES = 5
"""So many quotes of one sentence are looked at."""

_AROUND = 0.5
_FEWEST_SHARED = 2
_UNIT_TERMS = frozenset(terms(" ".join(UNIT_NAMES)))
"""Words that are verified with their figures, which may stand in another unit."""
_DIGIT = regex(r"\d")
_LINE_BREAK = regex(r"[^\S\n]{0,9}\n(?![^\S\n]{0,9}(?:[-*+•|#>\n]|\d{1,3}[.)]))")
"""The end of a line within a paragraph."""

_Fact = Figure | PartialDate


@dataclass(frozen=True, kw_only=True)
class CheckedPassage:
    """A passage as it is checked against; what orders a machine about is no quote of it, unless what it says is asked for (`with_orders`)."""

    evidence: Evidence
    with_orders: bool = False

    @cached_property
    def units(self) -> tuple[Quote, ...]:
        """Its sentences, items and rows, in order."""
        split = split_into_quotes if self.with_orders else quotes_without_orders
        return tuple(split(self.evidence))

    @cached_property
    def folded(self) -> FoldedText:
        return fold(self.evidence.chunk.text)

    def quote(self, words: str, wanted: frozenset[str]) -> list[Quote]:
        """Return the units in which words stand verbatim, a quote for each part of them; [] where they do not.

        Of several places it is the one whose units have most of the wanted terms.
        """
        parts = [
            [quote for span in spans if (quote := self._quote_at(span))]
            for spans in find_quote(words, self.folded)
        ]
        if not all(parts):
            return []
        return [max(quotes, key=lambda quote: len(quote.terms & wanted)) for quotes in parts]

    def _quote_at(self, span: Span) -> Quote | None:
        """Return the units that a span is a part of, with the span as their key; None where it may not be quoted."""
        start, end = span
        inside = [unit for unit in self.units if unit.start < end and start < unit.end]
        is_order = not self.with_orders and self.evidence.analysis.has_injection(start, end)
        if is_order or not inside:
            return None
        first, last = min(start, inside[0].start), max(end, inside[-1].end)
        whole = make_quote(self.evidence, first, last, number=inside[0].number)
        is_part = end - start < last - first
        return replace(whole, key=(start - first, end - first)) if is_part else whole


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of an answer, taken apart; `known` are the terms of all names in the question and the passages."""

    text: str
    known: frozenset[str] = frozenset()

    @cached_property
    def content(self) -> frozenset[str]:
        """Its terms without numbers, where it has any."""
        undated = frozenset(terms(mask_dates(self.text))) - _UNIT_TERMS
        return _without_numbers(undated) or frozenset(terms(self.text))

    @cached_property
    def figures(self) -> frozenset[_Fact]:
        """Its figures and dates."""
        return frozenset(fact for fact, _ in facts_with_context(self.text))

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        return split_into_clauses(self.text)


def collect_names(analysis: QuestionAnalysis, passages: Iterable[CheckedPassage]) -> frozenset[str]:
    """Return the terms of all names that the question and the passages contain."""
    evidence = [passage.evidence for passage in passages]
    names = [name for entry in evidence for name in find_names(_heading(entry))]
    names += [entry.analysis.facts.name_terms for entry in evidence]
    return frozenset[str]().union(*analysis.names, *names)


def find_quotes(
    claim: Claim, copies: Sequence[str], passages: Sequence[CheckedPassage]
) -> list[Quote]:
    """Return where the words that a model copied stand, each in the first of the passages that has them; what none has is left out."""
    places = [
        quotes
        for copy in copies[:MOST_QUOTES]
        for quotes in islice(
            filter(None, (source.quote(copy, claim.content) for source in passages)), 1
        )
    ]
    return list({quote.place: quote for quotes in places for quote in quotes}.values())


def choose_quotes(claim: Claim, passages: Sequence[CheckedPassage]) -> list[Quote]:
    """Return what supports a sentence that quotes nothing: the unit of each passage that has most of its words and figures.

    Of several passages those stay that support it by themselves; where none does, all of them may support it together.
    """

    def had(unit: Quote) -> float:
        words = len(claim.content & unit.terms)
        above = len(claim.content & unit.terms_above - unit.terms)
        return words + _AROUND * above + len(_stated(claim.figures, [_text_of(unit)]))

    best = [max(passage.units, key=had) for passage in passages if passage.units]
    alone = [unit for unit in best if is_supported(claim, [unit], MIN_SHARE_UNQUOTED)]
    return best if not alone and is_supported(claim, best, MIN_SHARE_UNQUOTED) else alone


def is_supported(claim: Claim, quotes: Sequence[Quote], min_share: float) -> bool:
    """Return whether the quotes, with what they stand under, say what a sentence says."""
    if not quotes or _share(claim, quotes) < min_share:
        return False
    return (
        _stated(claim.figures, map(_text_of, quotes)) == claim.figures
        and not any(_is_of_another(fact, claim, quotes) for fact in claim.figures)
        and _has_names(claim, quotes)
        and not _is_denied(claim, quotes)
        and not is_disguised(claim.text, "\n".join(map(_text_of, quotes)))
        and not is_overstated(
            claim.text, "\n".join(f"{quote.context}\n{quote.text}" for quote in quotes)
        )
    )


def cite(quote: Quote, claim: Claim) -> Quote:
    """Return what is cited of a quote: its units, or where these are long the words that were copied, or the snippet with most of the sentence's."""
    wanted = frozenset(terms(claim.text))
    if len(quote.text) <= LONGEST_SNIPPET or not any(quote.key):
        return narrow(quote, wanted)
    start, end = (quote.start + place for place in quote.key)
    return narrow(make_quote(quote.evidence, start, end, number=quote.number), wanted)


def _share(claim: Claim, quotes: Sequence[Quote]) -> float:
    quoted = frozenset[str]().union(*(quote.terms for quote in quotes))
    around = frozenset(terms("\n".join(_text_of(quote) for quote in quotes))) - quoted
    weight = len(claim.content & quoted) + _AROUND * len(claim.content & around)
    if weight < len(claim.content) <= FEW and not claim.figures:
        return 0.0
    return weight / len(claim.content) if claim.content else 0.0


def _stated(figures: frozenset[_Fact], texts: Iterable[str]) -> frozenset[_Fact]:
    """Return those of the figures and dates that texts state."""
    if not figures:
        return figures
    stated = frozenset[_Fact]().union(*map(_facts, texts))
    return frozenset(
        figure for figure in figures if any(may_be_equal(figure, other) for other in stated)
    )


def _is_of_another(fact: _Fact, claim: Claim, quotes: Sequence[Quote]) -> bool:
    """Return whether the clause of the quotes that speaks most of what a figure counts has another figure in its place."""
    stating = next(
        (clause for clause in clause_texts(claim.text) if fact in _facts(clause)), claim.text
    )
    about = _without_numbers(frozenset(terms(mask_dates(stating))) - _UNIT_TERMS)
    clauses = [clause for quote in quotes for clause in _clauses_of(quote)]
    shared = [(len(about & frozenset(terms(clause))), _facts(clause)) for clause in clauses]
    having = [count for count, facts in shared if any(may_be_equal(fact, other) for other in facts)]
    others = [
        count
        for count, facts in shared
        if not any(may_be_equal(fact, other) for other in facts)
        and any(conflict(fact, other) for other in facts)
    ]
    return bool(having) and max(others, default=0) > max(having)


def _clauses_of(quote: Quote) -> list[str]:
    """Return the clauses of a quote; a row of a table is one."""
    return [quote.text] if _is_row(quote) else clause_texts(_LINE_BREAK.sub(" ", quote.text))


def _facts(text: str) -> frozenset[_Fact]:
    return find_figures(text) | frozenset(find_dates(text))


def _has_names(claim: Claim, quotes: Sequence[Quote]) -> bool:
    """Return whether every name of a sentence is stated, and what rows of a table say together with others is said by one of them.

    German writes every noun with a capital: there only those are names that stand in a passage or the question.
    """
    stated = [(frozenset(terms(_text_of(quote))), _is_row(quote)) for quote in quotes]
    everything = frozenset[str]().union(*(words for words, _ in stated))
    in_sentences = frozenset[str]().union(*(words for words, is_row in stated if not is_row))
    rows = [words for words, is_row in stated if is_row]
    is_german = any(quote.evidence.chunk.language == "de" for quote in quotes)
    for clause in clause_texts(claim.text):
        names = find_names(clause, claim.known)
        named = [name for name in names if not is_german or name <= claim.known]
        of_rows = [name for name in named if not name <= in_sentences]
        if not all(name <= everything for name in named):
            return False
        if rows and not any(all(name <= row for name in of_rows) for row in rows):
            return False
    return True


def _is_row(quote: Quote) -> bool:
    return quote.text.startswith("|")


def _is_denied(claim: Claim, quotes: Sequence[Quote]) -> bool:
    """Return whether a sentence denies what its quotes affirm, or the reverse; a question affirms nothing."""
    stating = [quote.text for quote in quotes if not quote.text.endswith("?")]
    clauses = split_into_clauses("\n".join(_LINE_BREAK.sub(" ", text) for text in stating))
    return differ_in_negation(claim.clauses, clauses) or any(
        _contradicts(clause, clauses) for clause in claim.clauses
    )


def _contradicts(stated: Clause, clauses: Sequence[Clause]) -> bool:
    """Return whether the clauses that share most words with a clause, two at least, all deny what it affirms, or affirm what it denies.

    Another quote may affirm the same of something else.
    """
    most = max((len(stated.terms & other.terms) for other in clauses), default=0)
    nearest = [other for other in clauses if len(stated.terms & other.terms) == most]
    if most < _FEWEST_SHARED:
        return False
    if stated.is_negated:
        return all(not other.is_negated and stated.negated_terms & other.terms for other in nearest)
    return all(other.negated_terms & stated.terms for other in nearest)


def _without_numbers(some: frozenset[str]) -> frozenset[str]:
    return frozenset(term for term in some if not _DIGIT.search(term))


def _text_of(quote: Quote) -> str:
    """Return a quote with what it stands under: title, headings, a table's head, the line that leads to a list."""
    return "\n".join((_heading(quote.evidence), quote.context, quote.text))


def _heading(evidence: Evidence) -> str:
    """Return the title and the sections of a passage, without those that order a machine about."""
    lines = (evidence.chunk.title, *evidence.chunk.locator.section)
    return "\n".join(line for line in lines if not _is_order(line))


@lru_cache(maxsize=256)
def _is_order(line: str) -> bool:
    return bool(find_injections(line))
