"""The local reranker: how relevant is a passage, and which of its units (sentences, list items, table rows) matter?

A passage is as relevant as its best part. An average over all its words would hide that part. The token matcher compares parts of
passages with the question, token by token; where it does not compare a passage, the embedder compares its units as wholes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.calibration import sigmoid
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Evidence, Highlight
from lightwell.domain.reranking import (
    MATCHED_LANGUAGE,
    MatchablePassage,
    MatchedWindow,
    TokenMatches,
    mean_match,
    merge_matches,
    weakest_match,
)
from lightwell.domain.similarity import CosineScale, cosine_scale
from lightwell.ports import Embedder, TokenMatcher
from lightwell.retrieve import weights as learned
from lightwell.retrieve.signals import title_terms
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.text.answer_types import ExpectedAnswer, lacking_share
from lightwell.text.terms import terms
from lightwell.text.units import split_into_units

MAX_HIGHLIGHTS = 8
"""Units of a passage that are highlighted. Where it is not matched token by token, they are those with most of the question's terms, and each is embedded."""

UNMATCHED = 0.45
"""The matches of a passage of which no part was compared, since other passages have more of the question's terms."""

BEST_UNITS = 3
"""Units of a passage in which the kind of answer that is asked for is searched first."""

CONTEXT_COUNTS = 0.5
"""The weight of a term that only the context or the title contains."""

_SHORTEST = 2
_NEARLY_SURE = 1e-6
_MATCH_FACTOR, _MATCH_OFFSET = 2.0, -0.8
"""They make of a mean match, 0.4 for unrelated text and 0.85 for the best, a similarity like those of whole texts."""


Matches = dict[int, tuple[MatchedWindow, ...]]
"""The windows of a passage that the token matcher compared, by the passage's place; without passages that it cannot compare."""


_Similarities = dict[tuple[int, int], float]
"""How similar units are to the question, by the passage's place and the unit's start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    place: int
    start: int
    end: int
    context: str
    text: str
    cover: float


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
    token_matcher: TokenMatcher | None = None,
) -> tuple[Evidence, ...]:
    """Return the evidence in the same order, each with its highlights and its relevance; raise `ModelFailed`."""
    highlighted = await _highlighted(embedder, query, evidence, token_matcher)
    return tuple(
        _with_relevance(query, entry, is_matched=is_matched) for entry, is_matched in highlighted
    )


async def measure_passages(
    embedder: Embedder,
    query: RerankQuery,
    evidence: Sequence[Evidence],
    token_matcher: TokenMatcher,
) -> list[Floats]:
    """Return the measures of each passage, (`weights.MATCH`,), as `rerank_locally` weighs them: what weights are fitted on."""
    highlighted = await _highlighted(embedder, query, evidence, token_matcher)
    return [match_measures(query, entry) for entry, _ in highlighted]


async def _highlighted(
    embedder: Embedder,
    query: RerankQuery,
    evidence: Sequence[Evidence],
    token_matcher: TokenMatcher | None,
) -> list[tuple[Evidence, bool]]:
    """Return the passages in the same order, each with its windows and highlights, best first, and whether it was matched."""
    chunks = [entry.chunk for entry in evidence]
    matches = {} if token_matcher is None else await _match(token_matcher, query, chunks)
    by_place = [_units_of(chunk, place, query.weights) for place, chunk in enumerate(chunks)]
    unmatched = [
        unit
        for place, units in enumerate(by_place)
        if place not in matches
        for unit in _with_most_terms(units)
    ]
    similarities = await _embed(embedder, query, unmatched)
    found: list[tuple[Evidence, bool]] = []
    for place, entry in enumerate(evidence):
        if place in matches:
            windows = matches[place]
            highlights = [_matched_highlight(unit, windows) for unit in by_place[place]]
        else:
            windows = ()
            units = [unit for unit in unmatched if unit.place == place]
            highlights = [
                _highlight(unit, similarities.get((unit.place, unit.start), 0.0)) for unit in units
            ]
        best = tuple(_best(highlights)[:MAX_HIGHLIGHTS])
        found.append((replace(entry, highlights=best, windows=windows), place in matches))
    return found


async def _match(
    token_matcher: TokenMatcher, query: RerankQuery, chunks: Sequence[Chunk]
) -> Matches:
    places = [place for place, chunk in enumerate(chunks) if chunk.language == MATCHED_LANGUAGE]
    passages = [
        MatchablePassage(head=chunks[place].heading_path, text=chunks[place].text)
        for place in places
    ]
    windows = await token_matcher.match(query.text, passages, query.weights)
    return dict(zip(places, windows, strict=True))


def _matched_highlight(unit: _Unit, windows: Sequence[MatchedWindow]) -> Highlight:
    """Return the unit with how well it and the window around it match, 0 where it stands in no window."""
    for window in windows:
        own = [each.best for each in window.units if each.start == unit.start]
        if own:
            return _highlight(
                unit,
                _match_similarity(merge_matches([window.head, *own])),
                surroundings=_match_similarity(window.best),
            )
    return _highlight(unit, 0.0)


def _match_similarity(best: TokenMatches) -> float:
    return min(1.0, max(0.0, _MATCH_FACTOR * mean_match(best) + _MATCH_OFFSET))


async def _embed(embedder: Embedder, query: RerankQuery, parts: Sequence[_Unit]) -> _Similarities:
    """Return how similar in meaning each of these units is to the question."""
    if not parts:
        return {}
    vectors = await embedder.embed_documents([_embedding_text(part) for part in parts])
    scale = cosine_scale(embedder.model)
    cosines: list[float] = np.asarray(vectors @ query.vector, float).tolist()
    return _by_unit(parts, [scale.similarity(each) for each in cosines])


def _by_unit(parts: Sequence[_Unit], similarities: Sequence[float]) -> _Similarities:
    return {
        (part.place, part.start): similarity
        for part, similarity in zip(parts, similarities, strict=True)
    }


def highlight_by_terms(
    weights: Mapping[str, float], evidence: Sequence[Evidence], scale: CosineScale
) -> tuple[Evidence, ...]:
    """Return the evidence with its relevance and with highlights, for which nothing is embedded.

    Each unit is as similar to the question as its whole passage, so the question's terms decide which one is best.
    """
    found: dict[int, list[Highlight]] = {}
    for part in _most_telling_units([entry.chunk for entry in evidence], weights):
        distance = evidence[part.place].cosine_distance
        similarity = scale.similarity(None if distance is None else 1.0 - distance)
        found.setdefault(part.place, []).append(_highlight(part, similarity))
    return tuple(
        replace(entry, highlights=tuple(_best(found.get(place, []))))
        for place, entry in enumerate(evidence)
    )


def match_measures(query: RerankQuery, entry: Evidence) -> Floats:
    """Return the measures of a passage that was matched token by token, (`weights.MATCH`,).

    They are the log odds that the measures below give it; how similar its best window is as a whole; how well a
    window matches the part of the question that it matches least; and how much of what is asked for (a figure, a person, a day) it lacks.
    """
    fitted = learned.load_weights().rerank
    return np.array(
        [
            fitted.base + float(rerank_measures(query, entry) @ fitted.weights),
            max((each.similarity for each in entry.windows), default=0.0),
            max((weakest_match(each.best) for each in entry.windows), default=UNMATCHED),
            _lacking(query, entry),
        ]
    )


def _lacking(query: RerankQuery, entry: Evidence) -> float:
    """Return how much of what is asked for a passage lacks, 0 to 1: the mean over its best units and the whole of it."""
    chunk = entry.chunk
    best = "\n".join(chunk.text[each.start : each.end] for each in entry.highlights[:BEST_UNITS])
    in_best = lacking_share(best, query.expected, context=chunk.title)
    if not in_best:
        return 0.0
    return (in_best + lacking_share(chunk.text, query.expected, context=chunk.title)) / 2


def rerank_measures(query: RerankQuery, entry: Evidence) -> Floats:
    """Return the measures of a passage with its highlights, (`weights.RERANK`,).

    They are its own relevance (as a logit); how much of the question its best unit covers; how similar the best unit is;
    how much of its title the question contains; and which of the question's proper names it lacks, since a passage
    about Nordwind says nothing about Castell. None depends on other passages, so neither does a passage's relevance.
    """
    own = min(max(entry.relevance, _NEARLY_SURE), 1 - _NEARLY_SURE)
    title = title_terms(entry.chunk.title)
    return np.array(
        [
            math.log(own / (1 - own)),
            max((each.coverage for each in entry.highlights), default=0.0),
            max((each.similarity for each in entry.highlights), default=0.0),
            len(title & query.weights.keys()) / max(len(title), 1),
            _missing_names(query, entry.chunk),
        ]
    )


def _highlight(part: _Unit, similarity: float, *, surroundings: float = 0.0) -> Highlight:
    return Highlight(
        start=part.start,
        end=part.end,
        coverage=round(part.cover, 6),
        similarity=round(max(0.0, similarity), 6),
        surroundings=round(surroundings, 6),
    )


def _with_relevance(query: RerankQuery, entry: Evidence, *, is_matched: bool) -> Evidence:
    fitted = learned.load_weights()
    if is_matched:
        judge, measures = fitted.match, match_measures(query, entry)
    else:
        judge, measures = fitted.rerank, rerank_measures(query, entry)
    return replace(entry, relevance=round(sigmoid(judge.base + float(measures @ judge.weights)), 6))


def _missing_names(query: RerankQuery, chunk: Chunk) -> float:
    """Return which share of the question's proper names, by weight, the passage and its title lack: 0 to 1."""
    named = {word: weight for word, weight in query.weights.items() if word in query.names}
    if not named:
        return 0.0
    held = frozenset(terms(f"{chunk.title}\n{chunk.text}"))
    return sum(weight for word, weight in named.items() if word not in held) / sum(named.values())


def _most_telling_units(chunks: Sequence[Chunk], weights: Mapping[str, float]) -> list[_Unit]:
    return [
        part
        for place, chunk in enumerate(chunks)
        for part in _with_most_terms(_units_of(chunk, place, weights))
    ]


def _with_most_terms(units: Sequence[_Unit]) -> list[_Unit]:
    ordered = sorted(units, key=lambda part: (-round(part.cover, 9), part.start))
    return ordered[:MAX_HIGHLIGHTS]


def _units_of(chunk: Chunk, place: int, weights: Mapping[str, float]) -> list[_Unit]:
    title = title_terms(chunk.title)
    found: dict[str, _Unit] = {}
    for unit in split_into_units(chunk.text):
        text = chunk.text[unit.start : unit.end]
        own = frozenset(terms(text))
        if len(own) >= _SHORTEST and text not in found:
            around = (title | frozenset(terms(unit.context))) - own
            found[text] = _Unit(
                place=place,
                start=unit.start,
                end=unit.end,
                context=unit.context,
                text=text,
                cover=_cover(own, around, weights),
            )
    return list(found.values())


def _cover(own: frozenset[str], around: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return the share of the question's term weights that the unit holds, its surroundings at half: 0 to 1."""
    whole = sum(weights.values())
    held = sum(weight for word, weight in weights.items() if word in own)
    near = sum(weight for word, weight in weights.items() if word in around)
    return (held + CONTEXT_COUNTS * near) / whole if whole else 0.0


def _embedding_text(part: _Unit) -> str:
    return f"{part.context}: {part.text}" if part.context else part.text


def _best(highlights: Sequence[Highlight]) -> list[Highlight]:
    return sorted(highlights, key=lambda each: (-each.score, each.start))
