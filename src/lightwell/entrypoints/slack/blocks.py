"""A message as Slack takes it: blocks of rich text and plain text, in which nothing is parsed as markup, a mention or an emoji."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from slack_sdk.models.blocks import (
    ActionsBlock,
    ButtonElement,
    ContextBlock,
    PlainTextObject,
    RichTextBlock,
    RichTextElement,
    RichTextElementParts,
    RichTextPreformattedElement,
    RichTextSectionElement,
)
from slack_sdk.models.blocks import (
    Block as SlackBlock,
)

from lightwell.entrypoints.channels.messages import Block, Button, Kind, Span, Style
from lightwell.entrypoints.channels.paging import block_text, plain_text, separated, shown_blocks
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.entrypoints.slack.wording import escaped
from lightwell.text.pieces import shorten
from lightwell.text.printable import clean

MAX_BLOCKS = 50
MAX_TEXT = 3000
MAX_LABEL = 75
_LONGEST_QUOTE = 300
"""Characters of a quotation: Slack folds none."""

_RUNNING = frozenset({Kind.TEXT, Kind.ITEM, Kind.SOURCE})
"""What is written below each other in one block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackText:
    """What `chat.postMessage` takes: `blocks`, and `text` for notifications, in which nothing is a mention or a link."""

    text: str
    blocks: Sequence[SlackBlock]


def to_slack(labelled: Labelled) -> SlackText:
    """Return a message in Slack's form; its buttons have `data` as their values."""
    blocks = shown_blocks(labelled.message.blocks)
    return SlackText(
        text=escaped(shorten(plain_text(blocks), MAX_TEXT)),
        blocks=[*_written(blocks), *_buttons(labelled)],
    )


def _written(blocks: Sequence[Block]) -> Iterator[SlackBlock]:
    """Yield paragraphs and items that stand below each other as one block, and what is written in another way for itself."""
    for is_running, group in groupby(blocks, lambda block: block.kind in _RUNNING):
        if is_running:
            elements = _elements(tuple(group))
            yield RichTextBlock(elements=[RichTextSectionElement(elements=elements)])
        else:
            yield from map(_apart, group)


def _apart(block: Block) -> SlackBlock:
    """Return a block that is written for itself."""
    match block.kind:
        case Kind.CODE:
            elements = [RichTextElementParts.Text(text=block_text(block))]
            return RichTextBlock(elements=[RichTextPreformattedElement(elements=elements)])
        case Kind.QUOTE:
            return _small_print(_quotation(block))
        case _:
            return _small_print(block_text(block))


def _elements(blocks: Sequence[Block]) -> list[RichTextElement]:
    spans = [span for between, block in separated(blocks) for span in (Span(between), *block.spans)]
    return [_element(span) for span in spans if span.text]


def _element(span: Span) -> RichTextElement:
    style = (
        None if span.style is Style.PLAIN else RichTextElementParts.TextStyle(**{span.style: True})
    )
    if span.url:
        return RichTextElementParts.Link(url=span.url, text=span.text, style=style)
    return RichTextElementParts.Text(text=span.text, style=style)


def _small_print(text: str) -> SlackBlock:
    return ContextBlock(elements=[PlainTextObject(text=shorten(text, MAX_TEXT), emoji=False)])


def _quotation(block: Block) -> str:
    """Return a quotation on one line, a long one from its key sentence on."""
    starts = accumulate((len(span.text) for span in block.spans), initial=0)
    bold = (
        start for start, span in zip(starts, block.spans, strict=False) if span.style is Style.BOLD
    )
    text, key = block_text(block), next(bold, 0)
    if len(text) <= _LONGEST_QUOTE:
        return _on_one_line(text)
    quoted = shorten(text[key:], _LONGEST_QUOTE)
    before, after = "… " if key else "", "" if text.endswith(quoted) else " …"
    return f"{before}{_on_one_line(quoted)}{after}"


def _on_one_line(text: str) -> str:
    return " · ".join(filter(None, (line.strip() for line in text.split("\n"))))


def _buttons(labelled: Labelled) -> Iterator[SlackBlock]:
    rows = zip(labelled.message.buttons, labelled.data, strict=False)
    for row, (buttons, data) in enumerate(rows):
        pressed = zip(buttons, data, strict=True)
        yield ActionsBlock(
            elements=[
                _button(button, value, f"{row}.{place}")
                for place, (button, value) in enumerate(pressed)
            ]
        )


def _button(button: Button, value: str, action: str) -> ButtonElement:
    label = PlainTextObject(text=clean(button.label)[:MAX_LABEL] or "…", emoji=False)
    if button.url:
        return ButtonElement(text=label, url=button.url, action_id=action)
    return ButtonElement(text=label, value=value, action_id=action)
