"""How texts compare with a question: as wholes, and token by token."""

from dataclasses import astuple

import numpy as np
import pytest

from lightwell.domain.reranking import TextMatch
from lightwell.models.text_comparison import MAX_TEXT_TOKENS, TextComparer, weigh_matches

LEAVE = "Each employee has 25 days of annual leave."
ASKED = "How long may I stay away from work each year?"


@pytest.fixture(scope="module")
def comparer() -> TextComparer:
    return TextComparer()


async def test_other_words_for_the_same_match_better_than_other_things(
    comparer: TextComparer,
) -> None:
    same, other = await comparer.compare(ASKED, [LEAVE, "The server runs Debian."])
    assert same.similarity > other.similarity + 0.2
    assert same.token_match > other.token_match
    assert all(0 <= each <= 1 for each in (*astuple(same), *astuple(other)))


async def test_what_speaks_to_more_of_the_question_matches_better(comparer: TextComparer) -> None:
    asked = "How many days of annual leave does a contractor in Lisbon have?"
    whole, part = await comparer.compare(
        asked, ["A contractor in Lisbon has 20 days of annual leave.", LEAVE]
    )
    assert whole.token_match > part.token_match + 0.05


def test_what_says_a_little_on_everything_comes_before_what_says_much_beside_the_point() -> None:
    everything = np.array([0.7, 0.7, 0.7, 0.7], np.float32)
    beside = np.array([1.0, 1.0, 0.5, 0.5], np.float32)
    assert beside.mean() > everything.mean()
    assert weigh_matches(everything) == pytest.approx(0.7)
    assert weigh_matches(beside) == pytest.approx((1 + 1 + 3 * 0.5 + 3 * 0.5) / 8)


@pytest.mark.parametrize("only", [0.0, 0.4, 1.0])
def test_one_token_counts_as_it_is(only: float) -> None:
    assert weigh_matches(np.array([only], np.float32)) == pytest.approx(only)


async def test_a_text_matches_itself_wholly(comparer: TextComparer) -> None:
    [match] = await comparer.compare(LEAVE, [LEAVE])
    assert match.token_match == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("asked", "text"), [(ASKED, ""), ("", LEAVE), ("", "")])
async def test_nothing_matches_nothing(comparer: TextComparer, asked: str, text: str) -> None:
    [match] = await comparer.compare(asked, [text])
    assert match.token_match == 0.0
    assert 0 <= match.similarity <= 1


async def test_matches_come_in_the_order_of_the_texts_and_again_alike(
    comparer: TextComparer,
) -> None:
    texts = [LEAVE, "The server runs Debian.", LEAVE]
    first = await comparer.compare(ASKED, texts)
    assert first[0] == first[2] != first[1]
    assert await comparer.compare(ASKED, texts) == first
    assert await TextComparer().compare(ASKED, texts) == first


async def test_of_a_long_text_the_beginning_is_compared(comparer: TextComparer) -> None:
    filler = "word " * MAX_TEXT_TOKENS
    cut, bare = await comparer.compare(ASKED, [filler + LEAVE, filler])
    assert cut == bare


async def test_every_part_of_a_long_text_counts(comparer: TextComparer) -> None:
    filler = "The server runs Debian. " * 20
    bare, *found = await comparer.compare(ASKED, [filler, LEAVE + filler, filler + LEAVE])
    assert all(each.token_match > bare.token_match + 0.2 for each in found)


async def test_no_text_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightwell.models.bge._open_once", None)
    assert await TextComparer().compare(ASKED, []) == list[TextMatch]()
