from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lightwell.retrieve.pagerank import personalized_pagerank, transitions
from lightwell.retrieve.sparse_matrix import SparseMatrix
from tests.matrices import from_dense, to_dense

GRAPHS = st.integers(1, 6).flatmap(
    lambda chunks: st.integers(1, 5).flatmap(
        lambda entities: st.tuples(
            st.lists(
                st.lists(st.booleans(), min_size=entities, max_size=entities),
                min_size=chunks,
                max_size=chunks,
            ),
            st.lists(st.floats(0, 10), min_size=chunks + entities, max_size=chunks + entities),
        )
    )
)


def steps(mentions: list[list[bool]], relations: NDArray[np.float64] | None = None) -> SparseMatrix:
    incidence = from_dense(np.array(mentions, np.float64))
    size = (len(mentions[0]),) * 2
    return transitions(incidence, from_dense(np.zeros(size) if relations is None else relations))


@given(GRAPHS)
def test_walks_dwell_somewhere_all_of_the_time(graph: tuple[list[list[bool]], list[float]]) -> None:
    mentions, restarts = graph
    dwelling = personalized_pagerank(steps(mentions), np.array(restarts)[:, None])
    assert (dwelling >= 0).all()
    assert dwelling.sum() == pytest.approx(1.0 if sum(restarts) > 0 else 0.0)


@given(GRAPHS, st.randoms(use_true_random=False))
def test_the_order_of_chunks_does_not_matter(
    graph: tuple[list[list[bool]], list[float]], random: Random
) -> None:
    mentions, restarts = graph
    shuffled = [*range(len(mentions))]
    random.shuffle(shuffled)
    plain = personalized_pagerank(steps(mentions), np.array(restarts)[:, None])[:, 0]
    tail = [*range(len(mentions), len(restarts))]
    moved = personalized_pagerank(
        steps([mentions[at] for at in shuffled]),
        np.array(restarts)[[*shuffled, *tail]][:, None],
    )[:, 0]
    assert moved == pytest.approx(plain[[*shuffled, *tail]], abs=1e-12)


def test_each_step_from_a_node_with_edges_goes_somewhere() -> None:
    leaving = to_dense(steps([[True, True], [False, True]])).sum(axis=0)
    assert [*leaving] == pytest.approx([1, 1, 1, 1])


def test_a_named_entity_leads_to_its_chunk_and_then_to_the_chunk_beyond() -> None:
    # chunk 0 mentions entities 0 and 1, chunk 1 mentions 1, chunk 2 mentions 2.
    mentions = [[True, True, False], [False, True, False], [False, False, True]]
    near, beyond, apart = personalized_pagerank(steps(mentions), np.array([[0, 0, 0, 1, 0, 0]]).T)[
        :3, 0
    ]
    assert near > beyond > apart == 0


def test_a_relation_leads_from_entity_to_entity() -> None:
    mentions = [[True, False], [False, True]]
    restarts = np.array([[1.0, 0, 0, 0]]).T
    assert personalized_pagerank(steps(mentions), restarts)[1, 0] == 0
    related = steps(mentions, np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert personalized_pagerank(related, restarts)[1, 0] > 0
