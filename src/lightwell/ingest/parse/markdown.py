"""Parses markdown. The text stays as written, so that offsets and quotations are exact."""

import html
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lightwell.domain.documents import ParsedDocument, Span, SpanKind
from lightwell.domain.errors import Invalid
from lightwell.ingest.parse._sections import Heading, build_sections
from lightwell.ingest.parse._spans import find_formulas, sort_spans
from lightwell.ingest.parse._text import clean, collapse_whitespace, decode, one_line, to_utc
from lightwell.ingest.parse.front_matter import parse_yaml_mapping, split_front_matter
from lightwell.text.directives import holds_prose
from lightwell.text.regex import regex

_MAX_HEADING_CHARACTERS = 500
_DEEPEST = 5
"""Fences of text in fences of text."""

_LINK = regex(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_MARKUP = regex(r"(?<!\w)(\*{1,3}|_{1,3}|~~|`{1,3})(?=\S)(.{1,200}?)(?<=\S)\1(?!\w)")
_ANCHOR = regex(r"(?<!\s)\s*\{[ ]?[#.:][\w#.:= \"'-]{1,200}+\}$|</?[a-zA-Z][^<>]*>")
_ESCAPE = regex(r"\\([!-/:-@\[-`{-~])")


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; its text is the raw markdown without front matter."""
    decoded = decode(content)
    yaml, after = split_front_matter(decoded)
    text = clean(decoded[after:])
    metadata = _metadata(yaml)
    parser = MarkdownIt("commonmark").enable("table")
    # Inline parsing is the most expensive part, and nothing here needs it.
    parser.core.ruler.enableOnly(["block"])
    tokens = _tokens(parser, text, 0)
    starts = [0]
    for line in text.split("\n"):
        starts.append(min(starts[-1] + len(line) + 1, len(text)))
    headings = list(_headings(tokens, starts))
    block_spans = list(_spans(tokens, starts, text))
    code = [span for span in block_spans if span.kind is SpanKind.CODE]
    return ParsedDocument(
        text=text,
        title=html.unescape(_text_value(metadata, "title"))
        or (headings[0].title if headings else ""),
        author=_text_value(metadata, "author"),
        sections=build_sections(text, headings),
        pages=(),
        spans=tuple(sort_spans([*block_spans, *find_formulas(text, code)])),
        updated_at=_parse_datetime(metadata.get("updated", metadata.get("date"))),
    )


def _tokens(parser: MarkdownIt, text: str, depth: int) -> list[Token]:
    """Return the blocks; those in a fence such as ```` ```{note} ```` in its place, since it holds text and no code."""
    tokens: list[Token] = []
    for token in parser.parse(text):
        if token.type != "fence" or depth == _DEEPEST or not holds_prose(token.markup + token.info):
            tokens.append(token)
            continue
        first = (token.map or [0])[0] + 1
        for inner in _tokens(parser, token.content, depth + 1):
            inner.map = [line + first for line in inner.map] if inner.map else None
            tokens.append(inner)
    return tokens


def _headings(tokens: Sequence[Token], starts: Sequence[int]) -> Iterator[Heading]:
    for token, inside in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            bare = _LINK.sub(r"\1", _ANCHOR.sub("", inside.content[:_MAX_HEADING_CHARACTERS]))
            title = collapse_whitespace(_ESCAPE.sub(r"\1", _MARKUP.sub(r"\2", bare)))
            if title:
                yield Heading(level=int(token.tag[1:]), title=title, start=starts[token.map[0]])


def _spans(tokens: Sequence[Token], starts: Sequence[int], text: str) -> Iterator[Span]:
    for token in tokens:
        match token.type:
            case "fence" | "code_block":
                kind = SpanKind.CODE
            case "table_open":
                kind = SpanKind.TABLE
            case "html_block" if "<table" in token.content.lower():
                kind = SpanKind.TABLE
            case _:
                continue
        first, last = token.map or (0, 0)
        start, end = starts[first], starts[last]
        yield Span(kind=kind, start=start, end=start + len(text[start:end].rstrip()))


def _metadata(yaml: str) -> Mapping[str, object]:
    try:
        return parse_yaml_mapping(yaml)
    except Invalid:
        return {}  # the connector has already reported the error; the text is still readable


def _text_value(metadata: Mapping[str, object], key: str) -> str:
    value = metadata.get(key)
    return one_line(str(value)) if isinstance(value, str | int | float | date) else ""


def _parse_datetime(value: object) -> datetime | None:
    match value:
        case datetime():
            return to_utc(value)
        case date():
            return datetime.combine(value, time(), UTC)
        case _:
            return None
