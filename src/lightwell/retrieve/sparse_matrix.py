"""A sparse matrix in numpy: few of the candidates mention any one entity.

numpy alone, because scipy would be a quarter of an installation for a product of a matrix and a vector.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseMatrix:
    """A matrix of `shape` by its non-zero cells: `values[k]` stands in row `rows[k]` and column `columns[k]`.

    The cells are in the order of rows, then columns, so that sums do not depend on the order they came in. Cells at one
    place add up.
    """

    rows: Places
    columns: Places
    values: Floats
    shape: tuple[int, int]

    def __matmul__(self, other: Floats) -> Floats:
        """Return the product with a vector, (columns,), or with a matrix, (columns, k)."""
        if other.ndim == 1:
            sums = np.bincount(self.rows, self.values * other[self.columns], self.shape[0])
            return sums.astype(np.float64, copy=False)
        products = [self @ column for column in other.T]
        return np.column_stack(products) if products else np.zeros((self.shape[0], 0))

    def columns_of(self, row: int) -> Places:
        """Return the columns of the row's cells, in order."""
        begin, end = np.searchsorted(self.rows, (row, row + 1))
        return self.columns[begin:end]


def sparse_matrix(
    rows: Places, columns: Places, values: Floats, shape: tuple[int, int]
) -> SparseMatrix:
    """Return the matrix of these cells, which come in any order."""
    order = np.lexsort((columns, rows))
    return SparseMatrix(rows=rows[order], columns=columns[order], values=values[order], shape=shape)
