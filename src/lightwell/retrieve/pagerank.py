"""Personalised PageRank over chunks and the entities they mention.

Page, Brin, Motwani and Winograd 1999, personalised as in Haveliwala 2002; over passages and names as in
HippoRAG (Gutiérrez et al. 2024).
"""

import numpy as np

from lightwell.retrieve.sparse_matrix import Floats, SparseMatrix, sparse_matrix

FOLLOWED = 0.5
"""The probability of following an edge rather than starting anew."""

_STEPS = 14  # what is left to settle after k steps is below FOLLOWED ** k


def transitions(mentions: SparseMatrix, relations: SparseMatrix) -> SparseMatrix:
    """Return the probability of going from column to row, for n chunks and then e entities: (n + e, n + e).

    A step from a chunk goes to one of its entities; from an entity to one of its chunks, or along a relation
    by its weight. A column without edges is empty.
    """
    chunks, entities = mentions.shape
    rows, columns = mentions.rows, chunks + mentions.columns
    into = np.concatenate([rows, columns, chunks + relations.rows])
    out_of = np.concatenate([columns, rows, chunks + relations.columns])
    weights = np.concatenate([mentions.values, mentions.values, relations.values])
    leaving = np.bincount(out_of, weights, minlength=chunks + entities)
    chances = weights / np.where(leaving > 0, leaving, 1.0)[out_of]
    return sparse_matrix(into, out_of, chances, (len(leaving), len(leaving)))


def personalized_pagerank(steps: SparseMatrix, restarts: Floats) -> Floats:
    """Return where walks dwell, for each column of non-negative restart weights: (nodes, k), columns sum to 1.

    A walk that cannot go on starts anew. A column of zeros stays zero.
    """
    total = restarts.sum(axis=0)
    start = restarts / np.where(total > 0, total, 1.0)
    stuck = np.bincount(steps.columns, steps.values, minlength=len(restarts)) <= 0
    dwelling = start
    for _ in range(_STEPS):
        onward = steps @ dwelling + start * dwelling[stuck].sum(axis=0)
        dwelling = (1 - FOLLOWED) * start + FOLLOWED * onward
    return dwelling
