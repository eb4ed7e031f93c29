"""What is no text is refused with what to do about it."""

from collections.abc import Callable

import pytest

from lightwell.domain.access import parse_tags
from lightwell.domain.chat import user_message
from lightwell.domain.errors import Invalid
from lightwell.domain.questions import Filters, Mode, Question, require_retrieval_mode
from lightwell.domain.texts import require_text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "caf\udce9",
            "The name contains the byte 0xe9, which is not UTF-8: set the terminal to UTF-8",
        ),
        ("a\ud800b", "The name contains U+D800, half a character"),
        ("a\0b", "The name contains a NUL character: remove it"),
    ],
)
def test_what_no_text_holds_is_named(text: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        require_text(text, "The name")
    assert str(caught.value).startswith(told)


def test_any_text_is_well_formed() -> None:
    assert require_text("Café 🚰 \n 漢", "The name") == "Café 🚰 \n 漢"


READS: list[tuple[Callable[[str], object], str]] = [
    (lambda text: Question(text=text), "The question"),
    (lambda text: Question(text="What?", filters=Filters(topic=text)), "The topic"),
    (lambda text: user_message(text), "The message"),
    (lambda text: parse_tags([text]), "The access tag"),
]


@pytest.mark.parametrize(("read", "what"), READS)
def test_every_word_that_comes_in_is_looked_at(read: Callable[[str], object], what: str) -> None:
    with pytest.raises(Invalid, match=f"^{what} contains"):
        read("a\ud800b")


def test_a_mode_that_looks_nowhere_finds_nothing() -> None:
    assert require_retrieval_mode(Question(text="What?")).mode is Mode.MIX
    with pytest.raises(Invalid, match="does not search"):
        require_retrieval_mode(Question(text="What?", mode=Mode.BYPASS))
