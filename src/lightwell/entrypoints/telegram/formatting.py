"""A message as Telegram takes it: its text, and entities that say what is bold, a link or a quotation. Nothing is parsed as markup.

Telegram makes links of addresses, mentions, commands and hashtags in what bots send, and there is no way to tell it not to, but where a link
or code stands already. So these words are code in text of ours and of documents: one can copy them, and a press does nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from aiogram.enums import MessageEntityType
from aiogram.types import MessageEntity

from lightwell.entrypoints.channels.messages import Block, Kind, Span, Style
from lightwell.entrypoints.channels.paging import (
    block_text,
    plain_text,
    separated,
    shown_blocks,
    slice_spans,
    spans_text,
    utf16_length,
)
from lightwell.text.markup import AROUND_ADDRESSES, is_address
from lightwell.text.regex import regex

MAX_ENTITIES = 100
"""Telegram ignores all further ones."""

_WORD = regex(r"\S+")
_PRESSED = regex(r"(?<![\w/<>])/\w|#(?:[^\w\s#]|[\d_])*+[^\W\d_]|\$[A-Z]")
"""What makes a command, a hashtag or a cashtag of a word."""

_STYLES = {
    Style.BOLD: MessageEntityType.BOLD,
    Style.ITALIC: MessageEntityType.ITALIC,
    Style.CODE: MessageEntityType.CODE,
}
_BLOCKS = {Kind.QUOTE: MessageEntityType.EXPANDABLE_BLOCKQUOTE, Kind.CODE: MessageEntityType.PRE}


def formatted(blocks: Sequence[Block]) -> tuple[str, list[MessageEntity]]:
    """Return what `sendMessage` and `editMessageText` take: the text without white space at its ends, and its entities with offsets in units of UTF-16."""
    shown = shown_blocks(blocks)
    entities = _entities(shown, as_code=frozenset())
    if len(entities) > MAX_ENTITIES:  # words behind the last one would become links
        full = (n for n, block in enumerate(shown) if len(_addresses(block_text(block))) > 1)
        entities = _entities(shown, as_code=frozenset(full))
        entities.sort(key=lambda entity: entity.type != MessageEntityType.CODE)
        entities = sorted(entities[:MAX_ENTITIES], key=lambda entity: entity.offset)
    return plain_text(shown), entities


def _entities(blocks: Sequence[Block], as_code: frozenset[int]) -> list[MessageEntity]:
    entities: list[MessageEntity] = []
    place = 0
    for number, (between, block) in enumerate(separated(blocks)):
        place += len(between)
        length = utf16_length(block_text(block))
        if block.kind in _BLOCKS:
            entities.append(MessageEntity(type=_BLOCKS[block.kind], offset=place, length=length))
        if block.kind is not Kind.CODE:
            spans = _coded(block.spans) if number not in as_code else _all_code(block.spans)
            entities += _of_spans(spans, place)
        place += length
    return entities


def _of_spans(spans: Sequence[Span], place: int) -> Iterator[MessageEntity]:
    """Yield the entities of a block's spans; neighbours of one look make one entity."""
    for (style, url), alike in groupby(spans, lambda span: (span.style, span.url)):
        text = spans_text(tuple(alike))
        length = utf16_length(text)
        if text.strip():
            if url:
                yield MessageEntity(
                    type=MessageEntityType.TEXT_LINK, offset=place, length=length, url=url
                )
            if style in _STYLES and not (url and style is Style.CODE):
                yield MessageEntity(type=_STYLES[style], offset=place, length=length)
        place += length


def _coded(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the spans with the words as code of which Telegram makes links, but where a link stands already."""
    made: list[Span] = []
    done = 0
    for start, end in _addresses(spans_text(spans)):
        made += slice_spans(spans, done, start)
        made += (
            span if span.url else replace(span, style=Style.CODE)
            for span in slice_spans(spans, start, end)
        )
        done = end
    return (*made, *slice_spans(spans, done))


def _all_code(spans: Sequence[Span]) -> tuple[Span, ...]:
    return (Span(spans_text(spans), Style.CODE),)


def _addresses(text: str) -> list[tuple[int, int]]:
    """Return where words stand of which Telegram makes links, without the signs around them."""
    places: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        word = match[0]
        if is_address(word) or _PRESSED.search(word):
            bare = word.strip(AROUND_ADDRESSES)
            start = match.start() + word.find(bare)
            places.append((start, start + len(bare)))
    return [(start, end) for start, end in places if start < end]
