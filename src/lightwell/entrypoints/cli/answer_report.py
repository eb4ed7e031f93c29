"""The results of `lightwell eval` on a collection, as JSON for comparing runs and as tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.saved_results import (
    Json,
    differences,
    make_table,
    percent,
    rounded,
    warnings_of_comparison,
)
from lightwell.evaluation.answer_measures import AnswerSummary, summarize_answers, worst_first
from lightwell.evaluation.answers import AnswerTrial, Reason, Stage
from lightwell.evaluation.correctness import AnswerGroup
from lightwell.evaluation.measures import percentile, split_by

_PERCENTILES = {"p50": 0.5, "p95": 0.95}
_LONGEST_TEXT = 300
_STAGE_KEYS = {
    Stage.BEST_SENTENCE: "bestSentence",
    Stage.THREE_SENTENCES: "threeBestSentences",
    Stage.WINDOW_600: "window600",
    Stage.WINDOW_1200: "window1200",
    Stage.BEST_PASSAGE: "bestPassage",
    Stage.ALL_PASSAGES: "fivePassages",
}
_NOTE = (
    "Shares in % of the answerable questions, with these exceptions. Right / answered: of the questions that were answered. Refused: of the"
    " unanswerable questions. AUROC: of relevance. Refused, shown: the nearest passages contain the answer. docs/evaluation.md explains each column."
)
_NOTE_OF_STAGES = "In % of the answerable questions: what contains the whole answer. The windows are around the best sentence of the best passage."
_NOTE_OF_TIME = "CPU is the time of this process, without the database server and model endpoints."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerResults:
    """One evaluation of answers; `passages` are chunks, `root` is the URL below which the documents lie.

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
    trials: Sequence[AnswerTrial]
    root: str
    problems: Sequence[str]

    @property
    def summaries(self) -> dict[str, AnswerSummary]:
        """All questions; then each split, kind and style, if there are several."""
        parts = {"all": list(self.trials)}
        for word, by in (
            ("split", split_by(self.trials, lambda each: each.question.split)),
            ("kind", split_by(self.trials, lambda each: each.question.kind)),
            ("style", split_by(self.trials, lambda each: each.question.style)),
        ):
            if len(by) > 1:
                parts |= {f"{word} {name}".strip(): part for name, part in by.items()}
        return {name: summarize_answers(part) for name, part in parts.items()}

    @property
    def times(self) -> dict[str, dict[str, float | None]]:
        """Milliseconds per question: processor time and elapsed time."""
        values = {
            "cpuMs": [each.took.cpu for each in self.trials],
            "wallMs": [each.took.wall for each in self.trials],
        }
        return {
            name: {word: percentile(ms, share) for word, share in _PERCENTILES.items()}
            for name, ms in values.items()
        }


def document(results: AnswerResults) -> Json:
    """Return the results as JSON; numbers are rounded to significant digits."""
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
        "modelTokens": sum(each.tokens for each in results.trials),
        "answers": [_trial(each, results.root) for each in results.trials],
        "failed": list(results.problems),
    }


def text(results: AnswerResults, before: Json | None, *, cases: int) -> RenderableType:
    """Return the results as tables with the worst `cases`, and the changes since the results `before`."""
    summaries = results.summaries
    parts: list[RenderableType] = [Text(_headline(results), style="bold"), _qualities(summaries)]
    parts += [Text(_NOTE, style="dim"), _stages(summaries), Text(_NOTE_OF_STAGES, style="dim")]
    parts += [_reasons(summaries), _times(results), Text(_NOTE_OF_TIME, style="dim")]
    worst = worst_first(results.trials)[:cases]
    if worst:
        parts.append(Text(f"The worst {len(worst)}", style="bold"))
        parts += [_case(each, results.root) for each in worst]
    parts += [Text(clean(f"failed  {each}"), style="red") for each in results.problems]
    if before is not None:
        parts += _comparison(before, document(results))
    return Group(*(part for each in parts for part in (each, Text())))


def _quality(of: AnswerSummary) -> Json:
    return {
        "answerable": of.answerable,
        "unanswerable": of.unanswerable,
        "right": rounded(of.right),
        "rightOfAnswered": rounded(of.right_of_answered),
        "wronglyRefused": rounded(of.wrongly_refused),
        "refusedAnswerShown": rounded(of.answer_shown),
        "rightOrShown": rounded(of.right_or_shown),
        "unanswerableRefused": rounded(of.unanswerable_refused),
        "relevanceAuroc": rounded(of.auroc),
        "goldFirst": rounded(of.gold_first),
        "goldFound": rounded(of.gold_found),
        "answerIn": {_STAGE_KEYS[stage]: rounded(share) for stage, share in of.held.items()},
        "reasons": {reason.value: of.reasons.get(reason, 0) for reason in Reason},
    }


def _trial(trial: AnswerTrial, root: str) -> Json:
    return {
        "id": trial.question.id,
        "question": trial.question.text,
        "kind": trial.question.kind,
        "style": trial.question.style,
        "outcome": trial.outcome.value,
        "isWell": trial.is_well,
        "reason": trial.reason.value if trial.reason else None,
        "missing": [list(group) for group in trial.missing],
        "relevance": trial.relevance,
        "goldFirst": trial.is_gold_first,
        "goldFound": trial.is_gold_found,
        "answerIn": [_STAGE_KEYS[stage] for stage in Stage if stage in trial.held],
        "answerShown": trial.is_answer_shown,
        "found": [_path(url, root) for url in trial.found],
        "text": trial.text,
        "notes": list(trial.notes),
        "cpuMs": rounded(trial.took.cpu, 1),
    }


def _headline(results: AnswerResults) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in results.settings.items())
    return clean(
        f"{results.dataset}: {len(results.trials)} questions, {results.documents:,} documents,"
        f" {results.passages:,} passages ({chosen}; Lightwell {results.version})"
    )


def _qualities(summaries: Mapping[str, AnswerSummary]) -> Table:
    table = make_table(
        "",
        "questions",
        "right",
        "right / answered",
        "wrongly refused",
        "refused, shown",
        "right or shown",
        "refused",
        "AUROC",
        "gold first",
        "gold found",
    )
    for name, each in summaries.items():
        table.add_row(
            clean(name),
            f"{each.answerable} + {each.unanswerable}",
            percent(each.right),
            percent(each.right_of_answered),
            percent(each.wrongly_refused),
            percent(each.answer_shown),
            percent(each.right_or_shown),
            percent(each.unanswerable_refused),
            "–" if each.auroc is None else f"{each.auroc:.3f}",
            percent(each.gold_first),
            percent(each.gold_found),
        )
    return table


def _stages(summaries: Mapping[str, AnswerSummary]) -> Table:
    table = make_table("answer whole in", *(stage.value for stage in Stage))
    for name, each in summaries.items():
        if each.answerable:
            table.add_row(clean(name), *(percent(each.held[stage]) for stage in Stage))
    return table


def _reasons(summaries: Mapping[str, AnswerSummary]) -> Table:
    held = [reason for reason in Reason if reason in summaries["all"].reasons]
    table = make_table("questions failed", *(reason.value for reason in held))
    for name, each in summaries.items():
        table.add_row(clean(name), *(str(each.reasons.get(reason, 0)) for reason in held))
    return table


def _times(results: AnswerResults) -> Table:
    table = make_table("ms / question", *_PERCENTILES)
    for name, word in (("cpuMs", "CPU"), ("wallMs", "wall")):
        values = results.times[name].values()
        table.add_row(word, *("–" if value is None else f"{value:.0f}" for value in values))
    return table


def _case(trial: AnswerTrial, root: str) -> Text:
    """Return one failed question with its reason, the answer that was given, and what a right answer contains."""
    asked = trial.question
    said = trial.text or f"(refused, relevance {trial.relevance:.2f})"
    lines = [f"{asked.id}  {asked.text}", f"    {trial.reason}; relevance {trial.relevance:.2f}"]
    lines.append(f"    answer: {_short(said)}")
    if trial.missing:
        lines.append(f"    missing: {_groups(trial.missing)}")
    if asked.gold:
        places = ", ".join(sorted(_path(url, root) for url in asked.gold))
        lines.append(f"    documents: {places}")
    return Text("\n".join(map(clean, lines)))


def _groups(groups: Sequence[AnswerGroup]) -> str:
    return " and ".join(" or ".join(repr(words) for words in group) for group in groups)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else f"{line[:_LONGEST_TEXT]}…"


def _path(url: str, root: str) -> str:
    return unquote(url.removeprefix(root).lstrip("/"))


# ── two runs ──────────────────────────────────────────────────────────────────────────────────────────


def _comparison(before: Json, now: Json) -> list[RenderableType]:
    if "answers" not in before:
        return [Text("The saved results are of a set of passages, so they are not compared.")]
    warnings = [Text(clean(each), style="red") for each in warnings_of_comparison(before, now)]
    return [*warnings, differences(before, now), *_changed_sides(before, now)]


def _changed_sides(before: Json, now: Json) -> Iterator[RenderableType]:
    """Yield the questions that are right now and were not before, then the reverse."""
    old, new = _by_id(before), _by_id(now)
    both = [each for each in new if each in old]
    for word, was in (("Better now", False), ("Worse now", True)):
        moved = [
            each for each in both if old[each]["isWell"] is was and new[each]["isWell"] is not was
        ]
        yield Text(f"{word}: {len(moved)}", style="bold")
        for each in moved:
            change = f"{_state(old[each])} → {_state(new[each])}"
            yield Text(clean(f"  {each}  {new[each]['question']}  ({change})"))


def _state(trial: Json) -> str:
    return str(trial["reason"] or trial["outcome"])


def _by_id(results: Json) -> dict[str, Json]:
    return {str(each["id"]): each for each in cast("Sequence[Json]", results["answers"])}
