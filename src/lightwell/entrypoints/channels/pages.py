"""A page of what is longer than one message, with the buttons that lead to the others."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lightwell.entrypoints.channels.actions import Action
from lightwell.entrypoints.channels.messages import (
    Block,
    Button,
    Kind,
    Limits,
    Message,
    Span,
    Style,
)
from lightwell.entrypoints.channels.paging import paginate


def page_of(
    messages: Sequence[Message],
    number: int,
    limits: Limits,
    action_of: Callable[[int], Action | None],
) -> Message:
    """Return the page with this number of these messages, the last one for a higher number: what is listed may have become shorter.

    `action_of` leads to another page, None nowhere.
    """
    pages = [page for message in messages for page in paginate(message, limits)]
    number = min(number, len(pages) - 1)
    row = [
        Button(label=label, action=action)
        for label, other in (
            ("‹ Back", number - 1),
            (f"{number + 1}/{len(pages)} More ›", number + 1),
        )
        if 0 <= other < len(pages) and (action := action_of(other)) is not None
    ]
    page = pages[number]
    return replace(page, buttons=(*page.buttons, tuple(row))) if row else page


def with_notes(message: Message, notes: Sequence[str]) -> Message:
    """Return the message with small print below."""
    blocks = (Block((Span(words, Style.ITALIC),), Kind.NOTE) for words in notes)
    return replace(message, blocks=(*message.blocks, *blocks))
