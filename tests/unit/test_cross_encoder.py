"""The local cross-encoder: which windows it reads, and that it reads them with the file that is shipped."""

from pathlib import Path

import pytest

from lightwell.domain.errors import ModelFailed
from lightwell.domain.reranking import ReadablePassage
from lightwell.models.cross_encoder import (
    HEAD_TOKENS,
    QUESTION_TOKENS,
    SPARE_WINDOWS,
    TEXT_TOKENS,
    WEIGHTS,
    LocalCrossEncoder,
    WindowCutter,
    load_window_cutter,
    select_windows,
)

LEAVE = "Everybody has 25 days of annual leave. "
LONG = f"# Time off\n\n{LEAVE * 40}\n\n## Pets\n\nYou may bring:\n\n- dogs\n- cats\n"
MARKS = 3


@pytest.fixture(scope="module")
def cutter() -> WindowCutter:
    return load_window_cutter()


def passage(text: str, head: str = "Handbook") -> ReadablePassage:
    return ReadablePassage(head=head, text=text)


def parts(cutter: WindowCutter, text: str) -> list[str]:
    return [text[each.start : each.end] for each in cutter.windows([2000], passage(text))]


def test_windows_are_the_whole_text_in_order(cutter: WindowCutter) -> None:
    ids = [
        id_
        for window in cutter.windows([], passage(LONG, head=""))
        for id_ in window.ids[MARKS - 1 : -1]
    ]
    held = " ".join(parts(cutter, LONG))
    assert held.split() == LONG.split()[1:]
    assert len(ids) >= len(cutter.text(LONG)[0])
    longest = MARKS + 1 + HEAD_TOKENS + TEXT_TOKENS
    assert all(len(each.ids) <= longest for each in cutter.windows([2000], passage(LONG)))


def test_a_window_ends_where_a_sentence_or_an_item_ends(cutter: WindowCutter) -> None:
    shown = parts(cutter, LONG)
    assert len(shown) > 2
    assert all(text.endswith(("leave.", "cats")) for text in shown)


def test_one_endless_unit_is_cut_where_it_must_be(cutter: WindowCutter) -> None:
    assert len(parts(cutter, "word " * 4 * TEXT_TOKENS)) == 4


def test_a_text_without_words_has_no_windows(cutter: WindowCutter) -> None:
    assert parts(cutter, "") == parts(cutter, "***\n") == []


def test_a_later_window_stands_under_its_heading(cutter: WindowCutter) -> None:
    text = f"# One\n\n{LEAVE * 20}\n\n# Two\n\n{LEAVE * 40}"
    last = cutter.windows([], passage(text))[-1]
    head = cutter.head("Handbook › Two")
    assert last.ids[2 : 2 + len(head)] == tuple(head)


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


def test_the_window_shows_question_then_head_then_text(cutter: WindowCutter) -> None:
    question, head = cutter.question("May I?"), cutter.head("Pets")
    [window] = cutter.windows(question, passage("Yes, dogs.", head="Pets"))
    ids = cutter.text("Yes, dogs.")[0]
    assert window.ids == (101, *question, 102, *head, 102, *ids, 102)
    assert window.types == (*[0] * (len(question) + 2), *[1] * (len(head) + len(ids) + 2))


def test_the_windows_with_the_questions_terms_are_read(cutter: WindowCutter) -> None:
    passages = [passage(LEAVE * 300), passage("Dogs are welcome.")]
    windows = [cutter.windows([], each) for each in passages]
    assert sum(map(len, windows)) > len(passages) + SPARE_WINDOWS
    chosen = select_windows(windows, passages, {"dog": 3.0, "leav": 0.1})
    assert len(chosen) == len(passages) + SPARE_WINDOWS
    assert [place for place, _ in chosen] == [*[0] * (SPARE_WINDOWS + 1), 1]


def test_no_passage_is_no_window(cutter: WindowCutter) -> None:
    assert select_windows([], [], {"dog": 1.0}) == []
    assert select_windows([cutter.windows([], passage(""))], [passage("")], {"dog": 1.0}) == []


async def test_what_answers_is_told_from_what_does_not() -> None:
    asked = "How many days of annual leave do we have?"
    passages = [
        passage("You may bring your dog to the office on Fridays."),
        passage(LEAVE),
        passage(""),
    ]
    dogs, leave, empty = await LocalCrossEncoder().read(asked, passages, {"leav": 2.0, "day": 1.0})
    assert leave[0].logit > dogs[0].logit + 1
    assert (leave[0].start, leave[0].end) == (0, len(LEAVE.rstrip()))
    assert empty == ()


async def test_markup_is_not_compared() -> None:
    marked, plain = await LocalCrossEncoder().compare(
        "Why?", [f"**[Leave](https://example.org)** {LEAVE}", f"Leave {LEAVE}"]
    )
    assert marked == plain


async def test_nothing_to_read_loads_nothing() -> None:
    absent = LocalCrossEncoder(weights=Path("absent.onnx"))
    assert await absent.read("Why?", [], {}) == []
    assert await absent.compare("Why?", []) == []
    with pytest.raises(ModelFailed, match=r"absent\.onnx"):
        await absent.read("Why?", [passage(LEAVE)], {})


async def test_another_file_is_refused(tmp_path: Path) -> None:
    changed = tmp_path / WEIGHTS.name
    changed.write_bytes(WEIGHTS.read_bytes()[:-1] + b"?")
    with pytest.raises(ModelFailed, match="not the file"):
        await LocalCrossEncoder(weights=changed).read("Why?", [passage(LEAVE)], {})
