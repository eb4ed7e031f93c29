"""The local reranker: it scores passages unit by unit, where a unit is a sentence, a list item or a table row.

A passage is as relevant as its best unit. An average over all its words would hide that unit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Evidence, Highlight
from lightwell.ports import Embedder
from lightwell.retrieve import weights as learned
from lightwell.retrieve.signals import title_terms
from lightwell.retrieve.sparse import Floats
from lightwell.text.terms import terms
from lightwell.text.units import split_into_units

MAX_COMPARED = 8
"""Units of a passage that are compared with the question: those with most of its terms."""

CONTEXT_COUNTS = 0.5
"""The weight of a term that only the context or the title contains."""

_SHORTEST = 2
_NEARLY_SURE = 1e-6


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
    """What the reranker knows of a question; `names` are the terms of its proper names."""

    vector: NDArray[np.float32]
    weights: Mapping[str, float]
    names: frozenset[str]


async def rerank_locally(
    embedder: Embedder, query: RerankQuery, evidence: Sequence[Evidence]
) -> tuple[Evidence, ...]:
    """Return the evidence in the same order, each with its highlights and the relevance that they give it."""
    parts = _units([entry.chunk for entry in evidence], query.weights)
    vectors = (
        await embedder.embed_documents([_embedding_text(part) for part in parts]) if parts else None
    )
    similarities: list[float] = (
        [] if vectors is None else np.asarray(vectors @ query.vector, float).tolist()
    )
    found: dict[int, list[Highlight]] = {}
    for part, similarity in zip(parts, similarities, strict=True):
        found.setdefault(part.place, []).append(_highlight(part, similarity))
    return tuple(
        _with_relevance(query, entry, _best(found.get(place, [])))
        for place, entry in enumerate(evidence)
    )


def highlight_by_terms(
    weights: Mapping[str, float], evidence: Sequence[Evidence]
) -> tuple[Evidence, ...]:
    """Return the evidence with its relevance and with highlights, for which nothing is embedded.

    Each unit is as similar to the question as its whole passage, so the question's terms decide which one is best.
    """
    found: dict[int, list[Highlight]] = {}
    for part in _units([entry.chunk for entry in evidence], weights):
        distance = evidence[part.place].cosine_distance
        similarity = 0.0 if distance is None else 1.0 - distance
        found.setdefault(part.place, []).append(_highlight(part, similarity))
    return tuple(
        replace(entry, highlights=tuple(_best(found.get(place, []))))
        for place, entry in enumerate(evidence)
    )


def rerank_features(query: RerankQuery, entry: Evidence) -> Floats:
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
    )


def _with_relevance(
    query: RerankQuery, entry: Evidence, highlights: Sequence[Highlight]
) -> Evidence:
    read = replace(entry, highlights=tuple(highlights))
    fitted = learned.load_weights().rerank
    logit = fitted.base + float(rerank_features(query, read) @ fitted.weights)
    return replace(read, relevance=round(1 / (1 + math.exp(-logit)), 6))


def _missing_names(query: RerankQuery, chunk: Chunk) -> float:
    """Return which share of the question's proper names, by weight, the passage and its title lack: 0 to 1."""
    named = {word: weight for word, weight in query.weights.items() if word in query.names}
    if not named:
        return 0.0
    held = frozenset(terms(f"{chunk.title}\n{chunk.text}"))
    return sum(weight for word, weight in named.items() if word not in held) / sum(named.values())


def _units(chunks: Sequence[Chunk], weights: Mapping[str, float]) -> list[_Unit]:
    return [part for place, chunk in enumerate(chunks) for part in _units_of(chunk, place, weights)]


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
    ordered = sorted(found.values(), key=lambda part: (-round(part.cover, 9), part.start))
    return ordered[:MAX_COMPARED]


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
