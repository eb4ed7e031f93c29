"""The results of `lightwell eval` on a set of passages, as JSON for comparing commits and as tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lightwell.domain.calibration import Calibration
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.saved_results import (
    Json,
    differences,
    make_table,
    percent,
    rounded,
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
    """One evaluation; `variants` are results in other modes and without channels, by name; `passages` are chunks.

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
    variants: Mapping[str, Sequence[VariantTrial]]
    calibration: Calibration | None
    problems: Sequence[str]

    @property
    def summaries(self) -> dict[str, Summary]:
        """All questions; then each split and each type, if there are several."""
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
        """Milliseconds per question: elapsed and processor time, with and without the embedder."""
        return {
            name: {
                word: percentile([of(each.took) for each in self.trials], share)
                for word, share in _SHARES.items()
            }
            for name, of in _TIMES.items()
        }


def document(results: RetrievalResults) -> Json:
    """Return the results as JSON; numbers are rounded to significant digits."""
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
            name: {word: rounded(value, 1) for word, value in each.items()}
            for name, each in results.times.items()
        },
        "variants": {name: _variant_json(found) for name, found in results.variants.items()},
        "calibration": {"scale": calibration.a, "shift": calibration.b} if calibration else None,
        "failed": list(results.problems),
    }


def text(results: RetrievalResults, before: Json | None) -> RenderableType:
    """Return the results as tables, with the changes since the results `before`."""
    lines: list[RenderableType] = [Text(_headline(results), style="bold"), _qualities(results)]
    lines += [Text(_NOTE, style="dim"), _times(results)]
    if results.variants:
        lines.append(_variants_table(results))
    if results.calibration:
        lines.append(Text(_calibration(results.calibration)))
    lines += [Text(clean(f"failed  {each}"), style="red") for each in results.problems]
    if before is not None:
        now = document(results)
        lines += [Text(clean(each), style="red") for each in warnings_of_comparison(before, now)]
        lines.append(differences(before, now))
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
    sought = [each for each in runs if each.gold]
    return {
        f"recallAt{ALL_WITHIN}": rounded(
            mean(recall(each.found, each.gold, ALL_WITHIN) for each in sought)
        ),
        f"allGoldAt{ALL_WITHIN}": rounded(
            mean(each.gold <= set(each.found[:ALL_WITHIN]) for each in sought)
        ),
    }


def _headline(results: RetrievalResults) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in results.settings.items())
    return clean(
        f"{results.dataset}: {len(results.trials)} questions, {results.documents:,} documents,"
        f" {results.passages:,} passages ({chosen}; Lightwell {results.version})"
    )


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
    for name, each in results.summaries.items():
        shares = (*each.recall.values(), each.all_gold, each.reciprocal_rank)
        rest = (percent(each.answered), percent(each.refused))
        auroc = "–" if each.auroc is None else f"{each.auroc:.3f}"
        table.add_row(clean(name), str(each.questions), *map(percent, shares), auroc, *rest)
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
    asked = {
        "as asked": [VariantTrial(gold=each.gold, found=each.found) for each in results.trials]
    }
    table = make_table("", f"R@{ALL_WITHIN}", f"all gold @{ALL_WITHIN}")
    for name, found in (asked | dict(results.variants)).items():
        table.add_row(
            name, *(percent(cast("float | None", each)) for each in _variant_json(found).values())
        )
    return table


def _calibration(calibration: Calibration) -> str:
    return (
        "So that 0.6 means what it does elsewhere, set\n"
        f"LIGHTWELL_RERANK_SCALE={calibration.a:.3f}\nLIGHTWELL_RERANK_SHIFT={calibration.b:.3f}"
    )
