"""The page of `lightwell eval --compare FILE --report FILE`: one HTML file that needs no other file, and runs nothing."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.comparison import Comparison, Moved, Side

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
table { border-collapse: collapse; } td, th { padding: .2rem 1rem .2rem 0; text-align: right; }
td:first-child, th:first-child { text-align: left; }
article { border-top: 1px solid #ccc; padding: .5rem 0 1rem; } h3 { margin: .5rem 0; font-size: 1rem; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; } .answer { white-space: pre-wrap; }
.note { color: #555; } .warning { color: #a00; }
"""


def write_page(path: Path, comparison: Comparison) -> None:
    """Write the comparison as a page; raise `Invalid` if the file cannot be written."""
    try:
        path.write_text(page(comparison), encoding="utf-8")
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error}") from error


def page(comparison: Comparison) -> str:
    """Return the comparison as HTML; whatever comes from documents and questions is text in it."""
    before, now = map(escape, comparison.titles)
    rows = (_row("td", (figure.name, *figure.texts)) for figure in comparison.figures)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>Two runs of lightwell eval</title>',
        f"<style>{_STYLE}</style></head><body>",
        "<h1>Two runs of <code>lightwell eval</code></h1>",
        f"<p>Before: {before}<br>Now: {now}</p>",
        *(f'<p class="warning">{escape(warning)}</p>' for warning in comparison.warnings),
        "<table>",
        _row("th", ("in %, or as it says", "before", "now", "change")),
        *rows,
        "</table>",
        *_section("Worse now", comparison.worse),
        *_section("Better now", comparison.better),
        *_section("Otherwise, no better and no worse", comparison.otherwise),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _row(cell: str, texts: Iterable[str]) -> str:
    cells = "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts)
    return f"<tr>{cells}</tr>"


def _section(title: str, questions: Iterable[Moved]) -> list[str]:
    articles = [_article(question) for question in questions]
    return [f"<h2>{title}: {len(articles)}</h2>", *articles]


def _article(question: Moved) -> str:
    notes: list[str] = []
    if question.asked != question.question:
        notes.append(f"Read as: {question.asked}")
    if question.expected:
        notes.append(f"Missing: {question.expected}")
    lines = "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
    heading = f"<h3>{escape(question.id)} · {escape(question.question)}</h3>"
    sides = _side("Before", question.before) + _side("Now", question.now)
    return f'<article>{heading}{lines}<div class="sides">{sides}</div></article>'


def _side(word: str, side: Side) -> str:
    answer = f'<p class="answer">{escape(side.answer)}</p>' if side.answer else ""
    return f"<div><strong>{word}: {escape(side.outcome)}</strong>{answer}</div>"
