"""reStructuredText, as Sphinx reads it, written as Markdown: so titles, code, tables and notes are what they are in other formats.

What says nothing to people goes: labels, comments, indexes, the options of directives. Roles and references leave their words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lightwell.domain.documents import ParsedDocument
from lightwell.ingest.parse._lines import count_lines, dedent, fenced, filled, table_lines
from lightwell.ingest.parse._rst_tables import drawn_cells, listed_cells, separated_cells
from lightwell.ingest.parse._text import clean, decode
from lightwell.ingest.parse.markdown import parse as parse_markdown
from lightwell.text.directives import ASIDES, lead_in, name_aside
from lightwell.text.regex import regex

_DEEPEST = 12
"""Levels of indentation; what is deeper reads as text."""

_LONGEST_SUBSTITUTION = 100
"""Characters; a longer one stays a name, since each use would be as long."""

_ADORNMENT = regex(r"([!-/:-@\[-`{-~])\1{2,}+")
_SHORT = regex(r"\S{1,2}\n([!-/:-@\[-`{-~])\1")
"""A title of two characters, and two signs below it."""

_DIRECTIVE = regex(
    r"\.\.[ ]++(?:\|([^|]{1,100}+)\|[ ]++)?([\w+.-]{1,60}+(?::[\w+.-]{1,60}+)?+)::(?:[ ]++(.*+))?"
)
_EXPLICIT = regex(r"\.\.(?:[ ]++|$)|__[ ]++\S")
_NOTE = regex(r"\.\.[ ]++\[[^\]]{1,60}+\][ ]*+(.*+)")
_FIELD = regex(r":([^:`\n]{1,60}+):(?:[ ]++(.*+)|$)")
_ITEM = regex(r"(?:[-*+•]|\(?(?:#|\d{1,3}|[a-zA-Z]|[ivxIVX]{2,5})[.)])(?:[ ]++|$)")
_BULLET = "-*+•"
_GRID = regex(r"\+(?:[-=]{2,}\+)+")
_SIMPLE = regex(r"={2,}+(?:[ ]++={2,}+)++")
_DOCTEST = ">>> "

_CODE = frozenset(
    "code code-block console doctest highlight ipython jinja literalinclude math mermaid parsed-literal productionlist prompt"
    " sourcecode testcode testoutput".split()
)
_SKIPPED = frozenset(
    "autoclass autofunction automethod automodule autosummary contents currentmodule default-domain figure graphviz highlight image"
    " include index meta module plot raw role sectionauthor tabularcolumns testsetup toctree".split()
)
_UNTITLED = frozenset("class container grid ifconfig only rst-class tab-set tabs".split())
_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_LITERAL = regex(r"``([^`]{1,400}+|(?:[^`]|`(?!`)){1,400}+)``")
_ROLE = regex(
    r"(?<![\w:]):([a-z][\w:+.-]{0,60}+(?<=:))`([^`]{1,400}+)`|`([^`]{1,400}+)`:([a-z][\w+.-]{0,60}+):"
)
_REFERENCE = regex(r"`([^`<>]{1,400}+)(?:<([^<>`]{1,500}+)>)?+`(_{0,2}+)")
_NAMED = regex(r"(?<![\w`])([^\W_](?:[\w.+-]{0,80}[^\W_])?+)__?(?![\w`])")
_FOOTNOTE = regex(r"[ ]?\[(?:\d{1,4}|#[\w-]{0,60}+|\*)\]_")
_SUBSTITUTION = regex(r"\|([^\W_](?:[^|\n]{0,80}[^\s|])?+)\|_{0,2}+")
_NULL = regex(r"\\[ \n]")
_GAPS = regex(r"\n{3,}+")
_KEPT = regex("\ue000(\\d{1,6})\ue001")
_TITLED = regex(r"(.{0,400}?)\s*<([^<>]{1,300}+)>", re.DOTALL)
_WORDS = frozenset(
    "abbr any doc download envvar guilabel keyword menuselection numref pep ref rfc term title".split()
)
"""Roles whose text is words; that of others is a name in a language of programs."""


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; its text is Markdown."""
    return parse_markdown(to_markdown(clean(decode(content))).encode())


def to_markdown(text: str) -> str:
    """Return reStructuredText as Markdown; what is indented too deep stays as it is."""
    lines = _Reader().read(text.replace("\ue000", "").expandtabs(8).split("\n"), 0)
    return _GAPS.sub("\n\n", "\n".join(lines)).strip("\n")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads lines one level of indentation after another. `levels` are the signs under titles in the order in which they came."""

    levels: list[str] = field(default_factory=list[str])
    substitutions: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, lines: Sequence[str], depth: int) -> list[str]:
        """Return the lines, which begin at the margin, as Markdown."""
        if depth > _DEEPEST:
            return [*lines]
        written: list[str] = []
        place = 0
        while place < len(lines):
            line = lines[place]
            if not line.strip():
                place += 1
                written += [""] if written and written[-1] else []
                continue
            count, block = self._block(lines, place, depth)
            written += block
            place += count
        return written

    def _block(self, lines: Sequence[str], place: int, depth: int) -> tuple[int, list[str]]:
        """Return how many lines the block that begins here has, and what is written for it."""
        line = lines[place]
        if line[0] == " ":  # a quotation
            count = _count_indented(lines, place)
            return count, ["", *self.read(dedent(lines[place : place + count]), depth + 1), ""]
        if title := self._title(lines, place):
            return title
        if _EXPLICIT.match(line):
            return self._explicit(lines, place, depth)
        if _GRID.fullmatch(line.rstrip()) or _SIMPLE.fullmatch(line.rstrip()):
            count = _count_table(lines, place)
            return count, self._rows(drawn_cells(lines[place : place + count]))
        if line.startswith(_DOCTEST):
            count = count_lines(lines, place)
            return count, fenced(lines[place : place + count])
        if item := _ITEM.match(line):
            return self._item(lines, place, item.end(), depth)
        return self._paragraph(lines, place, depth)

    def _title(self, lines: Sequence[str], place: int) -> tuple[int, list[str]] | None:
        first, second, third = (
            lines[number].rstrip() if number < len(lines) else ""
            for number in range(place, place + 3)
        )
        if _ADORNMENT.fullmatch(first):
            if second.strip() and third == first:
                return 3, self._heading(first[0] * 2, second)
            return 1, ["", "---", ""] if not second.strip() else []
        is_long = _ADORNMENT.fullmatch(second) or _SHORT.fullmatch(f"{first.strip()}\n{second}")
        if is_long and len(second) >= len(first.strip()) - 2:
            return 2, self._heading(second[0], first)
        return None

    def _heading(self, sign: str, title: str) -> list[str]:
        if sign not in self.levels:
            self.levels.append(sign)
        level = min(self.levels.index(sign) + 1, 6)
        return ["", f"{'#' * level} {self._inline(title.strip())}", ""]

    def _explicit(self, lines: Sequence[str], place: int, depth: int) -> tuple[int, list[str]]:
        """Read a directive, a footnote, a label or a comment with what is indented below it."""
        count = 1 + _count_indented(lines, place + 1)
        below = [*lines[place + 1 : place + count]]
        while below and not below[-1].strip():
            below.pop()
        if note := _NOTE.fullmatch(lines[place]):
            return count, [
                "",
                self._inline(" ".join([note[1], *map(str.strip, below)]).strip()),
                "",
            ]
        directive = _DIRECTIVE.fullmatch(lines[place].rstrip())
        if directive is None:
            return count, []
        if directive[1]:
            words = (directive[3] or "") if directive[2] == "replace" else ""
            if len(words) <= _LONGEST_SUBSTITUTION:
                self.substitutions[directive[1]] = words
            return count, []
        return count, ["", *self._directive(directive[2], directive[3] or "", below, depth), ""]

    def _directive(self, name: str, argument: str, below: Sequence[str], depth: int) -> list[str]:
        options, content = _split_options(below)
        match name.rpartition(":")[2] if name.startswith(("py:", "c:", "std:")) else name:
            case skipped if skipped in _SKIPPED:
                return []
            case code if code in _CODE:
                return fenced(dedent(content)) if any(map(str.strip, content)) else []
            case "csv-table":
                return self._rows(separated_cells([options.get("header", ""), *content]))
            case "list-table":
                return self._rows(listed_cells(dedent(content)))
            case version if version in _VERSIONS:
                first, _, rest = argument.partition(" ")
                inner = self.read([rest, *dedent(content)], depth + 1)
                return [f"{_VERSIONS[version]} {first}:", *inner]
            case aside if aside in ASIDES:
                inner = self.read([argument, *dedent(content)], depth + 1)
                return [f"{name_aside(aside)}:", *inner]
            case _:
                title = "" if name in _UNTITLED else self._inline(argument).strip()
                inner = self.read(dedent(content), depth + 1)
                above = lead_in(title) if inner else title
                return [*([above, ""] if above else []), *inner]

    def _item(
        self, lines: Sequence[str], place: int, begins: int, depth: int
    ) -> tuple[int, list[str]]:
        """Read a list item with what is indented below it."""
        count = 1 + _count_indented(lines, place + 1)
        first = lines[place]
        mark = "-" if first[0] in _BULLET else first[:begins].strip().replace("#", "1").strip("(")
        inner = self.read(
            [first[begins:], *dedent(lines[place + 1 : place + count], begins)], depth + 1
        )
        margin = " " * (len(mark) + 1)
        inner = filled(inner) or [""]
        written = [f"{margin}{line}" if line.strip() else "" for line in inner]
        return count, [f"{mark} {written[0].strip()}", *written[1:]]

    def _paragraph(self, lines: Sequence[str], place: int, depth: int) -> tuple[int, list[str]]:
        """Read a paragraph with the literal block below it, or a term or a field with what is indented below it."""
        count = count_lines(
            lines, place, lambda other: other[0] != " " and not _EXPLICIT.match(other)
        )
        below = place + count
        if below < len(lines) and lines[below][:1] == " ":
            more = _count_indented(lines, below)
            inner = self.read(dedent(lines[below : below + more]), depth + 1)
            *before, last = lines[place:below]
            parts = filter(None, [*map(_field, before), _field(last, has_more=True)])
            term = self._inline(" ".join(parts))
            is_field = _FIELD.fullmatch(last.rstrip()) is not None
            return count + more, [term if is_field else lead_in(term), *inner, ""]
        text = [*map(_field, lines[place:below])]
        if not text[-1].rstrip().endswith("::"):
            return count, self._inline("\n".join(text)).split("\n")
        literal = _count_indented(lines, below)
        text[-1] = text[-1].rstrip()[:-1].removesuffix(" :")
        lead = [] if text == [":"] else self._inline("\n".join(text)).split("\n")
        return count + literal, [*lead, "", *fenced(dedent(lines[below : below + literal])), ""]

    def _rows(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """Return a table, the first row as its head."""
        cells = [
            [self._inline(" ".join(cell.split())).replace("|", "\\|") for cell in row]
            for row in rows
            if row
        ]
        return ["", *table_lines(cells), ""] if cells else []

    def _inline(self, text: str) -> str:
        """Return text with roles, references and literals as Markdown has them."""
        codes: list[str] = []

        def restore(text: str) -> str:
            return _KEPT.sub(lambda match: codes[int(match[1])], text)

        def keep(code: str) -> str:
            codes.append(restore(" ".join(code.split())))
            return f"\ue000{len(codes) - 1}\ue001"

        def role(match: re.Match[str]) -> str:
            name, words = (match[1] or match[4]).rstrip(":"), match[2] or match[3]
            titled = _TITLED.fullmatch(words)
            shown = (titled[1] or titled[2]) if titled else words.lstrip("~!")
            return shown if name.rpartition(":")[2] in _WORDS else keep(f"`{shown}`")

        def reference(match: re.Match[str]) -> str:
            words, target = match[1].strip(), (match[2] or "").strip()
            is_link = target.startswith(("http://", "https://", "mailto:")) and match[3]
            return keep(f"[{words}]({target})") if is_link and words else words or target

        text = _LITERAL.sub(lambda match: keep(f"`{match[1]}`"), text)
        text = _REFERENCE.sub(reference, _ROLE.sub(role, text))
        text = _SUBSTITUTION.sub(lambda match: self.substitutions.get(match[1], match[1]), text)
        text = _NULL.sub("", _NAMED.sub(r"\1", _FOOTNOTE.sub("", text)))
        return restore(text)


# ── lines ──────────────────────────────────────────────────────────────────────────────────────────


def _count_indented(lines: Sequence[str], place: int) -> int:
    """Return how many indented lines follow from a place on, empty ones between them included."""
    end = place
    for number in range(place, len(lines)):
        if not lines[number].strip():
            continue
        if lines[number][0] != " ":
            break
        end = number + 1
    return end - place


def _field(line: str, *, has_more: bool = False) -> str:
    """Return `name: value` for a field, another line as it is.

    Of one without a value its name stays where the value stands below it; else it only tells programs something, and "" stays.
    """
    named = _FIELD.fullmatch(line.rstrip())
    if named is None:
        return line.removeprefix("| ")
    if named[2]:
        return f"{named[1]}: {named[2]}"
    return f"{named[1]}:" if has_more else ""


def _split_options(below: Sequence[str]) -> tuple[Mapping[str, str], list[str]]:
    """Return the options of a directive, and its content."""
    options: dict[str, str] = {}
    for place, line in enumerate(below):
        option = _FIELD.fullmatch(line.strip())
        if option is None:
            return options, [*below[place:]]
        options[option[1]] = option[2] or ""
    return options, []


# ── tables ─────────────────────────────────────────────────────────────────────────────────────────


def _count_table(lines: Sequence[str], place: int) -> int:
    """Return how many lines a table has: a grid ends at an empty line, another one at the last line of signs before one."""
    count = count_lines(lines, place)
    while lines[place][0] == "=" and place + count < len(lines):
        more = count_lines(lines, place + count)
        if not any(
            _SIMPLE.fullmatch(line.rstrip()) for line in lines[place + count : place + count + more]
        ):
            break
        count += more
    return count
