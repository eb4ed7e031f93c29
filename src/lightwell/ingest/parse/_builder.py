"""Builds a text block by block and records the offsets of headings and spans."""

from dataclasses import dataclass, field

from lightwell.domain.documents import Section, Span, SpanKind
from lightwell.ingest.parse._sections import Heading, build_sections
from lightwell.ingest.parse._spans import find_formulas, sort_spans
from lightwell.ingest.parse._text import clean, collapse_blanks, one_line
from lightwell.text.blocks import INDENT_OF_CODE_BELOW

_MAX_PADDING_CELLS = 20_000
"""Limit of padding cells per table: one long row above many short ones would need gigabytes."""
_TAB = 4


@dataclass(slots=True)
class Builder:
    """Collects blocks in document order, separated by empty lines."""

    _parts: list[str] = field(default_factory=list[str])
    _length: int = 0
    _headings: list[Heading] = field(default_factory=list[Heading])
    _spans: list[Span] = field(default_factory=list[Span])

    def add_block(self, text: str) -> None:
        self._add(collapse_blanks(clean(text)).strip(), "\n\n")

    def add_item(self, text: str, *, follows: bool) -> None:
        """Add a list item; one that follows another gets no empty line before it."""
        bare = collapse_blanks(clean(text)).strip()
        self._add(f"- {bare}" if bare else "", "\n" if follows else "\n\n")

    def add_heading(self, text: str, level: int) -> None:
        title = one_line(text)
        if title:
            start = self._add(title, "\n\n")
            self._headings.append(Heading(level=level, title=title, start=start))

    def add_code(self, text: str) -> None:
        """Add code, indented so far that it is code in a list, too."""
        lines = clean(text).strip("\n").rstrip().expandtabs(_TAB).split("\n")
        indented = (f"{' ' * INDENT_OF_CODE_BELOW}{line}" if line.strip() else "" for line in lines)
        self._span(SpanKind.CODE, "\n".join(indented))

    def add_formula(self, text: str) -> None:
        self._span(SpanKind.FORMULA, collapse_blanks(clean(text)).strip())

    def add_table(self, rows: list[list[str]]) -> None:
        """Add the rows as pipe rows, the first as the header. Short rows are padded, unless that adds too many cells."""
        cells = [
            [one_line(cell).replace("|", "\\|") for cell in row]
            for row in rows
            if any(cell.strip() for cell in row)
        ]
        if not cells:
            return
        width = max(map(len, cells))
        if width * len(cells) <= sum(map(len, cells)) + _MAX_PADDING_CELLS:
            cells = [row + [""] * (width - len(row)) for row in cells]
        lines = ["| " + " | ".join(row) + " |" for row in cells]
        lines.insert(1, "|" + " --- |" * width)
        self._span(SpanKind.TABLE, "\n".join(lines))

    @property
    def length(self) -> int:
        """The characters of the text so far."""
        return self._length

    def text(self) -> str:
        return "".join(self._parts)

    def sections(self) -> tuple[Section, ...]:
        return build_sections(self.text(), self._headings)

    def spans(self) -> tuple[Span, ...]:
        code = [span for span in self._spans if span.kind is SpanKind.CODE]
        return tuple(sort_spans([*self._spans, *find_formulas(self.text(), code)]))

    def _span(self, kind: SpanKind, text: str) -> None:
        if text.strip():
            start = self._add(text, "\n\n")
            self._spans.append(Span(kind=kind, start=start, end=start + len(text)))

    def _add(self, text: str, gap: str) -> int:
        """Return where the text starts."""
        if not text:
            return self._length
        if self._parts:
            self._parts.append(gap)
            self._length += len(gap)
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        return start
