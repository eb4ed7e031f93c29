import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lightwell.retrieve.sparse_matrix import Floats, sparse_matrix
from tests.matrices import from_dense, to_dense

SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6))
DENSE = SIZES.flatmap(lambda size: arrays.arrays(np.float64, size, elements=st.floats(-9, 9)))


@given(DENSE)
def test_a_product_is_that_of_the_dense_matrix(dense: Floats) -> None:
    values = np.arange(dense.shape[1], dtype=float)
    assert np.allclose(from_dense(dense) @ values, dense @ values)
    assert np.allclose(to_dense(from_dense(dense)), dense)
    for row, own in enumerate(dense):
        assert from_dense(dense).columns_of(row).tolist() == np.flatnonzero(own).tolist()


@given(DENSE, st.integers(0, 2**32 - 1))
def test_the_order_of_the_cells_changes_no_bit(dense: Floats, seed: int) -> None:
    rows, columns = np.nonzero(dense)
    order = np.random.default_rng(seed).permutation(len(rows))
    moved = sparse_matrix(
        rows[order], columns[order], dense[rows, columns][order], from_dense(dense).shape
    )
    values = np.linspace(0.1, 1, dense.shape[1])
    assert (moved @ values).tolist() == (from_dense(dense) @ values).tolist()


def test_cells_at_one_place_add_up() -> None:
    one, two = np.array([0, 0]), np.array([1, 1])
    matrix = sparse_matrix(one, two, np.array([1.0, 2.0]), (1, 3))
    assert to_dense(matrix).tolist() == [[0.0, 3.0, 0.0]]


def test_a_matrix_times_no_columns_has_none() -> None:
    assert (from_dense(np.ones((3, 2))) @ np.empty((2, 0))).shape == (3, 0)
