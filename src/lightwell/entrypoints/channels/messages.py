"""What is said in a chat, in a form of our own that each adapter writes with its platform's formats."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lightwell.entrypoints.channels.actions import Action


class Style(StrEnum):
    """How a span is written; a link has the span's `url`."""

    PLAIN = "plain"
    BOLD = "bold"
    ITALIC = "italic"
    CODE = "code"


class Kind(StrEnum):
    """What a block is: a paragraph, an item of a list, a source below an answer, a quotation that opens on demand where the platform can, preformatted lines, small print."""

    TEXT = "text"
    ITEM = "item"
    SOURCE = "source"
    QUOTE = "quote"
    CODE = "code"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Span:
    """Words of one style. `url` makes a link of them: https or http alone, of this server or checked."""

    text: str
    style: Style = Style.PLAIN
    url: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, an item, a quotation."""

    spans: tuple[Span, ...]
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """What one can press: it does `action`, or opens `url`."""

    label: str
    action: Action | None = None
    url: str = ""


Rows = tuple[tuple[Button, ...], ...]
"""Buttons, row by row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message: its blocks, rows of buttons below them, and a picture (PNG) above."""

    blocks: tuple[Block, ...]
    buttons: Rows = ()
    picture: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a platform takes in one message: `characters` as `measure` counts them, `caption` below a picture, `blocks`, and `buttons` in all."""

    characters: int
    counts_utf16: bool
    buttons: int
    label: int
    caption: int = 1024
    blocks: int = 40


def in_rows(buttons: Sequence[Button], most: int = 5) -> Rows:
    """Return small buttons in rows of so many."""
    return tuple(tuple(buttons[n : n + most]) for n in range(0, len(buttons), most))


def text(words: str) -> Block:
    """Return a paragraph."""
    return Block((Span(words),))


def heading(words: str) -> Block:
    """Return the title of what follows."""
    return Block((Span(words, Style.BOLD),))


def note(words: str) -> Block:
    """Return small print."""
    return Block((Span(words, Style.ITALIC),), Kind.NOTE)


def plain(words: str) -> Message:
    """Return a message of one paragraph."""
    return Message(blocks=(text(words),))
