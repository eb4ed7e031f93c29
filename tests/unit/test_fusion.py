import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.retrieve import fusion, signals
from lightwell.retrieve.candidate_arrays import CandidateArrays, CorpusStatistics
from lightwell.retrieve.weights import FIRST_PASS, LINKS, WITH_MATCH, load_weights
from tests.matrices import empty_matrix, from_dense, to_dense

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), max_size=4)


def asked(
    seed: int, *, count: int = 30, terms: int = 4, entities: int = 12
) -> tuple[CandidateArrays, CorpusStatistics]:
    """Return made-up candidates of a store of 200 chunks; some of them are alike in everything but their key."""
    numbers = np.random.default_rng(seed)
    mentions = (numbers.random((count, entities)) < 0.2).astype(float)
    related = np.triu((numbers.random((entities, entities)) < 0.1).astype(float), 1)
    frequencies = np.floor(numbers.random((count, terms)) * 3)
    mentions[1], frequencies[1] = mentions[0], frequencies[0]
    cosine = np.round(numbers.random(count), 3)
    cosine[1] = cosine[0]
    return CandidateArrays(
        keys=tuple(f"doc-{at:03}" for at in range(count)),
        titles=tuple("same" if at < 2 else f"title {at}" for at in range(count)),
        cosine=cosine,
        frequencies=frequencies,
        lengths=np.full(count, 40.0),
        mentions=from_dense(mentions),
        relations=from_dense(related + related.T),
        named=np.array([0, 3], np.intp),
    ), CorpusStatistics(
        chunks=200,
        mean_length=40.0,
        term_counts=np.array([3.0, 10.0, 50.0, 120.0])[:terms],
        entity_counts=np.maximum(mentions.sum(axis=0), 1.0),
    )


def moved(candidates: CandidateArrays, places: list[int]) -> CandidateArrays:
    return replace(
        candidates,
        keys=tuple(candidates.keys[at] for at in places),
        titles=tuple(candidates.titles[at] for at in places),
        cosine=candidates.cosine[places],
        frequencies=candidates.frequencies[places],
        lengths=candidates.lengths[places],
        mentions=from_dense(to_dense(candidates.mentions)[np.array(places, np.intp)]),
    )


def scores(candidates: CandidateArrays, corpus: CorpusStatistics) -> dict[str, float]:
    """Return the fused scores by key, in their order; every passage's text names the third title."""
    opening = fusion.first_pass(candidates, corpus, load_weights())
    texts = {int(place): signals.matchable("it speaks of Title 3") for place in opening.top}
    values = fusion.second_pass_scores(opening, texts, load_weights())
    places = fusion.rank(values, candidates.keys)
    return {candidates.keys[at]: float(values[at]) for at in places}


@given(RANKINGS, st.randoms(use_true_random=False))
def test_reciprocal_ranks_do_not_depend_on_the_order_of_the_rankings(
    rankings: list[list[str]], chance: random.Random
) -> None:
    shuffled = [*rankings]
    chance.shuffle(shuffled)
    assert [*fusion.reciprocal_ranks(rankings).items()] == [
        *fusion.reciprocal_ranks(shuffled).items()
    ]


def test_reciprocal_ranks_are_those_of_the_paper() -> None:
    sums = fusion.reciprocal_ranks([["a", "b"], ["b"]])
    assert [*sums] == ["b", "a"]
    assert sums["b"] == pytest.approx(1 / 62 + 1 / 61)


def test_equal_reciprocal_ranks_are_ordered_by_key() -> None:
    assert [*fusion.reciprocal_ranks([["b"], ["a"]])] == ["a", "b"]


def test_equal_scores_are_ordered_by_key() -> None:
    assert fusion.rank(np.array([0.5, 0.9, 0.5]), ["b", "c", "a"]).tolist() == [1, 2, 0]


def test_a_difference_below_nine_decimals_is_none() -> None:
    assert fusion.rank(np.array([0.5, 0.5 + 1e-12]), ["a", "b"]).tolist() == [0, 1]


@given(st.integers(0, 50), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_change_their_scores(
    seed: int, chance: random.Random
) -> None:
    candidates, corpus = asked(seed)
    places = [*range(len(candidates.keys))]
    chance.shuffle(places)
    plain, shuffled = scores(candidates, corpus), scores(moved(candidates, places), corpus)
    assert [*plain] == [*shuffled]
    assert [*plain.values()] == pytest.approx([*shuffled.values()], abs=1e-9)


def test_candidates_alike_in_everything_score_alike() -> None:
    candidates, corpus = asked(7)
    values = scores(candidates, corpus)
    assert values["doc-000"] == pytest.approx(values["doc-001"], abs=1e-9)


def test_a_passage_whose_title_the_best_one_names_rises() -> None:
    candidates, corpus = asked(3)
    opening = fusion.first_pass(candidates, corpus, load_weights())
    best = int(opening.top[0])
    last = int(fusion.rank(opening.scores, candidates.keys)[-1])
    silent = fusion.second_pass_scores(opening, {}, load_weights())
    speaking = fusion.second_pass_scores(
        opening, {best: signals.matchable(f"see {candidates.titles[last]}.")}, load_weights()
    )
    assert speaking[last] > silent[last]


def test_the_passage_that_holds_the_missing_half_comes_second() -> None:
    # The first passage holds two terms and leads by a rare name to the one that holds the third; another
    # holds as much without a link.
    mentions = np.array([[1.0], [0.0], [1.0], [0.0]])
    candidates = CandidateArrays(
        keys=("first", "alone", "linked", "idle"),
        titles=("", "", "", ""),
        cosine=np.array([0.6, 0.3, 0.3, 0.0]),
        frequencies=np.array([[1.0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]),
        lengths=np.full(4, 20.0),
        mentions=from_dense(mentions),
        relations=empty_matrix(1, 1),
        named=np.array([], np.intp),
    )
    corpus = CorpusStatistics(
        chunks=100,
        mean_length=20.0,
        term_counts=np.array([2.0, 2.0, 2.0]),
        entity_counts=np.array([2.0]),
    )
    assert [*scores(candidates, corpus)][:2] == ["first", "linked"]


def test_nothing_found_is_ranked_as_nothing() -> None:
    candidates, corpus = asked(1)
    opening = fusion.first_pass(moved(candidates, []), corpus, load_weights())
    assert fusion.second_pass_scores(opening, {}, load_weights()).shape == (0,)
    assert opening.top.tolist() == []


def test_a_question_without_known_words_or_names_is_ranked_by_meaning() -> None:
    candidates, corpus = asked(2, terms=0)
    candidates = replace(candidates, named=np.array([], np.intp))
    values = scores(candidates, corpus)
    assert all(np.isfinite(value) for value in values.values())
    best = candidates.keys[int(candidates.cosine.argmax())]
    assert next(iter(values)) == best


def test_the_shipped_weights_have_one_number_for_each_signal() -> None:
    shipped = load_weights()
    for each in (shipped.multi_hop, shipped.single_hop):
        for passes, alone in ((each.plain, FIRST_PASS), (each.matched, WITH_MATCH)):
            assert passes.first_pass.shape == (len(alone),)
            assert passes.second_pass.shape == (len(alone) + len(LINKS),)


def test_a_candidate_that_matches_token_by_token_rises_in_both_passes() -> None:
    candidates, corpus = asked(3)
    weights = load_weights()
    plain = fusion.first_pass(candidates, corpus, weights)
    last = fusion.rank(plain.scores, candidates.keys)[-1]
    match = np.zeros(len(candidates.keys))
    match[last] = 1.0
    none = fusion.with_token_matches(plain, np.zeros_like(match), weights)
    matched = fusion.with_token_matches(plain, match, weights)
    assert matched.scores[last] > none.scores[last]
    assert np.delete(matched.scores, last) == pytest.approx(np.delete(none.scores, last))
    before, after = (fusion.second_pass_scores(each, {}, weights) for each in (none, matched))
    assert after[last] - before[last] > matched.weights.second_pass[len(FIRST_PASS)] / 2


def test_links_count_for_questions_that_name_something_rare() -> None:
    candidates, corpus = asked(3)
    rare = replace(corpus, entity_counts=np.full_like(corpus.entity_counts, 2.0))
    common = replace(corpus, entity_counts=np.full_like(corpus.entity_counts, 20.0))
    nothing = replace(candidates, named=np.array([], np.intp))
    shipped = load_weights()
    assert fusion.first_pass(candidates, rare, shipped).ranking is shipped.multi_hop
    assert fusion.first_pass(candidates, common, shipped).ranking is shipped.single_hop
    assert fusion.first_pass(nothing, rare, shipped).ranking is shipped.single_hop


def second_to_first(signal: str, *, titles: tuple[str, ...], shares_a_name: bool) -> list[float]:
    """Return a signal of two passages that the first one leads to: the one repeats its term, the other brings a second."""
    candidates = CandidateArrays(
        keys=("first", "repeats", "adds"),
        titles=titles,
        cosine=np.array([0.6, 0.3, 0.3]),
        frequencies=np.array([[1.0, 0], [1, 0], [0, 1]]),
        lengths=np.full(3, 20.0),
        mentions=from_dense(np.full((3, 1), float(shares_a_name))),
        relations=empty_matrix(1, 1),
        named=np.array([], np.intp),
    )
    corpus = CorpusStatistics(
        chunks=100,
        mean_length=20.0,
        term_counts=np.array([2.0, 2.0]),
        entity_counts=np.array([3.0 * shares_a_name]),
    )
    opening = fusion.first_pass(candidates, corpus, load_weights())
    speaking = signals.matchable(f"Between the {titles[1]} and the {titles[2]}.")
    titled = fusion.named_titles(opening, {0: speaking})
    table = fusion.second_pass_signals(opening, np.array([1.0, 0.0, 0.0]), titled)
    found: list[float] = table[1:, len(FIRST_PASS) + LINKS.index(signal)].tolist()
    return found


@pytest.mark.parametrize(
    ("signal", "titles", "shares_a_name"),
    [
        ("pair_by_names", ("", "", ""), True),
        ("pair_by_titles", ("", "Old Mill", "New Mill"), False),
    ],
)
def test_what_the_first_passage_leads_to_counts_the_more_the_more_it_adds(
    signal: str, titles: tuple[str, ...], *, shares_a_name: bool
) -> None:
    repeats, adds = second_to_first(signal, titles=titles, shares_a_name=shares_a_name)
    assert adds == pytest.approx(2 * repeats)
    assert repeats > 0


def scores_where_one_is_called(title: str, question: str) -> dict[str, float]:
    """Return the scores of passages of which doc-000 and doc-001 are alike but for this title, which doc-001 has."""
    candidates, corpus = asked(7)
    titles = tuple(
        title if key == "doc-001" else other
        for key, other in zip(candidates.keys, candidates.titles, strict=True)
    )
    return scores(replace(candidates, titles=titles, question=question), corpus)


def test_a_passage_whose_title_the_question_gives_goes_before_its_like() -> None:
    called = scores_where_one_is_called("Old Mill", "Who owns the Old Mill?")
    plain = scores_where_one_is_called("Old Mill", "Who owns the New Mill?")
    assert called["doc-001"] > called["doc-000"]
    assert plain["doc-001"] == pytest.approx(plain["doc-000"], abs=1e-9)


def test_what_the_question_calls_by_its_designation_goes_before_its_like() -> None:
    called = scores_where_one_is_called("ENG-42: the pump", "Who owns ENG-42?")
    plain = scores_where_one_is_called("ENG-42: the pump", "Who owns ENG-43?")
    assert called["doc-001"] > called["doc-000"] + 1
    assert plain["doc-001"] == pytest.approx(plain["doc-000"], abs=1e-9)
