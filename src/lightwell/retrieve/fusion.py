"""Many signals to one order: reciprocal ranks, or learned weights and a second look from the first passages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from lightwell.retrieve import signals
from lightwell.retrieve.signals import Candidates, Corpus, Floats, Matrix, Places
from lightwell.retrieve.walk import transitions, walk
from lightwell.retrieve.weights import LINKS, OPENING, Weights

Titled = Callable[[int], Floats]

RANK_OFFSET = 60
"""The k of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""

FIRSTS = 6
ROUNDS = 2
WANTED = 10
"""How many of the best by the opening may become first passages, so that their texts are worth fetching."""

_DENSE_RESTART = 0.01
_WALK_FLOOR = 1e-6
_FINE = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first look: `table` (n, signals) holds the signals of single passages, `scores` (n,) their sum.

    `called` (n,) is 1 where the question calls the document by its designation.
    """

    candidates: Candidates
    corpus: Corpus
    impacts: Floats
    steps: Matrix
    table: Floats
    called: Floats
    scores: Floats

    @property
    def wanted(self) -> Places:
        """The candidates, best first, whose texts the second look reads."""
        return order(self.scores, self.candidates.keys)[:WANTED]


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
    return dict(sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def order(scores: Floats, keys: Sequence[str]) -> Places:
    """Return the places of the scores, best first; scores equal to nine decimals are ordered by key."""
    return np.lexsort((_by_key(tuple(keys)), -np.round(scores, _FINE)))


@lru_cache(maxsize=8)  # one question's candidates are ordered five times
def _by_key(keys: tuple[str, ...]) -> Places:
    return np.unique(np.array(keys, np.str_), return_inverse=True)[1]


def opened(candidates: Candidates, corpus: Corpus, weights: Weights) -> Opening:
    """Return the first look at the candidates, each by itself."""
    steps = transitions(candidates.mentions, candidates.relations)
    impacts = signals.impacts(candidates, corpus)
    table = np.column_stack(
        [
            signals.spread(candidates.cosine),
            signals.spread(impacts.sum(axis=1)),
            signals.cover(candidates, corpus),
            *_walks(candidates, corpus, steps),
            signals.names_held(candidates, corpus),
        ]
    )
    called = signals.called(candidates.titles, candidates.question)
    return Opening(
        candidates=candidates,
        corpus=corpus,
        impacts=impacts,
        steps=steps,
        table=table,
        called=called,
        scores=table @ weights.opening + weights.called * called,
    )


def fused(opening: Opening, texts: Mapping[int, str], weights: Weights) -> Floats:
    """Return the scores, (n,), after looking at what each candidate adds to the best passages, twice.

    `texts` holds the texts of `opening.wanted` by their places; without one, a passage names no title.
    """
    titled = titles_in(opening, texts)
    scores = opening.scores
    for _ in range(ROUNDS):
        looked = second_look(opening, scores, titled)
        scores = looked @ weights.fused + weights.called * opening.called
    return scores


def titles_in(opening: Opening, texts: Mapping[int, str]) -> Titled:
    """Return what says, for the place of a passage with a text, which candidates' titles it names, (n,)."""
    titles = [signals.matchable_title(title) for title in opening.candidates.titles]

    @cache
    def titled(place: int) -> Floats:
        return signals.titles_named(titles, texts.get(place, ""), besides=titles[place])

    return titled


def second_look(opening: Opening, scores: Floats, titled: Titled) -> Floats:
    """Return the opening's signals and those of links to the best passages by these scores: (n, signals)."""
    candidates = opening.candidates
    if not candidates.keys:
        return np.zeros((0, len(OPENING) + len(LINKS)))
    merit = signals.spread(scores)
    firsts = order(scores, candidates.keys)[:FIRSTS]
    worth = merit[firsts][:, None]
    most = max(float(signals.rarity(opening.corpus).sum()), 1e-9)
    covered = signals.gains(opening.impacts, firsts) / most
    shared = signals.shared_names(candidates, opening.corpus, firsts)
    naming = np.array([titled(int(first)) for first in firsts])
    near = _near(opening, firsts, merit)
    return np.column_stack(
        [
            opening.table,
            signals.spread((worth * covered).max(axis=0)),
            (worth * covered * shared).max(axis=0),
            (worth * naming).max(axis=0),
            signals.nearness(near),
        ]
    )


def _walks(candidates: Candidates, corpus: Corpus, steps: Matrix) -> list[Floats]:
    chunks = len(candidates.keys)
    restarts = np.zeros((chunks + len(corpus.entity_counts), 2))
    counts = np.maximum(corpus.entity_counts[candidates.named], 1.0)
    restarts[chunks + candidates.named] = (1 / counts)[:, None]
    restarts[:chunks, 0] = _DENSE_RESTART * signals.spread(candidates.cosine)
    dwelling = walk(steps, restarts)[:chunks]
    return [signals.logarithms(dwelling[:, each], floor=_WALK_FLOOR) for each in range(2)]


def _near(opening: Opening, firsts: Places, merit: Floats) -> Floats:
    restarts = np.zeros((len(merit) + len(opening.corpus.entity_counts), 1))
    restarts[firsts, 0] = merit[firsts] ** 2
    return walk(opening.steps, restarts)[: len(merit), 0]
