"""What is shown of a stretch of a document: runs of its own characters, without the marks of markup around them."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lightwell.text.markup import find_links, strip_tags
from lightwell.text.regex import regex

_TOKEN = regex(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?<!`)(?P<ticks>`{1,3})(?!`)(?P<inside>[^`]{1,2000}+)(?P=ticks)(?!`))"
    r"|<(?P<address>(?:https?://|mailto:)[^\s<>]{1,2000}+)>"
    r"|(?P<break><br\s{0,9}/?>[ \t]{0,9}\n?|(?:(?<! ) {2,}+|\\)\n[ \t]{0,200}(?:>[ \t]?){0,9})"
    r"|(?P<wrap>(?<![ \t])[ \t]*+\n[ \t]{0,200}(?:>[ \t]?){0,9})"
    r"|(?P<role>(?::[a-z][\w:+.-]{0,60}+(?<=:)|\{[a-z][\w:+.-]{0,60}+\})(?=`[^`]))"
    r"|(?P<alert>\[!(?P<named>[\w-]{1,40}+)\][+-]?+)"
    r"|(?P<braces>\{\{[<%][^<>%{}\n]{0,500}+[>%]\}\}|\{%[^%{}\n]{0,500}+%\}|\{[^{}\n]{1,200}+\})"
    r"|(?P<tag></?[a-zA-Z][\w-]{0,40}(?:[\s/][^<>]{0,2000}+)?+>|<!--[^<>]{0,2000}?-->)"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][a-zA-Z\d]{1,30});)"
    r"|(?P<mark>\*{1,3}+|_{1,3}+|~~)"
)
_TARGET = regex(r"\]\([^()\s]{0,2000}\)|\]\[[^\[\]\n]{0,200}\]")
_LINE = regex(r"[^\n]*\n|[^\n]+")
_DEEPEST = 8
"""Marks that may be open inside one another; what is nested deeper stays as it is written."""


class Style(StrEnum):
    """How a run is shown. A link leads nowhere: its words stand for it."""

    STRONG = "strong"
    EMPHASIS = "emphasis"
    DELETED = "deleted"
    CODE = "code"
    LINK = "link"
    IMAGE = "image"


_STYLES = {
    "*": (Style.EMPHASIS,),
    "_": (Style.EMPHASIS,),
    "**": (Style.STRONG,),
    "__": (Style.STRONG,),
    "***": (Style.STRONG, Style.EMPHASIS),
    "___": (Style.STRONG, Style.EMPHASIS),
    "~~": (Style.DELETED,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is shown of `document[start:end]`: the same characters, but for an escaped sign, a named character or several values of a tag."""

    start: int
    end: int
    text: str
    styles: tuple[Style, ...] = ()


@dataclass(slots=True)
class _Piece:
    start: int
    end: int
    text: str
    styles: set[Style] = field(default_factory=set[Style])
    mark: str = ""


def plain_runs(document: str, start: int, end: int) -> tuple[Run, ...]:
    """Return the stretch as one run."""
    return (Run(start=start, end=end, text=document[start:end]),) if start < end else ()


def code_runs(document: str, start: int, end: int) -> tuple[Run, ...]:
    """Return lines of code without as much white space before each as stands before the first one."""
    margin = start - document.rfind("\n", 0, start) - 1
    if not margin:
        return plain_runs(document, start, end)
    runs: list[Run] = []
    for match in _LINE.finditer(document, start, end):
        line = match[0]
        most = margin if match.start() > start else 0
        first = match.start() + min(most, len(line) - len(line.lstrip(" \t")))
        runs.append(Run(start=first, end=match.end(), text=document[first : match.end()]))
    return tuple(runs)


def markdown_runs(document: str, start: int, end: int) -> tuple[Run, ...]:
    """Return what a reader of the Markdown sees of a stretch, in order. No run is empty, and none overlaps another."""
    text = document[start:end]
    pieces = list(_pieces(text, _link_parts(text)))
    _pair_marks(text, pieces)
    runs: list[Run] = []
    for piece in pieces:
        styles = tuple(sorted(piece.styles))
        last = runs[-1] if runs else None
        if (
            last
            and last.styles == styles
            and last.end == start + piece.start
            and _goes_on(last, piece)
        ):
            runs[-1] = replace(last, end=start + piece.end, text=last.text + piece.text)
        elif piece.text:
            place = (start + piece.start, start + piece.end)
            runs.append(Run(start=place[0], end=place[1], text=piece.text, styles=styles))
    return tuple(runs)


def _goes_on(last: Run, piece: "_Piece") -> bool:
    """Return whether both are shown as they are written: a place in one run of them is a place in the document."""
    return len(last.text) == last.end - last.start and len(piece.text) == piece.end - piece.start


@dataclass(frozen=True, slots=True)
class _LinkPart:
    """A part of a link: its words, or signs that are not shown."""

    start: int
    end: int
    style: Style | None


def _link_parts(text: str) -> list[_LinkPart]:
    """Return the parts of the links and images, in order."""
    parts: list[_LinkPart] = []
    for start, end in find_links(text) if "[" in text else ():
        target = _TARGET.match(text, end) if text.startswith("[!", start - 1) and start else None
        if target:  # the picture is a link, too
            parts.append(_LinkPart(start - 1, start, None))
        is_image = text.startswith("!", start)
        label = start + 1 + is_image
        label_end = text.find("]", label, end)
        style = Style.IMAGE if is_image else Style.LINK
        parts += [
            _LinkPart(start, label, None),
            _LinkPart(label, label_end, style),
            _LinkPart(label_end, target.end() if target else end, None),
        ]
    return parts


def _pieces(text: str, links: list[_LinkPart]) -> Iterator[_Piece]:
    """Yield the text in pieces; one without text is not shown."""
    place = 0
    for part in links:
        yield from _tokens(text, place, part.start, None)
        if part.style is None:
            yield _Piece(part.start, part.end, "")
        else:
            yield from _tokens(text, part.start, part.end, part.style)
        place = part.end
    yield from _tokens(text, place, len(text), None)


def _tokens(text: str, start: int, end: int, style: Style | None) -> Iterator[_Piece]:
    shared = {style} if style else set[Style]()
    place = start
    for match in _TOKEN.finditer(text, start, end):
        if place < match.start():
            yield _Piece(place, match.start(), text[place : match.start()], set(shared))
        yield _token(match, shared)
        place = match.end()
    if place < end:
        yield _Piece(place, end, text[place:end], set(shared))


def _token(match: re.Match[str], shared: set[Style]) -> _Piece:
    start, end = match.span()
    match match.lastgroup:
        case "escape":
            return _Piece(start, end, match[0][1:], set(shared))
        case "code":
            inside = match.span("inside")
            return _Piece(*inside, match["inside"], shared | {Style.CODE})
        case "address":
            return _Piece(*match.span("address"), match["address"], shared | {Style.LINK})
        case "break":
            return _Piece(start, end, "\n", set(shared))
        case "wrap":
            return _Piece(start, end, " ", set(shared))
        case "entity":
            return _Piece(start, end, html.unescape(match[0]), set(shared))
        case "mark":
            return _Piece(start, end, match[0], set(shared), mark=match[0])
        case "role":
            return _Piece(start, end, "")
        case "alert":
            return _Piece(*match.span("named"), match["named"])
        case _:
            return _tag(match, shared)


def _tag(match: re.Match[str], shared: set[Style]) -> _Piece:
    """Return of a tag only the words that people read; a placeholder such as <name> is text."""
    words = strip_tags(match[0]).strip()
    place = match[0].find(words)
    if place < 0:  # several values stand for the whole tag
        return _Piece(*match.span(), words, set(shared))
    start = match.start() + place
    return _Piece(start, start + len(words), words, set(shared))


def _pair_marks(text: str, pieces: list[_Piece]) -> None:
    """Style what stands between an opening and a closing mark, and hide both; a mark without a partner stays as it is."""
    opened: list[int] = []
    for index, piece in enumerate(pieces):
        if not piece.mark:
            continue
        before, after = text[piece.start - 1 : piece.start], text[piece.end : piece.end + 1]
        is_word = piece.mark[0] == "_"
        partner = next(
            (place for place in reversed(opened) if pieces[place].mark == piece.mark), None
        )
        if partner is not None and before.strip() and not (is_word and after.isalnum()):
            for inner in pieces[partner + 1 : index]:
                inner.styles.update(_STYLES[piece.mark])
            pieces[partner].text = piece.text = ""
            del opened[opened.index(partner) :]
        elif after.strip() and not (is_word and before.isalnum()) and len(opened) < _DEEPEST:
            opened.append(index)
