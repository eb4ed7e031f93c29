"""Sparse matrices from dense ones, for tests and benchmarks of ranking."""

import numpy as np
from numpy.typing import ArrayLike

from lightwell.retrieve.sparse_matrix import Floats, SparseMatrix, sparse_matrix


def from_dense(given: ArrayLike) -> SparseMatrix:
    dense = np.asarray(given, np.float64)
    rows, columns = np.nonzero(dense)
    return sparse_matrix(rows, columns, dense[rows, columns], (dense.shape[0], dense.shape[1]))


def empty_matrix(rows: int, columns: int) -> SparseMatrix:
    return from_dense(np.zeros((rows, columns)))


def to_dense(matrix: SparseMatrix) -> Floats:
    return matrix @ np.eye(matrix.shape[1])
