from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.retrieve import calibration, fusion
from lightwell.retrieve.candidate_arrays import CandidateArrays, CorpusStatistics
from lightwell.retrieve.weights import RELEVANCE, load_weights
from tests.matrices import empty_matrix, from_dense

TERMS = ("nordwind", "discount", "receive")


def found(
    cosine: list[float], frequencies: list[list[float]], titles: tuple[str, ...] | None = None
) -> CandidateArrays:
    count = len(cosine)
    return CandidateArrays(
        keys=tuple(f"{at:03}" for at in range(count)),
        titles=titles or ("",) * count,
        cosine=np.array(cosine),
        frequencies=np.array(frequencies, np.float64),
        lengths=np.full(count, 50.0),
        mentions=empty_matrix(count, 1),
        relations=empty_matrix(1, 1),
        named=np.array([], np.intp),
        terms=TERMS,
    )


def relevance(candidates: CandidateArrays, *, chunks: int = 40) -> list[float]:
    counts = np.array([6.0, 3.0, 5.0])
    corpus = CorpusStatistics(
        chunks=chunks, mean_length=50.0, term_counts=counts, entity_counts=np.array([1.0])
    )
    opening = fusion.first_pass(candidates, corpus, load_weights())
    scores = fusion.second_pass_scores(opening, {}, load_weights())
    return calibration.calibrated_relevance(opening, scores).tolist()


def test_in_a_small_store_a_passage_that_says_it_all_is_evidence() -> None:
    assert relevance(found([0.65, 0.2], [[3, 2, 1], [0, 0, 0]]))[0] >= SUFFICIENT_RELEVANCE


def test_in_a_small_store_the_best_of_what_says_nothing_is_no_evidence() -> None:
    assert max(relevance(found([0.35, 0.2], [[1, 0, 0], [0, 0, 1]]))) < SUFFICIENT_RELEVANCE


def test_being_the_only_passage_is_no_evidence() -> None:
    assert relevance(found([0.1], [[0, 0, 0]]))[0] < 0.1


def test_a_title_that_the_question_says_counts() -> None:
    plain, titled = relevance(
        found([0.4, 0.4], [[1, 0, 0], [1, 0, 0]], ("Leave policy", "The Nordwind discounts"))
    )
    assert titled > plain


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=2),
    st.lists(st.integers(0, 8), min_size=6, max_size=6),
)
def test_relevance_is_a_probability(cosine: list[float], counts: list[int]) -> None:
    values = relevance(found(cosine, [[*map(float, counts[:3])], [*map(float, counts[3:])]]))
    assert all(0 <= value <= 1 for value in values)


@given(
    st.floats(0, 1),
    st.lists(st.integers(0, 7), min_size=3, max_size=3),
    st.integers(0, 2),
)
def test_holding_more_of_the_question_never_lowers_relevance(
    cosine: float, counts: list[int], more: int
) -> None:
    fuller = [*counts]
    fuller[more] += 1
    less, as_much = (
        relevance(found([cosine], [[*map(float, each)]]))[0] for each in (counts, fuller)
    )
    assert as_much >= less - 1e-12


@given(st.floats(0, 0.9))
def test_more_likeness_never_lowers_relevance(cosine: float) -> None:
    less, more = (relevance(found([each], [[1, 0, 0]]))[0] for each in (cosine, cosine + 0.1))
    assert more > less


def test_what_else_was_found_does_not_change_a_relevance() -> None:
    alone = relevance(found([0.5], [[2, 1, 0]]))[0]
    among = relevance(found([0.5, 0.9, 0.1], [[2, 1, 0], [3, 3, 3], [0, 0, 1]]))[0]
    assert among == pytest.approx(alone)


def test_a_link_to_what_completes_it_raises_a_relevance() -> None:
    apart = found([0.5, 0.5], [[2, 0, 0], [0, 1, 1]])
    linked = replace(apart, mentions=from_dense(np.ones((2, 1))))
    corpus = CorpusStatistics(
        chunks=40,
        mean_length=50.0,
        term_counts=np.array([6.0, 3.0, 5.0]),
        entity_counts=np.array([2.0]),
    )
    scores = np.array([1.0, 0.5])
    plain, together = (
        calibration.calibrated_relevance(fusion.first_pass(each, corpus, load_weights()), scores)
        for each in (apart, linked)
    )
    assert (together > plain).all()


def test_no_measure_counts_against_a_passage() -> None:
    fitted = load_weights().relevance
    assert fitted.weights.shape == (len(RELEVANCE),)
    assert (fitted.weights >= 0).all()
