"""What late interaction finds at which weight, on the sets and the collections in memory: `python benchmarks/late_interaction.py`.

For questions that name something rare (`multi_hop`) and for others (`single_hop`) apart: is the first passage gold, and what share of the
gold passages are among the first two and the first five? The weights in weights.toml were chosen by hand from the `dev` rows.
Encoding takes some minutes the first time; vectors are kept in --cache.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
from fit_retrieval import SETS, parse_fit_options
from retrieval_sets import HANDBOOKS, PACKAGED, collection_store, load
from retrieval_store import Asked, Store, opened, texts

from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import HeadedPassage, WindowMatch
from lightwell.models.bge import BgeSmall
from lightwell.models.late_interaction import MODEL, LocalLateInteraction
from lightwell.retrieve import fusion, signals
from lightwell.retrieve.late_interaction import MATCHED, add_token_matches
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.retrieve.weights import load_weights

WEIGHTS = (0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0)
_PARTS = ("starts", "ends", "tokens", "wholes", "signs")


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


async def found(
    store: Store, asked: Asked, vectors: list[MultiVector], model: LocalLateInteraction
) -> tuple[str, Floats]:
    """Return the kind of the question, and what is found at each weight: (weights, 3)."""
    first_pass = opened(asked, load_weights())
    scores = fusion.second_pass_scores(first_pass, texts(store, asked, first_pass), load_weights())
    best = fusion.rank(scores, asked.candidates.keys)[:MATCHED]
    places: list[int] = asked.places[best].tolist()
    matches = await model.match(asked.question.text, [vectors[at] for at in places])
    chunks = [ChunkId(UUID(int=at)) for at in range(len(asked.places))]
    at_best: list[int] = best.tolist()
    by_chunk: dict[ChunkId, tuple[WindowMatch, ...]] = {
        chunks[at]: some for at, some in zip(at_best, matches, strict=True)
    }
    rows: list[list[float]] = []
    for weight in WEIGHTS:
        raised = add_token_matches(scores, best, chunks, by_chunk, weight)
        gold = asked.is_gold[fusion.rank(raised, asked.candidates.keys)]
        count = len(asked.question.gold)
        rows.append([float(gold[:1].any()), *(float(gold[:n].sum()) / count for n in (2, 5))])
    kind = "multi" if signals.names_something_rare(asked.candidates, asked.corpus) else "single"
    return f"{store.name} {kind} {asked.question.split}", np.array(rows)


async def report(stores: Sequence[Store], cache: Path) -> None:
    """Print a row for each store, kind of question and split."""
    model = LocalLateInteraction()
    print("first / R@2 / R@5", *(f"| {weight:g}" for weight in WEIGHTS), "|")
    for store in stores:
        vectors = await asyncio.to_thread(encoded, store, cache)
        rows: dict[str, list[Floats]] = {}
        for question in [each for each in store.questions if each.gold]:
            name, values = await found(store, store.ask(question), vectors, model)
            rows.setdefault(name, []).append(values)
        for name, some in sorted(rows.items()):
            shares = 100 * np.mean(some, axis=0)
            cells = [" / ".join(f"{share:.0f}" for share in each) for each in shares.tolist()]
            print(f"{name} ({len(some)})", *(f"| {cell}" for cell in cells), "|", flush=True)


def main() -> None:
    cache = parse_fit_options(__doc__).cache
    stores = [load(name, cache) for name, triples in SETS if not triples]
    stores += [collection_store(name, cache) for name in (*HANDBOOKS, *PACKAGED)]
    asyncio.run(report(stores, cache))


if __name__ == "__main__":
    main()
