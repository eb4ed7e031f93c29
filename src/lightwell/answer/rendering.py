"""How a quotation reads in an answer; what is cited stays as the document has it."""

import re

from lightwell.answer.quotes import Quote
from lightwell.answer.reply_sentences import strip_bullet

_QUOTING = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*_])(\*{1,3}|_{2,3})(?=[^\s*_])(.{1,300}?)(?<=[^\s*_])\1(?![\w*_])")


def render_quote(quote: Quote) -> str:
    """Return the quote on one line, without bullets, marks of quoting and emphasis; a row with the names of its columns."""
    if quote.text.startswith("|"):
        return _without_markup(_row(quote))
    return _without_markup(strip_bullet(_QUOTING.sub("", quote.text).lstrip()))


def _without_markup(text: str) -> str:
    return _EMPHASIS.sub(r"\2", " ".join(text.split()))


def _row(quote: Quote) -> str:
    """Return `Band: Engineer; From: 62` for a row; without the names where the head is not as wide as the row."""
    cells = _cells(quote.text)
    _, bar, rest = quote.context.partition("|")
    head = _cells(bar + rest)
    if len(head) != len(cells):
        head = [""] * len(cells)
    pairs = zip(head, cells, strict=True)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]
