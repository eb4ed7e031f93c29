"""Which words of a question are misspelt, and what is meant by them."""

import pytest

from lightwell.retrieve.spelling import choose_corrections, find_misspelt
from lightwell.wiring.models import is_ordinary_word

WORDS = frozenset(
    "angles angel contact contract house laptop password passport policy reset wifi".split()
)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("pasword", {"pasword": ("password",)}),
        ("wifi pasword policy?", {"pasword": ("password",)}),
        ("who may reset my passwrod", {"passwrod": ("password",)}),
        ("is there a plicy", {"plicy": ("policy",)}),
        ("which labtop do I get", {"labtop": ("laptop",)}),
        ("what about angls", {"angls": ("angles",)}),
    ],
)
def test_one_edit_is_undone(text: str, meant: dict[str, tuple[str, ...]]) -> None:
    ordinary = WORDS | frozenset(text.split()) - meant.keys()
    assert find_misspelt(text, ordinary.__contains__) == meant


@pytest.mark.parametrize(
    "text",
    [
        "How do I contact you?",  # an ordinary word, one edit from another one
        "Who is Pasword?",  # may be a name
        "mail to pasword@acme.example",
        "open /etc/pasword or pasword.txt",
        "set --pasword or pasword_file or the pre-pasword",
        "wofi",  # too short
        "rasword",  # another first letter
        "wo finde ich die plicy zum pasword",  # another language
    ],
)
def test_what_may_be_meant_as_it_stands_stays(text: str) -> None:
    ordinary = WORDS | {"who", "how", "mail", "open", "the"}
    assert find_misspelt(text, ordinary.__contains__) == {}


def test_where_all_strange_words_are_near_to_ordinary_ones_all_are_corrected() -> None:
    meant = {"pasword": ("password",), "plicy": ("policy",), "resett": ("reset",)}
    assert find_misspelt("resett pasword plicy", WORDS.__contains__) == meant
    assert find_misspelt("resett pasword plicy kubectl", WORDS.__contains__) == {}


def test_of_a_text_with_very_many_strange_words_none_is_looked_up() -> None:
    asked: list[str] = []
    many = " ".join(f"pasword{letter * 2}" for letter in "abcdefghijklmnop")
    assert find_misspelt(f"pasword {many}", lambda word: bool(asked.append(word))) == {}
    assert len(asked) < 20


@pytest.mark.parametrize("word", ["backups", "licence", "recommended", "colour", "upload"])
def test_words_and_their_forms_are_ordinary(word: str) -> None:
    assert is_ordinary_word(word)
    assert not is_ordinary_word(f"{word}q")


def test_the_most_frequent_word_of_the_documents_is_meant() -> None:
    meant = {"angl": ("angel", "angle")}
    assert choose_corrections(meant, {"angel": 1, "angl": 0}) == {"angl": "angel"}
    assert choose_corrections({"housr": ("hours", "house")}, {"hour": 2, "hous": 5}) == {
        "housr": "house"
    }


def test_a_word_of_the_documents_stays_and_an_unknown_one_becomes_no_other_unknown_one() -> None:
    meant = {"pasword": ("password",)}
    assert choose_corrections(meant, {"password": 3, "pasword": 1}) == {}
    assert choose_corrections(meant, {}) == {}
