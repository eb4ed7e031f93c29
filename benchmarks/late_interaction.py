"""Late interaction on stores in memory: their passages' vectors, and how candidates of questions match."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
from retrieval_store import Asked, Store

from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import HeadedPassage
from lightwell.models.bge import BgeSmall
from lightwell.models.late_interaction import MODEL, LocalLateInteraction
from lightwell.retrieve import fusion
from lightwell.retrieve.late_interaction import MATCHED, token_matches
from lightwell.retrieve.weights import Weights

_PARTS = ("starts", "ends", "tokens", "wholes", "signs")


def with_token_matches(
    store: Store, asked: Sequence[Asked], weights: Weights, cache: Path
) -> list[Asked]:
    """Return the questions with how well the best candidates of the plain first pass match. Vectors are kept in `cache`."""
    vectors = encoded(store, cache)
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
    matches = {ChunkId(UUID(int=at)): some for at, some in zip(places, found, strict=True)}
    return replace(asked, token_matches=token_matches(best, chunks, matches))


def encoded(store: Store, cache: Path) -> list[MultiVector]:
    """Return the vectors of the store's passages, from the cache where it has them."""
    path = cache / f"{store.name}-{MODEL.replace('/', '-')}.npz"
    if not path.exists():
        passages = [HeadedPassage(head=each.head, text=each.text) for each in store.passages]
        made = asyncio.run(LocalLateInteraction().encode(passages))
        np.savez(
            path,
            counts=np.array([[len(each.tokens), len(each.signs)] for each in made]),
            starts=np.concatenate([each.starts for each in made]),
            ends=np.concatenate([each.ends for each in made]),
            tokens=np.concatenate([each.tokens for each in made]),
            wholes=np.concatenate([each.wholes for each in made]),
            signs=np.concatenate([each.signs for each in made]),
        )
    kept = np.load(path)
    windows, tokens = np.cumsum(kept["counts"], axis=0)[:-1].T
    split = {part: np.split(kept[part], tokens if part == "signs" else windows) for part in _PARTS}
    return [
        MultiVector(
            starts=split["starts"][at],
            ends=split["ends"][at],
            tokens=split["tokens"][at],
            wholes=split["wholes"][at].reshape(-1, BgeSmall.dimension),
            signs=split["signs"][at],
        )
        for at in range(len(store.passages))
    ]
