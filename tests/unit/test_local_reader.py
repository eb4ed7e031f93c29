import numpy as np
import pytest

from training.local_reader import (
    HEAD_TOKENS,
    MAX_WINDOWS,
    QUESTION_TOKENS,
    TEXT_TOKENS,
    Encoder,
    Passage,
    Read,
    chosen,
    load_encoder,
)

LEAVE = "Everybody has 25 days of annual leave. "
LONG = f"# Time off\n\n{LEAVE * 40}\n\n## Pets\n\nYou may bring:\n\n- dogs\n- cats\n"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder()


def windows_of(encoder: Encoder, text: str, question: str = "May I bring my dog?") -> list[str]:
    cut = encoder.windows(encoder.question(question), Passage(head="Handbook", text=text))
    return [text[window.spans[0, 0] : window.spans[-1, 1]] for window in cut]


def test_windows_hold_every_token_once_and_in_order(encoder: Encoder) -> None:
    cut = encoder.windows([2000], Passage(head="Handbook", text=LONG))
    spans = np.concatenate([window.spans for window in cut])
    assert np.array_equal(spans, encoder.text(LONG)[1])
    assert all(len(window.spans) <= TEXT_TOKENS for window in cut)


def test_a_window_ends_where_a_sentence_or_an_item_ends(encoder: Encoder) -> None:
    shown = windows_of(encoder, LONG)
    assert len(shown) > 2
    assert all(text.rstrip().endswith(("leave.", "cats")) for text in shown)


def test_one_endless_unit_is_cut_where_it_must_be(encoder: Encoder) -> None:
    shown = windows_of(encoder, "word " * 400)
    assert len(shown) == 3


def test_an_empty_passage_has_no_windows(encoder: Encoder) -> None:
    assert windows_of(encoder, "") == []
    assert windows_of(encoder, "***\n") == []


def test_a_later_window_stands_under_its_heading(encoder: Encoder) -> None:
    text = f"# One\n\n{LEAVE * 20}\n\n# Two\n\n{LEAVE * 40}"
    last = encoder.windows([], Passage(head="Handbook", text=text))[-1]
    assert tuple(encoder.head("Handbook › Two")) == last.ids[2 : 2 + 3]


def test_link_targets_and_markup_are_not_read_and_places_stay(encoder: Encoder) -> None:
    text = (
        "See [the **policy**](https://example.org/a/b?c=d) and `pip`.\n\n[1]: https://example.org"
    )
    ids, spans = encoder.text(text)
    assert ids == encoder.text("See the policy and pip.")[0]
    assert [text[start:end] for start, end in spans] == ["See", "the", "policy", "and", "pip", "."]


def test_long_questions_and_heads_keep_their_ends(encoder: Encoder) -> None:
    question = encoder.question("alpha " + "word " * 100 + "omega")
    assert len(question) == QUESTION_TOKENS
    assert question[0] == encoder.question("alpha")[0]
    assert question[-1] == encoder.question("omega")[-1]
    assert len(encoder.head("a › " * 40)) == HEAD_TOKENS


def test_the_window_shows_question_then_head_then_text(encoder: Encoder) -> None:
    question, head = encoder.question("May I?"), encoder.head("Pets")
    ids, spans = encoder.text("Yes, dogs.")
    window = encoder.window(question, head, ids, spans)
    assert window.ids == (101, *question, 102, *head, 102, *ids, 102)
    assert window.types == (*[0] * (len(question) + 2), *[1] * (len(head) + len(ids) + 2))


def test_the_windows_with_the_questions_words_are_read(encoder: Encoder) -> None:
    question = encoder.question("which dogs may I bring")
    passages = [Passage(head="", text=LEAVE * 300), Passage(head="", text="Dogs are welcome.")]
    windows = [encoder.windows(question, passage) for passage in passages]
    assert sum(map(len, windows)) > MAX_WINDOWS
    kept = chosen(question, windows)
    assert sum(map(len, kept)) == MAX_WINDOWS
    assert kept[1] == windows[1]


def test_all_windows_are_read_where_they_are_few(encoder: Encoder) -> None:
    windows = [encoder.windows([], Passage(head="", text=text)) for text in ("One.", "", "Two.")]
    assert chosen([], windows) == windows


def test_a_part_scores_by_where_the_answer_opens_and_what_lies_inside() -> None:
    read = Read(
        answerable=0.9,
        spans=np.array([[0, 4], [5, 9], [10, 14]]),
        inside=np.array([0.1, 0.8, 0.6], np.float32),
        start=np.array([0.0, 0.7, 0.1], np.float32),
        end=np.array([0.0, 0.1, 0.7], np.float32),
    )
    assert read.score(5, 14) == pytest.approx(0.8 + 0.7)
    assert read.score(0, 4) == pytest.approx(0.1)
    assert read.score(15, 20) == 0.0
