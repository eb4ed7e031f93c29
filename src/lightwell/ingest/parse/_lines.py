"""The lines that reStructuredText and AsciiDoc have in common, and the Markdown that both are written as."""

from collections.abc import Callable, Sequence
from itertools import takewhile


def count_lines(
    lines: Sequence[str], place: int, goes_on: Callable[[str], bool] = lambda _: True
) -> int:
    """Return how many lines stand here without an empty one, one at least."""
    below = (lines[number] for number in range(place + 1, len(lines)))
    rest = takewhile(lambda line: bool(line.strip()) and goes_on(line), below)
    return 1 + sum(1 for _ in rest)


def dedent(lines: Sequence[str], most: int = 1000) -> list[str]:
    """Return the lines without the white space that all of them begin with, at most so many characters of it."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[min(margin, most) :] if line.strip() else "" for line in lines]


def filled(lines: Sequence[str]) -> list[str]:
    """Return the lines from the first to the last that is not empty."""
    places = [place for place, line in enumerate(lines) if line.strip()]
    return [*lines[places[0] : places[-1] + 1]] if places else []


def fenced(code: Sequence[str]) -> list[str]:
    """Return the lines as code of Markdown."""
    lines = filled(code)
    mark = "~~~" if any("```" in line for line in lines) else "```"
    return [mark, *lines, mark]


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows, one at least, as a table of Markdown; the first is its head, and made as wide as the widest."""
    width = max(map(len, rows))
    head = [*rows[0], *[""] * (width - len(rows[0]))]
    written = [f"| {' | '.join(row)} |" for row in (head, *rows[1:])]
    return [written[0], f"|{' --- |' * width}", *written[1:]]
