"""How long a message is on a platform, and a long one in pages that each fit: broken at blocks, then sentences, then words."""

import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from lightwell.entrypoints.channels.messages import Block, Kind, Limits, Message, Span, Style
from lightwell.text.printable import clean
from lightwell.text.sentences import sentence_spans

_WITHOUT_GAP = frozenset(
    {
        (Kind.ITEM, Kind.ITEM),
        (Kind.SOURCE, Kind.SOURCE),
        (Kind.SOURCE, Kind.QUOTE),
        (Kind.QUOTE, Kind.QUOTE),
        (Kind.QUOTE, Kind.SOURCE),
        (Kind.NOTE, Kind.NOTE),
    }
)
"""What follows what without an empty line between them."""
_LOOK_AHEAD = 100
"""Characters behind a page that tell where its last sentence ends."""

_JOINERS = frozenset("\u200c\u200d")
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_CONTINUING = frozenset({"Mn", "Mc", "Me"})


def measure(text: str, limits: Limits) -> int:
    """Return the length of a text as the platform counts it."""
    return utf16_length(text) if limits.counts_utf16 else len(text)


def utf16_length(text: str) -> int:
    """Return how many units of UTF-16 a text has: two for what is beyond the first plane."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


def block_text(block: Block) -> str:
    """Return the words of a block."""
    return spans_text(block.spans)


def spans_text(spans: Sequence[Span]) -> str:
    """Return the words of spans."""
    return "".join(span.text for span in spans)


def is_heading(block: Block) -> bool:
    """Return whether a paragraph is the title of what follows: all of it is bold."""
    return block.kind is Kind.TEXT and all(span.style is Style.BOLD for span in block.spans)


def _separator(above: Block, below: Block) -> str:
    """Return what stands between two blocks: an empty line, but within a list, and between a source and its quotation."""
    is_titled = is_heading(above) and below.kind is not Kind.TEXT
    return "\n" if is_titled or (above.kind, below.kind) in _WITHOUT_GAP else "\n\n"


def plain_text(blocks: Sequence[Block]) -> str:
    """Return the words of these blocks, as they stand below each other."""
    return "".join(f"{between}{block_text(block)}" for between, block in separated(blocks))


def separated(blocks: Sequence[Block]) -> Iterator[tuple[str, Block]]:
    """Yield each block with what stands before it, nothing before the first one."""
    betweens = ("", *(_separator(above, below) for above, below in pairwise(blocks)))
    yield from zip(betweens, blocks, strict=False)


def shown_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks as an adapter writes them: without what nobody sees, without white space at their ends, and none that is empty.

    Preformatted lines keep their white space before the first word.
    """
    return [block for block in map(_shown, blocks) if block.spans]


def _shown(block: Block) -> Block:
    spans = tuple(replace(span, text=clean(span.text)) for span in block.spans)
    text = spans_text(spans)
    start = len(text) - len(text.lstrip("\n" if block.kind is Kind.CODE else None))
    return replace(block, spans=slice_spans(spans, start, len(text.rstrip())))


def slice_spans(spans: Sequence[Span], start: int, end: int = sys.maxsize) -> tuple[Span, ...]:
    """Return the part of these spans whose words are `text[start:end]` of theirs together."""
    starts = accumulate((len(span.text) for span in spans), initial=0)
    cut = (
        replace(span, text=span.text[max(0, start - begin) : max(0, end - begin)])
        for begin, span in zip(starts, spans, strict=False)
    )
    return tuple(span for span in cut if span.text)


def fit_label(label: str, limits: Limits) -> str:
    """Return the label of a button on one line, cut with an ellipsis where the platform takes no more."""
    line = " ".join(label.split())
    if measure(line, limits) <= limits.label:
        return line
    room = limits.label - measure("…", limits)
    return f"{line[: _longest(line, room, limits, _grapheme_ends(line))].rstrip()}…"


def paginate(message: Message, limits: Limits) -> tuple[Message, ...]:
    """Return the message in pages within the limits, the picture above the first one and the buttons below the last one.

    The words of all pages are those of the message: nothing is left out or added. A block that is broken is of the same kind and
    styles on both sides.
    """
    rest = list(_units(message.blocks))
    pages = [_Page(limits=limits, room=limits.caption if message.picture else limits.characters)]
    while rest:
        unit = rest.pop(0)
        page, empty = pages[-1], _Page(limits=limits, room=limits.characters)
        first, *others = unit
        if page.takes(unit):
            page.blocks += unit
        elif page.blocks and (empty.takes(unit) or not others):
            rest.insert(0, unit)
            pages.append(empty)
        elif others:  # too long together: each for itself
            rest[:0] = [(block,) for block in unit]
        else:
            begun, continued = _split(first, page.room, limits)
            page.blocks.append(begun)
            rest.insert(0, (continued,))
    last = len(pages) - 1
    return tuple(
        Message(
            blocks=tuple(page.blocks),
            picture=b"" if number else message.picture,
            buttons=message.buttons if number == last else (),
        )
        for number, page in enumerate(pages)
    )


@dataclass(kw_only=True)
class _Page:
    limits: Limits
    room: int
    blocks: list[Block] = field(default_factory=list[Block])

    def takes(self, unit: Sequence[Block]) -> bool:
        """Return whether these blocks fit on the page, too."""
        together = (*self.blocks, *unit)
        if len(together) > self.limits.blocks:
            return False
        return measure(plain_text(together), self.limits) <= self.room


def _units(blocks: Sequence[Block]) -> Iterator[tuple[Block, ...]]:
    """Yield the blocks in groups of what should not stand on two pages: a title with what follows, a source with its quotation."""
    unit: list[Block] = []
    for block in blocks:
        if not unit or is_heading(unit[-1]) or block.kind is Kind.QUOTE:
            unit.append(block)
            continue
        yield tuple(unit)
        unit = [block]
    if unit:
        yield tuple(unit)


# ── where a block may be broken ───────────────────────────────────────────────────────────────────────


def _split(block: Block, room: int, limits: Limits) -> tuple[Block, Block]:
    """Return the beginning of a block that fits into this room, and the rest: broken after a sentence, else a word, else a letter.

    No sentence is broken after that leaves more than half of the room empty.
    """
    text = block_text(block)[: room + _LOOK_AHEAD]
    sentence = _longest(text, room, limits, (end for _, end in sentence_spans(text)))
    ends = (
        (place for place, (left, right) in _inner(text) if left.isspace() and not right.isspace()),
        _grapheme_ends(text),
        range(1, len(text)),
    )
    others = (_longest(text, room, limits, places) for places in ends)
    place = sentence if 2 * sentence >= room else next(filter(None, others), 1)
    begun, continued = slice_spans(block.spans, 0, place), slice_spans(block.spans, place)
    return replace(block, spans=begun), replace(block, spans=continued)


def _longest(text: str, room: int, limits: Limits, ends: Iterable[int]) -> int:
    """Return the last of these places, in order, before which the text fits; 0 for none."""
    sizes = (0, *accumulate(measure(sign, limits) for sign in text))
    return max((end for end in ends if end < len(text) and sizes[end] <= room), default=0)


def _inner(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    return enumerate(pairwise(text), start=1)


def _grapheme_ends(text: str) -> Iterator[int]:
    """Yield the places between two letters as people see them: not before an accent, nor within an emoji or a flag."""
    flags = 0
    for place, (left, right) in _inner(text):
        flags = flags + 1 if ord(left) in _FLAG_LETTERS else 0
        is_half_flag = flags % 2 == 1 and ord(right) in _FLAG_LETTERS
        is_joined = left == "\u200d" or right in _JOINERS or ord(right) in _SKIN_TONES
        if not (is_half_flag or is_joined or unicodedata.category(right) in _CONTINUING):
            yield place
