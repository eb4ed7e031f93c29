"""Results of `lightwell eval`: what all have in common, and files that are written, read again, and compared number by number."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.console import clean

Json = Mapping[str, object]

_COMPARED_APART = "answers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured; `passages` are chunks.

    `code_hash` is of Lightwell's own files, `questions_hash` of the questions that were asked, in order.
    """

    version: str
    code_hash: str
    dataset: str
    corpus_hash: str
    questions_hash: str
    documents: int
    passages: int
    questions: int
    settings: Mapping[str, str]
    problems: Sequence[str]

    def document(self) -> Json:
        """Return it as JSON, without the problems."""
        return {
            "version": self.version,
            "codeHash": self.code_hash,
            "dataset": self.dataset,
            "corpusHash": self.corpus_hash,
            "questionsHash": self.questions_hash,
            "documents": self.documents,
            "passages": self.passages,
            "questions": self.questions,
            "settings": dict(self.settings),
        }

    def headline(self) -> Text:
        chosen = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        line = (
            f"{self.dataset}: {self.questions} questions, {self.documents:,} documents,"
            f" {self.passages:,} passages ({chosen}; Lightwell {self.version})"
        )
        return Text(clean(line), style="bold")

    def failures(self) -> list[Text]:
        return [Text(clean(f"failed  {problem}"), style="red") for problem in self.problems]


def rounded_times(times: Mapping[str, Mapping[str, float | None]]) -> Json:
    """Return milliseconds as JSON."""
    return {
        name: {share: rounded(value, 1) for share, value in values.items()}
        for name, values in times.items()
    }


def read_results(path: Path) -> Json:
    """Return saved results; raise `Invalid` if the file has none."""
    try:
        results = cast("object", json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} cannot be read as results: {error}") from error
    if not isinstance(results, dict) or "quality" not in results:
        raise Invalid(f"{path} has no results of `lightwell eval`; create such a file with --save")
    return cast("Json", results)


def write_results(path: Path, results: Json) -> None:
    """Save results; raise `Invalid` if the file cannot be written."""
    try:
        path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error}") from error


def warnings_of_comparison(before: Json, now: Json) -> list[Text]:
    """Return warnings if the results are of other documents or other questions."""
    differing: list[str] = []
    if before.get("corpusHash") != now["corpusHash"]:
        differing.append(
            f"The documents differ: {before.get('dataset')} before, {now['dataset']} now."
        )
    if before.get("questionsHash", now["questionsHash"]) != now["questionsHash"] or (
        before.get("questions") != now["questions"]
    ):
        differing.append(
            f"The questions differ: {before.get('questions')} before, {now['questions']} now."
        )
    return [
        Text(clean(f"{difference} The comparison below is therefore not meaningful."), style="red")
        for difference in differing
    ]


def differences(before: Json, now: Json) -> RenderableType:
    """Return a table of the values that differ between both results."""
    old, new = dict(_leaves(before)), dict(_leaves(now))
    table = make_table("value", "before", "now", "change")
    for name in (name for name in new if name in old and old[name] != new[name]):
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
