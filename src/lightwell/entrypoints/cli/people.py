"""Who asks and who may see: access tags, as they are typed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from lightwell.domain.access import Reader, Tags, tags_of
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.show import clean

if TYPE_CHECKING:
    from lightwell.knowledge_base import KnowledgeBase


def tags(words: Sequence[str]) -> Tags:
    """Return the tags that these words of `--as` name; raise `Invalid` when there are none or one is no tag."""
    found = _split(words)
    if not found:
        raise Invalid(
            "Say who asks: --as team:sales (an access tag); several by commas or by repeating it"
        )
    return tags_of(found)


async def reader(kb: "KnowledgeBase", who: Tags) -> Reader:
    """Return who asks, and tell the person at the terminal when no document has any of these tags: one may be misspelt."""
    found = await kb.reader(who)
    if not found.classes:
        told = ", ".join(sorted(who))
        typer.echo(clean(f"Note: no document has the access tag {told}"), err=True)
    return found


def acl(words: Sequence[str]) -> Tags:
    """Return the tags that these words of `--acl` name, none for none; raise `Invalid` for what is no tag."""
    return tags_of(_split(words))


def _split(words: Sequence[str]) -> list[str]:
    return [part.strip() for word in words for part in word.split(",") if part.strip()]
