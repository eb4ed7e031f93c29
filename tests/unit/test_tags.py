"""What is an access tag is the same on the command line, in a file and in the library."""

from collections.abc import Callable

import pytest

from lightwell.connectors._file_settings import parse_front_matter
from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli import store


def in_front_matter(word: str) -> Tags | None:
    return parse_front_matter({"acl_tags": [word]}).acl_tags


WAYS: list[Callable[[str], Tags | None]] = [
    lambda word: parse_tags([word]),
    lambda word: store.parse_reader_tags([word]),
    lambda word: store.parse_document_tags([word]),
    in_front_matter,
]


@pytest.mark.parametrize("word", ["sales", "team:sales", "user:tg_123", "tenant:a:b"])
@pytest.mark.parametrize("way", WAYS)
def test_one_word_is_a_tag_everywhere(way: Callable[[str], Tags | None], word: str) -> None:
    assert way(word) == {word}


@pytest.mark.parametrize("word", ["our team", "team:", ":sales", "a::b", "x" * 201])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_tag_is_refused_in_the_same_words(
    way: Callable[[str], Tags | None], word: str
) -> None:
    with pytest.raises(Invalid) as refused:
        way(word)
    assert (
        str(refused.value) == f"{word!r} is not an access tag; write it like team:sales or user:ada"
    )


def test_a_person_of_the_demo_is_a_tag_like_any_other() -> None:
    assert store.parse_reader_tags(["grace"]) == store.parse_document_tags(["grace"]) == {"grace"}


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("team:s\u200bales", "an invisible character"),
        ("team:\u202eselas", "an invisible character"),
        ("team:sales\ufeff", "an invisible character"),
        ("team:s\u0430les", "mixes letters of two alphabets"),
        ("team:\u0441\u0435\u043e", "look like Latin"),
        ("team:\u03bf\u03c1", "look like Latin"),
        ("team:\uff53ales", "variant form"),
        ("te\u0430m:sales", "mixes letters"),
        ("team:v\u115f", "an invisible character"),
        ("team:v\u034f", "an invisible character"),
        ("team:v\ufe0f", "an invisible character"),
        ("team:\u0261o", "phonetic letter"),
        ("team:\u1d20", "phonetic letter"),
    ],
)
def test_a_tag_that_looks_like_another_is_refused(tag: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        parse_tags([tag])


@pytest.mark.parametrize(
    "tag",
    ["team:\u043f\u0440\u043e\u0434\u0430\u0436\u0438", "team:größe", "user:tg_123", "チーム:営業"],
)
def test_a_tag_may_be_in_any_language(tag: str) -> None:
    assert parse_tags([tag]) == {tag}


def test_a_single_word_is_no_list_of_tags() -> None:
    with pytest.raises(Invalid, match=r"Access tags must be a list, such as \['team:x'\]"):
        parse_tags("team:x")
