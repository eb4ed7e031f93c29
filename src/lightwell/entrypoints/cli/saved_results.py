"""Results of `lightwell eval` as files: written, read again, and compared number by number."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import clean

Json = Mapping[str, object]

_COMPARED_APART = "answers"


def read_results(path: Path) -> Json:
    """Return saved results; raise `Invalid` if the file has none."""
    try:
        found = cast("object", json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} cannot be read as results: {error}") from error
    if not isinstance(found, dict) or "quality" not in found:
        raise Invalid(f"{path} has no results of `lightwell eval`; create such a file with --save")
    return cast("Json", found)


def write_results(path: Path, results: Json) -> None:
    """Save results; raise `Invalid` if the file cannot be written."""
    try:
        path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error}") from error


def warnings_of_comparison(before: Json, now: Json) -> list[str]:
    """Return warnings if the results are of other documents or other questions."""
    found: list[str] = []
    if before.get("corpusHash") != now["corpusHash"]:
        found.append(f"The documents differ: {before.get('dataset')} before, {now['dataset']} now.")
    if before.get("questionsHash", now["questionsHash"]) != now["questionsHash"] or (
        before.get("questions") != now["questions"]
    ):
        found.append(
            f"The questions differ: {before.get('questions')} before, {now['questions']} now."
        )
    return [f"{each} The comparison below is therefore not meaningful." for each in found]


def differences(before: Json, now: Json) -> RenderableType:
    """Return a table of the values that differ between both results."""
    old, new = dict(_leaves(before)), dict(_leaves(now))
    table = make_table("value", "before", "now", "change")
    for name in (each for each in new if each in old and old[each] != new[each]):
        was, is_ = old[name], new[name]
        if isinstance(was, float | int) and isinstance(is_, float | int):
            table.add_row(clean(name), f"{was:g}", f"{is_:g}", f"{is_ - was:+.4g}")
        else:
            table.add_row(clean(name), clean(str(was)), clean(str(is_)), "")
    return table if table.row_count else Text("Nothing has changed since then.")


def make_table(*columns: str) -> Table:
    """Return an empty table; all columns but the first are aligned right."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table


def percent(value: float | None) -> str:
    """Return a share in percent."""
    return "–" if value is None else f"{100 * value:.1f}"


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Return the value, rounded to significant digits."""
    return None if value is None else round(value, digits)


def _leaves(tree: Json, above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(cast("Json", value), f"{above}{name} › ")
        elif name != _COMPARED_APART:
            yield f"{above}{name}", value
