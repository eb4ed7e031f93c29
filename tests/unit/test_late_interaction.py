"""Late interaction finds the window of a chunk that answers, and only moves candidates that it compared."""

import asyncio
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.ids import ChunkId
from lightwell.domain.multi_vectors import MultiVector, pack_places, unpack_places
from lightwell.domain.reranking import EncodedSpan, HeadedPassage, TextMatch, WindowMatch
from lightwell.models.late_interaction import (
    HEAD_TOKENS,
    MAX_WINDOWS,
    WINDOW_TOKENS,
    LocalLateInteraction,
    weigh_matches,
)
from lightwell.retrieve.late_interaction import ChunkMatch, token_matches
from tests.scripted_late_interaction import in_one_window

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
    assert 0 < len(encoded.head) <= HEAD_TOKENS
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
    [[by_text]] = await model.match("parental leave", [replace(headed, head=bare.codes[:1])])
    assert by_text.token_match < with_head.token_match - 0.05


async def test_a_text_is_encoded_alike_in_whatever_company(model: LocalLateInteraction) -> None:
    other = HeadedPassage(head="Garden", text=GARDEN)
    [alone], [_, beside] = await asyncio.gather(
        model.encode([HANDBOOK]), model.encode([other, HANDBOOK])
    )
    assert np.array_equal(alone.codes, beside.codes)
    assert np.array_equal(alone.head, beside.head)
    assert np.array_equal(alone.wholes, beside.wholes)


async def test_what_has_no_words_has_no_windows_or_matches_less_than_what_answers(
    model: LocalLateInteraction,
) -> None:
    passages = [HeadedPassage(head="", text=text) for text in (" ", "***", "…", "— ! —")]
    encoded = await model.encode([*passages, HANDBOOK])
    matches = await model.match(QUESTION, encoded)
    assert [len(each) for each in matches[:2]] == [0, 0]
    answer = max(each.token_match for each in matches[4])
    assert all(0 <= each.token_match < answer - 0.1 for some in matches[:4] for each in some)
    assert await model.match("", encoded[:1]) == [()]
    assert await model.match(QUESTION, []) == []


async def test_a_long_unbroken_text_is_cut(model: LocalLateInteraction) -> None:
    [encoded] = await model.encode([HeadedPassage(head="x " * 200, text="pump " * 1_000)])
    assert encoded.tokens.max() <= WINDOW_TOKENS
    assert len(encoded.head) <= HEAD_TOKENS
    assert len(encoded.codes) == 1_000


async def test_of_a_text_with_a_token_for_each_sign_only_the_beginning_is_encoded(
    model: LocalLateInteraction,
) -> None:
    [encoded] = await model.encode([HeadedPassage(head="", text="1 " * 8_000)])
    assert len(encoded.starts) == MAX_WINDOWS
    assert len(encoded.codes) <= MAX_WINDOWS * WINDOW_TOKENS


async def encoded_text(model: LocalLateInteraction, text: str, head: str = "") -> MultiVector:
    [vectors] = await model.encode([HeadedPassage(head=head, text=text)])
    return vectors


async def compared(model: LocalLateInteraction, question: str, *texts: str) -> list[TextMatch]:
    """Return how these texts match where they stand one after another in one chunk."""
    whole = "\n\n".join(texts)
    vectors = await encoded_text(model, whole)
    spans = [
        [EncodedSpan(vectors=vectors, start=whole.index(text), end=whole.index(text) + len(text))]
        for text in texts
    ]
    return await model.compare(question, spans)


async def test_other_words_for_the_same_match_better_than_other_things(
    model: LocalLateInteraction,
) -> None:
    asked = "How long may I stay away from work each year?"
    same, other = await compared(model, asked, LEAVE, "The server runs Debian.")
    assert same.similarity > other.similarity + 0.1
    assert same.token_match > other.token_match
    measures = [(each.similarity, each.token_match, *each.words.values()) for each in (same, other)]
    assert all(0 <= measure <= 1 for some in measures for measure in some)


async def test_each_word_of_a_question_is_matched_whatever_word_it_is_and_however_it_is_written(
    model: LocalLateInteraction,
) -> None:
    asked = "When's payday in the Programme?"
    [pay] = await compared(model, asked, "Pay day of the program is the last Friday of a month.")
    assert list(pay.words) == ["When", "'", "s", "payday", "in", "the", "Programme", "?"]
    [other] = await compared(model, asked, "The server runs Debian.")
    assert pay.words["payday"] > 0.6 > other.words["payday"]
    assert pay.words["Programme"] > 0.6 > other.words["Programme"]


async def test_what_speaks_to_more_of_the_question_matches_better(
    model: LocalLateInteraction,
) -> None:
    asked = "How many days of annual leave does a contractor in Lisbon have?"
    whole, part = await compared(
        model, asked, "A contractor in Lisbon has 20 days of annual leave.", LEAVE
    )
    assert whole.token_match > part.token_match + 0.03


async def test_a_window_that_is_compared_as_a_text_matches_as_it_does_as_a_window(
    model: LocalLateInteraction,
) -> None:
    [encoded] = await model.encode([HANDBOOK])
    [windows] = await model.match(QUESTION, [encoded])
    spans = [[EncodedSpan(vectors=encoded, start=each.start, end=each.end)] for each in windows]
    texts = await model.compare(QUESTION, spans)
    assert [each.token_match for each in texts] == pytest.approx(
        [each.token_match for each in windows], abs=1e-5
    )


async def test_parts_of_two_chunks_are_one_text(model: LocalLateInteraction) -> None:
    first, second = await model.encode(
        [HeadedPassage(head="", text=text) for text in (GARDEN, LEAVE)]
    )
    parts = [EncodedSpan(vectors=each, start=0, end=1_000) for each in (first, second)]
    beyond = EncodedSpan(vectors=second, start=-900, end=-10)
    garden, leave, both, again = await model.compare(
        QUESTION, [parts[:1], parts[1:], parts, [*parts, beyond]]
    )
    assert both.token_match >= max(garden.token_match, leave.token_match)
    assert again == both


async def test_nothing_matches_nothing(model: LocalLateInteraction) -> None:
    vectors = await encoded_text(model, LEAVE)
    whole = EncodedSpan(vectors=vectors, start=0, end=len(LEAVE))
    nothing = TextMatch(similarity=0.0, token_match=0.0)
    assert await model.compare(QUESTION, [[], [replace(whole, end=0)]]) == [nothing, nothing]
    assert await model.compare("", [[whole]]) == [nothing]


async def test_markup_is_not_compared(model: LocalLateInteraction) -> None:
    marked = f"**[Leave](https://example.org)** {LEAVE}"
    plain = f"Leave {LEAVE}"
    matches = [
        await model.compare(
            "Why?", [[EncodedSpan(vectors=await encoded_text(model, text), start=0, end=len(text))]]
        )
        for text in (marked, plain)
    ]
    assert matches[0] == matches[1]


async def test_no_text_loads_nothing(
    model: LocalLateInteraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightwell.models.late_interaction.encode_question", None)
    assert await model.compare(QUESTION, []) == list[TextMatch]()


def test_what_says_a_little_on_everything_comes_before_what_says_much_beside_the_point() -> None:
    everything = [0.7, 0.7, 0.7, 0.7]
    beside = [1.0, 1.0, 0.5, 0.5]
    first, second = weigh_matches(np.array([everything, beside], np.float32)).tolist()
    assert first == pytest.approx(0.7)
    assert second == pytest.approx((1 + 1 + 3 * 0.5 + 3 * 0.5) / 8)


@pytest.mark.parametrize("only", [0.0, 0.4, 1.0])
def test_one_token_counts_as_it_is(only: float) -> None:
    assert weigh_matches(np.array([[only]], np.float32))[0] == pytest.approx(only)


def matched(token_match: float) -> ChunkMatch:
    low = WindowMatch(start=0, end=1, similarity=0.0, token_match=token_match / 2)
    high = WindowMatch(start=1, end=2, similarity=0.0, token_match=token_match)
    return ChunkMatch(windows=(low, high), vectors=in_one_window("x"))


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


@given(st.lists(st.integers(0, 1_000), max_size=30))
def test_places_are_packed_in_a_byte_for_each_short_step(steps: list[int]) -> None:
    places = np.cumsum(steps).astype(np.int32)
    packed = pack_places(places)
    assert unpack_places(packed).tolist() == places.tolist()
    assert len(packed) == len(steps) + sum(step // 255 for step in steps)
