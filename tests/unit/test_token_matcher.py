"""The local token matcher: which windows it compares, and that it does so with the file that is shipped."""

from pathlib import Path

import pytest

from lightwell.domain.errors import ModelFailed
from lightwell.domain.reranking import MatchablePassage, mean_match, weakest_match
from lightwell.models.bge import WEIGHTS
from lightwell.models.token_matcher import (
    HEAD_TOKENS,
    QUESTION_TOKENS,
    SPARE_WINDOWS,
    TEXT_TOKENS,
    BgeTokenMatcher,
    WindowCutter,
    load_window_cutter,
    select_windows,
)

LEAVE = "Everybody has 25 days of annual leave. "
LONG = f"# Time off\n\n{LEAVE * 40}\n\n## Pets\n\nYou may bring:\n\n- dogs\n- cats\n"


@pytest.fixture(scope="module")
def cutter() -> WindowCutter:
    return load_window_cutter()


def passage(text: str, head: str = "Handbook") -> MatchablePassage:
    return MatchablePassage(head=head, text=text)


def parts(cutter: WindowCutter, text: str) -> list[str]:
    return [text[each.start : each.end] for each in cutter.windows(passage(text))]


def test_windows_are_the_whole_text_in_order(cutter: WindowCutter) -> None:
    windows = cutter.windows(passage(LONG, head=""))
    held = " ".join(parts(cutter, LONG))
    assert held.split() == LONG.split()[1:]
    assert [id_ for each in windows for id_ in each.text] == cutter.text(LONG)[0]
    assert all(len(each.head) <= HEAD_TOKENS for each in windows)
    assert all(len(each.text) == len(each.starts) <= TEXT_TOKENS for each in windows)


def test_a_window_ends_where_a_sentence_or_an_item_ends(cutter: WindowCutter) -> None:
    shown = parts(cutter, LONG)
    assert len(shown) > 2
    assert all(text.endswith(("leave.", "cats")) for text in shown)


def test_one_endless_unit_is_cut_where_it_must_be(cutter: WindowCutter) -> None:
    assert len(parts(cutter, "word " * 400)) == 3


def test_a_text_without_words_has_no_windows(cutter: WindowCutter) -> None:
    assert parts(cutter, "") == parts(cutter, "***\n") == []


def test_a_later_window_stands_under_its_heading(cutter: WindowCutter) -> None:
    text = f"# One\n\n{LEAVE * 20}\n\n# Two\n\n{LEAVE * 40}"
    last = cutter.windows(passage(text))[-1]
    assert last.head == tuple(cutter.head("Handbook › Two"))


def test_link_targets_and_markup_are_not_read_and_places_stay(cutter: WindowCutter) -> None:
    text = (
        "See [the **policy**](https://example.org/a/b?c=d) and `pip`.\n\n[1]: https://example.org"
    )
    ids, spans = cutter.text(text)
    assert ids == cutter.text("See the policy and pip.")[0]
    assert [text[start:end] for start, end in spans] == ["See", "the", "policy", "and", "pip", "."]


def test_long_questions_and_heads_keep_their_ends(cutter: WindowCutter) -> None:
    question = cutter.question("alpha " + "word " * 100 + "omega")
    assert len(question) == QUESTION_TOKENS
    assert question[0] == cutter.question("alpha")[0]
    assert question[-1] == cutter.question("omega")[-1]
    assert len(cutter.head("a › " * 40)) == HEAD_TOKENS


def test_a_window_knows_where_its_tokens_begin(cutter: WindowCutter) -> None:
    text = "Yes, **dogs**."
    [window] = cutter.windows(passage(text, head="Pets"))
    assert window.head == tuple(cutter.head("Pets"))
    assert [text[start] for start in window.starts] == ["Y", ",", "d", "."]


def test_the_windows_with_the_questions_terms_are_read(cutter: WindowCutter) -> None:
    passages = [passage(LEAVE * 300), passage("Dogs are welcome.")]
    windows = [cutter.windows(each) for each in passages]
    assert sum(map(len, windows)) > len(passages) + SPARE_WINDOWS
    chosen = select_windows(windows, passages, {"dog": 3.0, "leav": 0.1})
    assert len(chosen) == len(passages) + SPARE_WINDOWS
    assert [place for place, _ in chosen] == [0, 0, 1]


def test_no_passage_is_no_window(cutter: WindowCutter) -> None:
    assert select_windows([], [], {"dog": 1.0}) == []
    assert select_windows([cutter.windows(passage(""))], [passage("")], {"dog": 1.0}) == []


async def test_what_answers_is_told_from_what_does_not() -> None:
    asked = "How many days of annual leave do we have?"
    passages = [
        passage("You may bring your dog to the office on Fridays."),
        passage(LEAVE),
        passage(""),
    ]
    dogs, leave, empty = await BgeTokenMatcher().match(asked, passages, {"leav": 2.0, "day": 1.0})
    assert mean_match(leave[0].best) > mean_match(dogs[0].best) + 0.1
    assert weakest_match(leave[0].best) > weakest_match(dogs[0].best)
    assert leave[0].similarity > dogs[0].similarity + 0.1
    assert (leave[0].start, leave[0].end) == (0, len(LEAVE.rstrip()))
    assert empty == ()


async def test_each_unit_matches_the_words_that_it_speaks_to() -> None:
    text = "Leave is granted by Priya. Soup is served at noon."
    [[window]] = await BgeTokenMatcher().match("who grants leave", [passage(text)], {"leav": 1.0})
    grants, soup = window.units
    assert text[grants.start : grants.end] == "Leave is granted by Priya."
    assert mean_match(grants.best) > mean_match(soup.best) + 0.05
    assert len(grants.best) == len(window.head) == 3
    for whole, *its_parts in zip(window.best, window.head, grants.best, soup.best, strict=True):
        assert whole == max(its_parts)


async def test_other_words_for_the_same_match_better_than_other_things() -> None:
    asked = "How long may I stay away from work each year?"
    passages = [passage(LEAVE, head=""), passage("The server runs Debian.", head="")]
    [[same], [other]] = await BgeTokenMatcher().match(asked, passages, {})
    assert 1 >= same.similarity > other.similarity + 0.2
    assert mean_match(same.best) > mean_match(other.best)


async def test_what_was_matched_once_is_matched_alike_again() -> None:
    matcher = BgeTokenMatcher()
    first, again = [await matcher.match("Why?", [passage(LEAVE)], {}) for _ in range(2)]
    assert first == again


async def test_nothing_to_match_loads_nothing() -> None:
    absent = BgeTokenMatcher(weights=Path("absent.onnx"))
    assert await absent.match("Why?", [], {}) == []
    with pytest.raises(ModelFailed, match=r"absent\.onnx"):
        await absent.match("Why?", [passage(LEAVE)], {})


async def test_another_file_is_refused(tmp_path: Path) -> None:
    changed = tmp_path / WEIGHTS.name
    changed.write_bytes(WEIGHTS.read_bytes()[:-1] + b"?")
    with pytest.raises(ModelFailed, match="not the file"):
        await BgeTokenMatcher(weights=changed).match("Why?", [passage(LEAVE)], {})


def test_what_matches_least_is_the_lowest_third() -> None:
    assert weakest_match((0.9, 0.3, 0.8, 0.5, 0.7, 0.6)) == pytest.approx(0.4)
    assert weakest_match((0.5,)) == mean_match((0.4, 0.6)) == 0.5
    assert weakest_match(()) == mean_match(()) == 0
