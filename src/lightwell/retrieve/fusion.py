"""One order from many signals: reciprocal ranks, or learned weights in two passes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from lightwell.domain.evidence import RANK_OFFSET
from lightwell.retrieve import signals
from lightwell.retrieve.candidate_arrays import CandidateArrays, CorpusStatistics
from lightwell.retrieve.pagerank import personalized_pagerank, transitions
from lightwell.retrieve.sparse_matrix import Floats, Places, SparseMatrix
from lightwell.retrieve.weights import LINKS, PassWeights, RankingWeights, Weights

Titled = Callable[[int], Floats]

FIRSTS = 6
ROUNDS = 2
TOP = 10
"""How many of the best of the first pass may be first passages of the second, so that their texts are fetched."""

_DENSE_RESTART = 0.01
_WALK_FLOOR = 1e-6
_FINE = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPass:
    """The first pass: `table` (n, signals) holds the signals of single passages, `scores` (n,) their weighted sum.

    `designation_matches` (n,) is 1 where the question gives the document's designation. `weights` are those of both passes for these
    signals, `ranking` all that such questions have.
    """

    candidates: CandidateArrays
    corpus: CorpusStatistics
    impacts: Floats
    steps: SparseMatrix
    table: Floats
    designation_matches: Floats
    ranking: RankingWeights
    weights: PassWeights
    scores: Floats

    @property
    def top(self) -> Places:
        """The candidates, best first, whose texts the second pass needs."""
        return rank(self.scores, self.candidates.keys)[:TOP]


def reciprocal_ranks(
    rankings: Sequence[Sequence[str]], *, k: int = RANK_OFFSET
) -> dict[str, float]:
    """Return for each key the sum over rankings of 1 / (k + place), places from 1, best first.

    The order of the rankings does not matter; equal sums are ordered by key.
    """
    parts: dict[str, list[float]] = {}
    for ranking in rankings:
        for place, key in enumerate(dict.fromkeys(ranking), start=1):
            parts.setdefault(key, []).append(1 / (k + place))
    sums = {key: sum(sorted(scores)) for key, scores in parts.items()}
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def rank(scores: Floats, keys: Sequence[str]) -> Places:
    """Return the places of the scores, best first; scores equal to nine decimals are ordered by key."""
    return np.lexsort((_by_key(tuple(keys)), -np.round(scores, _FINE)))


@lru_cache(maxsize=8)  # one question's candidates are ordered several times
def _by_key(keys: tuple[str, ...]) -> Places:
    return np.unique(np.array(keys, np.str_), return_inverse=True)[1]


def first_pass(
    candidates: CandidateArrays, corpus: CorpusStatistics, weights: Weights
) -> FirstPass:
    """Score the candidates, each by itself."""
    steps = transitions(candidates.mentions, candidates.relations)
    impacts = signals.bm25_by_term(candidates, corpus)
    table = np.column_stack(
        [
            signals.min_max(candidates.cosine),
            signals.min_max(impacts.sum(axis=1)),
            signals.term_coverage(candidates, corpus),
            *_pagerank_from_question(candidates, corpus, steps),
            signals.name_coverage(candidates, corpus),
            signals.asked_titles(candidates.titles, candidates.question),
        ]
    )
    matches = signals.designation_matches(candidates.titles, candidates.question)
    ranking = (
        weights.multi_hop
        if signals.names_something_rare(candidates, corpus)
        else weights.single_hop
    )
    return FirstPass(
        candidates=candidates,
        corpus=corpus,
        impacts=impacts,
        steps=steps,
        table=table,
        designation_matches=matches,
        ranking=ranking,
        weights=ranking.plain,
        scores=table @ ranking.plain.first_pass + weights.designations * matches,
    )


def with_token_matches(first: FirstPass, token_matches: Floats, weights: Weights) -> FirstPass:
    """Return the first pass with one more signal, (n,): how well each candidate matches token by token, 0 to 1, 0 for those not compared."""
    matched = first.ranking.matched
    table = np.column_stack([first.table, token_matches])
    scores = table @ matched.first_pass + weights.designations * first.designation_matches
    return replace(first, table=table, weights=matched, scores=scores)


def second_pass_scores(
    first_pass: FirstPass, folded: Mapping[int, str], weights: Weights
) -> Floats:
    """Return the scores, (n,), after two rounds that measure what each candidate adds to the best passages.

    `folded` holds the words of `first_pass.top`, as `matchable`, by their places; a passage without them names no title.
    """
    titled = named_titles(first_pass, folded)
    scores = first_pass.scores
    for _ in range(ROUNDS):
        table = second_pass_signals(first_pass, scores, titled)
        fused = table @ first_pass.weights.second_pass
        scores = fused + weights.designations * first_pass.designation_matches
    return scores


def named_titles(first_pass: FirstPass, folded: Mapping[int, str]) -> Titled:
    """Return a function from a passage's place to the candidates' titles that its words name, 1 or 0, (n,)."""
    titles = [signals.matchable_title(title) for title in first_pass.candidates.titles]

    @cache
    def titled(place: int) -> Floats:
        return signals.title_matches(titles, folded.get(place, ""), besides=titles[place])

    return titled


def second_pass_signals(first_pass: FirstPass, scores: Floats, titled: Titled) -> Floats:
    """Return the signals of the first pass and those of links to the best passages by these scores: (n, signals)."""
    candidates = first_pass.candidates
    if not candidates.keys:
        return np.zeros((0, first_pass.table.shape[1] + len(LINKS)))
    merit = signals.min_max(scores)
    firsts = rank(scores, candidates.keys)[:FIRSTS]
    worth = merit[firsts][:, None]
    most = max(float(signals.inverse_document_frequencies(first_pass.corpus).sum()), 1e-9)
    covered = signals.pair_coverage(first_pass.impacts, firsts) / most
    shared = signals.shared_names(candidates, first_pass.corpus, firsts)
    naming = np.array([titled(int(first)) for first in firsts])
    near = _pagerank_from_best(first_pass, firsts, merit)
    return np.column_stack(
        [
            first_pass.table,
            signals.min_max((worth * covered).max(axis=0)),
            (worth * covered * shared).max(axis=0),
            (worth * covered * naming).max(axis=0),
            (worth * naming).max(axis=0),
            signals.reciprocal_rank(near),
        ]
    )


def _pagerank_from_question(
    candidates: CandidateArrays, corpus: CorpusStatistics, steps: SparseMatrix
) -> list[Floats]:
    chunks = len(candidates.keys)
    restarts = np.zeros((chunks + len(corpus.entity_counts), 2))
    counts = np.maximum(corpus.entity_counts[candidates.named], 1.0)
    restarts[chunks + candidates.named] = (1 / counts)[:, None]
    restarts[:chunks, 0] = _DENSE_RESTART * signals.min_max(candidates.cosine)
    dwelling = personalized_pagerank(steps, restarts)[:chunks]
    return [signals.logarithms(dwelling[:, walk], floor=_WALK_FLOOR) for walk in range(2)]


def _pagerank_from_best(first_pass: FirstPass, firsts: Places, merit: Floats) -> Floats:
    restarts = np.zeros((len(merit) + len(first_pass.corpus.entity_counts), 1))
    restarts[firsts, 0] = merit[firsts] ** 2
    return personalized_pagerank(first_pass.steps, restarts)[: len(merit), 0]
