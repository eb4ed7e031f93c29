"""What was said about something: every statement of the evidence that answers, with its citations, newest first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from lightwell.answer.answer_builder import AnswerBuilder
from lightwell.answer.extractive import QuotableUnit, list_quotable_units
from lightwell.answer.quotes import (
    Quote,
    SupportedSentence,
    narrow,
    render_quote,
    split_into_quotes,
    weighted_coverage,
)
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.question_analysis import QuestionAnalysis
from lightwell.text.answer_types import speech_act_terms
from lightwell.text.dates import find_first_date
from lightwell.text.markup import strip_bullet
from lightwell.text.terms import words

MAX_STATEMENTS = 20
MAX_PARAPHRASED = 5
"""Passages that are retrieved for a question in other words."""

_MIN_COVERAGE, _NEARLY_BEST = 0.5, 0.9
_ALL = 0.95
_PRONOUN = re.compile(r"\b(?:he|him|his|she|hers?|ihr|ihm|ihn|lui|elle)\b", re.IGNORECASE)
_ITEM = re.compile(r"[#|>*•+-]|\d+[.)]")
_LEAD = re.compile(r"(?<![^.!?\n|])[^.!?\n|]+:$")


def statement_quotes(retrieval: Retrieval) -> list[SupportedSentence]:
    """Return the units of the evidence that answer, the most relevant first, at most twenty.

    They cover nearly as much of the question as the best one does, and do what it asks for: promise, decide. Where
    the passages are not relevant enough for an answer, only units count that cover all of it by themselves and by
    whom their pronouns stand for.
    """
    asked = retrieval.analysis.speech_acts
    pronouns = _pronoun_context(retrieval.evidence)
    found = [
        (each, _coverage(each, retrieval, asked, pronouns.get(each.quote.place, frozenset())))
        for each in list_quotable_units(retrieval)
        if not _is_question(each.quote) and (not asked or asked & _speech_acts(each.quote))
    ]
    best = max((coverage for _, coverage in found), default=0.0)
    least = max(_MIN_COVERAGE, _NEARLY_BEST * best) if retrieval.is_sufficient else _ALL
    found.sort(key=lambda pair: (-pair[1], -pair[0].score))
    wanted = frozenset(retrieval.weights)
    return [
        SupportedSentence(text=_render_statement(quote), quotes=(quote,))
        for each, coverage in found[:MAX_STATEMENTS]
        if coverage >= least
        for quote in [narrow(each.quote, wanted)]
    ]


def list_statements(
    retrieval: Retrieval, sentences: Sequence[SupportedSentence], *, context_tokens: int = 0
) -> AnswerBuilder:
    """Return an answer of these sentences, newest first by the dates they name, else by the last change of their document.

    The same sentence of several documents is one with all its citations.
    """
    builder = AnswerBuilder(retrieval=retrieval, context_tokens=context_tokens)
    merged = _merge_duplicates(sentences, retrieval.evidence)
    builder.add(sorted(merged, key=lambda each: -_date_of(each).timestamp()))
    return builder


def paraphrase_question(analysis: QuestionAnalysis) -> str:
    """Return other words, in each known language, for the act of saying that a question asks about; "" for no such question."""
    return " ".join(sorted(analysis.speech_acts - analysis.expected.terms))


def merge_retrievals(retrieval: Retrieval, more: Retrieval) -> Retrieval:
    """Return the retrieval with what was found for other words, with relevance 0: no reranker compared it with the question."""
    known = {one.id for each in retrieval.evidence for one in each.published_chunks}
    new = tuple(
        replace(each, relevance=0.0)
        for each in more.evidence
        if known.isdisjoint(one.id for one in each.published_chunks)
    )
    return replace(retrieval, evidence=(*retrieval.evidence, *new))


def _coverage(
    candidate: QuotableUnit, retrieval: Retrieval, asked: frozenset[str], pronoun: frozenset[str]
) -> float:
    """Return the share of the question's weights that a unit covers, with its context and what its dates answer.

    `pronoun` are the terms that its pronouns stand for. Where the question asks for no act of saying, the context counts
    at most as much as the unit's own terms.
    """
    own_terms = candidate.own_terms | candidate.implied_terms
    own = weighted_coverage(own_terms, retrieval.weights)
    whole = weighted_coverage(
        own_terms | candidate.context_terms | asked | pronoun, retrieval.weights
    )
    return whole if asked else min(whole, 2 * own)


def _pronoun_context(evidence: Sequence[Evidence]) -> dict[tuple[str, int], frozenset[str]]:
    """Return for the place of each sentence with a pronoun the terms of the sentence before it, and of that one's own."""
    found: dict[tuple[str, int], frozenset[str]] = {}
    for entry in evidence:
        for before, each in pairwise(split_into_quotes(entry)):
            if _PRONOUN.search(each.text) and not _ITEM.match(each.text):
                found[each.place] = before.terms | found.get(before.place, frozenset())
    return found


def _speech_acts(quote: Quote) -> frozenset[str]:
    """Return what a quote does in saying; a heading or a list's first line says it for what stands below."""
    above = "" if quote.context.endswith((".", "!", "?")) else quote.context
    return speech_act_terms(f"{above}\n{quote.text}")


def _is_question(quote: Quote) -> bool:
    return quote.text.rstrip("\"'”’)*_ ").endswith("?")


def _merge_duplicates(
    sentences: Iterable[SupportedSentence], evidence: Sequence[Evidence]
) -> list[SupportedSentence]:
    """Return sentences with the same words as one, with every place where its quotes occur."""
    places: dict[str, list[Quote]] = {}
    for entry in evidence:
        for quote in split_into_quotes(entry):
            places.setdefault(_fold_words(quote.text), []).append(quote)
    found: dict[str, SupportedSentence] = {}
    for each in sentences:
        quotes = [
            quote for own in each.quotes for quote in (own, *places.get(_fold_words(own.text), ()))
        ]
        known = found.setdefault(_fold_words(each.text), replace(each, quotes=()))
        by_place = {quote.place: quote for quote in (*known.quotes, *quotes)}
        found[_fold_words(each.text)] = replace(known, quotes=tuple(by_place.values()))
    return list(found.values())


def _date_of(sentence: SupportedSentence) -> datetime:
    """Return the first date that it names, else the last change of its newest document."""
    changes = (quote.evidence.member_at(quote.start).updated_at for quote in sentence.quotes)
    return find_first_date(sentence.text) or max(changes)


def _render_statement(quote: Quote) -> str:
    """Return the quote as an answer shows it, an item after the line that introduces its list."""
    text, lead = render_quote(quote), _LEAD.search(quote.context)
    is_item = strip_bullet(quote.text) != quote.text
    return f"{lead[0]} {text}" if lead and is_item else text


def _fold_words(text: str) -> str:
    return " ".join(words(text))
