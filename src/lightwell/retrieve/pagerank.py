"""Personalised PageRank over chunks and the entities they mention.

Page, Brin, Motwani and Winograd 1999, personalised as in Haveliwala 2002; over passages and names as in
HippoRAG (Gutiérrez et al. 2024).
"""

from typing import cast

import numpy as np
import scipy.sparse as sparse

from lightwell.retrieve.signals import Floats, Matrix, Places

FOLLOWED = 0.5
"""The probability of following an edge rather than starting anew."""

_STEPS = 14  # what is left to settle after k steps is below FOLLOWED ** k


def transitions(mentions: Matrix, relations: Matrix) -> Matrix:
    """Return the probability of going from column to row, for n chunks and then e entities: (n + e, n + e).

    A step from a chunk goes to one of its entities; from an entity to one of its chunks, or along a relation
    by its weight. A column without edges is empty.
    """
    chunks, entities = cast("tuple[int, int]", mentions.shape)
    rows, columns, told = _edges(mentions)
    sources, targets, stated = _edges(relations)
    into = np.concatenate([rows, chunks + columns, chunks + sources])
    out_of = np.concatenate([chunks + columns, rows, chunks + targets])
    weights = np.concatenate([told, told, stated])
    leaving = np.bincount(out_of, weights, minlength=chunks + entities)
    chances = weights / np.where(leaving > 0, leaving, 1.0)[out_of]
    return sparse.csr_array((chances, (into, out_of)), shape=(len(leaving), len(leaving)))


def personalized_pagerank(steps: Matrix, restarts: Floats) -> Floats:
    """Return where walks dwell, for each column of non-negative restart weights: (nodes, k), columns sum to 1.

    A walk that cannot go on starts anew. A column of zeros stays zero.
    """
    total = restarts.sum(axis=0)
    start = restarts / np.where(total > 0, total, 1.0)
    _, out_of, chances = _edges(steps)
    stuck = np.bincount(out_of, chances, minlength=len(restarts)) <= 0
    dwelling = start
    for _ in range(_STEPS):
        onward = cast("Floats", steps @ dwelling) + start * dwelling[stuck].sum(axis=0)
        dwelling = (1 - FOLLOWED) * start + FOLLOWED * onward
    return dwelling


def _edges(matrix: Matrix) -> tuple[Places, Places, Floats]:
    """Return the rows, the columns and the values of what the matrix holds."""
    edges = matrix.tocoo()
    return cast("Places", edges.row), cast("Places", edges.col), cast("Floats", edges.data)
