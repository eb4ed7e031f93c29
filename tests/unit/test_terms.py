"""One analysis for documents and questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.text.terms import MAX_TERM_FREQUENCY, count_terms, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Nordwind's pumps", ["the", "nordwind", "pumps"]),
        ("Nordwind’s", ["nordwind"]),
        ("Müller–Böhm", ["muller", "bohm"]),
        ("ENG-42", ["eng", "42"]),
        ("LiHua wrote", ["li", "hua", "wrote"]),
        ("東京大学", ["東京", "京大", "大学"]),
        ("ﬁne ＡＢＣ", ["fine", "abc"]),
        ("a_b", ["a", "b"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_terms_leave_stop_words_out_and_stem_the_rest() -> None:
    assert terms("What are the ordered pumps?") == ["order", "pump"]


def test_frequencies_are_counted_up_to_a_bound() -> None:
    assert count_terms("pump " * 20) == {"pump": MAX_TERM_FREQUENCY}


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_ascii_and_other_text_are_read_alike(text: str) -> None:
    assert words(text + " é")[:-1] == words(text)
