"""The last look: what in the best passages speaks to the question, sentence by sentence.

It is the local reranker: a passage is as relevant as its best unit says, not as its thousand words average out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Evidence, Highlight
from lightwell.domain.terms import terms
from lightwell.domain.units import units
from lightwell.ports import Embedder

MOST_COMPARED = 32
"""Units whose likeness to the question is looked at: those that hold most of its terms."""

CONTEXT_COUNTS = 0.5
"""A term that only the context or the title holds counts this much."""

_BASE, _PASSAGE, _COVER, _SIMILARITY, _MISSING = -2.0, 0.87, 1.73, 2.29, -1.5
"""Logistic weights of a passage's own relevance (as a logit), of its best unit, and of the share of the question's
proper names that passage and title lack: what is said of Nordwind is no word about Castell. How they were fitted and
what they reach stands in `benchmarks/README.md`."""

_SHORTEST = 2
_PER_PASSAGE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    place: int
    start: int
    end: int
    context: str
    text: str
    cover: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A question as the reader of passages knows it; `names` are the terms of its proper names."""

    vector: NDArray[np.float32]
    weights: Mapping[str, float]
    names: frozenset[str]


async def read(
    embedder: Embedder, asked: Reading, evidence: Sequence[Evidence]
) -> tuple[Evidence, ...]:
    """Return the evidence in the same order with its highlights, and with its relevance judged by them."""
    parts = _parts([entry.chunk for entry in evidence], asked.weights)
    given = await embedder.documents([_readable(part) for part in parts]) if parts else None
    similar: list[float] = [] if given is None else np.asarray(given @ asked.vector, float).tolist()
    found: dict[int, list[Highlight]] = {}
    for part, likeness in zip(parts, similar, strict=True):
        found.setdefault(part.place, []).append(
            Highlight(
                start=part.start,
                end=part.end,
                cover=round(part.cover, 6),
                similarity=round(max(0.0, likeness), 6),
            )
        )
    return tuple(
        _judged(asked, entry, _best(found.get(place, []))) for place, entry in enumerate(evidence)
    )


def _judged(asked: Reading, entry: Evidence, highlights: Sequence[Highlight]) -> Evidence:
    own = min(max(entry.relevance, 1e-6), 1 - 1e-6)
    logit = (
        _BASE
        + _PASSAGE * math.log(own / (1 - own))
        + _COVER * max((each.cover for each in highlights), default=0.0)
        + _SIMILARITY * max((each.similarity for each in highlights), default=0.0)
        + _MISSING * _missing(asked, entry.chunk)
    )
    relevance = round(1 / (1 + math.exp(-logit)), 6)
    return replace(entry, relevance=relevance, highlights=tuple(highlights))


def _missing(asked: Reading, chunk: Chunk) -> float:
    """Return which share of the question's proper names, by weight, the passage and its title lack: 0 to 1."""
    named = {word: weight for word, weight in asked.weights.items() if word in asked.names}
    held = frozenset(terms(f"{chunk.title}\n{chunk.text}"))
    lacking = sum(weight for word, weight in named.items() if word not in held)
    return lacking / sum(named.values()) if named else 0.0


def _parts(chunks: Sequence[Chunk], weights: Mapping[str, float]) -> list[_Part]:
    found: dict[str, _Part] = {}
    for place, chunk in enumerate(chunks):
        title = frozenset(terms(chunk.title))
        for unit in units(chunk.text):
            text = chunk.text[unit.start : unit.end]
            own = frozenset(terms(text))
            if len(own) >= _SHORTEST and text not in found:
                around = (title | frozenset(terms(unit.context))) - own
                found[text] = _Part(
                    place=place,
                    start=unit.start,
                    end=unit.end,
                    context=unit.context,
                    text=text,
                    cover=_cover(own, around, weights),
                )
    ordered = sorted(
        found.values(), key=lambda part: (-round(part.cover, 9), part.place, part.start)
    )
    return ordered[:MOST_COMPARED]


def _cover(own: frozenset[str], around: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return the share of the question's term weights that the unit holds, its surroundings at half: 0 to 1."""
    whole = sum(weights.values())
    held = sum(weight for word, weight in weights.items() if word in own)
    near = sum(weight for word, weight in weights.items() if word in around)
    return (held + CONTEXT_COUNTS * near) / whole if whole else 0.0


def _readable(part: _Part) -> str:
    return f"{part.context}: {part.text}" if part.context else part.text


def _best(highlights: Sequence[Highlight]) -> list[Highlight]:
    return sorted(highlights, key=lambda each: (-each.worth, each.start))[:_PER_PASSAGE]
