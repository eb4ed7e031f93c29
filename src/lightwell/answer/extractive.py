"""Answers without a model: the pieces of the evidence that answer the question, verbatim."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lightwell.answer.quotes import (
    LONGEST_SNIPPET,
    Quote,
    SupportedSentence,
    add_or_join,
    as_it_reads,
    holds,
    is_table_head,
    join_pieces,
    narrow,
    piece_spans,
    quote_piece,
    render_quote,
    split_into_quotes,
    weighted_coverage,
)
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Evidence, Highlight, Retrieval, match_score
from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.question_parts import split_question, with_subjects
from lightwell.domain.reranking import TextMatch
from lightwell.text.answer_types import (
    AnswerType,
    ExpectedAnswer,
    answer_types_in,
    terms_answered_by_type,
)
from lightwell.text.dates import MONTH_TERMS, PartialDate, find_dates
from lightwell.text.figures import may_be_equal
from lightwell.text.regex import regex
from lightwell.text.sentences import is_question
from lightwell.text.terms import terms, words

MAX_QUOTES = 4
_MIN_BASE_SCORE = 0.3
MAX_PIECES = 8
"""Pieces of a part of a question that are weighed as wholes."""
_MAX_BEHIND = 0.2
"""By how much a second piece may score lower than the best one, where units decide."""

_CONTEXT_WEIGHT = 0.5
_TYPE_WEIGHT = 0.2
_MEANING_WEIGHT = 0.3
_MIN_LINKED_COVERAGE = 0.1
_MIN_TERMS = 2
_MIN_RELEVANCE = 0.5

_HEADING = regex(r"#{1,6}\s")
_LETTER_HEAD = regex(
    r"^(?:From|To|Cc|Date|Sent|Subject|Von|An|Betreff|De|À|Objet):\s", re.MULTILINE
)
_LINE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotableUnit:
    """A unit of the evidence that may be quoted, and how well it answers the question.

    The measures are those of the unit, or of what introduces it, such as a heading, where that matches better.
    `own_terms` are the question's terms in the unit, `context_terms` those only in its headings and title, `implied_terms` those
    that the type of its content stands for, as a date does for `deadline`. `coverage`, `similarity`, `token_match` and `window_match` lie between 0 and 1.
    `has_expected_type` is whether it contains what the question asks for, such as a date.
    """

    quote: Quote
    own_terms: frozenset[str]
    context_terms: frozenset[str]
    implied_terms: frozenset[str]
    coverage: float
    similarity: float
    token_match: float
    window_match: float
    has_expected_type: bool

    @property
    def base_score(self) -> float:
        """How well its words and its meaning match, and the part around it answers; long units score lower."""
        match = match_score(
            coverage=self.coverage,
            similarity=self.similarity,
            token_match=self.token_match,
            window_match=self.window_match,
        )
        return match * min(1.0, LONGEST_SNIPPET / len(self.quote.text)) ** 0.5

    @property
    def score(self) -> float:
        """The base score, more for a unit of similar meaning, and for one that contains what is asked for."""
        bonus = _MEANING_WEIGHT * self.similarity + _TYPE_WEIGHT * self.has_expected_type
        return self.base_score + bonus


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPiece:
    """The piece around a unit. `score` is the unit's, or that of the whole piece where it was compared with the question, with the result `match`.

    `covers` are the words of the question that it then speaks to, each with the share of the question that it is covered by: 0 to 1 in all.
    """

    unit: QuotableUnit
    piece: SupportedSentence
    score: float
    match: TextMatch | None = None
    covers: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def passage(self) -> Evidence:
        return self.unit.quote.evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCandidates:
    """What may be quoted for one part of a question: all units of the evidence, and the pieces around the best ones, the best first.

    Not every piece answers: what is chosen is judged afterwards.

    `max_behind` is by how much a second piece may score lower than the best one, and `worth_of_more` what it counts that it covers what the best one
    does not: for a share of the question. `is_alone` whether the evidence was searched for
    this part alone: only then a second piece may be quoted.
    """

    part: Retrieval
    units: Sequence[QuotableUnit]
    pieces: tuple[ScoredPiece, ...]
    max_behind: float = _MAX_BEHIND
    worth_of_more: float = 0.0
    is_alone: bool = True


def list_pieces(retrieval: Retrieval) -> list[PartCandidates]:
    """Return the pieces that may answer each part of the question, at most eight for a part."""
    parts = question_parts(retrieval)
    is_alone = len(parts) == 1 or bool(retrieval.parts)
    return [replace(_part_candidates(part), is_alone=is_alone) for part in parts]


def question_parts(retrieval: Retrieval) -> list[Retrieval]:
    """Return the retrieval of each part, where parts were searched one by one, else the whole evidence with each part's words and weights."""
    if retrieval.parts:
        return list(retrieval.parts)
    texts = with_subjects(split_question(retrieval.analysis.text))
    if len(texts) == 1:
        return [retrieval]
    parts: list[Retrieval] = []
    for text in texts:
        part_terms = frozenset(terms(text))
        weights = {term: weight for term, weight in retrieval.weights.items() if term in part_terms}
        if weights:
            question = replace(retrieval.question, text=text)
            analysis = retrieval.analysis.of_part(analyze_question(text))
            part = replace(retrieval, question=question, analysis=analysis, weights=weights)
            parts.append(part)
    return parts if len(parts) > 1 else [retrieval]


def _part_candidates(part: Retrieval) -> PartCandidates:
    units = list_quotable_units(part)
    pieces: dict[tuple[str, ...], ScoredPiece] = {}
    for unit in _select_answering(units, part):
        spans = piece_spans(unit.quote, part)
        written = tuple(span.text for span in spans)
        if written in pieces:
            continue
        piece = as_it_reads(spans, unit.quote)
        if piece.text:  # not so where the unit is a tag
            pieces[written] = ScoredPiece(unit=unit, piece=piece, score=unit.score)
        if len(pieces) == MAX_PIECES:
            break
    # A question alone, as somebody asks it in a mail, is no answer.
    answers = [scored for scored in pieces.values() if not is_question(scored.piece.text)]
    return PartCandidates(part=part, units=units, pieces=tuple(answers or pieces.values()))


def join_pieces_of_parts(parts: Sequence[Sequence[ScoredPiece]]) -> list[SupportedSentence]:
    """Return what was chosen for each part, in order, without repetitions; pieces that overlap become one."""
    chosen: list[ScoredPiece] = []
    for piece in [piece for part in parts for piece in part]:
        if not any(holds(other.piece.quotes, piece.unit.quote) for other in chosen):
            add_or_join(chosen, piece, _join)
    return [piece.piece for piece in chosen]


def _join(piece: ScoredPiece, other: ScoredPiece) -> ScoredPiece | None:
    joined = join_pieces(piece.piece, other.piece, piece.unit.quote)
    return replace(piece, piece=joined) if joined else None


def choose_pieces(candidates: PartCandidates) -> list[ScoredPiece]:
    """Return the best piece, and where evidence was searched for this part alone one that it leads to, or that scores nearly as high with what it adds, as the other one of two things that are compared; [] where nothing is quotable.

    Each is what a document says around the unit that answers best. The piece that the best one leads to contains what is asked for about a name that it brought up;
    it is looked for only where pieces were not compared.
    """
    if not (candidates.pieces and candidates.is_alone):
        return list(candidates.pieces[:1])
    best = candidates.pieces[0]
    may_lead = best.match is None and not best.unit.has_expected_type
    linked = _linked_unit(best.unit, candidates) if may_lead else None
    if linked and not holds(best.piece.quotes, linked.quote):
        piece = quote_piece(linked.quote, candidates.part)
        return [best, ScoredPiece(unit=linked, piece=piece, score=linked.score)]

    def worth(piece: ScoredPiece) -> float:
        return piece.score + candidates.worth_of_more * _added(piece.covers, best.covers)

    second = max(list_rivals(candidates), key=worth, default=None)
    is_near = second is not None and worth(second) >= best.score - candidates.max_behind
    return [best, second] if second and is_near else [best]


def list_rivals(candidates: PartCandidates) -> list[ScoredPiece]:
    """Return the pieces that do not contain what the first one is about, and are not contained in it, the best first."""
    first, *others = candidates.pieces
    return [
        piece
        for piece in others
        if not holds(first.piece.quotes, piece.unit.quote)
        and not holds(piece.piece.quotes, first.unit.quote)
    ]


def _added(covers: Mapping[str, float], besides: Mapping[str, float]) -> float:
    return sum(max(0.0, share - besides.get(word, 0.0)) for word, share in covers.items())


def _select_answering(candidates: list[QuotableUnit], retrieval: Retrieval) -> list[QuotableUnit]:
    """Return the units that may answer, the best first."""
    relevant = [
        unit for unit in _about_asked_dates(candidates, retrieval) if _is_relevant(unit, retrieval)
    ]
    good = [unit for unit in relevant if unit.base_score >= _MIN_BASE_SCORE] or relevant
    return sorted(good, key=lambda unit: -unit.score)


def list_quotable_units(retrieval: Retrieval) -> list[QuotableUnit]:
    """Return every unit of the evidence that says something by itself, in the order of the evidence.

    Without injected instructions, unless the question asks what a message says; a passage whose best unit is one is left
    out as a whole.
    """
    expected = retrieval.analysis.expected
    units = [
        candidate
        for entry in trusted_evidence(retrieval)
        for candidate in _candidates(entry, retrieval, expected)
    ]
    if retrieval.analysis.asks_for_message_content:
        return units
    return [unit for unit in units if not _is_injection(unit)]


def trusted_evidence(retrieval: Retrieval) -> list[Evidence]:
    """Return the passages without those whose best unit is an injected instruction, unless these are asked for."""
    if retrieval.analysis.asks_for_message_content:
        return list(retrieval.evidence)
    return [
        entry
        for entry in retrieval.evidence
        if not any(
            entry.analysis.is_inside_injection(highlight.start)
            for highlight in entry.highlights[:1]
        )
    ]


def report_instructions(retrieval: Retrieval) -> list[SupportedSentence]:
    """Return the injected instructions that the question asks about, and what else answers; [] without an instruction.

    What covers most of the question comes first; of equals, the instruction.
    """
    if not retrieval.analysis.asks_for_message_content:
        return []
    candidates = list_quotable_units(retrieval)
    instructions = [
        candidate
        for candidate in candidates
        if _is_injection(candidate) and _is_relevant(candidate, retrieval)
    ]
    if not instructions:
        return []
    others = [
        unit
        for unit in _select_answering(candidates, retrieval)[:MAX_QUOTES]
        if unit.own_terms and not _is_injection(unit)
    ]
    ordered = sorted(
        (*instructions, *others),
        key=lambda unit: -weighted_coverage(unit.own_terms, retrieval.weights),
    )
    quotes = [narrow(unit.quote, frozenset(retrieval.weights)) for unit in ordered[:MAX_QUOTES]]
    return [SupportedSentence(text=render_quote(quote), quotes=(quote,)) for quote in quotes]


def _is_injection(candidate: QuotableUnit) -> bool:
    return candidate.quote.evidence.analysis.is_inside_injection(candidate.quote.start)


def is_heading(quote: Quote) -> bool:
    """Return whether the quote only introduces what stands below it: a heading, a table's head, a line that ends in a colon."""
    return _is_heading(quote, _headings(quote.evidence.chunk))


def _candidates(
    entry: Evidence, retrieval: Retrieval, expected: ExpectedAnswer
) -> list[QuotableUnit]:
    """Return the units of a passage, in order. What introduces a unit speaks for it, where it matches better: a heading, a line that ends in a colon."""
    highlights = {highlight.start: highlight for highlight in entry.highlights}
    title = frozenset(terms(entry.chunk.title))
    headings = _headings(entry.chunk)
    kept: list[QuotableUnit] = []
    leading: list[QuotableUnit] = []
    for quote in split_into_quotes(entry):
        context = title | quote.terms_above
        highlight = highlights.get(quote.start)
        is_related = highlight or (quote.terms | context) & retrieval.weights.keys()
        introduces = _is_heading(quote, headings)
        units: list[QuotableUnit] = []
        if is_related and (introduces or len(quote.terms) >= _MIN_TERMS):
            units.append(_candidate(quote, context, highlight, retrieval.weights, expected))
        if not introduces:
            units += [replace(lead, quote=quote) for lead in leading]
            if units:
                kept.append(max(units, key=lambda unit: unit.score))
            leading = []
        elif _leads(quote, headings) and not quote.terms <= title:
            leading += units
    return kept


def _candidate(
    quote: Quote,
    context: frozenset[str],
    highlight: Highlight | None,
    weights: Mapping[str, float],
    expected: ExpectedAnswer,
) -> QuotableUnit:
    own_terms = quote.terms & weights.keys()
    around = (context & weights.keys()) - own_terms
    types = answer_types_in(quote.unit.facts, expected, quote.terms | quote.terms_above)
    implied = terms_answered_by_type(types, expected)
    coverage = weighted_coverage(
        own_terms | implied, weights
    ) + _CONTEXT_WEIGHT * weighted_coverage(around - implied, weights)
    return QuotableUnit(
        quote=quote,
        own_terms=own_terms,
        context_terms=around,
        implied_terms=implied,
        coverage=coverage,
        similarity=highlight.similarity if highlight else 0.0,
        token_match=highlight.token_match if highlight else 0.0,
        window_match=highlight.window_match if highlight else 0.0,
        has_expected_type=bool(types),
    )


def _is_heading(quote: Quote, headings: frozenset[str]) -> bool:
    text, whole = quote.text, quote.evidence.chunk.text
    if _leads(quote, headings) or is_table_head(quote):
        return True
    if _LETTER_HEAD.match(text):
        return len(_LETTER_HEAD.findall(whole, max(0, quote.start - _LINE), quote.end + _LINE)) > 1
    return False


def _leads(quote: Quote, headings: frozenset[str]) -> bool:
    """Return whether the quote is a heading, or a line that ends in a colon."""
    text = quote.text
    return bool(_HEADING.match(text)) or text.endswith(":") or quote.folded in headings


def _headings(chunk: Chunk) -> frozenset[str]:
    titles = {chunk.title, *(name for section in chunk.layout.sections for name in section.path)}
    return frozenset(" ".join(words(title)) for title in titles)


def _is_relevant(candidate: QuotableUnit, retrieval: Retrieval) -> bool:
    """Return whether a unit stands in a passage at least half as relevant as the best."""
    return candidate.quote.evidence.relevance >= _MIN_RELEVANCE * retrieval.best_relevance


def _about_asked_dates(candidates: list[QuotableUnit], retrieval: Retrieval) -> list[QuotableUnit]:
    """Return the units that may be about a date that the question names; [] where no unit has it, context included.

    A question that asks for another date may be answered by one.
    """
    dates = retrieval.analysis.dates
    if not dates or retrieval.analysis.expected.kinds & {AnswerType.DAY, AnswerType.DEADLINE}:
        return candidates

    def is_one(text_date: PartialDate) -> bool:
        return any(may_be_equal(date, text_date) for date in dates)

    if not any(any(map(is_one, _dates_in_context(candidate.quote))) for candidate in candidates):
        return []
    return [
        candidate
        for candidate in candidates
        if not (stated := candidate.quote.unit.facts.dates) or any(map(is_one, stated))
    ]


def _dates_in_context(quote: Quote) -> list[PartialDate]:
    """Return the dates in the title, in what the quote stands under, and in the quote itself."""
    return [
        *find_dates(quote.evidence.chunk.title),
        *(date for unit in (*quote.above, quote.unit) for date in unit.facts.dates),
    ]


def _linked_unit(best: QuotableUnit, candidates: PartCandidates) -> QuotableUnit | None:
    """Return the unit that contains what is asked for, where the best one leads to it.

    It stands in the same document, or has a name that the best one brought up and the question lacks; and it has terms of
    the question that the best one lacks.
    """
    asked_terms, weights = candidates.part.analysis.expected.terms, candidates.part.weights
    new_names = best.quote.unit.facts.name_terms - asked_terms
    new_names -= MONTH_TERMS
    document = best.quote.evidence.chunk.document_id

    def added(unit: QuotableUnit) -> float:
        own_share = weighted_coverage(unit.own_terms - best.own_terms, weights)
        around = weighted_coverage(unit.context_terms - best.own_terms, weights)
        return own_share + _CONTEXT_WEIGHT * around

    linked = [
        unit
        for unit in candidates.units
        if unit.has_expected_type
        and added(unit) >= _MIN_LINKED_COVERAGE
        and (unit.quote.terms & new_names or unit.quote.evidence.chunk.document_id == document)
    ]
    return max(linked, key=added, default=None)
