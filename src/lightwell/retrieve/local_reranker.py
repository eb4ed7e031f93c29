"""The local reranker: how relevant is a passage, and which of its units (sentences, list items, table rows) matter?

A passage is as relevant as its best part. An average over all its words would hide that part. The cross-encoder reads parts
together with the question, and compares units with the question; where it does not read a passage, the embedder compares them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.calibration import sigmoid
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Evidence, Highlight
from lightwell.domain.reranking import READ_LANGUAGE, ReadablePassage, ReadWindow
from lightwell.domain.similarity import CosineScale, cosine_scale
from lightwell.ports import CrossEncoder, Embedder
from lightwell.retrieve import weights as learned
from lightwell.retrieve.signals import title_terms
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.text.answer_types import (
    AnswerType,
    ExpectedAnswer,
    answer_types_in,
    lacking_share,
)
from lightwell.text.terms import terms
from lightwell.text.units import split_into_units

MAX_COMPARED = 8
"""Units of a passage that are highlighted: those with most of the question's terms. Where no cross-encoder reads the passage, each is embedded."""

COMPARED = 2
"""Units that are compared for each passage that the cross-encoder reads, on average over these passages; each has at least one."""

UNREAD = -3.0
"""The log odds of a passage of which nothing was read, since other passages have more of the question's terms."""

BEST_UNITS = 3
"""Units of a passage in which the kind of answer that is asked for is searched first."""

CONTEXT_COUNTS = 0.5
"""The weight of a term that only the context or the title contains."""

_READING_PROMISES = 0.6
_TYPE_PROMISES = 0.15
"""What it promises that a unit has what is asked for, such as a date: of a long passage, the answer may have few of the question's terms."""
_SHORTEST = 2
_NEARLY_SURE = 1e-6


Readings = dict[int, tuple[ReadWindow, ...]]
"""The windows that the cross-encoder read of a passage, by the passage's place; without those that it does not read."""


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
    has_expected_type: bool = False
    reading: float = 0.0

    @property
    def promise(self) -> float:
        """How much it promises before it is compared."""
        typed = _TYPE_PROMISES * self.has_expected_type
        return round(self.cover + _READING_PROMISES * self.reading + typed, 9)


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
    cross_encoder: CrossEncoder | None = None,
) -> tuple[Evidence, ...]:
    """Return the evidence in the same order, each with its highlights and its relevance; raise `ModelFailed`."""
    if cross_encoder is None:
        entries = await _highlight_unread(embedder, query, evidence)
        return tuple(_with_relevance(query, entry, None) for entry in entries)
    highlighted = await _read_and_highlight(embedder, query, evidence, cross_encoder)
    return tuple(_with_relevance(query, entry, windows) for entry, windows in highlighted)


async def measure_passages(
    embedder: Embedder,
    query: RerankQuery,
    evidence: Sequence[Evidence],
    cross_encoder: CrossEncoder,
) -> list[Floats]:
    """Return the measures of each passage, (`weights.READ`,), as `rerank_locally` weighs them: what weights are fitted on."""
    highlighted = await _read_and_highlight(embedder, query, evidence, cross_encoder)
    return [read_measures(query, entry, windows or ()) for entry, windows in highlighted]


_Read = tuple[Evidence, tuple[ReadWindow, ...] | None]
"""A passage with its highlights, and the windows that were read of it; None where it is not read."""


async def _read_and_highlight(
    embedder: Embedder,
    query: RerankQuery,
    evidence: Sequence[Evidence],
    cross_encoder: CrossEncoder,
) -> list[_Read]:
    """Return the passages in the same order, each with its highlights, best first."""
    chunks = [entry.chunk for entry in evidence]
    readings = await _read(cross_encoder, query, chunks)
    parts = [
        replace(part, reading=_reading_at(part.start, readings.get(part.place, ())))
        for part in _units(chunks, query.weights, query.expected)
    ]
    unread = [part for part in parts if part.place not in readings]
    similarities = await _embed(embedder, query, unread)
    promising = _most_promising(parts, readings)
    best = _best_read(readings)
    texts = [_embedding_text(part) for part in promising]
    texts += [_window_text(chunks[place], window) for place, window in best]
    compared = [each.similarity for each in await cross_encoder.compare(query.text, texts)]
    similarities |= _by_unit(promising, compared[: len(promising)])
    for (place, window), similarity in zip(best, compared[len(promising) :], strict=True):
        read = replace(window, similarity=similarity)
        readings[place] = tuple(read if one is window else one for one in readings[place])
    highlighted = _with_highlights(evidence, parts, similarities)
    return [(entry, readings.get(place)) for place, entry in enumerate(highlighted)]


async def _highlight_unread(
    embedder: Embedder, query: RerankQuery, evidence: Sequence[Evidence]
) -> list[Evidence]:
    """Return the evidence in the same order, each with its highlights, best first: all units are embedded."""
    parts = _units([entry.chunk for entry in evidence], query.weights, query.expected)
    return _with_highlights(evidence, parts, await _embed(embedder, query, parts))


def _with_highlights(
    evidence: Sequence[Evidence], parts: Sequence[_Unit], similarities: _Similarities
) -> list[Evidence]:
    found: list[list[Highlight]] = [[] for _ in evidence]
    for part in parts:
        similarity = similarities.get((part.place, part.start), 0.0)
        found[part.place].append(_highlight(part, similarity))
    return [
        replace(entry, highlights=tuple(_best(some)))
        for entry, some in zip(evidence, found, strict=True)
    ]


async def _read(
    cross_encoder: CrossEncoder, query: RerankQuery, chunks: Sequence[Chunk]
) -> Readings:
    places = [place for place, chunk in enumerate(chunks) if chunk.language == READ_LANGUAGE]
    passages = [
        ReadablePassage(head=chunks[place].heading_path, text=chunks[place].text)
        for place in places
    ]
    windows = await cross_encoder.read(query.text, passages, query.weights)
    return dict(zip(places, windows, strict=True))


def _reading_at(start: int, windows: Sequence[ReadWindow]) -> float:
    """Return the probability, uncalibrated, that the window around this character answers; 0 where none was read."""
    return next((sigmoid(each.logit) for each in windows if each.start <= start < each.end), 0.0)


def _most_promising(parts: Sequence[_Unit], readings: Readings) -> list[_Unit]:
    """Return the units to compare of the passages that were read: the most promising ones, at least one of each."""
    ordered = sorted(
        (part for part in parts if part.place in readings),
        key=lambda part: (-part.promise, part.place, part.start),
    )
    firsts = {part.place: part for part in reversed(ordered)}
    others = [part for part in ordered if part is not firsts[part.place]]
    spare = max(0, COMPARED * len(readings) - len(firsts))
    return [*firsts.values(), *others[:spare]]


async def _embed(embedder: Embedder, query: RerankQuery, parts: Sequence[_Unit]) -> _Similarities:
    """Return how similar in meaning each of these units is to the question."""
    if not parts:
        return {}
    vectors = await embedder.embed_documents([_embedding_text(part) for part in parts])
    scale = cosine_scale(embedder.model)
    cosines: list[float] = np.asarray(vectors @ query.vector, float).tolist()
    return _by_unit(parts, [scale.similarity(each) for each in cosines])


def _best_read(readings: Readings) -> list[tuple[int, ReadWindow]]:
    """Return the window with the highest log odds and its passage's place, of equal ones the first; nothing where none was read."""
    read = [(place, window) for place, some in readings.items() for window in some]
    return sorted(read, key=lambda each: (-each[1].logit, each[0], each[1].start))[:1]


def _window_text(chunk: Chunk, window: ReadWindow) -> str:
    return f"{chunk.heading_path}: {chunk.text[window.start : window.end]}"


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
    for part in _units([entry.chunk for entry in evidence], weights):
        distance = evidence[part.place].cosine_distance
        similarity = scale.similarity(None if distance is None else 1.0 - distance)
        found.setdefault(part.place, []).append(_highlight(part, similarity))
    return tuple(
        replace(entry, highlights=tuple(_best(found.get(place, []))))
        for place, entry in enumerate(evidence)
    )


def read_measures(query: RerankQuery, entry: Evidence, windows: Sequence[ReadWindow]) -> Floats:
    """Return the measures of a passage that the cross-encoder read, (`weights.READ`,).

    They are the log odds that the measures below give it; how similar its best unit or window is; the best window's log odds;
    and how much of what is asked for (a figure, a person, a day) it lacks.
    """
    fitted = learned.load_weights().rerank
    return np.array(
        [
            fitted.base + float(rerank_measures(query, entry) @ fitted.weights),
            max((each.similarity for each in (*entry.highlights, *windows)), default=0.0),
            max((each.logit for each in windows), default=UNREAD),
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


def _highlight(part: _Unit, similarity: float) -> Highlight:
    return Highlight(
        start=part.start,
        end=part.end,
        coverage=round(part.cover, 6),
        similarity=round(max(0.0, similarity), 6),
        reading=round(part.reading, 6),
    )


def _with_relevance(
    query: RerankQuery, entry: Evidence, windows: Sequence[ReadWindow] | None
) -> Evidence:
    fitted = learned.load_weights()
    if windows is None:
        judge, measures = fitted.rerank, rerank_measures(query, entry)
    else:
        judge, measures = fitted.read, read_measures(query, entry, windows)
    return replace(entry, relevance=round(sigmoid(judge.base + float(measures @ judge.weights)), 6))


def _missing_names(query: RerankQuery, chunk: Chunk) -> float:
    """Return which share of the question's proper names, by weight, the passage and its title lack: 0 to 1."""
    named = {word: weight for word, weight in query.weights.items() if word in query.names}
    if not named:
        return 0.0
    held = frozenset(terms(f"{chunk.title}\n{chunk.text}"))
    return sum(weight for word, weight in named.items() if word not in held) / sum(named.values())


def _units(
    chunks: Sequence[Chunk], weights: Mapping[str, float], expected: ExpectedAnswer | None = None
) -> list[_Unit]:
    return [
        part
        for place, chunk in enumerate(chunks)
        for part in _units_of(chunk, place, weights, expected)
    ]


def _units_of(
    chunk: Chunk, place: int, weights: Mapping[str, float], expected: ExpectedAnswer | None
) -> list[_Unit]:
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
                has_expected_type=_has_expected_type(text, unit.context, expected),
            )
    ordered = sorted(found.values(), key=lambda part: (-part.promise, part.start))
    return ordered[:MAX_COMPARED]


def _has_expected_type(text: str, context: str, expected: ExpectedAnswer | None) -> bool:
    """Return whether a unit has what is asked for; a name may be any, so it does not count."""
    if expected is None or not expected.kinds - {AnswerType.NAME}:
        return False
    return bool(answer_types_in(text, expected, context=context) - {AnswerType.NAME})


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
