"""The learned numbers of retrieval, read from `weights.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from lightwell.retrieve.signals import Floats

OPENING = ("cosine", "bm25", "cover", "walk", "walk_from_names", "names_held")
LINKS = ("pair", "pair_by_names", "titled", "near")
"""The signals in the order of the columns: those of a passage alone, then those of its links to the best."""

RELEVANCE = ("cosine", "cover", "impact", "names", "title", "together")
"""The measures of relevance in the order of their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """A probability's logit is `base` plus the measures by their `weights`, in the order of `RELEVANCE`."""

    base: float
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One weight per signal: `opening` in the order of `OPENING`, `fused` of `OPENING` and `LINKS`."""

    opening: Floats
    fused: Floats
    relevance: Logistic


@cache
def weights() -> Weights:
    """Return the shipped weights."""
    page = tomllib.loads(
        resources.files("lightwell.retrieve").joinpath("weights.toml").read_text("utf-8")
    )
    return Weights(
        opening=np.array([float(page["opening"][name]) for name in OPENING]),
        fused=np.array([float(page["fused"][name]) for name in (*OPENING, *LINKS)]),
        relevance=Logistic(
            base=float(page["relevance"]["base"]),
            weights=np.array([float(page["relevance"][name]) for name in RELEVANCE]),
        ),
    )
