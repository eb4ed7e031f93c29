"""Exports as markdown and plain text, one paragraph per record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lightwell.curate.cells import format_vector, without_control_characters
from lightwell.domain.exports import (
    ExportedRelation,
    ExportRecord,
    ExportTable,
    Passage,
    PassageVector,
)
from lightwell.domain.graph import DESCRIPTION_SEPARATOR, Entity
from lightwell.text.regex import regex

_MARKDOWN_SIGNS = regex(r"([\\`*_\[\]<>#|!~&])")
_BACKTICKS = regex(r"`{3,}")
_DIRECTION_CONTROLS = regex("[\u202a-\u202e\u2066-\u2069]")
_INDENT = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One record for people to read: heading, facts on one line, descriptions, sources, and text."""

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
                facts=(record.kind, record.ref, _passage_count(record.chunk_count)),
                descriptions=_description_parts(record.description),
                sources=_entity_fields(record),
            )
        case ExportedRelation():
            return Paragraph(
                heading=f"{record.source_name} → {record.predicate.words} → {record.target_name}",
                facts=(
                    f"{record.source} → {record.target}",
                    f"weight {record.weight:g}",
                    ", ".join(record.keywords),
                    _passage_count(record.chunk_count),
                ),
                descriptions=_description_parts(record.description),
                sources=(
                    ("Comparison", _description_parts(record.comparison)),
                    ("Use case", _description_parts(record.use_case)),
                    ("Passages", record.sources),
                    ("Documents", record.paths),
                ),
            )
        case Passage():
            locator = record.locator
            page = "" if locator.page is None else f"page {locator.page}"
            section = " › ".join(locator.section)
            return Paragraph(
                heading=", ".join(filter(None, (record.title, page, section))) or record.ref,
                facts=(record.ref, record.url, f"{record.tokens} tokens", record.topic),
                text=record.text,
            )
        case PassageVector():
            return Paragraph(
                heading=record.chunk_ref,
                facts=(record.model, f"{record.vector.size} dimensions"),
                text=format_vector(record.vector),
            )


class ParagraphFile:
    """One file of paragraphs under a heading for each table; markup in records is escaped."""

    shortened_texts = 0

    def __init__(
        self, path: Path, title: Callable[[str], str], render: Callable[[Paragraph], str]
    ) -> None:
        self._file = path.open("x", encoding="utf-8", newline="\n")
        self._title = title
        self._render = render
        self._has_begun = False

    def begin(self, table: ExportTable) -> None:
        self._file.write(("\n" if self._has_begun else "") + self._title(table.value.capitalize()))
        self._has_begun = True

    def add(self, records: Sequence[ExportRecord]) -> None:
        self._file.writelines(self._render(record_paragraph(record)) for record in records)

    def close(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        self._file.close()


def render_markdown_title(words: str) -> str:
    """Return a heading of the first level."""
    return f"# {words}\n"


def render_markdown(paragraph: Paragraph) -> str:
    """Return the paragraph as markdown; markup, links, images and tags in its text are escaped."""
    lines = [
        f"\n## {_escape(paragraph.heading)}\n",
        _escape(" · ".join(filter(None, paragraph.facts))),
    ]
    if paragraph.descriptions:
        lines += ["", *(f"- {_escape(description)}" for description in paragraph.descriptions)]
    for label, names in paragraph.sources:
        if names:
            lines += ["", f"{label}: {', '.join(map(_escape, names))}"]
    if paragraph.text:
        text = _visible_text(paragraph.text)
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
        f"\n{_one_line(paragraph.heading)}",
        f"{_INDENT}{_one_line(' · '.join(filter(None, paragraph.facts)))}",
    ]
    lines += [f"{_INDENT}- {_one_line(description)}" for description in paragraph.descriptions]
    for label, names in paragraph.sources:
        if names:
            lines.append(f"{_INDENT}{label}: {', '.join(map(_one_line, names))}")
    if paragraph.text:
        lines += ["", *(_INDENT + line for line in _visible_text(paragraph.text).split("\n"))]
    return "\n".join(lines) + "\n"


def _visible_text(words: str) -> str:
    return _DIRECTION_CONTROLS.sub("", without_control_characters(words))


def _one_line(words: str) -> str:
    return " ".join(_visible_text(words).split())


def _escape(words: str) -> str:
    return _MARKDOWN_SIGNS.sub(r"\\\1", _one_line(words))


def _description_parts(description: str) -> tuple[str, ...]:
    return tuple(part for part in description.split(DESCRIPTION_SEPARATOR) if part)


def _entity_fields(entity: Entity) -> tuple[tuple[str, tuple[str, ...]], ...]:
    concept = entity.concept
    return (
        ("Also called", concept.aliases),
        ("Category", (concept.category,) if concept.category else ()),
        ("Difficulty", (concept.difficulty,) if concept.difficulty else ()),
        ("Tags", concept.tags),
        ("First stated", _day(entity.created_at)),
        ("Last stated", _day(entity.updated_at)),
        ("Passages", entity.sources),
        ("Documents", entity.paths),
    )


def _day(moment: datetime | None) -> tuple[str, ...]:
    return (moment.date().isoformat(),) if moment else ()


def _passage_count(count: int) -> str:
    return "in 1 passage" if count == 1 else f"in {count:,} passages"
