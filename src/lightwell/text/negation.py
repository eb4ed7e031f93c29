"""What a text denies: clauses, and the terms in them that a negation applies to; in English, German and French."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lightwell.text.regex import regex
from lightwell.text.terms import terms, words
from lightwell.text.word_lists import any_of, load_word_lists

_LISTS = load_word_lists("lightwell.text")["negation"]
_NEGATIONS = frozenset(_LISTS["words"])
_TRAILING_NEGATIONS = frozenset(_LISTS["trailing"])
_NOT_NEGATED = frozenset(_LISTS["not_negated"])
_FILLERS = frozenset(_LISTS["fillers"])
_CLAUSE = regex(rf"[.;:!?](?=\s|$)|[()|\n–—]|,\s|\s{any_of(_LISTS['clauses'])}\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """The terms of a clause, and those that a negation applies to."""

    terms: frozenset[str]
    negated_terms: frozenset[str]
    is_negated: bool


def clause_texts(text: str) -> list[str]:
    """Return the texts between the signs and words that part clauses, in order."""
    return [part for part in _CLAUSE.split(text) if part.strip()]


def split_into_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a text that contain terms, in order."""
    return tuple(clause for part in clause_texts(text) if (clause := _clause(words(part))).terms)


def has_negation(text: str) -> bool:
    """Return whether a text contains a negation, such as `not` or `nothing`."""
    return _clause(words(text)).is_negated


def differ_in_negation(clauses: Sequence[Clause], other: Sequence[Clause]) -> bool:
    """Return whether one text negates a term that the other affirms."""
    return _negates_affirmed_term(clauses, other) or _negates_affirmed_term(other, clauses)


def _negates_affirmed_term(clauses: Sequence[Clause], other: Sequence[Clause]) -> bool:
    denied = frozenset[str]().union(*(clause.negated_terms for clause in clauses))
    affirmed = frozenset[str]().union(
        *(clause.terms for clause in clauses if not clause.is_negated)
    )
    for term in denied - affirmed:
        containing = [clause for clause in other if term in clause.terms]
        if containing and not any(clause.is_negated for clause in containing):
            return True
    return False


def _clause(tokens: Sequence[str]) -> Clause:
    content = [next(iter(terms(word)), "") if word not in _NEGATIONS else "" for word in tokens]
    denied: set[str] = set()
    negated = False
    for place, word in enumerate(tokens):
        if not (word in _NEGATIONS or word.endswith("n't")):
            continue
        if tokens[place + 1 : place + 2] and tokens[place + 1] in _NOT_NEGATED:
            continue
        negated = True
        denied.update(_next_content(content[place + 1 :], tokens[place + 1 :]))
        if word in _TRAILING_NEGATIONS:
            denied.update(_next_content(content[:place][::-1], tokens[:place][::-1]))
    return Clause(
        terms=frozenset(term for term in content if term),
        negated_terms=frozenset(denied),
        is_negated=negated,
    )


def _next_content(content: Sequence[str], tokens: Sequence[str]) -> list[str]:
    following = (
        term for term, word in zip(content, tokens, strict=True) if term and word not in _FILLERS
    )
    return list(following)[:1]
