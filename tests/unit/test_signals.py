from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.retrieve import signals
from lightwell.retrieve.candidate_arrays import CandidateArrays, CorpusStatistics
from tests.matrices import empty_matrix, from_dense

NUMBERS = st.lists(st.floats(-100, 100), min_size=1, max_size=30)


def candidates(
    frequencies: list[list[float]],
    *,
    mentions: list[list[float]] | None = None,
    named: tuple[int, ...] = (),
) -> CandidateArrays:
    count = len(frequencies)
    entities = np.array(mentions or [[0.0]] * count)
    size = (entities.shape[1],) * 2
    return CandidateArrays(
        keys=tuple(f"chunk-{at}" for at in range(count)),
        titles=("",) * count,
        cosine=np.zeros(count),
        frequencies=np.array(frequencies),
        lengths=np.full(count, 10.0),
        mentions=from_dense(entities),
        relations=empty_matrix(*size),
        named=np.array(named, np.intp),
    )


def corpus(term_counts: list[float], entity_counts: list[float] | None = None) -> CorpusStatistics:
    return CorpusStatistics(
        chunks=100,
        mean_length=10.0,
        term_counts=np.array(term_counts),
        entity_counts=np.array(entity_counts or [1.0]),
    )


def test_a_term_is_the_heavier_the_fewer_chunks_hold_it() -> None:
    none, few, many, all_of_them = signals.inverse_document_frequencies(corpus([0, 2, 50, 100]))
    assert none > few > many > all_of_them > 0


def test_impacts_are_bm25() -> None:
    # One term in 10 of 100 chunks, twice in a chunk of mean length, worked by hand.
    impact = signals.bm25_by_term(candidates([[2.0]]), corpus([10]))[0, 0]
    assert impact == pytest.approx(np.log(1 + 90.5 / 10.5) * 2 / (2 + 1.2))


def test_a_longer_chunk_makes_less_of_a_term() -> None:
    both = candidates([[2.0], [2.0]])
    short, long = signals.bm25_by_term(replace(both, lengths=np.array([5.0, 50.0])), corpus([10]))[
        :, 0
    ]
    assert short > long > 0


def test_cover_is_the_share_of_the_rarity_held() -> None:
    held = signals.term_coverage(candidates([[1, 1], [8, 0], [0, 0]]), corpus([10, 10]))
    assert held.tolist() == pytest.approx([1.0, 0.5, 0.0])


@given(st.lists(st.booleans(), min_size=4, max_size=4), st.integers(0, 3))
def test_one_more_term_never_covers_less(held: list[bool], more: int) -> None:
    fuller = [*held]
    fuller[more] = True
    less, as_much = signals.term_coverage(
        candidates([[float(each) for each in held], [float(each) for each in fuller]]),
        corpus([0, 3, 40, 100]),
    )
    assert 0 <= less <= as_much <= 1


def test_a_rare_name_of_the_question_counts_more_than_a_common_one() -> None:
    both = candidates([[0], [0]], mentions=[[1, 0], [0, 1]], named=(0, 1))
    rare, common = signals.name_coverage(both, corpus([1], [2, 80]))
    assert rare > common
    assert rare + common == pytest.approx(1.0)


def test_without_names_in_the_question_none_are_held() -> None:
    assert signals.name_coverage(candidates([[1]], mentions=[[1]]), corpus([1], [1])).tolist() == [
        0
    ]


def test_rare_shared_names_link_and_common_ones_do_not() -> None:
    three = candidates([[0]] * 3, mentions=[[1, 1], [1, 0], [0, 1]])
    links = signals.shared_names(three, corpus([1], [2, 60]), np.array([0]))
    assert links.tolist() == [[0.0, 1.0, 0.0]]


def test_a_name_in_one_chunk_alone_links_nothing() -> None:
    alone = candidates([[0]] * 2, mentions=[[1], [1]])
    assert not signals.shared_names(alone, corpus([1], [1]), np.array([0])).any()


def test_a_pair_covers_what_either_covers() -> None:
    impacts = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.0]])
    assert signals.pair_coverage(impacts, np.array([0])).tolist() == [[2.0, 5.0, 2.0]]


def test_titles_are_found_as_whole_words_whatever_their_marks_and_case() -> None:
    titles = [
        signals.matchable_title(title)
        for title in ("Mercury (planet)", "Merc", "Ärger-Haus", "Own")
    ]
    text = "An ARGER HAUS near mercury. Own."
    assert signals.title_matches(titles, signals.matchable(text), besides=titles[3]).tolist() == [
        1,
        0,
        1,
        0,
    ]


def test_a_title_of_two_letters_is_never_found() -> None:
    assert not signals.title_matches([signals.matchable_title("It")], " it is ", besides="").any()


def test_a_title_that_the_question_gives_counts_by_its_share_of_the_question() -> None:
    question = "Did the band Never Cry Wolf ever play in the port of Hamburg?"
    titles = ("Never Cry Wolf (band)", "Cry Wolf", "Hamburg", "Port of Bremen")
    whole, inner, short, other = signals.asked_titles(titles, question)
    assert 0 < short < whole <= 1
    assert (inner, other) == (0, 0)
    assert signals.asked_titles(("Cry Wolf",), question).all()
    assert not signals.asked_titles(titles, "").any()


@given(NUMBERS)
def test_spread_lies_between_nothing_and_one(values: list[float]) -> None:
    spread = signals.min_max(np.array(values))
    assert spread.min() >= 0
    assert spread.max() <= 1


@given(NUMBERS)
def test_nearness_gives_the_best_one_and_equal_values_the_same(values: list[float]) -> None:
    nearness = signals.reciprocal_rank(np.array([*values, values[0]]))
    assert nearness.max() == 1
    assert nearness[0] == nearness[-1]
    assert nearness.min() > 0


@pytest.mark.parametrize(
    ("title", "question", "due"),
    [
        ("ENG-42: The pump is loud", "Who owns ENG-42?", 1.0),
        ("ENG-42: The pump is loud", "Who owns eng 42, and since when?", 1.0),
        ("Ticket 1187: all silent", "Who owns ticket 1187?", 1.0),
        ("ENG-42", "ENG-42", 1.0),
        ("ENG-42: The pump is loud", "Who owns ENG-421?", 0.0),
        ("ENG-42: The pump is loud", "Who owns 42?", 0.0),
        ("The pump: ENG-42", "Who owns ENG-42?", 0.0),
        ("Report of 2026", "What did the report say?", 0.0),
        ("Weekly, 10 February 2026", "What was said in 2026?", 0.0),
        ("42", "Is it 42?", 0.0),
    ],
)
def test_a_question_calls_a_document_by_what_its_title_begins_with(
    title: str, question: str, due: float
) -> None:
    assert signals.designation_matches([title], question).tolist() == [due]
