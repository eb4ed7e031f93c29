"""Late interaction on stores in memory: their passages' vectors, and how candidates of questions match."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
from retrieval_store import Asked, Passage, Store

from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import HeadedPassage
from lightwell.models.late_interaction import MODEL, LocalLateInteraction
from lightwell.retrieve import fusion
from lightwell.retrieve.late_interaction import MATCHED, ChunkMatch, token_matches
from lightwell.retrieve.weights import Weights

_PARTS = ("starts", "ends", "tokens", "wholes", "head", "codes", "places")


def with_token_matches(
    store: Store, asked: Sequence[Asked], weights: Weights, cache: Path
) -> list[Asked]:
    """Return the questions with how well the best candidates of the plain first pass match. Vectors are kept in `cache`."""
    vectors = encoded(store.name.removesuffix("+triples"), store.passages, cache)
    return asyncio.run(_match_all(asked, weights, vectors))


async def _match_all(
    asked: Sequence[Asked], weights: Weights, vectors: Sequence[MultiVector]
) -> list[Asked]:
    model = LocalLateInteraction()
    return [await _match(each, weights, vectors, model) for each in asked]


async def _match(
    asked: Asked, weights: Weights, vectors: Sequence[MultiVector], model: LocalLateInteraction
) -> Asked:
    first = fusion.first_pass(asked.candidates, asked.corpus, weights)
    best = fusion.rank(first.scores, asked.candidates.keys)[:MATCHED]
    places: list[int] = asked.places[best].tolist()
    found = await model.match(asked.question.text, [vectors[at] for at in places])
    chunks = [ChunkId(UUID(int=at)) for at in asked.places.tolist()]
    matches = {
        ChunkId(UUID(int=at)): ChunkMatch(windows=windows, vectors=vectors[at])
        for at, windows in zip(places, found, strict=True)
        if windows
    }
    return replace(asked, token_matches=token_matches(best, chunks, matches))


def encoded(name: str, passages: Sequence[Passage], cache: Path) -> list[MultiVector]:
    """Return the vectors of the passages of the store with this name, from the cache where it has them."""
    path = cache / f"{name}-{MODEL.replace('/', '-')}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        headed = [HeadedPassage(head=each.head, text=each.text) for each in passages]
        made = asyncio.run(LocalLateInteraction().encode(headed))
        parts = {name: [getattr(each, name) for each in made] for name in _PARTS}
        arrays = {name: np.concatenate(some) for name, some in parts.items()}
        counts = np.array([[len(part) for part in parts[name]] for name in _PARTS])
        np.savez(path, allow_pickle=False, counts=counts, **arrays)
    kept = np.load(path)
    split = {
        name: np.split(kept[name], np.cumsum(counts)[:-1])
        for name, counts in zip(_PARTS, kept["counts"], strict=True)
    }
    return [
        MultiVector(**{name: some[at] for name, some in split.items()})
        for at in range(len(passages))
    ]
