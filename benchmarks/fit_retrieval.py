"""Fits the weights of retrieval on the development questions and says how well they do.

python benchmarks/fit_retrieval.py            # report what the shipped weights reach
python benchmarks/fit_retrieval.py --write    # fit, write weights.toml, report
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from retrieval_store import EVALUATION, Asked, Store, load
from scipy.optimize import minimize

from lightwell.retrieve import fusion, signals
from lightwell.retrieve import weights as learned
from lightwell.retrieve.signals import Floats
from lightwell.retrieve.weights import LINKS, OPENING, Weights

SETS = (
    ("hotpotqa_train100", False),
    ("musique_train100", False),
    ("musique_train100", True),
    ("lihua_world", False),
)
TARGETS = {
    "hotpotqa_train100": 98,
    "musique_train100": 77,
    "musique_train100+triples": 80,
    "lihua_world": 87,
}
WEIGHTS = Path(learned.__file__).with_name("weights.toml")
MOST_PER_SET, HARDEST, RIDGE, PASSES = 100, 80, 0.003, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One question's candidates (n, signals), which of them are gold, and what the question counts."""

    table: Floats
    is_gold: np.ndarray[tuple[int], np.dtype[np.bool_]]
    weight: float


def fitted(examples: Sequence[Example]) -> Floats:
    """Return the weights under which each gold passage is likeliest among the passages that are not gold."""

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = RIDGE / 2 * float(weights @ weights), RIDGE * weights
        for each in examples:
            scores = each.table @ weights
            likely = np.exp(scores - scores.max())
            others = likely[~each.is_gold]
            chance = likely[each.is_gold] / (likely[each.is_gold] + others.sum())
            share = each.weight / each.is_gold.sum()
            total -= share * float(np.log(chance + 1e-300).sum())
            typical = others @ each.table[~each.is_gold] / max(others.sum(), 1e-300)
            slope = slope - share * ((1 - chance) @ (each.table[each.is_gold] - typical))
        return total, slope

    found = minimize(loss, np.zeros(examples[0].table.shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x)


def examples(asked: Sequence[Sequence[Asked]], tables: Sequence[Sequence[Floats]], scores: Sequence[Sequence[Floats]]) -> list[Example]:  # fmt: skip
    """Return the development questions with their hardest candidates, every set counting alike."""
    made: list[Example] = []
    for one, its_tables, its_scores in zip(asked, tables, scores, strict=True):
        chosen = [at for at, each in enumerate(one) if each.question.split == "dev"][:MOST_PER_SET]
        for at in chosen:
            is_gold = one[at].is_gold
            hard = np.argsort(-its_scores[at], kind="stable")[:HARDEST]
            kept = np.union1d(hard, np.flatnonzero(is_gold))
            if is_gold.any():
                made.append(
                    Example(
                        table=its_tables[at][kept],
                        is_gold=is_gold[kept],
                        weight=1 / len(chosen) / len(asked),
                    )
                )
    return made


def fit(stores: Sequence[Store], asked: Sequence[Sequence[Asked]]) -> Weights:
    """Return fitted weights: the opening's first, then those of the second look, which changes what it sees."""
    weights = learned.weights()
    opened = [
        [fusion.opened(each.candidates, each.corpus, weights) for each in one] for one in asked
    ]
    tables = [[each.table for each in one] for one in opened]
    scores = [[each.scores for each in one] for one in opened]
    opening = fitted(examples(asked, tables, scores))
    scores = [[table @ opening for table in one] for one in tables]
    weights = Weights(opening=opening, fused=weights.fused)
    for _ in range(PASSES):
        looks = [
            [_last_look(store, each, weights) for each in one]
            for store, one in zip(stores, asked, strict=True)
        ]
        scores = [[look @ weights.fused for look in one] for one in looks]
        weights = Weights(opening=opening, fused=fitted(examples(asked, looks, scores)))
    return weights


def _last_look(store: Store, asked: Asked, weights: Weights) -> Floats:
    opening = fusion.opened(asked.candidates, asked.corpus, weights)
    texts = {
        place: signals.matchable(text) for place, text in _texts(store, asked, opening).items()
    }
    titles = [signals.matchable(title) for title in asked.candidates.titles]
    scores = opening.scores
    for _ in range(fusion.ROUNDS - 1):
        scores = fusion.second_look(opening, scores, texts, titles) @ weights.fused
    return fusion.second_look(opening, scores, texts, titles)


def _texts(store: Store, asked: Asked, opening: fusion.Opening) -> dict[int, str]:
    return {int(place): store.texts[asked.places[place]] for place in opening.wanted}


def ranked(store: Store, asked: Asked, weights: Weights) -> Floats:
    opening = fusion.opened(asked.candidates, asked.corpus, weights)
    return fusion.fused(opening, _texts(store, asked, opening), weights)


def report(name: str, asked: Sequence[Asked], scores: Sequence[Floats]) -> None:
    """Print recall at 2, 5 and 10, all gold within the first 5, and the mean reciprocal rank, in per cent."""
    for split in ("dev", "test", "all"):
        rows: list[list[float]] = []
        for each, values in zip(asked, scores, strict=True):
            if split not in ("all", each.question.split):
                continue
            gold = each.is_gold[fusion.order(values, each.candidates.keys)]
            count = len(each.question.gold)
            first = int(gold.argmax()) + 1 if gold.any() else 10**6
            rows.append(
                [
                    *(gold[:k].sum() / count for k in (2, 5, 10)),
                    gold[:5].sum() == min(5, count),
                    1 / first,
                ]
            )
        r2, r5, r10, every, mrr = 100 * np.mean(rows, axis=0)
        goal = f"  (target R@5 {TARGETS[name]})" if split == "all" and name in TARGETS else ""
        print(
            f"{name:26}{split:5} R@2 {r2:5.1f}  R@5 {r5:5.1f}  R@10 {r10:5.1f}  all@5 {every:5.1f}  MRR {mrr:5.1f}{goal}"
        )


def simple(impacts_and_cosine: Callable[[Floats, Floats], Floats], asked: Asked) -> Floats:
    words = signals.impacts(asked.candidates, asked.corpus).sum(axis=1)
    return impacts_and_cosine(words, asked.candidates.cosine)


def _page(weights: Weights) -> str:
    lines = [
        "# What each signal of a candidate weighs. Fitted by `python benchmarks/fit_retrieval.py --write`.",
        "[opening]",
    ]
    lines += [f"{name} = {value:.3f}" for name, value in zip(OPENING, weights.opening, strict=True)]
    lines += ["", "[fused]"]
    lines += [
        f"{name} = {value:.3f}"
        for name, value in zip((*OPENING, *LINKS), weights.fused, strict=True)
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="fit and write the weights")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "lightwell-benchmarks"
    )
    options = parser.parse_args()
    if not EVALUATION.is_dir():
        print(f"skipped: no evaluation data at {EVALUATION}")
        return
    stores = [load(name, options.cache, triples=triples) for name, triples in SETS]
    asked = [[store.ask(question) for question in store.questions] for store in stores]
    if options.write:
        WEIGHTS.write_text(_page(fit(stores, asked)), encoding="utf-8")
        learned.weights.cache_clear()
    weights = learned.weights()
    for store, one in zip(stores, asked, strict=True):
        began = time.process_time()
        scores = [ranked(store, each, weights) for each in one]
        cost = 1000 * (time.process_time() - began) / len(one)
        report(store.name, one, scores)
        print(
            f"{'':26}mean {cost:.1f} ms of processor a question, {np.mean([len(each.places) for each in one]):.0f} candidates\n"
        )


if __name__ == "__main__":
    main()
