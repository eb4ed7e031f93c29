"""Plain text: whatever structure it has is guessed from how it looks."""

from collections.abc import Iterator
from itertools import pairwise

from lightwell.domain.documents import ParsedDocument
from lightwell.ingest.parse._sections import Heading, build_sections
from lightwell.ingest.parse._spans import guess_spans
from lightwell.ingest.parse._text import clean, collapse_whitespace, decode
from lightwell.text.regex import regex

_RULE = regex(r"([=\-~^\"'*+#])\1{2,}")
_MAX_APART = 2


def parse(content: bytes, *, name: str) -> ParsedDocument:
    """Return the document; a heading is a line underlined about as long as it is."""
    text = clean(decode(content)).rstrip()
    return ParsedDocument(
        text=text,
        title="",
        author="",
        sections=build_sections(text, _headings(text)),
        pages=(),
        spans=tuple(guess_spans(text)),
        updated_at=None,
    )


def _headings(text: str) -> Iterator[Heading]:
    levels: dict[str, int] = {}
    position = 0
    for line, below in pairwise(text.split("\n")):
        rule = _RULE.fullmatch(below.rstrip())
        if (
            rule
            and (not line[:1].isspace() and "|" not in line and any(map(str.isalnum, line)))
            and abs(len(line.rstrip()) - len(rule[0])) <= _MAX_APART
        ):
            level = levels.setdefault(rule[1], len(levels) + 1)
            yield Heading(level=level, title=collapse_whitespace(line), start=position)
        position += len(line) + 1
