"""What was said about something: every statement of the evidence that answers, each with its citations and dates."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from lightwell.answer.composition import Numbers, came_nearest
from lightwell.answer.days import day_named
from lightwell.answer.extracts import Candidate, candidates
from lightwell.answer.facts import dates_named
from lightwell.answer.kinds import acts
from lightwell.answer.quotes import Quote, cover, narrowed, quotes
from lightwell.answer.sentences import unbulleted
from lightwell.answer.shown import shown
from lightwell.answer.writing import Statement
from lightwell.domain.evidence import Confidence, Evidence, Retrieval, confidence
from lightwell.domain.statements import CitedStatement, Statements
from lightwell.domain.terms import terms, words

MOST_STATEMENTS = 20
READ_IN_OTHER_WORDS = 5
"""Passages that are looked at for the other words of an act."""

_LEAST_REACH, _NEAR_BEST = 0.5, 0.9
_WHOLE = 0.95
_PRONOUN = re.compile(r"\b(?:he|him|his|she|hers?|ihr|ihm|ihn|lui|elle)\b", re.IGNORECASE)
_ITEM = re.compile(r"[#|>*•+-]|\d+[.)]")
_LEAD = re.compile(r"(?<![^.!?\n|])[^.!?\n|]+:$")


def stating(retrieval: Retrieval) -> list[Statement]:
    """Return the units of the evidence that answer, the most relevant first, at most twenty.

    They speak of nearly as much of the question as the best one does, and do what it asks for: promise, decide. Where
    the passages are not relevant enough for an answer, only such units count as speak of all of it by themselves, and by
    whom their pronouns stand for.
    """
    asked = acts(retrieval.question.text)
    meant = _meant(retrieval.evidence)
    found = [
        (each, _reach(each, retrieval, asked, meant.get(each.quote.place, frozenset())))
        for each in candidates(retrieval)
        if not _is_question(each.quote) and (not asked or asked & _said_acts(each.quote))
    ]
    best = max((reach for _, reach in found), default=0.0)
    least = max(_LEAST_REACH, _NEAR_BEST * best) if retrieval.is_enough else _WHOLE
    found.sort(key=lambda pair: (-pair[1], -pair[0].rank))
    wanted = frozenset(retrieval.weights)
    return [
        Statement(text=_readable(quote), quotes=(quote,))
        for each, reach in found[:MOST_STATEMENTS]
        if reach >= least
        for quote in [narrowed(each.quote, wanted)]
    ]


def listed(retrieval: Retrieval, said: Sequence[Statement], model: str) -> Statements:
    """Return statements as a list, newest first by the days they name; the same sentence of several documents is one with all its citations."""
    numbers = Numbers()
    ordered = sorted(_joined(said, retrieval.evidence), key=lambda each: -_day_of(each).timestamp())
    made = tuple(
        CitedStatement(
            text=each.text,
            citations=numbers.of(each.quotes),
            said_at=_said_at(each),
            dates=dates_named(each.text),
        )
        for each in ordered
    )
    least = Confidence.LOW if made and not retrieval.is_enough else confidence(retrieval.best)
    return Statements(
        query_id=retrieval.query_id,
        question=retrieval.question.text,
        statements=made,
        confidence=least if made else Confidence.INSUFFICIENT,
        relevance=retrieval.best,
        nearest=() if made else came_nearest(retrieval),
        model=model,
        metrics=retrieval.metrics,
        notes=retrieval.notes,
    )


def in_other_words(text: str) -> str:
    """Return the other words for what a question asks whether it was said, in each language we know; "" for no such question."""
    return " ".join(sorted(acts(text) - frozenset(terms(text))))


def with_more(retrieval: Retrieval, more: Retrieval) -> Retrieval:
    """Return the retrieval with what was found for other words, with relevance 0: to its question nothing has judged it."""
    known = {one.id for each in retrieval.evidence for one in each.published}
    new = tuple(
        replace(each, relevance=0.0)
        for each in more.evidence
        if known.isdisjoint(one.id for one in each.published)
    )
    return replace(retrieval, evidence=(*retrieval.evidence, *new))


def _reach(
    each: Candidate, retrieval: Retrieval, asked: frozenset[str], meant: frozenset[str]
) -> float:
    """Return the share of the question that a unit speaks of, with what it stands under and what its dates answer.

    `meant` are the terms for which its pronouns stand. Where the question asks for no act of saying, what it stands under
    counts at most as much as what it says itself.
    """
    own = cover(each.held | each.spoken_for, retrieval.weights)
    whole = cover(each.held | each.spoken_for | each.near | asked | meant, retrieval.weights)
    return whole if asked else min(whole, 2 * own)


def _meant(evidence: Sequence[Evidence]) -> dict[tuple[str, int], frozenset[str]]:
    """Return for the place of each sentence with a pronoun the terms of the one before it, and of what that leans on."""
    meant: dict[tuple[str, int], frozenset[str]] = {}
    for entry in evidence:
        for before, each in pairwise(quotes(entry)):
            if _PRONOUN.search(each.text) and not _ITEM.match(each.text):
                meant[each.place] = before.terms | meant.get(before.place, frozenset())
    return meant


def _said_acts(quote: Quote) -> frozenset[str]:
    """Return what a quote does in saying; a heading or a list's first line says it for what stands below."""
    above = "" if quote.context.endswith((".", "!", "?")) else quote.context
    return acts(f"{above}\n{quote.text}")


def _is_question(quote: Quote) -> bool:
    return quote.text.rstrip("\"'”’)*_ ").endswith("?")


def _joined(said: Iterable[Statement], evidence: Sequence[Evidence]) -> list[Statement]:
    """Return the statements with the same words as one, each with the places where its sentences stand again."""
    again: dict[str, list[Quote]] = {}
    for entry in evidence:
        for quote in quotes(entry):
            again.setdefault(_folded(quote.text), []).append(quote)
    found: dict[str, Statement] = {}
    for each in said:
        places = [twin for own in each.quotes for twin in (own, *again.get(_folded(own.text), ()))]
        known = found.setdefault(_folded(each.text), replace(each, quotes=()))
        by_place = {quote.place: quote for quote in (*known.quotes, *places)}
        found[_folded(each.text)] = replace(known, quotes=tuple(by_place.values()))
    return list(found.values())


def _said_at(statement: Statement) -> datetime:
    """Return when the newest document that carries it was last changed."""
    return max(quote.evidence.member_at(quote.start).updated_at for quote in statement.quotes)


def _day_of(statement: Statement) -> datetime:
    """Return the first day that it names, else when the newest document that carries it was last changed."""
    return day_named(statement.text) or _said_at(statement)


def _readable(quote: Quote) -> str:
    """Return the quote as an answer shows it, an item after the line that its list belongs to."""
    text, lead = shown(quote), _LEAD.search(quote.context)
    is_item = unbulleted(quote.text) != quote.text
    return f"{lead[0]} {text}" if lead and is_item else text


def _folded(text: str) -> str:
    return " ".join(words(text))
