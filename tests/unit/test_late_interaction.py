"""Late interaction finds the window of a chunk that answers, and only moves candidates that it compared."""

import asyncio
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import HeadedPassage, WindowMatch
from lightwell.models.late_interaction import (
    HEAD_TOKENS,
    MAX_WINDOWS,
    WINDOW_TOKENS,
    LocalLateInteraction,
)
from lightwell.retrieve.late_interaction import token_matches

GARDEN = "The garden is open from May to September. Dogs must be kept on a lead. " * 8
LEAVE = "Each employee receives 25 days of annual leave, and five of them may be carried over."
HANDBOOK = HeadedPassage(head="Handbook › Time off", text=f"{GARDEN}\n\n{LEAVE}\n\n{GARDEN}")
QUESTION = "How many days of holiday do I get?"


@pytest.fixture(scope="module")
def model() -> LocalLateInteraction:
    return LocalLateInteraction(threads=1)


async def test_the_windows_are_the_text_and_the_one_that_answers_matches_best(
    model: LocalLateInteraction,
) -> None:
    [encoded] = await model.encode([HANDBOOK])
    assert len(encoded.starts) > 2
    assert encoded.tokens.max() <= WINDOW_TOKENS
    assert 0 < encoded.head_tokens <= HEAD_TOKENS
    windows = [
        HANDBOOK.text[start:end] for start, end in zip(encoded.starts, encoded.ends, strict=True)
    ]
    assert "".join("".join(windows).split()) == "".join(HANDBOOK.text.split())
    [matches] = await model.match(QUESTION, [encoded])
    assert [(each.start, each.end) for each in matches] == [
        *zip(encoded.starts.tolist(), encoded.ends.tolist(), strict=True)
    ]
    for measure in ("token_match", "similarity"):
        best = max(matches, key=lambda each: getattr(each, measure))
        assert LEAVE in HANDBOOK.text[best.start : best.end], measure


async def test_the_head_counts_for_each_window(model: LocalLateInteraction) -> None:
    text = "Ask your manager two weeks before."
    bare, headed = await model.encode(
        [HeadedPassage(head="", text=text), HeadedPassage(head="Parental leave", text=text)]
    )
    [[without], [with_head]] = await model.match("parental leave", [bare, headed])
    assert with_head.token_match > without.token_match + 0.05
    opposite = headed.signs.copy()
    opposite[: headed.head_tokens] ^= 0xFF
    [[by_text]] = await model.match("parental leave", [replace(headed, signs=opposite)])
    assert by_text.token_match < with_head.token_match - 0.05


async def test_a_text_is_encoded_alike_in_whatever_company(model: LocalLateInteraction) -> None:
    other = HeadedPassage(head="Garden", text=GARDEN)
    [alone], [_, beside] = await asyncio.gather(
        model.encode([HANDBOOK]), model.encode([other, HANDBOOK])
    )
    assert np.array_equal(alone.signs, beside.signs)
    assert np.array_equal(alone.wholes, beside.wholes)


async def test_what_has_no_words_has_no_windows_or_is_matched_by_its_signs(
    model: LocalLateInteraction,
) -> None:
    passages = [HeadedPassage(head="", text=text) for text in (" ", "***", "…", "— ! —")]
    encoded = await model.encode([*passages, HANDBOOK])
    matches = await model.match(QUESTION, encoded)
    assert [len(each) for each in matches[:2]] == [0, 0]
    assert all(0 <= each.token_match < 0.3 for some in matches[:4] for each in some)
    assert await model.match("", encoded[:1]) == [()]
    assert await model.match(QUESTION, []) == []


async def test_a_long_unbroken_text_is_cut(model: LocalLateInteraction) -> None:
    [encoded] = await model.encode([HeadedPassage(head="x " * 200, text="pump " * 1_000)])
    assert encoded.tokens.max() <= WINDOW_TOKENS
    assert encoded.head_tokens <= HEAD_TOKENS
    assert len(encoded.signs) == encoded.head_tokens + 1_000


async def test_of_a_text_with_a_token_for_each_sign_only_the_beginning_is_encoded(
    model: LocalLateInteraction,
) -> None:
    [encoded] = await model.encode([HeadedPassage(head="", text="1 " * 8_000)])
    assert len(encoded.starts) == MAX_WINDOWS
    assert len(encoded.signs) <= MAX_WINDOWS * WINDOW_TOKENS + HEAD_TOKENS


async def test_markup_is_not_compared(model: LocalLateInteraction) -> None:
    marked, plain = await model.compare(
        "Why?", [f"**[Leave](https://example.org)** {LEAVE}", f"Leave {LEAVE}"]
    )
    assert marked == plain


def matched(token_match: float) -> tuple[WindowMatch, ...]:
    low = WindowMatch(start=0, end=1, similarity=0.0, token_match=token_match / 2)
    return low, WindowMatch(start=1, end=2, similarity=0.0, token_match=token_match)


@given(
    st.lists(st.none() | st.integers(0, 10**6).map(lambda n: n / 10**6), min_size=1, max_size=12),
    st.permutations(range(12)),
    st.integers(1, 12),
)
def test_only_what_was_compared_matches_the_best_of_it_fully(
    drawn: list[float | None], order: list[int], compared: int
) -> None:
    chunks = [ChunkId(UUID(int=place)) for place in range(len(drawn))]
    places = [at for at in order if at < len(drawn)][:compared]
    best = np.array(places, np.intp)
    matches = {chunks[at]: matched(match) for at in places if (match := drawn[at]) is not None}
    signal = token_matches(best, chunks, matches)
    assert not signal[np.setdiff1d(np.arange(len(drawn)), best)].any()
    known = sorted((drawn[at] or 0.0, at) for at in places if chunks[at] in matches)
    if known and known[-1][0] > known[0][0]:
        by_match = signal[[at for _, at in known]]
        assert (by_match[0], by_match[-1]) == pytest.approx((0.0, 1.0))
        assert (np.diff(by_match) >= -1e-9).all()
        unknown = [at for at in places if chunks[at] not in matches]
        assert signal[unknown] == pytest.approx(np.full(len(unknown), by_match.mean()))
    else:
        assert not signal.any()


def test_a_multi_vector_knows_its_head() -> None:
    made = MultiVector(
        starts=np.array([0], np.int32),
        ends=np.array([4], np.int32),
        tokens=np.array([3], np.int32),
        wholes=np.zeros((1, 8), np.int8),
        signs=np.zeros((5, 1), np.uint8),
    )
    assert made.head_tokens == 2
