"""A page of what is longer than one message, with the buttons that lead to the others."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from lightwell.entrypoints.channels.actions import Action
from lightwell.entrypoints.channels.messages import Button, Limits, Message, note
from lightwell.entrypoints.channels.paging import paginate
from lightwell.text.pieces import shorten

_NOTE_CHARACTERS = 200
_MOST_NOTES = 3
_RESERVED = _MOST_NOTES * (_NOTE_CHARACTERS + 2)
"""Characters that a page leaves to notes."""
_TURNING = 2
"""Buttons that lead to other pages."""


def page_of(
    message: Message, number: int, limits: Limits, action_of: Callable[[int], Action]
) -> Message:
    """Return the page with this number of a message, the last one for a higher number: what is listed may have become shorter.

    Each page has the buttons of the message, and those that lead by `action_of` to the page before and the next one.
    """
    pages = pages_of(message, limits)
    number = min(number, len(pages) - 1)
    turning = tuple(
        Button(label=label, action=action_of(other))
        for label, other in (("‹ Back", number - 1), ("More ›", number + 1))
        if 0 <= other < len(pages)
    )
    rows = fitting(message.buttons, limits.buttons - _TURNING)
    return replace(pages[number], buttons=(*rows, turning) if turning else tuple(rows))


def pages_of(message: Message, limits: Limits) -> tuple[Message, ...]:
    """Return the pages of a message without its buttons, each with room for notes."""
    room = replace(limits, characters=limits.characters - _RESERVED)
    return paginate(replace(message, buttons=()), room)


def fitting(rows: Iterable[tuple[Button, ...]], most: int) -> Iterator[tuple[Button, ...]]:
    """Yield the rows that have no more buttons together than these."""
    for row in rows:
        most -= len(row)
        if most < 0:
            return
        yield row


def with_notes(message: Message, notes: Iterable[str]) -> Message:
    """Return a page with small print below."""
    blocks = [note(shorten(" ".join(words.split()), _NOTE_CHARACTERS)) for words in notes]
    return replace(message, blocks=(*message.blocks, *blocks[:_MOST_NOTES]))
