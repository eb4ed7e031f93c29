"""Exports for people: markdown and plain text, a paragraph for each thing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lightwell.curate.cells import format_vector, without_control_characters
from lightwell.domain.documents import Locator
from lightwell.domain.exports import (
    ExportedRelation,
    ExportRecord,
    ExportTable,
    Passage,
    PassageVector,
)
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity

_MARKS = re.compile(r"([\\`*_\[\]<>#|!~&])")
_BACKTICKS = re.compile(r"`{3,}")
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INDENT = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One thing as people read it: a heading, facts on a line, what is said of it, where from, its text."""

    heading: str
    facts: tuple[str, ...]
    descriptions: tuple[str, ...] = ()
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()
    text: str = ""


def record_paragraph(record: ExportRecord) -> Paragraph:
    """Return the record as a paragraph."""
    match record:
        case Entity():
            return Paragraph(
                heading=record.name,
                facts=(record.kind, record.ref, _passages(record.chunk_count)),
                descriptions=_description(record.description),
                sources=(("Passages", record.sources), ("Documents", record.paths)),
            )
        case ExportedRelation():
            return Paragraph(
                heading=f"{record.source_name} → {record.predicate.value} → {record.target_name}",
                facts=(
                    f"{record.source} → {record.target}",
                    f"weight {record.weight:g}",
                    ", ".join(record.keywords),
                    _passages(record.chunk_count),
                ),
                descriptions=_description(record.description),
                sources=(
                    ("Comparison", _description(record.comparison)),
                    ("Use case", _description(record.use_case)),
                    ("Passages", record.sources),
                    ("Documents", record.paths),
                ),
            )
        case Passage():
            return Paragraph(
                heading=", ".join(part for part in (record.title, _place(record.locator)) if part)
                or record.ref,
                facts=(record.ref, record.url, f"{record.tokens} tokens", record.topic),
                text=record.text,
            )
        case PassageVector():
            return Paragraph(
                heading=record.chunk_ref,
                facts=(record.model, f"{record.numbers.size} dimensions"),
                text=format_vector(record.numbers),
            )


class ParagraphFile:
    """One file of paragraphs under a heading for each table; nothing in it reads as anything but text."""

    shortened_texts = 0

    def __init__(
        self, path: Path, title: Callable[[str], str], render: Callable[[Paragraph], str]
    ) -> None:
        self._file = path.open("x", encoding="utf-8", newline="\n")
        self._title = title
        self._render = render
        self._begun = False

    def begin(self, table: ExportTable) -> None:
        self._file.write(("\n" if self._begun else "") + self._title(table.value.capitalize()))
        self._begun = True

    def add(self, records: Sequence[ExportRecord]) -> None:
        self._file.writelines(self._render(record_paragraph(each)) for each in records)

    def close(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        self._file.close()


def render_markdown_title(words: str) -> str:
    """Return a heading of the first level."""
    return f"# {words}\n"


def render_markdown(paragraph: Paragraph) -> str:
    """Return the paragraph as markdown; its words hold no marks, links, images or tags."""
    lines = [
        f"\n## {_escaped(paragraph.heading)}\n",
        _escaped(" · ".join(filter(None, paragraph.facts))),
    ]
    if paragraph.descriptions:
        lines += ["", *(f"- {_escaped(said)}" for said in paragraph.descriptions)]
    for label, names in paragraph.sources:
        if names:
            lines += ["", f"{label}: {', '.join(map(_escaped, names))}"]
    if paragraph.text:
        text = _visible(paragraph.text)
        longest = max(map(len, _BACKTICKS.findall(text)), default=2)
        fence = "`" * (longest + 1)
        lines += ["", fence, text, fence]
    return "\n".join(lines) + "\n"


def render_text_title(words: str) -> str:
    """Return the words, underlined."""
    return f"{words.upper()}\n{'=' * len(words)}\n"


def render_text(paragraph: Paragraph) -> str:
    """Return the paragraph as plain text; only headings begin at the margin."""
    lines = [
        f"\n{_line(paragraph.heading)}",
        f"{_INDENT}{_line(' · '.join(filter(None, paragraph.facts)))}",
    ]
    lines += [f"{_INDENT}- {_line(said)}" for said in paragraph.descriptions]
    for label, names in paragraph.sources:
        if names:
            lines.append(f"{_INDENT}{label}: {', '.join(map(_line, names))}")
    if paragraph.text:
        lines += ["", *(_INDENT + line for line in _visible(paragraph.text).split("\n"))]
    return "\n".join(lines) + "\n"


def _visible(words: str) -> str:
    return _DIRECTIONS.sub("", without_control_characters(words))


def _line(words: str) -> str:
    return " ".join(_visible(words).split())


def _escaped(words: str) -> str:
    return _MARKS.sub(r"\\\1", _line(words))


def _description(description: str) -> tuple[str, ...]:
    return tuple(said for said in description.split(DESCRIPTION_SEPARATOR) if said)


def _passages(count: int) -> str:
    return "in 1 passage" if count == 1 else f"in {count:,} passages"


def _place(locator: Locator) -> str:
    page = "" if locator.page is None else f"page {locator.page}"
    return ", ".join(part for part in (page, " › ".join(locator.section)) if part)
