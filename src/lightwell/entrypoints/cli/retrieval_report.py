"""The results of `lightwell eval` on a set of passages, as JSON for comparing commits and as tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lightwell.domain.calibration import Calibration
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.saved_results import (
    Json,
    Measured,
    differences,
    make_table,
    percent,
    rounded,
    rounded_times,
    warnings_of_comparison,
)
from lightwell.evaluation.measures import (
    ALL_WITHIN,
    DEPTHS,
    QuestionTime,
    Summary,
    Trial,
    VariantTrial,
    mean,
    percentile,
    recall,
    split_by,
    summary,
)

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
    "Recall covers the questions with gold documents. AUROC and refused compare with the same questions, asked by a reader "
    "who sees none of the documents that answer them. CPU is the time of this process, without the database server."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalResults:
    """One evaluation; `variants` are results in other modes and without channels, by name."""

    measured: Measured
    trials: Sequence[Trial]
    variants: Mapping[str, Sequence[VariantTrial]]
    calibration: Calibration | None

    @property
    def summaries(self) -> dict[str, Summary]:
        """All questions; then each split and each type, if there are several."""
        summaries = {"all": summary(self.trials)}
        for word, parts in (
            ("split", split_by(self.trials, lambda trial: trial.split)),
            ("type", split_by(self.trials, lambda trial: trial.kind)),
        ):
            if len(parts) > 1:
                summaries |= {
                    f"{word} {name}".strip(): summary(part) for name, part in parts.items()
                }
        return summaries

    @property
    def times(self) -> dict[str, dict[str, float | None]]:
        """Milliseconds per question: elapsed and processor time, with and without the embedder."""
        return {
            name: {
                word: percentile([of(trial.took) for trial in self.trials], share)
                for word, share in _SHARES.items()
            }
            for name, of in _TIMES.items()
        }


def document(results: RetrievalResults) -> Json:
    """Return the results as JSON; numbers are rounded to significant digits."""
    calibration = results.calibration
    return {
        **results.measured.document(),
        "quality": {name: _quality(part) for name, part in results.summaries.items()},
        "time": rounded_times(results.times),
        "variants": {name: _variant_json(runs) for name, runs in results.variants.items()},
        "calibration": {"scale": calibration.a, "shift": calibration.b} if calibration else None,
        "failed": list(results.measured.problems),
    }


def text(results: RetrievalResults, before: Json | None) -> RenderableType:
    """Return the results as tables, with the changes since the results `before`."""
    lines: list[RenderableType] = [results.measured.headline(), _qualities(results)]
    lines += [Text(_NOTE, style="dim"), _times(results)]
    if results.variants:
        lines.append(_variants_table(results))
    if calibration := results.calibration:
        lines.append(
            Text(
                "So that 0.6 means what it does elsewhere, set\n"
                f"LIGHTWELL_RERANK_SCALE={calibration.a:.3f}\nLIGHTWELL_RERANK_SHIFT={calibration.b:.3f}"
            )
        )
    lines += results.measured.failures()
    if before is not None:
        now = document(results)
        lines += [*warnings_of_comparison(before, now), differences(before, now)]
    return Group(*(part for line in lines for part in (line, Text())))


def _quality(of: Summary) -> Json:
    return {
        "questions": of.questions,
        **{f"recallAt{depth}": rounded(share) for depth, share in of.recall.items()},
        f"allGoldAt{ALL_WITHIN}": rounded(of.all_gold),
        "meanReciprocalRank": rounded(of.reciprocal_rank),
        "abstentionAuroc": rounded(of.auroc),
        "answeredWhenAnswerable": rounded(of.answered),
        "refusedWhenUnanswerable": rounded(of.refused),
    }


def _variant_json(runs: Sequence[VariantTrial]) -> Json:
    sought = [trial for trial in runs if trial.gold]
    return {
        f"recallAt{ALL_WITHIN}": rounded(
            mean(recall(trial.found, trial.gold, ALL_WITHIN) for trial in sought)
        ),
        f"allGoldAt{ALL_WITHIN}": rounded(
            mean(trial.gold <= set(trial.found[:ALL_WITHIN]) for trial in sought)
        ),
    }


def _qualities(results: RetrievalResults) -> Table:
    depths = [f"R@{depth}" for depth in DEPTHS]
    table = make_table(
        "",
        "questions",
        *depths,
        f"all gold @{ALL_WITHIN}",
        "MRR",
        "AUROC",
        "≥ 0.6",
        "< 0.6 without",
    )
    for name, part in results.summaries.items():
        shares = (*part.recall.values(), part.all_gold, part.reciprocal_rank)
        rest = (percent(part.answered), percent(part.refused))
        auroc = "–" if part.auroc is None else f"{part.auroc:.3f}"
        table.add_row(clean(name), str(part.questions), *map(percent, shares), auroc, *rest)
    return table


def _times(results: RetrievalResults) -> Table:
    table = make_table(
        "ms / question", *(f"{kind} {word}" for kind in ("wall", "CPU") for word in _SHARES)
    )
    for name, *kinds in _TIMES_SAID:
        values = [results.times[kind][word] for kind in kinds for word in _SHARES]
        table.add_row(name, *("–" if value is None else f"{value:.1f}" for value in values))
    return table


def _variants_table(results: RetrievalResults) -> Table:
    as_asked = [VariantTrial(gold=trial.gold, found=trial.found) for trial in results.trials]
    table = make_table("", f"R@{ALL_WITHIN}", f"all gold @{ALL_WITHIN}")
    for name, runs in {"as asked": as_asked, **results.variants}.items():
        shares = cast("Iterable[float | None]", _variant_json(runs).values())
        table.add_row(name, *map(percent, shares))
    return table
