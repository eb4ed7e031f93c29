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
from lightwell.text.regex import regex
from lightwell.text.sentences import is_question
from lightwell.text.terms import words

MAX_STATEMENTS = 20
MAX_PARAPHRASED = 5
"""Passages that are retrieved for a question in other words."""

_MIN_COVERAGE, _NEARLY_BEST = 0.5, 0.9
_ALL = 0.95
_PRONOUN = regex(r"\b(?:he|him|his|she|hers?|ihr|ihm|ihn|lui|elle)\b", re.IGNORECASE)
_ITEM = regex(r"[#|>*•+-]|\d+[.)]")
_LEAD = regex(r"(?<![^.!?\n|])[^.!?\n|]+:$")


def statement_quotes(retrieval: Retrieval) -> list[SupportedSentence]:
    """Return the units of the evidence that answer, the most relevant first, at most twenty.

    They cover nearly as much of the question as the best one does, and do what it asks for: promise, decide. Where
    the passages are not relevant enough for an answer, only units count that cover all of it by themselves and by
    whom their pronouns stand for.
    """
    acts = retrieval.analysis.speech_acts
    pronouns = _pronoun_context(retrieval.evidence)
    scored = [
        (unit, _coverage(unit, retrieval, acts, pronouns.get(unit.quote.place, frozenset())))
        for unit in list_quotable_units(retrieval)
        if not is_question(unit.quote.text) and (not acts or acts & _speech_acts(unit.quote))
    ]
    best = max((coverage for _, coverage in scored), default=0.0)
    least = max(_MIN_COVERAGE, _NEARLY_BEST * best) if retrieval.is_sufficient else _ALL
    scored.sort(key=lambda pair: (-pair[1], -pair[0].score))
    wanted = frozenset(retrieval.weights)
    return [
        SupportedSentence(text=_render_statement(quote), quotes=(quote,))
        for unit, coverage in scored[:MAX_STATEMENTS]
        if coverage >= least
        for quote in [narrow(unit.quote, wanted)]
    ]


def list_statements(
    retrieval: Retrieval, sentences: Sequence[SupportedSentence], *, context_tokens: int = 0
) -> AnswerBuilder:
    """Return an answer of these sentences, newest first by the dates they name, else by the last change of their document.

    The same sentence of several documents is one with all its citations.
    """
    builder = AnswerBuilder(retrieval=retrieval, context_tokens=context_tokens)
    merged = _merge_duplicates(sentences, retrieval.evidence)
    builder.add(sorted(merged, key=lambda sentence: -_date_of(sentence).timestamp()))
    return builder


def paraphrase_question(analysis: QuestionAnalysis) -> str:
    """Return other words, in each known language, for the act of saying that a question asks about; "" for no such question."""
    return " ".join(sorted(analysis.speech_acts - analysis.expected.terms))


def merge_retrievals(retrieval: Retrieval, more: Retrieval) -> Retrieval:
    """Return the retrieval with what was found for other words, with relevance 0: no reranker compared it with the question."""
    chunk_ids = {chunk.id for entry in retrieval.evidence for chunk in entry.published_chunks}
    new = tuple(
        replace(entry, relevance=0.0)
        for entry in more.evidence
        if chunk_ids.isdisjoint(chunk.id for chunk in entry.published_chunks)
    )
    return replace(retrieval, evidence=(*retrieval.evidence, *new))


def _coverage(
    candidate: QuotableUnit, retrieval: Retrieval, acts: frozenset[str], pronoun: frozenset[str]
) -> float:
    """Return the share of the question's weights that a unit covers, with its context and what its dates answer.

    `pronoun` are the terms that its pronouns stand for. Where the question asks for no act of saying, the context counts
    at most as much as the unit's own terms.
    """
    own_terms = candidate.own_terms | candidate.implied_terms
    own_share = weighted_coverage(own_terms, retrieval.weights)
    whole = weighted_coverage(
        own_terms | candidate.context_terms | acts | pronoun, retrieval.weights
    )
    return whole if acts else min(whole, 2 * own_share)


def _pronoun_context(evidence: Sequence[Evidence]) -> dict[tuple[str, int], frozenset[str]]:
    """Return for the place of each sentence with a pronoun the terms of the sentence before it, and of that one's own."""
    contexts: dict[tuple[str, int], frozenset[str]] = {}
    for entry in evidence:
        for before, quote in pairwise(split_into_quotes(entry)):
            if _PRONOUN.search(quote.text) and not _ITEM.match(quote.text):
                contexts[quote.place] = before.terms | contexts.get(before.place, frozenset())
    return contexts


def _speech_acts(quote: Quote) -> frozenset[str]:
    """Return what a quote does in saying; a heading or a list's first line says it for what stands below."""
    is_sentence = quote.context.endswith((".", "!", "?"))
    return speech_act_terms(quote.terms if is_sentence else quote.terms | quote.terms_above)


def _merge_duplicates(
    sentences: Iterable[SupportedSentence], evidence: Sequence[Evidence]
) -> list[SupportedSentence]:
    """Return sentences with the same words as one, with every place where its quotes occur."""
    places: dict[str, list[Quote]] = {}
    for entry in evidence:
        for quote in split_into_quotes(entry):
            places.setdefault(quote.folded, []).append(quote)
    merged: dict[str, SupportedSentence] = {}
    for sentence in sentences:
        quotes = [
            quote
            for cited in sentence.quotes
            for quote in (cited, *places.get(_fold_words(cited.text), ()))
        ]
        folded = _fold_words(sentence.text)
        first = merged.setdefault(folded, replace(sentence, quotes=()))
        by_place = {quote.place: quote for quote in (*first.quotes, *quotes)}
        merged[folded] = replace(first, quotes=tuple(by_place.values()))
    return list(merged.values())


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
