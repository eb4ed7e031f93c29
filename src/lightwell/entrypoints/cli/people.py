"""Who asks: access tags, or a person of the example world."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from lightwell.domain.access import Reader, Tags, tags_of
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.show import clean
from lightwell.world import PEOPLE

if TYPE_CHECKING:
    from lightwell.knowledge_base import KnowledgeBase

_HOW = "--as team:sales (an access tag) or --as ada (a person of the example world: {})"


def tags(words: Sequence[str]) -> Tags:
    """Return the tags that these words of `--as` stand for; raise `Invalid` when there are none or one is no tag."""
    found: set[str] = set()
    for word in _split(words):
        person = PEOPLE.get(word.lower())
        found |= person.tags if person else {word}
    if not found:
        raise Invalid(f"Say who asks: {_how()}; several by commas or by repeating it")
    return tags_of(found)


async def reader(kb: "KnowledgeBase", who: Tags) -> Reader:
    """Return who asks, and tell the person at the terminal when nothing carries any of these tags: one may be misspelt."""
    found = await kb.reader(who)
    if not found.classes:
        told = ", ".join(sorted(who))
        typer.echo(clean(f"Note: nothing that was read carries the access tag {told}"), err=True)
    return found


def acl(words: Sequence[str]) -> Tags:
    """Return the tags that these words of `--acl` name, none for none; raise `Invalid` for what is no tag."""
    for word in _split(words):
        if word.lower() in PEOPLE:
            raise Invalid(
                f"{word!r} is a person of the example world, not an access tag; write user:{word}"
            )
    return tags_of(_split(words))


def _split(words: Sequence[str]) -> list[str]:
    return [part.strip() for word in words for part in word.split(",") if part.strip()]


def _how() -> str:
    return _HOW.format(", ".join(PEOPLE))
