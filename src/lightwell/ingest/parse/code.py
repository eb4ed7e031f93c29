"""Source code by its symbols: each is a section with its signature, what is said of it, and its code. Nothing is run or imported."""

import re
from pathlib import PurePosixPath
from textwrap import dedent

from lightwell.domain.documents import GENERATED, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._languages import PYTHON, language_of
from lightwell.ingest.parse._symbols import Scanner, Symbol, read_python
from lightwell.ingest.parse._text import clean, decode, one_line
from lightwell.text.regex import regex

_GENERATED = regex(r"@generated\b|\bcode generated\b.{0,80}\bdo not edit\b", re.I)
_ENDS = regex(r"(?:[\s)\]};,]|end\b)*+")
_HEAD_CHARACTERS = 1_000
_LONGEST_LINES = 400
"""Characters of a line on average; longer ones are written by no person."""


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document, titled as its file; raise `Unreadable` with `no_text` for what programs wrote."""
    text = clean(decode(content))
    lines = text.split("\n")
    if len(text) > _LONGEST_LINES * len(lines) or _GENERATED.search(text[:_HEAD_CHARACTERS]):
        raise Unreadable("no_text", GENERATED)
    language = language_of(name)
    root = read_python(text) if language is PYTHON else None
    builder = Builder()
    _write(builder, root or Scanner(language, lines).read(), 1)
    return ParsedDocument(
        text=builder.text(),
        title=one_line(PurePosixPath(name).name),
        author="",
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=None,
    )


def _write(builder: Builder, symbol: Symbol, level: int) -> None:
    for line in symbol.signature:
        builder.add_block(line)
    builder.add_block("\n".join(symbol.doc))
    builder.add_code(_body(symbol))
    for inner in symbol.symbols:
        builder.add_heading(inner.name, level)
        _write(builder, inner, level + 1)


def _body(symbol: Symbol) -> str:
    """Return the code of a symbol without the brackets around it, as those of its signature are left out."""
    lines = symbol.code[1:] if "".join(symbol.code[:1]).strip() == "{" else symbol.code[:]
    while lines and _ENDS.fullmatch(lines[-1]) and _indent(lines[-1]) <= symbol.indent:
        lines.pop()
    code = "\n".join(lines)
    return "" if _ENDS.fullmatch(code) else dedent(code)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else -1
