"""What `lightwell eval` measured, as JSON that commits can be compared by, and as tables."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lightwell.domain.calibration import Calibration
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.cli.show import clean
from lightwell.evaluation.measures import (
    ALL_WITHIN,
    DEPTHS,
    QuestionTime,
    Summary,
    Trial,
    mean,
    percentile,
    recall,
    split_by,
    summary,
)

Json = Mapping[str, object]

_SHARES = {"p50": 0.5, "p95": 0.95}
_TIMES: Mapping[str, Callable[[QuestionTime], float]] = {
    "wallMs": lambda took: took.wall,
    "cpuMs": lambda took: took.cpu,
    "wallMsWithoutEmbedding": lambda took: took.bare_wall,
    "cpuMsWithoutEmbedding": lambda took: took.bare_cpu,
}
_TIMES_SAID = (
    ("with embedding", "wallMs", "cpuMs"),
    ("without", "wallMsWithoutEmbedding", "cpuMsWithoutEmbedding"),
)
_NOTE = (
    "Recall over the questions with gold documents. AUROC, and what is refused: the same questions asked by a reader "
    "who sees none of the documents that answer them. CPU is this process's, without the database server's."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """What another way of asking found: documents, best first."""

    gold: frozenset[str]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """One evaluation; `ways` are the other ways of asking by name; `passages` are chunks.

    `code_hash` is of Lightwell's own files, `questions_hash` of the questions that were asked, in order.
    """

    version: str
    code_hash: str
    dataset: str
    corpus_hash: str
    questions_hash: str
    documents: int
    passages: int
    settings: Mapping[str, str]
    trials: Sequence[Trial]
    variants: Mapping[str, Sequence[EvaluationRun]]
    calibration: Calibration | None
    problems: Sequence[str]

    @property
    def summaries(self) -> dict[str, Summary]:
        """All questions; then each split and each type, where there are several."""
        found = {"all": summary(self.trials)}
        for word, parts in (
            ("split", split_by(self.trials, lambda each: each.split)),
            ("type", split_by(self.trials, lambda each: each.kind)),
        ):
            if len(parts) > 1:
                found |= {f"{word} {name}".strip(): summary(part) for name, part in parts.items()}
        return found

    @property
    def times(self) -> dict[str, dict[str, float | None]]:
        """Milliseconds per question: by the clock and of the processor, with and without the embedder."""
        return {
            name: {
                word: percentile([of(each.took) for each in self.trials], share)
                for word, share in _SHARES.items()
            }
            for name, of in _TIMES.items()
        }


def document(results: Results) -> Json:
    """Return the results for programs; numbers are rounded to what is worth comparing."""
    calibration = results.calibration
    return {
        "version": results.version,
        "codeHash": results.code_hash,
        "dataset": results.dataset,
        "corpusHash": results.corpus_hash,
        "questionsHash": results.questions_hash,
        "documents": results.documents,
        "passages": results.passages,
        "questions": len(results.trials),
        "settings": dict(results.settings),
        "quality": {name: _quality(each) for name, each in results.summaries.items()},
        "time": {
            name: {word: _round(value, 1) for word, value in each.items()}
            for name, each in results.times.items()
        },
        "ways": {name: _variant_json(found) for name, found in results.variants.items()},
        "calibration": {"scale": calibration.a, "shift": calibration.b} if calibration else None,
        "failed": list(results.problems),
    }


def text(results: Results, before: Json | None) -> RenderableType:
    """Return the results as tables; with those `before`, what has changed since."""
    lines: list[RenderableType] = [Text(_headline(results), style="bold"), _qualities(results)]
    lines += [Text(_NOTE, style="dim"), _times(results)]
    if results.variants:
        lines.append(_variants_table(results))
    if results.calibration:
        lines.append(Text(_calibration(results.calibration)))
    lines += [Text(clean(f"failed  {each}"), style="red") for each in results.problems]
    if before is not None:
        now = document(results)
        lines += [Text(clean(each), style="red") for each in _incomparable(before, now)]
        lines.append(_changes(before, now))
    return Group(*(part for line in lines for part in (line, Text())))


def read(path: Path) -> Json:
    """Return results that were saved; raise `Invalid` when these are none."""
    try:
        found = cast("object", json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} cannot be read as results: {error}") from error
    if not isinstance(found, dict) or "quality" not in found:
        raise Invalid(f"{path} holds no results of `lightwell eval`")
    return cast("Json", found)


def write(path: Path, results: Json) -> None:
    """Save results; raise `Invalid` when they cannot be written there."""
    try:
        path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error}") from error


def _quality(of: Summary) -> Json:
    return {
        "questions": of.questions,
        **{f"recallAt{depth}": _round(share) for depth, share in of.recall.items()},
        f"allGoldAt{ALL_WITHIN}": _round(of.all_gold),
        "meanReciprocalRank": _round(of.reciprocal_rank),
        "abstentionAuroc": _round(of.auroc),
        "answeredWhenAnswerable": _round(of.answered),
        "refusedWhenUnanswerable": _round(of.refused),
    }


def _variant_json(runs: Sequence[EvaluationRun]) -> Json:
    sought = [each for each in runs if each.gold]
    return {
        f"recallAt{ALL_WITHIN}": _round(
            mean(recall(each.found, each.gold, ALL_WITHIN) for each in sought)
        ),
        f"allGoldAt{ALL_WITHIN}": _round(
            mean(each.gold <= set(each.found[:ALL_WITHIN]) for each in sought)
        ),
    }


def _headline(results: Results) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in results.settings.items())
    return clean(
        f"{results.dataset}: {len(results.trials)} questions, {results.documents:,} documents,"
        f" {results.passages:,} passages ({chosen}; Lightwell {results.version})"
    )


def _qualities(results: Results) -> Table:
    depths = [f"R@{depth}" for depth in DEPTHS]
    table = _table(
        "",
        "questions",
        *depths,
        f"all gold @{ALL_WITHIN}",
        "MRR",
        "AUROC",
        "≥ 0.6",
        "< 0.6 without",
    )
    for name, each in results.summaries.items():
        shares = (*each.recall.values(), each.all_gold, each.reciprocal_rank)
        rest = (_share(each.answered), _share(each.refused))
        auroc = "–" if each.auroc is None else f"{each.auroc:.3f}"
        table.add_row(clean(name), str(each.questions), *map(_share, shares), auroc, *rest)
    return table


def _times(results: Results) -> Table:
    table = _table(
        "ms / question", *(f"{kind} {word}" for kind in ("wall", "CPU") for word in _SHARES)
    )
    for name, *kinds in _TIMES_SAID:
        values = [results.times[kind][word] for kind in kinds for word in _SHARES]
        table.add_row(name, *("–" if value is None else f"{value:.1f}" for value in values))
    return table


def _variants_table(results: Results) -> Table:
    asked = {
        "as asked": [EvaluationRun(gold=each.gold, found=each.found) for each in results.trials]
    }
    table = _table("", f"R@{ALL_WITHIN}", f"all gold @{ALL_WITHIN}")
    for name, found in (asked | dict(results.variants)).items():
        table.add_row(
            name, *(_share(cast("float | None", each)) for each in _variant_json(found).values())
        )
    return table


def _calibration(calibration: Calibration) -> str:
    return (
        "So that 0.6 means what it does elsewhere, set\n"
        f"LIGHTWELL_RERANK_SCALE={calibration.a:.3f}\nLIGHTWELL_RERANK_SHIFT={calibration.b:.3f}"
    )


def _changes(before: Json, now: Json) -> RenderableType:
    """Return each number that is another than before, and what else is another, so that both can be compared."""
    old, new = dict(_numeric_leaves(before)), dict(_numeric_leaves(now))
    table = _table("since then", "before", "now", "change")
    for name in (each for each in new if each in old and old[each] != new[each]):
        was, is_ = old[name], new[name]
        if isinstance(was, float | int) and isinstance(is_, float | int):
            table.add_row(clean(name), f"{was:g}", f"{is_:g}", f"{is_ - was:+g}")
        else:
            table.add_row(clean(name), clean(str(was)), clean(str(is_)), "")
    return table if table.row_count else Text("Nothing has changed since then.")


def _incomparable(before: Json, now: Json) -> list[str]:
    """Return what speaks against comparing: other passages, or other questions, where both say which they were."""
    found: list[str] = []
    if before.get("corpusHash") != now["corpusHash"]:
        found.append(f"Other passages: {before.get('dataset')} before, {now['dataset']} now.")
    if before.get("questionsHash", now["questionsHash"]) != now["questionsHash"] or (
        before.get("questions") != now["questions"]
    ):
        found.append(f"Other questions: {before.get('questions')} before, {now['questions']} now.")
    return [f"{each} What follows compares two different things." for each in found]


def _numeric_leaves(tree: Json, above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _numeric_leaves(cast("Json", value), f"{above}{name} › ")
        else:
            yield f"{above}{name}", value


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _round(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)
