"""Fits the weights of retrieval on the development questions and says how well they do.

python benchmarks/fit_retrieval.py            # report what the shipped weights reach
python benchmarks/fit_retrieval.py --write    # fit the ranking, write weights.toml, report
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from late_interaction import with_token_matches
from retrieval_sets import EVALUATION, HANDBOOKS, PACKAGED, collection_store, load, worlds
from retrieval_store import Asked, Flags, Store, opened, texts
from scipy import optimize

from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.evaluation.measures import auroc
from lightwell.retrieve import calibration, fusion, signals
from lightwell.retrieve import weights as learned
from lightwell.retrieve.sparse_matrix import Floats
from lightwell.retrieve.weights import (
    COMPARED,
    FIRST_PASS,
    LINKS,
    RELEVANCE,
    RERANK,
    WITH_MATCH,
    Logistic,
    PassWeights,
    RankingWeights,
    Weights,
)

SETS = (
    ("hotpotqa_train100", False),
    ("musique_train100", False),
    ("musique_train100", True),
    ("lihua_world", False),
)
COUNTS = {"lihua_world": 0.3}
"""Sets that count for less than 1 in the fit for questions that name something rare: chat logs have few names to follow links by."""

TARGETS = {
    "hotpotqa_train100": 98,
    "musique_train100": 77,
    "musique_train100+triples": 80,
    "lihua_world": 87,
}
WEIGHTS = Path(learned.__file__).with_name("weights.toml")
MAX_PER_SET, HARDEST, RIDGE, PASSES, FEWEST = 100, 80, 0.003, 3, 10
SHOWN, NEGATIVES = 5, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One question's candidates (n, signals), which of them are gold, and what the question counts."""

    table: Floats
    is_gold: Flags
    weight: float


Asking = tuple[Store, list[Asked]]


def fit(asking: Sequence[Asking], cache: Path) -> Weights:
    """Return fitted weights: those of questions that name something rare, and those of all others, without late interaction and with it.

    The former are fitted on all questions of the sets, of which most name something rare; on those alone hotpotqa loses a point.
    The latter are fitted on such questions of the sets and of the collections.
    """
    plain = _fit_both(asking, learned.load_weights(), is_matched=False)
    return _fit_both(matched(asking, plain, cache), plain, is_matched=True)


def matched(asking: Sequence[Asking], weights: Weights, cache: Path) -> list[Asking]:
    """Return the questions with how well their best candidates match by late interaction."""
    return [(store, with_token_matches(store, asked, weights, cache)) for store, asked in asking]


def _fit_both(asking: Sequence[Asking], weights: Weights, *, is_matched: bool) -> Weights:
    sets = [each for each in asking if each[0].name in TARGETS]
    single = [_naming_nothing_rare(each) for each in asking]
    return replace(
        weights,
        multi_hop=_fit_ranking(sets, weights, weights.multi_hop, COUNTS, is_matched=is_matched),
        single_hop=_fit_ranking(single, weights, weights.single_hop, {}, is_matched=is_matched),
    )


def _naming_nothing_rare(asking: Asking) -> Asking:
    store, asked = asking
    return store, [
        each for each in asked if not signals.names_something_rare(each.candidates, each.corpus)
    ]


def _fit_ranking(
    asked: Sequence[Asking],
    weights: Weights,
    begin: RankingWeights,
    counts: Mapping[str, float],
    *,
    is_matched: bool,
) -> RankingWeights:
    """Fit the first pass, then the second, whose signals depend on its own scores. Sets with few such questions are left out."""
    asking = [
        (store, its)
        for store, its in asked
        if sum(each.question.split == "dev" for each in its) >= FEWEST
    ]

    def fitting(passes: PassWeights) -> RankingWeights:
        return replace(begin, matched=passes) if is_matched else replace(begin, plain=passes)

    def for_all(passes: PassWeights) -> Weights:
        return replace(weights, multi_hop=fitting(passes), single_hop=fitting(passes))

    passes = begin.matched if is_matched else begin.plain
    tables = [[opened(each, for_all(passes)).table for each in its] for _, its in asking]
    scores = [[table @ passes.first_pass for table in its] for its in tables]
    passes = replace(passes, first_pass=fitted(_examples(asking, tables, scores, counts)))
    for _ in range(PASSES):
        looks = [
            [_last_look(store, each, for_all(passes)) for each in its] for store, its in asking
        ]
        scores = [[look @ passes.second_pass for look in its] for its in looks]
        passes = replace(passes, second_pass=fitted(_examples(asking, looks, scores, counts)))
    return fitting(passes)


def fitted(examples: Sequence[Example]) -> Floats:
    """Return the weights under which each gold passage is likeliest among the passages that are not gold.

    None is negative but that of the names held, which takes back what a walk from the names gives twice.
    """

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

    count = len(examples[0].table.T)
    free = FIRST_PASS.index("names_held")
    may_be = [(None if at == free else 0.0, None) for at in range(count)]
    return least(loss, np.zeros(count), may_be)


class _Found(Protocol):
    x: Floats


def least(loss: Callable[[Floats], tuple[float, Floats]], start: Floats, bounds: object) -> Floats:
    found = cast(
        "_Found", optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    )
    return found.x


def _examples(
    asking: Sequence[Asking],
    tables: Sequence[list[Floats]],
    scores: Sequence[list[Floats]],
    counts: Mapping[str, float],
) -> list[Example]:
    made: list[Example] = []
    for (store, asked), its, values in zip(asking, tables, scores, strict=True):
        chosen = _chosen(asked, "dev")
        for at in chosen:
            is_gold = asked[at].is_gold
            hard = np.argsort(-values[at], kind="stable")[:HARDEST]
            kept = np.union1d(hard, np.flatnonzero(is_gold))
            share = counts.get(store.name, 1.0) / len(asking)
            weight = share / len(chosen)
            if is_gold.any():
                made.append(Example(table=its[at][kept], is_gold=is_gold[kept], weight=weight))
    return made


def _chosen(asked: Sequence[Asked], split: str) -> list[int]:
    """Return the places of at most so many questions, spread over the set, whose kinds stand together."""
    places = [at for at, each in enumerate(asked) if each.question.split == split]
    return places[:: -(-len(places) // MAX_PER_SET)]


def _last_look(store: Store, asked: Asked, weights: Weights) -> Floats:
    first_pass = opened(asked, weights)
    titled = fusion.named_titles(first_pass, texts(store, asked, first_pass))
    scores = first_pass.scores
    for _ in range(fusion.ROUNDS - 1):
        scores = (
            fusion.second_pass_signals(first_pass, scores, titled) @ first_pass.weights.second_pass
        )
    return fusion.second_pass_signals(first_pass, scores, titled)


def _ranked(store: Store, asked: Asked, weights: Weights) -> tuple[fusion.FirstPass, Floats]:
    first_pass = opened(asked, weights)
    return first_pass, fusion.second_pass_scores(
        first_pass, texts(store, asked, first_pass), weights
    )


def _judged(asking: Sequence[Asking], weights: Weights) -> Logistic:
    """Fit relevance: the best gold passage against the best passages of a store without the gold ones."""
    rows: list[Floats] = []
    is_evidence: list[bool] = []
    counts: list[float] = []
    for store, asked in _plain(asking):
        for each in [asked[at] for at in _chosen(asked, "dev")]:
            first_pass, scores = _ranked(store, each, weights)
            order = fusion.rank(scores, each.candidates.keys)
            best_gold = [at for at in order if each.is_gold[at]][:1]
            rows.extend(calibration.relevance_measures(first_pass, scores)[best_gold])
            gone = store.ask(each.question, without=each.question.gold)
            first_pass, scores = _ranked(store, gone, weights)
            worst = fusion.rank(scores, gone.candidates.keys)[:NEGATIVES]
            rows.extend(calibration.relevance_measures(first_pass, scores)[worst])
            is_evidence += [True] * len(best_gold) + [False] * len(worst)
            counts += [1.0] * len(best_gold) + [1 / NEGATIVES] * len(worst)
    return _logistic(np.array(rows), np.array(is_evidence), np.array(counts))


def _logistic(rows: Floats, is_evidence: Flags, counts: Floats) -> Logistic:
    table = np.column_stack([np.ones(len(rows)), rows])
    share = counts / counts.sum()

    def loss(weights: Floats) -> tuple[float, Floats]:
        chance = 1 / (1 + np.exp(-table @ weights))
        right = np.where(is_evidence, chance, 1 - chance)
        slope = table.T @ (share * (chance - is_evidence))
        ridge = 1e-3 * np.array([0.0, *weights[1:]])
        return -float(share @ np.log(right + 1e-12)) + float(ridge @ weights) / 2, slope + ridge

    bounds = [(None, None), *[(0.0, None)] * rows.shape[1]]
    found = least(loss, np.zeros(len(table.T)), bounds)
    return Logistic(base=float(found[0]), weights=found[1:])


def _plain(asking: Sequence[Asking]) -> list[Asking]:
    """Return the evaluation sets as they are, without those that have a model's triples, and without the collections."""
    return [(store, asked) for store, asked in asking if store.name in TARGETS and not store.stated]


def _best(store: Store, asked: Asked, weights: Weights) -> float:
    first_pass, scores = _ranked(store, asked, weights)
    shown = fusion.rank(scores, asked.candidates.keys)[:SHOWN]
    return float(calibration.calibrated_relevance(first_pass, scores)[shown].max(initial=0.0))


def _report_ranking(store: Store, asked: Sequence[Asked], weights: Weights) -> None:
    began = time.process_time()
    scores = [_ranked(store, each, weights)[1] for each in asked]
    cost = 1000 * (time.process_time() - began) / len(asked)
    for split in ("dev", "test", "all"):
        rows = [
            _recalls(each, values)
            for each, values in zip(asked, scores, strict=True)
            if split in ("all", each.question.split)
        ]
        r2, r5, r10, every, mrr = 100 * np.mean(rows, axis=0)
        print(
            f"{store.name:26}{split:5} R@2 {r2:5.1f}  R@5 {r5:5.1f}  R@10 {r10:5.1f}"
            f"  all@5 {every:5.1f}  MRR {mrr:5.1f}"
        )
    drawn = np.mean([len(each.places) for each in asked])
    target = f"target R@5 {TARGETS[store.name]}; " if store.name in TARGETS else ""
    print(f"{'':26}{target}{cost:.1f} ms, {drawn:.0f} candidates")


def _recalls(asked: Asked, scores: Floats) -> list[float]:
    gold = asked.is_gold[fusion.rank(scores, asked.candidates.keys)]
    count = len(asked.question.gold)
    shares = [float(gold[:most].sum()) / count for most in (2, 5, 10)]
    first = 1 / (1 + int(gold.argmax())) if gold.any() else 0.0
    return [*shares, float(gold[:5].sum() == min(5, count)), first]


def report_relevance(name: str, answered: Sequence[float], unanswered: Sequence[float]) -> None:
    """Print how well relevance tells answerable questions from unanswerable ones."""
    enough = np.mean(np.array(answered) >= SUFFICIENT_RELEVANCE)
    refused = np.mean(np.array(unanswered) < SUFFICIENT_RELEVANCE)
    print(
        f"{name:26}AUROC {auroc(answered, unanswered):.3f}; of {len(answered)} answerable questions {enough:4.0%}"
        f" reach {SUFFICIENT_RELEVANCE}, of {len(unanswered)} unanswerable ones {refused:4.0%} stay below"
    )


def _report_calibration(asking: Sequence[Asking], weights: Weights, cache: Path) -> None:
    for store, asked in _plain(asking):
        test = [asked[at] for at in _chosen(asked, "test")]
        gone = [store.ask(each.question, without=each.question.gold) for each in test]
        report_relevance(
            store.name,
            [_best(store, each, weights) for each in test],
            [_best(store, each, weights) for each in gone],
        )
    asked_there = [(world, each) for world in worlds(cache) for each in world.questions]
    best = [(_best(world, world.ask(each), weights), each.gold) for world, each in asked_there]
    report_relevance(
        "example world",
        [one for one, gold in best if gold],
        [one for one, gold in best if not gold],
    )


def page(weights: Weights) -> str:
    """Return the weights as the file that is shipped."""
    lines = [
        "# The weights of each signal of a candidate, of each measure of its relevance, and of each measure of the local reranker.",
        "# Fitted by `python benchmarks/fit_retrieval.py --write`, [relevance] only with `--relevance`, [rerank] by `python benchmarks/fit_reading.py --write`, and"
        " [compared] by `python benchmarks/fit_comparison.py --write`.",
        *_ranking_sections("multi_hop", weights.multi_hop),
        *_ranking_sections("single_hop", weights.single_hop),
        "\n[by_hand]",
        f"designations = {weights.designations:.3f}",
        *_section("relevance", RELEVANCE, weights.relevance),
        *_section("rerank", RERANK, weights.rerank),
        *_section("compared", COMPARED, weights.compared),
    ]
    return "\n".join(lines) + "\n"


def _ranking_sections(name: str, ranking: RankingWeights) -> list[str]:
    return [
        *_pass_sections(f"{name}.plain", ranking.plain, FIRST_PASS),
        *_pass_sections(f"{name}.matched", ranking.matched, WITH_MATCH),
    ]


def _pass_sections(name: str, passes: PassWeights, alone: Sequence[str]) -> list[str]:
    return [
        f"\n[{name}.first_pass]",
        *_lines(alone, passes.first_pass),
        f"\n[{name}.second_pass]",
        *_lines((*alone, *LINKS), passes.second_pass),
    ]


def _section(name: str, measures: Sequence[str], fitted: Logistic) -> list[str]:
    return [f"\n[{name}]", *_lines(("base", *measures), [fitted.base, *fitted.weights])]


def _lines(names: Sequence[str], values: Sequence[float] | Floats) -> list[str]:
    return [f"{name} = {value:.3f}" for name, value in zip(names, values, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """Whether the fitted weights are written, whether relevance is fitted too, where what is expensive to make is kept, and which collections are left out."""

    write: bool
    relevance: bool
    cache: Path
    without: frozenset[str]


def parse_fit_options(
    description: str | None, *, may_fit_relevance: bool = False, may_leave_out: bool = False
) -> FitOptions:
    """Return the options of the command line; exit, saying why, where there is no evaluation data."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--write", action="store_true", help="fit and write the weights")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "lightwell-benchmarks"
    )
    if may_fit_relevance:
        parser.add_argument(
            "--relevance",
            action="store_true",
            help="with --write, fit [relevance], too, which moves every threshold",
        )
    if may_leave_out:
        parser.add_argument(
            "--without", action="append", metavar="COLLECTION", help="leave a collection out"
        )
    given = parser.parse_args()
    if not EVALUATION.is_dir():
        print(f"skipped: there is no evaluation data at {EVALUATION}")
        parser.exit()
    return FitOptions(
        write=bool(given.write),
        relevance=may_fit_relevance and bool(given.relevance),
        cache=Path(given.cache),
        without=frozenset((may_leave_out and given.without) or ()),
    )


def main() -> None:
    options = parse_fit_options(__doc__, may_fit_relevance=True)
    stores = [load(name, options.cache, triples=triples) for name, triples in SETS]
    stores += [collection_store(name, options.cache) for name in (*HANDBOOKS, *PACKAGED)]
    asking = [(store, [store.ask(each) for each in store.questions]) for store in stores]
    if options.write:
        weights = fit(asking, options.cache)
        if options.relevance:
            weights = replace(weights, relevance=_judged(asking, weights))
        WEIGHTS.write_text(page(weights), encoding="utf-8")
        learned.load_weights.cache_clear()
    weights = learned.load_weights()
    for without, (store, asked) in zip(
        asking, matched(asking, weights, options.cache), strict=True
    ):
        print("without late interaction:")
        _report_ranking(*without, weights)
        print("with it:")
        _report_ranking(store, asked, weights)
    print("relevance, without late interaction:")
    _report_calibration(asking, weights, options.cache)


if __name__ == "__main__":
    main()
