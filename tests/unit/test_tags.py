"""What is an access tag is the same on the command line, in a file and in the library."""

from collections.abc import Callable

import pytest

from lightwell.connectors._file_settings import of_front_matter
from lightwell.domain.access import Tags, tags_of
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli import people


def in_front_matter(word: str) -> Tags | None:
    return of_front_matter({"acl_tags": [word]}).acl_tags


WAYS: list[Callable[[str], Tags | None]] = [
    lambda word: tags_of([word]),
    lambda word: people.tags([word]),
    lambda word: people.acl([word]),
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


def test_a_person_of_the_example_world_is_nobodys_tag() -> None:
    assert "user:ada" in people.tags(["Ada"])
    with pytest.raises(Invalid, match="write user:ada"):
        people.acl(["team:x,ada"])
