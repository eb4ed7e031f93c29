"""The learned numbers of retrieval, read from `weights.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from lightwell.retrieve.sparse_matrix import Floats

FIRST_PASS = ("cosine", "bm25", "cover", "walk", "walk_from_names", "names_held", "title_asked")
WITH_MATCH = (*FIRST_PASS, "token_match")
"""The same where late interaction compared the best candidates: last how well a passage matches, token by token."""

LINKS = ("pair", "pair_by_names", "pair_by_titles", "titled", "near")
"""The signals in the order of their columns: those of a passage alone, then those of its links to the best."""

RELEVANCE = ("cosine", "cover", "impact", "names", "title", "together")
"""The measures of relevance in the order of their columns."""

RERANK = ("passage", "cover", "similarity", "title", "missing")
"""The measures of the local reranker in the order of their columns."""

COMPARED = ("rerank", "similarity", "window", "lacking")
"""The measures of a passage that is encoded: what `RERANK` comes to, the best unit's similarity, the best window's, and how much of what is asked for it lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """A probability's logit is `base` plus the measures times their `weights`, in the order of their columns."""

    base: float
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PassWeights:
    """One weight per signal: `first_pass` in the order of `FIRST_PASS`, `second_pass` of `FIRST_PASS` and `LINKS`.

    Where late interaction compared candidates, `WITH_MATCH` stands for `FIRST_PASS` in both.
    """

    first_pass: Floats
    second_pass: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """The weights of both passes: `plain`, and `matched` where late interaction compared the best candidates of the plain first pass."""

    plain: PassWeights
    matched: PassWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of signals: `multi_hop` for questions that name something rare, which links can be followed from, `single_hop` for all others.

    `designations` is added to both passes where the question gives a document's designation; it is set by hand, since no
    evaluation set has such questions. `relevance` belongs to a candidate among others (`RELEVANCE`), `rerank` to a passage
    that the local reranker scores (`RERANK`), `compared` to one that late interaction compared besides (`COMPARED`).
    """

    multi_hop: RankingWeights
    single_hop: RankingWeights
    designations: float
    relevance: Logistic
    rerank: Logistic
    compared: Logistic


@cache
def load_weights() -> Weights:
    """Return the shipped weights."""
    page = tomllib.loads(
        resources.files("lightwell.retrieve").joinpath("weights.toml").read_text("utf-8")
    )
    return Weights(
        multi_hop=_ranking(page["multi_hop"]),
        single_hop=_ranking(page["single_hop"]),
        designations=float(page["by_hand"]["designations"]),
        relevance=_logistic(page["relevance"], RELEVANCE),
        rerank=_logistic(page["rerank"], RERANK),
        compared=_logistic(page["compared"], COMPARED),
    )


def _ranking(section: Mapping[str, Mapping[str, Mapping[str, float]]]) -> RankingWeights:
    return RankingWeights(
        plain=_passes(section["plain"], FIRST_PASS),
        matched=_passes(section["matched"], WITH_MATCH),
    )


def _passes(section: Mapping[str, Mapping[str, float]], alone: Sequence[str]) -> PassWeights:
    first, second = section["first_pass"], section["second_pass"]
    return PassWeights(
        first_pass=np.array([float(first[name]) for name in alone]),
        second_pass=np.array([float(second[name]) for name in (*alone, *LINKS)]),
    )


def _logistic(section: Mapping[str, float], measures: Sequence[str]) -> Logistic:
    return Logistic(
        base=float(section["base"]),
        weights=np.array([float(section[name]) for name in measures]),
    )
