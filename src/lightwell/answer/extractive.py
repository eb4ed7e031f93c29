"""Answers without a model: the sentences that carry the question, word for word."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lightwell.answer import quotations
from lightwell.answer.generation import VerifiedSentence
from lightwell.answer.quotes import (
    LONGEST_SNIPPET,
    Quote,
    narrow,
    split_into_quotes,
    weighted_coverage,
)
from lightwell.answer.rendering import render_quote
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import SUFFICIENT_RELEVANCE, Evidence, Retrieval
from lightwell.domain.query_analysis import analyze_query
from lightwell.text import facts
from lightwell.text.answer_types import (
    AnswerType,
    ExpectedAnswer,
    answer_types_in,
    terms_answered_by_type,
)
from lightwell.text.injection import is_injection
from lightwell.text.terms import terms, words

MAX_QUOTES = 4
_MIN_WORTH = 0.3
_MIN_SHARE, _NEAR_BEST = 0.75, 0.85
_MIN_GAIN = 0.15

_CONTEXT_COUNTS = 0.5
_FIT_COUNTS = 0.2
_MEANING_COUNTS = 0.3
_MIN_LED = 0.1
_MIN_TERMS = 2
_MIN_RELEVANCE = 0.5

_HEADING = re.compile(r"#{1,6}\s")
_LETTER_HEAD = re.compile(
    r"^(?:From|To|Cc|Date|Sent|Subject|Von|An|Betreff|De|À|Objet):\s", re.MULTILINE
)
_LINE = 100
_MAX_PARTS = 3
_PARTS = re.compile(
    r"(?:[,;?]?\s(?:and|und|et)|\?)\s(?=(?:how|what|who|which|when|where|why|whose|whom|is|are|do|does|can|wie|was|wer|wann|wo|welche[rs]?"
    r"|qui|que|quand|combien|comment|où)\b)",
    re.IGNORECASE,
)
"""Where one question ends and another begins."""

_NEXT_LINE = re.compile(r"[^\S\n]*+\n\s*+([ \t:|-]*+)(?:\n|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A unit of the evidence that may be quoted: `held` are the question's terms in it, `near` those around it.

    `spoken_for` are those that it answers without having them, as a date answers `deadline`. `cover` and `similarity` lie between 0 and 1; `fits` is whether it holds what the question asks for.
    """

    quote: Quote
    held: frozenset[str]
    near: frozenset[str]
    spoken_for: frozenset[str]
    cover: float
    similarity: float
    fits: bool

    @property
    def around(self) -> str:
        """The quote with what it stands under."""
        return "\n".join((self.quote.evidence.chunk.title, self.quote.context, self.quote.text))

    @property
    def worth(self) -> float:
        return (0.5 * self.cover + 0.5 * self.similarity) * min(
            1.0, LONGEST_SNIPPET / len(self.quote.text)
        ) ** 0.5

    @property
    def rank(self) -> float:
        return self.worth + _MEANING_COUNTS * self.similarity + _FIT_COUNTS * self.fits


def extract_statements(retrieval: Retrieval) -> list[VerifiedSentence]:
    """Return up to three coherent pieces of the evidence that together answer, the best first; [] where none can.

    Each is what a document says around the unit that bears on the question most. A second one must be worth nearly as much and add
    terms of the question, or hold what is asked for of a name that the best one brought. A question of several parts
    has one piece for each. Where the question names a day, what speaks of another is no answer.
    """
    heard = _without_injections(retrieval)
    found = quotable_candidates(heard)
    if orders := _reported_instructions(found, heard):
        asked = frozenset(retrieval.weights)
        return [_statement(narrow(each.quote, asked)) for each in orders]
    parts = question_parts(heard)
    if len(parts) == 1:
        return _answer_pieces(found, heard)
    pieces: list[VerifiedSentence] = []
    for part in parts[:_MAX_PARTS]:
        best = _worthy(quotable_candidates(part), part)[:1]
        pieces += [
            quotations.quote_piece(each.quote, part)
            for each in best
            if not any(quotations.holds(piece, each.quote) for piece in pieces)
        ]
    return pieces


def question_parts(retrieval: Retrieval) -> list[Retrieval]:
    """Return the retrieval once for each part of a question that asks several things, with that part's words and weights."""
    texts = [part for part in _PARTS.split(retrieval.question.text) if part]
    parts = [
        replace(
            retrieval,
            question=replace(retrieval.question, text=text),
            analysis=analyze_query(text),
            weights=weights,
        )
        for text in texts
        if (weights := _weights_of(text, retrieval))
    ]
    return parts if len(parts) > 1 else [retrieval]


def _weights_of(text: str, retrieval: Retrieval) -> dict[str, float]:
    own = frozenset(terms(text))
    return {term: weight for term, weight in retrieval.weights.items() if term in own}


def _answer_pieces(candidates: list[Candidate], retrieval: Retrieval) -> list[VerifiedSentence]:
    ordered = _worthy(candidates, retrieval)
    if not ordered:
        return []
    anchor = max(ordered, key=lambda each: each.worth)
    led_on = None if anchor.fits else _follow_lead(anchor, candidates, retrieval)
    best = anchor if led_on else ordered[0]
    first = quotations.quote_piece(best.quote, retrieval)
    others = [each for each in ordered if not quotations.holds(first, each.quote)]
    second = led_on or _second(best, first, others, retrieval)
    if second is None or quotations.holds(first, second.quote):
        return [first]
    return [first, quotations.quote_piece(second.quote, retrieval)]


def _worthy(candidates: list[Candidate], retrieval: Retrieval) -> list[Candidate]:
    """Return the units that may be quoted, the best first; where the best stands in too poor a passage, only those in better ones."""
    relevant = [
        each for each in _on_the_day(candidates, retrieval) if _is_relevant(each, retrieval)
    ]
    worthy = [each for each in relevant if each.worth >= _MIN_WORTH] or relevant
    ordered = sorted(worthy, key=lambda each: -each.rank)
    if ordered and not _is_enough(ordered[0]):
        return [each for each in ordered if _is_enough(each)]
    return ordered


def _second(
    best: Candidate, first: VerifiedSentence, others: list[Candidate], retrieval: Retrieval
) -> Candidate | None:
    """Return the unit whose piece adds to the first one, or None."""
    covered = frozenset(terms(first.text)) | best.near
    document = best.quote.evidence.chunk.document_id
    for each in others:
        adds = weighted_coverage(each.held - covered, retrieval.weights)
        is_other = each.quote.evidence.chunk.document_id != document
        if each.rank >= _MIN_SHARE * best.rank and adds >= _MIN_GAIN:
            return each
        if is_other and each.rank >= _NEAR_BEST * best.rank:
            return each
    return None


def quotable_candidates(retrieval: Retrieval) -> list[Candidate]:
    """Return every unit of the evidence that says something by itself, in the order of the evidence.

    An order to a machine does only where the question asks what a message says. Where it does not,
    a passage that bears on the question by an order above all says nothing either.
    """
    asked = retrieval.analysis.expected
    found = [
        candidate
        for entry in _without_injections(retrieval).evidence
        for candidate in _candidates(entry, retrieval, asked)
    ]
    if retrieval.analysis.asks_for_message_content:
        return found
    return [each for each in found if not _is_injection(each)]


def _without_injections(retrieval: Retrieval) -> Retrieval:
    """Return the retrieval without the passages that bear on the question by an order above all, unless it is asked for."""
    if retrieval.analysis.asks_for_message_content:
        return retrieval
    heard = (
        entry
        for entry in retrieval.evidence
        if not any(is_injection(entry.chunk.text, each.start) for each in entry.highlights[:1])
    )
    return replace(retrieval, evidence=tuple(heard))


def _reported_instructions(candidates: list[Candidate], retrieval: Retrieval) -> list[Candidate]:
    """Return what an order says that the question asks about, with what else speaks of it; [] where there is no order.

    What holds most of the question goes first, and of equals the order, as it stands.
    """
    orders = [each for each in candidates if _is_injection(each) and _is_relevant(each, retrieval)]
    if not orders:
        return []
    beside = [
        each
        for each in _worthy(candidates, retrieval)[:MAX_QUOTES]
        if each.held and not _is_injection(each)
    ]
    told = sorted(
        (*orders, *beside), key=lambda each: -weighted_coverage(each.held, retrieval.weights)
    )
    return told[:MAX_QUOTES]


def _is_injection(candidate: Candidate) -> bool:
    return is_injection(candidate.quote.evidence.chunk.text, candidate.quote.start)


def is_heading(quote: Quote) -> bool:
    """Return whether the quote only says what stands below it: a heading, a table's head, a line that ends in a colon."""
    return _is_heading(quote, _headings(quote.evidence.chunk))


def _candidates(entry: Evidence, retrieval: Retrieval, expected: ExpectedAnswer) -> list[Candidate]:
    likeness = {each.start: each.similarity for each in entry.highlights}
    title = frozenset(terms(entry.chunk.title))
    headings = _headings(entry.chunk)
    found: list[Candidate] = []
    for quote in split_into_quotes(entry):
        near = title | frozenset(terms(quote.context))
        bears = (quote.terms | near) & retrieval.weights.keys() or quote.start in likeness
        if bears and len(quote.terms) >= _MIN_TERMS and not _is_heading(quote, headings):
            found.append(
                _candidate(quote, near, likeness.get(quote.start, 0.0), retrieval.weights, expected)
            )
    return found


def _candidate(
    quote: Quote,
    around: frozenset[str],
    similarity: float,
    weights: Mapping[str, float],
    expected: ExpectedAnswer,
) -> Candidate:
    held = quote.terms & weights.keys()
    near = (around & weights.keys()) - held
    kinds = answer_types_in(quote.text, expected, context=quote.context)
    answered = terms_answered_by_type(kinds, expected)
    covered = weighted_coverage(held | answered, weights) + _CONTEXT_COUNTS * weighted_coverage(
        near - answered, weights
    )
    return Candidate(
        quote=quote,
        held=held,
        near=near,
        spoken_for=answered,
        cover=covered,
        similarity=similarity,
        fits=bool(kinds),
    )


def _is_heading(quote: Quote, headings: frozenset[str]) -> bool:
    text, whole = quote.text, quote.evidence.chunk.text
    if _HEADING.match(text) or text.endswith(":"):
        return True
    if text.startswith("|"):
        below = _NEXT_LINE.match(whole, quote.end)
        return below is not None and "--" in below[1]
    if _LETTER_HEAD.match(text):
        return len(_LETTER_HEAD.findall(whole, max(0, quote.start - _LINE), quote.end + _LINE)) > 1
    return " ".join(words(text)) in headings


def _headings(chunk: Chunk) -> frozenset[str]:
    titles = {chunk.title, *(name for each in chunk.layout.sections for name in each.path)}
    return frozenset(" ".join(words(each)) for each in titles)


def _is_relevant(candidate: Candidate, retrieval: Retrieval) -> bool:
    """Return whether a unit stands in a passage that is nearly as relevant as the best."""
    return candidate.quote.evidence.relevance >= _MIN_RELEVANCE * retrieval.best_relevance


def _is_enough(candidate: Candidate) -> bool:
    return candidate.quote.evidence.relevance >= SUFFICIENT_RELEVANCE


def _on_the_day(candidates: list[Candidate], retrieval: Retrieval) -> list[Candidate]:
    """Return the units that may speak of the day that a question names; [] where none names it, with what it stands under.

    A question that asks for another day may be answered by one.
    """
    wanted_days = retrieval.analysis.dates
    if not wanted_days or retrieval.analysis.expected.kinds & {AnswerType.DAY, AnswerType.DEADLINE}:
        return candidates

    def names_it(said: str) -> bool:
        return any(
            facts.may_be_equal(day, each) for day in wanted_days for each in facts.find_dates(said)
        )

    if not any(names_it(each.around) for each in candidates):
        return []
    return [
        each
        for each in candidates
        if names_it(each.quote.text) or not facts.find_dates(each.quote.text)
    ]


def _follow_lead(
    best: Candidate, candidates: list[Candidate], retrieval: Retrieval
) -> Candidate | None:
    """Return the unit that says what is asked for, where the best one leads to it.

    It stands in the same document, or has a name which the best one brought and the question lacks; and it has terms of
    the question that the best one lacks.
    """
    asked = retrieval.analysis.expected.terms
    brought = frozenset[str]().union(*facts.find_names(best.quote.text)) - asked - facts.MONTH_TERMS
    document = best.quote.evidence.chunk.document_id

    def adds(each: Candidate) -> float:
        own = weighted_coverage(each.held - best.held, retrieval.weights)
        return own + _CONTEXT_COUNTS * weighted_coverage(each.near - best.held, retrieval.weights)

    led = [
        each
        for each in candidates
        if each.fits
        and adds(each) >= _MIN_LED
        and (each.quote.terms & brought or each.quote.evidence.chunk.document_id == document)
    ]
    return max(led, key=adds, default=None)


def _statement(quote: Quote) -> VerifiedSentence:
    return VerifiedSentence(text=render_quote(quote), quotes=(quote,))
