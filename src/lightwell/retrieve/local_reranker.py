"""The local reranker: how relevant is a passage, and which of its units (sentences, list items, table rows) matter?

A passage is as relevant as its best part. An average over all its words would hide that part. Late interaction has compared the
windows of passages that are encoded, and compares their most promising units; all units of other passages are embedded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.calibration import logit, sigmoid
from lightwell.domain.evidence import Evidence, Highlight, missing_share
from lightwell.domain.reranking import TextMatch
from lightwell.domain.similarity import CosineScale, cosine_scale
from lightwell.ports import Embedder, LateInteraction
from lightwell.retrieve import weights as learned
from lightwell.retrieve.signals import min_max, title_terms
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.text.analysis.chunk import UnitAnalysis
from lightwell.text.answer_types import (
    AnswerType,
    ExpectedAnswer,
    answer_types_in,
    lacking_share,
)
from lightwell.text.answer_types.facts import find_stated_dates, join_facts

MAX_COMPARED = 8
"""Units of a passage that are highlighted: those with most of the question's terms. Of a passage that is not encoded, each is embedded."""

COMPARED = 2
"""Units that are compared for each passage that is encoded, on average over these passages; each has at least one."""

BEST_UNITS = 3
"""Units of a passage in which the kind of answer that is asked for is searched first."""

CONTEXT_COUNTS = 0.5
"""The weight of a term that only the context or the title contains."""

_WINDOW_PROMISES = 0.2
_TYPE_PROMISES = 0.15
"""What it promises that a unit has what is asked for, such as a date: of a long passage, the answer may have few of the question's terms."""
_SHORTEST = 2


_UnitMatches = dict[tuple[int, int], TextMatch]
"""How units compare with the question, by the passage's place and the unit's start."""
_NOT_COMPARED = TextMatch(similarity=0.0, token_match=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    place: int
    start: int
    end: int
    number: int
    text: str
    cover: float
    has_expected_type: bool = False
    window_match: float = 0.0

    @property
    def promise(self) -> float:
        """How much it promises before it is compared."""
        typed = _TYPE_PROMISES * self.has_expected_type
        return round(self.cover + _WINDOW_PROMISES * self.window_match + typed, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankQuery:
    """What the reranker knows of a question; `names` are the terms of its proper names, `expected` is what it asks for."""

    text: str
    vector: NDArray[np.float32]
    weights: Mapping[str, float]
    names: frozenset[str]
    expected: ExpectedAnswer


async def rerank_locally(
    embedder: Embedder,
    query: RerankQuery,
    evidence: Sequence[Evidence],
    *,
    late_interaction: LateInteraction | None = None,
) -> tuple[Evidence, ...]:
    """Return the evidence in the same order, each with its highlights and its relevance; raise `ModelFailed`.

    Without `late_interaction` no passage is encoded.
    """
    highlighted = await _highlight(embedder, query, evidence, late_interaction)
    return tuple(_with_relevance(query, entry) for entry in highlighted)


async def measure_passages(
    embedder: Embedder,
    query: RerankQuery,
    evidence: Sequence[Evidence],
    late_interaction: LateInteraction,
) -> list[Floats]:
    """Return the measures of each passage, (`weights.COMPARED`,), as `rerank_locally` weighs them: what weights are fitted on."""
    highlighted = await _highlight(embedder, query, evidence, late_interaction)
    return [compared_measures(query, entry) for entry in highlighted]


async def _highlight(
    embedder: Embedder,
    query: RerankQuery,
    evidence: Sequence[Evidence],
    late_interaction: LateInteraction | None,
) -> list[Evidence]:
    """Return the passages in the same order, each with its highlights, best first."""
    matches = _window_matches(evidence)
    parts = [
        replace(part, window_match=_match_at(part.start, matches[part.place]))
        for part in _units(evidence, query.weights, query.expected)
    ]
    unencoded = [part for part in parts if not matches[part.place]]
    compared = await _embed(embedder, query, evidence, unencoded)
    if late_interaction is not None:
        promising = _most_promising([part for part in parts if matches[part.place]])
        texts = [evidence[part.place].spans(part.start, part.end) for part in promising]
        compared |= _by_unit(promising, await late_interaction.compare(query.text, texts))
    return _with_highlights(evidence, parts, compared)


def _with_highlights(
    evidence: Sequence[Evidence], parts: Sequence[_Unit], compared: _UnitMatches
) -> list[Evidence]:
    highlights: list[list[Highlight]] = [[] for _ in evidence]
    for part in parts:
        match = compared.get((part.place, part.start), _NOT_COMPARED)
        highlights[part.place].append(_make_highlight(part, match))
    return [
        replace(entry, highlights=tuple(_best(some)))
        for entry, some in zip(evidence, highlights, strict=True)
    ]


_Matches = Sequence[tuple[int, int, float]]
"""The windows of a passage with how well they match: 1 for the best window of all passages, 0 for the worst."""


def _window_matches(evidence: Sequence[Evidence]) -> list[_Matches]:
    """Return the windows of each passage; none of one that is not encoded."""
    token_matches = np.array(
        [window.token_match for entry in evidence for window in entry.windows], np.float64
    )
    matches: Iterator[float] = iter(min_max(token_matches).tolist())
    return [
        [(window.start, window.end, next(matches)) for window in entry.windows]
        for entry in evidence
    ]


def _match_at(start: int, windows: _Matches) -> float:
    """Return how well the window around this character matches, 0 to 1; 0 where there is none."""
    return next((match for first, end, match in windows if first <= start < end), 0.0)


def _most_promising(parts: Sequence[_Unit]) -> list[_Unit]:
    """Return the units to compare: the most promising ones, at least one of each passage."""
    ordered = sorted(parts, key=lambda part: (-part.promise, part.place, part.start))
    firsts = {part.place: part for part in reversed(ordered)}
    others = [part for part in ordered if part is not firsts[part.place]]
    return [*firsts.values(), *others[: (COMPARED - 1) * len(firsts)]]


async def _embed(
    embedder: Embedder, query: RerankQuery, evidence: Sequence[Evidence], parts: Sequence[_Unit]
) -> _UnitMatches:
    """Return how similar in meaning each of these units is to the question."""
    if not parts:
        return {}
    texts = [_embedding_text(evidence[part.place], part) for part in parts]
    vectors = await embedder.embed_documents(texts)
    scale = cosine_scale(embedder.model)
    cosines: list[float] = np.asarray(vectors @ query.vector, float).tolist()
    return _by_unit(parts, [_similar(scale.similarity(cosine)) for cosine in cosines])


def _similar(similarity: float) -> TextMatch:
    return TextMatch(similarity=similarity, token_match=0.0)


def _by_unit(parts: Sequence[_Unit], matches: Sequence[TextMatch]) -> _UnitMatches:
    return {(part.place, part.start): match for part, match in zip(parts, matches, strict=True)}


def highlight_by_terms(
    weights: Mapping[str, float], evidence: Sequence[Evidence], scale: CosineScale
) -> tuple[Evidence, ...]:
    """Return the evidence with its relevance and with highlights, for which nothing is embedded.

    Each unit is as similar to the question as its whole passage, so the question's terms decide which one is best.
    """
    highlights: dict[int, list[Highlight]] = {}
    for part in _units(evidence, weights):
        distance = evidence[part.place].cosine_distance
        similarity = scale.similarity(None if distance is None else 1.0 - distance)
        highlights.setdefault(part.place, []).append(_make_highlight(part, _similar(similarity)))
    return tuple(
        replace(entry, highlights=tuple(_best(highlights.get(place, []))))
        for place, entry in enumerate(evidence)
    )


def compared_measures(query: RerankQuery, entry: Evidence) -> Floats:
    """Return the measures of a passage that is encoded, (`weights.COMPARED`,).

    They are the log odds that the measures below give it; how similar its best unit is, and its best window; and how much of what
    is asked for (a figure, a person, a day) it lacks.
    """
    fitted = learned.load_weights().rerank
    return np.array(
        [
            fitted.base + float(rerank_measures(query, entry) @ fitted.weights),
            max((highlight.similarity for highlight in entry.highlights), default=0.0),
            max((window.similarity for window in entry.windows), default=0.0),
            _lacking(query, entry),
        ]
    )


def _lacking(query: RerankQuery, entry: Evidence) -> float:
    """Return how much of what is asked for a passage lacks, 0 to 1: the mean over its best units and the whole of it."""
    analysis, title = entry.analysis, entry.chunk.title
    starts = {highlight.start for highlight in entry.highlights[:BEST_UNITS]}
    best = [unit for unit in analysis.units if unit.start in starts]
    dates = find_stated_dates(title) if query.expected.dates else frozenset[str]()
    shares: list[float] = []
    for facts, held_terms in (
        (join_facts(unit.facts for unit in best), [unit.terms for unit in best]),
        (analysis.facts, [analysis.terms]),
    ):
        around = title_terms(title).union(*held_terms)
        shares.append(lacking_share(facts, query.expected, around, dates_above=dates))
        if not shares[0]:
            return 0.0
    return sum(shares) / 2


def rerank_measures(query: RerankQuery, entry: Evidence) -> Floats:
    """Return the measures of a passage with its highlights, (`weights.RERANK`,).

    They are its own relevance (as a logit); how much of the question its best unit covers; how similar the best unit is;
    how much of its title the question contains; and which of the question's proper names it lacks, since a passage
    about Nordwind says nothing about Castell. Other passages matter only for which units were compared.
    """
    title = title_terms(entry.chunk.title)
    return np.array(
        [
            logit(entry.relevance),
            max((highlight.coverage for highlight in entry.highlights), default=0.0),
            max((highlight.similarity for highlight in entry.highlights), default=0.0),
            len(title & query.weights.keys()) / max(len(title), 1),
            missing_share(query.names, query.weights, title | entry.analysis.terms),
        ]
    )


def _make_highlight(part: _Unit, match: TextMatch) -> Highlight:
    return Highlight(
        start=part.start,
        end=part.end,
        coverage=round(part.cover, 6),
        similarity=round(max(0.0, match.similarity), 6),
        token_match=round(match.token_match, 6),
        window_match=round(part.window_match, 6),
    )


def _with_relevance(query: RerankQuery, entry: Evidence) -> Evidence:
    fitted = learned.load_weights()
    if entry.windows:
        judge, measures = fitted.compared, compared_measures(query, entry)
    else:
        judge, measures = fitted.rerank, rerank_measures(query, entry)
    return replace(entry, relevance=round(sigmoid(judge.base + float(measures @ judge.weights)), 6))


def _units(
    evidence: Sequence[Evidence],
    weights: Mapping[str, float],
    expected: ExpectedAnswer | None = None,
) -> list[_Unit]:
    return [
        part
        for place, entry in enumerate(evidence)
        for part in _units_of(entry, place, weights, expected)
    ]


def _units_of(
    entry: Evidence, place: int, weights: Mapping[str, float], expected: ExpectedAnswer | None
) -> list[_Unit]:
    title = title_terms(entry.chunk.title)
    analysis = entry.analysis
    units: dict[str, _Unit] = {}
    for number, (text, unit) in enumerate(zip(analysis.parts, analysis.units, strict=True)):
        if len(unit.terms) >= _SHORTEST and text not in units:
            above = analysis.terms_above[number]
            units[text] = _Unit(
                place=place,
                start=unit.start,
                end=unit.end,
                number=number,
                text=text,
                cover=_cover(unit.terms, (title | above) - unit.terms, weights),
                has_expected_type=_has_expected_type(unit, above, expected),
            )
    ordered = sorted(units.values(), key=lambda part: (-part.promise, part.start))
    return ordered[:MAX_COMPARED]


def _has_expected_type(
    unit: UnitAnalysis, above: frozenset[str], expected: ExpectedAnswer | None
) -> bool:
    """Return whether a unit has what is asked for; a name may be any, so it does not count."""
    if expected is None or not expected.kinds - {AnswerType.NAME}:
        return False
    kinds = answer_types_in(unit.facts, expected, unit.terms | above)
    return bool(kinds - {AnswerType.NAME})


def _cover(
    text_terms: frozenset[str], around: frozenset[str], weights: Mapping[str, float]
) -> float:
    """Return the share of the question's term weights that the unit holds, its surroundings at half: 0 to 1."""
    whole = sum(weights.values())
    covered = sum(weight for word, weight in weights.items() if word in text_terms)
    near = sum(weight for word, weight in weights.items() if word in around)
    return (covered + CONTEXT_COUNTS * near) / whole if whole else 0.0


def _embedding_text(entry: Evidence, part: _Unit) -> str:
    context = entry.analysis.context(part.number)
    return f"{context}: {part.text}" if context else part.text


def _best(highlights: Sequence[Highlight]) -> list[Highlight]:
    return sorted(highlights, key=lambda highlight: (-highlight.score, highlight.start))
