"""Plain text: whatever structure it has is guessed from how it looks."""

import re
from collections.abc import Iterator

from lightwell.domain.documents import ParsedDocument, Span, SpanKind
from lightwell.ingest.parse._marks import looks
from lightwell.ingest.parse._sections import Heading, sections
from lightwell.ingest.parse._text import clean, decoded, squeezed

_UNDERLINED = re.compile(
    r"(?:\A|(?<=\n))(?!\s)([^\n]*\w[^\n]*)\n(?P<sign>[=\-~^\"'*+#])(?P=sign){2,}[ \t]*(?=\n|\Z)"
)
_OF_COLUMNS = (".csv", ".tsv")


def parse(content: bytes, *, name: str) -> ParsedDocument:
    """Return the document; a heading is a line underlined about as long as it is."""
    text = clean(decoded(content)).rstrip()
    if name.lower().endswith(_OF_COLUMNS):
        headings, spans = [], [Span(kind=SpanKind.TABLE, start=0, end=len(text))]
    else:
        headings, spans = list(_headings(text)), looks(text)
    return ParsedDocument(
        text=text,
        title="",
        author="",
        sections=sections(text, headings),
        pages=(),
        spans=tuple(spans),
        updated_at=None,
    )


def _headings(text: str) -> Iterator[Heading]:
    levels: dict[str, int] = {}
    for match in _UNDERLINED.finditer(text):
        line, rule = match[1].rstrip(), match[0].rsplit("\n", 1)[1].rstrip()
        if abs(len(line) - len(rule)) <= 2 and not set(line) <= set("=-~^\"'*+#_ |"):
            level = levels.setdefault(match["sign"], len(levels) + 1)
            yield Heading(level=level, title=squeezed(line), start=match.start())
