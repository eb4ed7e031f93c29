"""What was said about something: every statement of the evidence that answers, each with its citations and dates."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from lightwell.answer.answer_builder import CitationNumbers
from lightwell.answer.extractive import Candidate, quotable_candidates
from lightwell.answer.generation import VerifiedSentence
from lightwell.answer.nearest import nearest_citations
from lightwell.answer.quotes import Quote, narrow, split_into_quotes, weighted_coverage
from lightwell.answer.rendering import render_quote
from lightwell.answer.reply_sentences import strip_bullet
from lightwell.domain.evidence import Confidence, Evidence, Retrieval, confidence
from lightwell.domain.query_analysis import QueryAnalysis
from lightwell.domain.statements import CitedStatement, Statements
from lightwell.text.answer_types import speech_act_terms
from lightwell.text.dates import find_first_date
from lightwell.text.facts import find_date_texts
from lightwell.text.terms import words

MAX_STATEMENTS = 20
READ_IN_OTHER_WORDS = 5
"""Passages that are looked at for the other words of an act."""

_MIN_REACH, _NEAR_BEST = 0.5, 0.9
_WHOLE = 0.95
_PRONOUN = re.compile(r"\b(?:he|him|his|she|hers?|ihr|ihm|ihn|lui|elle)\b", re.IGNORECASE)
_ITEM = re.compile(r"[#|>*•+-]|\d+[.)]")
_LEAD = re.compile(r"(?<![^.!?\n|])[^.!?\n|]+:$")


def statement_quotes(retrieval: Retrieval) -> list[VerifiedSentence]:
    """Return the units of the evidence that answer, the most relevant first, at most twenty.

    They speak of nearly as much of the question as the best one does, and do what it asks for: promise, decide. Where
    the passages are not relevant enough for an answer, only such units count as speak of all of it by themselves, and by
    whom their pronouns stand for.
    """
    asked = retrieval.analysis.speech_acts
    meant = _pronoun_context(retrieval.evidence)
    found = [
        (each, _coverage(each, retrieval, asked, meant.get(each.quote.place, frozenset())))
        for each in quotable_candidates(retrieval)
        if not _is_question(each.quote) and (not asked or asked & _speech_acts(each.quote))
    ]
    best = max((reach for _, reach in found), default=0.0)
    least = max(_MIN_REACH, _NEAR_BEST * best) if retrieval.is_sufficient else _WHOLE
    found.sort(key=lambda pair: (-pair[1], -pair[0].rank))
    wanted = frozenset(retrieval.weights)
    return [
        VerifiedSentence(text=_render_quote(quote), quotes=(quote,))
        for each, reach in found[:MAX_STATEMENTS]
        if reach >= least
        for quote in [narrow(each.quote, wanted)]
    ]


def build_statements(
    retrieval: Retrieval, sentences: Sequence[VerifiedSentence], model: str
) -> Statements:
    """Return statements as a list, newest first by the days they name; the same sentence of several documents is one with all its citations."""
    numbers = CitationNumbers()
    ordered = sorted(
        _merge_duplicates(sentences, retrieval.evidence),
        key=lambda each: -_date_of(each).timestamp(),
    )
    made = tuple(
        CitedStatement(
            text=each.text,
            citations=numbers.cite(each.quotes),
            said_at=_latest_change(each),
            dates=find_date_texts(each.text),
        )
        for each in ordered
    )
    least = (
        Confidence.LOW
        if made and not retrieval.is_sufficient
        else confidence(retrieval.best_relevance)
    )
    return Statements(
        query_id=retrieval.query_id,
        question=retrieval.question.text,
        statements=made,
        confidence=least if made else Confidence.INSUFFICIENT,
        relevance=retrieval.best_relevance,
        nearest=() if made else nearest_citations(retrieval),
        model=model,
        metrics=retrieval.metrics,
        notes=retrieval.notes,
    )


def paraphrase_question(query: QueryAnalysis) -> str:
    """Return the other words for what a question asks whether it was said, in each language we know; "" for no such question."""
    return " ".join(sorted(query.speech_acts - query.expected.terms))


def merge_retrievals(retrieval: Retrieval, more: Retrieval) -> Retrieval:
    """Return the retrieval with what was found for other words, with relevance 0: to its question nothing has judged it."""
    known = {one.id for each in retrieval.evidence for one in each.published_chunks}
    new = tuple(
        replace(each, relevance=0.0)
        for each in more.evidence
        if known.isdisjoint(one.id for one in each.published_chunks)
    )
    return replace(retrieval, evidence=(*retrieval.evidence, *new))


def _coverage(
    candidate: Candidate, retrieval: Retrieval, asked: frozenset[str], meant: frozenset[str]
) -> float:
    """Return the share of the question that a unit speaks of, with what it stands under and what its dates answer.

    `meant` are the terms for which its pronouns stand. Where the question asks for no act of saying, what it stands under
    counts at most as much as what it says itself.
    """
    own = weighted_coverage(candidate.held | candidate.spoken_for, retrieval.weights)
    whole = weighted_coverage(
        candidate.held | candidate.spoken_for | candidate.near | asked | meant, retrieval.weights
    )
    return whole if asked else min(whole, 2 * own)


def _pronoun_context(evidence: Sequence[Evidence]) -> dict[tuple[str, int], frozenset[str]]:
    """Return for the place of each sentence with a pronoun the terms of the one before it, and of what that leans on."""
    meant: dict[tuple[str, int], frozenset[str]] = {}
    for entry in evidence:
        for before, each in pairwise(split_into_quotes(entry)):
            if _PRONOUN.search(each.text) and not _ITEM.match(each.text):
                meant[each.place] = before.terms | meant.get(before.place, frozenset())
    return meant


def _speech_acts(quote: Quote) -> frozenset[str]:
    """Return what a quote does in saying; a heading or a list's first line says it for what stands below."""
    above = "" if quote.context.endswith((".", "!", "?")) else quote.context
    return speech_act_terms(f"{above}\n{quote.text}")


def _is_question(quote: Quote) -> bool:
    return quote.text.rstrip("\"'”’)*_ ").endswith("?")


def _merge_duplicates(
    sentences: Iterable[VerifiedSentence], evidence: Sequence[Evidence]
) -> list[VerifiedSentence]:
    """Return the statements with the same words as one, each with the places where its sentences stand again."""
    again: dict[str, list[Quote]] = {}
    for entry in evidence:
        for quote in split_into_quotes(entry):
            again.setdefault(_fold_words(quote.text), []).append(quote)
    found: dict[str, VerifiedSentence] = {}
    for each in sentences:
        places = [
            twin for own in each.quotes for twin in (own, *again.get(_fold_words(own.text), ()))
        ]
        known = found.setdefault(_fold_words(each.text), replace(each, quotes=()))
        by_place = {quote.place: quote for quote in (*known.quotes, *places)}
        found[_fold_words(each.text)] = replace(known, quotes=tuple(by_place.values()))
    return list(found.values())


def _latest_change(sentence: VerifiedSentence) -> datetime:
    """Return when the newest document that carries it was last changed."""
    return max(quote.evidence.member_at(quote.start).updated_at for quote in sentence.quotes)


def _date_of(sentence: VerifiedSentence) -> datetime:
    """Return the first day that it names, else when the newest document that carries it was last changed."""
    return find_first_date(sentence.text) or _latest_change(sentence)


def _render_quote(quote: Quote) -> str:
    """Return the quote as an answer shows it, an item after the line that its list belongs to."""
    text, lead = render_quote(quote), _LEAD.search(quote.context)
    is_item = strip_bullet(quote.text) != quote.text
    return f"{lead[0]} {text}" if lead and is_item else text


def _fold_words(text: str) -> str:
    return " ".join(words(text))
