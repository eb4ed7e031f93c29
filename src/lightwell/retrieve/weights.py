"""The learned numbers of retrieval, read from `weights.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
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

READING = ("passage", "cover", "similarity", "title", "missing")
"""The measures of a passage that was read, in the order of their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """A probability's logit is `base` plus the measures by their `weights`, in the order of their columns."""

    base: float
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One weight per signal: `opening` in the order of `OPENING`, `fused` of `OPENING` and `LINKS`.

    `called` is added to both where the question calls a document by its designation; it is set by hand, since no
    evaluation set has such questions. `relevance` is of a candidate among others (`RELEVANCE`), `reading` of a passage that was read (`READING`).
    """

    opening: Floats
    fused: Floats
    called: float
    relevance: Logistic
    reading: Logistic


@cache
def load_weights() -> Weights:
    """Return the shipped weights."""
    page = tomllib.loads(
        resources.files("lightwell.retrieve").joinpath("weights.toml").read_text("utf-8")
    )
    return Weights(
        opening=np.array([float(page["opening"][name]) for name in OPENING]),
        fused=np.array([float(page["fused"][name]) for name in (*OPENING, *LINKS)]),
        called=float(page["by_hand"]["called"]),
        relevance=_logistic(page["relevance"], RELEVANCE),
        reading=_logistic(page["reading"], READING),
    )


def _logistic(section: Mapping[str, float], measures: Sequence[str]) -> Logistic:
    return Logistic(
        base=float(section["base"]),
        weights=np.array([float(section[name]) for name in measures]),
    )
