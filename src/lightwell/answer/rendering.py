"""How a quotation reads in an answer; what is cited stays as the document has it."""

import re

from lightwell.answer.quotes import Quote
from lightwell.answer.reply_sentences import strip_bullet
from lightwell.text.blocks import Block, BlockKind, blocks
from lightwell.text.markup import strip_markup

_CELL = re.compile(r"<t[dh]\b[^<>]*>", re.IGNORECASE)
_BAR = re.compile(r"(?<!\\)\|")
_HEAD_MARK = re.compile(r"\n[ \t]*+\|?+[ \t]*+:?+-")
_NUMBER = re.compile(r"[ \t]*+(?:\d{1,3}|[a-z])[.)]")
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)[^\n]*+\n?", re.MULTILINE)


def render_quote(quote: Quote) -> str:
    """Return the quote as people read it, without marks of markdown and HTML; a row with the names of its columns.

    A quote within one block is one line, without bullet. Of several blocks, each begins a line; items keep their bullets.
    """
    return _render(quote.evidence.chunk.text, quote.start, quote.end)


def render_text(text: str) -> str:
    """Return a snippet as people read it, as `render_quote` does without knowing what stands around it."""
    return _render(text, 0, len(text))


def _render(chunk: str, start: int, end: int) -> str:
    parts = [each for each in blocks(chunk) if each.end > start and each.start < end]
    parts = [each for each in parts if each.kind is not BlockKind.CLUTTER]
    if len(parts) == 1 and parts[0].kind is not BlockKind.CODE:
        text = chunk[start:end]
        is_row = parts[0].kind is BlockKind.ROW
        return _row(chunk, text, parts[0]) if is_row else render_sentence(text)
    lines = [
        _line(chunk, each, chunk[max(each.start, start) : min(each.end, end)])
        for each in parts
        if not (_is_head(chunk, each) and _rows_of(parts, each) > 1)
    ]
    return "\n".join(line for line in lines if line.strip()) or strip_markup(chunk[start:end])


def render_sentence(text: str) -> str:
    """Return a part of one block on one line, without bullet and markup."""
    return strip_markup(strip_bullet(text.lstrip()))


def _is_head(chunk: str, block: Block) -> bool:
    """Return whether a block is a table's first row and names its columns."""
    return block.kind is BlockKind.ROW and block == _first(chunk, block) and _has_head(chunk, block)


def _first(chunk: str, row: Block) -> Block:
    return next(each for each in blocks(chunk) if each.table == row.table)


def _rows_of(parts: list[Block], row: Block) -> int:
    return sum(each.table == row.table for each in parts)


def _line(chunk: str, block: Block, text: str) -> str:
    match block.kind:
        case BlockKind.ROW:
            return _row(chunk, text, block)
        case BlockKind.CODE:
            return _FENCE.sub("", text).strip("\n").rstrip()
        case BlockKind.ITEM:
            number = _NUMBER.match(text)
            mark = number[0].strip() if number else "-"
            return f"{'  ' * (block.indent > 1)}{mark} {render_sentence(text)}"
        case _:
            return strip_markup(text)


def _row(chunk: str, row: str, block: Block) -> str:
    """Return `Band: Engineer; From: 62` for a row; without the names where the head is not as wide as the row."""
    cells = _cells(row)
    first = _first(chunk, block)
    head = _cells(chunk[first.start : first.end]) if _has_head(chunk, first) else []
    if len(head) != len(cells) or first.start == block.start:
        head = [""] * len(cells)
    pairs = zip(head, cells, strict=True)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def _has_head(chunk: str, first: Block) -> bool:
    """Return whether a table's first row names its columns."""
    row = chunk[first.start : first.end]
    return "<th" in row.casefold() or _HEAD_MARK.match(chunk, first.end) is not None


def _cells(row: str) -> list[str]:
    if _CELL.search(row):
        return [strip_markup(cell) for cell in _CELL.split(row)[1:]]
    bare = row.strip().removeprefix("|").removesuffix("|")
    return [strip_markup(cell) for cell in _BAR.split(bare)]
