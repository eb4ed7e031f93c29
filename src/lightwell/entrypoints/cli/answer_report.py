"""The results of `lightwell eval` on a collection, as JSON for comparing runs and as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import lightwell.entrypoints.cli.comparison as comparison
from lightwell.entrypoints.cli.comparison import Comparison
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.saved_results import (
    Json,
    Measured,
    make_table,
    percent,
    rounded,
    rounded_times,
)
from lightwell.evaluation.answer_measures import (
    AnswerSummary,
    Ended,
    summarize_answers,
    worst_first,
)
from lightwell.evaluation.answers import AnswerTrial, Reason, Stage
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
_NOTE_OF_STATES = "Right: of the answerable questions that ended so. The other shares: of all answerable, and of all unanswerable questions."
_NOTE_OF_TIME = "CPU is the time of this process, without the database server and model endpoints."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerResults:
    """One evaluation of answers; `root` is the URL below which the documents lie."""

    measured: Measured
    trials: Sequence[AnswerTrial]
    root: str

    @property
    def summaries(self) -> dict[str, AnswerSummary]:
        """All questions; of dialogues the first and the later ones; then each split, kind and style, if there are several."""
        parts = {"all": list(self.trials)}
        dialogues = [trial for trial in self.trials if trial.question.dialogue]
        if dialogues:
            parts["first turns"] = [trial for trial in dialogues if trial.question.turn == 1]
            parts["follow-ups"] = [trial for trial in dialogues if trial.question.turn > 1]
        for word, by in (
            ("split", split_by(self.trials, lambda trial: trial.question.split)),
            ("kind", split_by(self.trials, lambda trial: trial.question.kind)),
            ("style", split_by(self.trials, lambda trial: trial.question.style)),
        ):
            if len(by) > 1:
                parts |= {f"{word} {name}".strip(): part for name, part in by.items()}
        return {name: summarize_answers(part) for name, part in parts.items()}

    @property
    def times(self) -> dict[str, dict[str, float | None]]:
        """Milliseconds per question: processor time and elapsed time."""
        values = {
            "cpuMs": [trial.took.cpu for trial in self.trials],
            "wallMs": [trial.took.wall for trial in self.trials],
        }
        return {
            name: {word: percentile(ms, share) for word, share in _PERCENTILES.items()}
            for name, ms in values.items()
        }


def document(results: AnswerResults) -> Json:
    """Return the results as JSON; numbers are rounded to significant digits."""
    return {
        **results.measured.document(),
        "quality": {name: _quality(summary) for name, summary in results.summaries.items()},
        "time": rounded_times(results.times),
        "modelCalls": sum(trial.calls for trial in results.trials),
        "modelTokens": sum(trial.tokens for trial in results.trials),
        "answers": [_trial(trial, results.root) for trial in results.trials],
        "failed": list(results.measured.problems),
    }


def text(results: AnswerResults, compared: Comparison | None, *, cases: int) -> RenderableType:
    """Return the results as tables with the worst `cases`, and what differs from the run that they are `compared` with."""
    summaries = results.summaries
    parts: list[RenderableType] = [results.measured.headline(), _qualities(summaries)]
    parts += [Text(_NOTE, style="dim"), _states(summaries["all"]), _lengths(summaries["all"])]
    parts += [Text(_NOTE_OF_STATES, style="dim")]
    parts += [_stages(summaries), Text(_NOTE_OF_STAGES, style="dim")]
    parts += [_reasons(summaries), _times(results), Text(_NOTE_OF_TIME, style="dim")]
    worst = worst_first(results.trials)[:cases]
    if worst:
        parts.append(Text(f"The worst {len(worst)}", style="bold"))
        parts += [_case(trial, results.root) for trial in worst]
    parts += results.measured.failures()
    if compared is not None:
        parts += comparison.text(compared)
    return Group(*(line for part in parts for line in (part, Text())))


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
        "states": {state.value: _ended(ended) for state, ended in of.states.items()},
        "confidences": {word.value: _ended(ended) for word, ended in of.confidences.items()},
        "keySentences": {
            "ofRight": rounded(of.lengths.key_right),
            "medianWords": of.lengths.key_words,
            "medianWordsOfAnswer": of.lengths.words,
        },
    }


def _ended(of: Ended) -> Json:
    return {
        "answerable": of.answerable,
        "unanswerable": of.unanswerable,
        "right": rounded(of.right),
        "ofAnswerable": rounded(of.of_answerable),
        "ofUnanswerable": rounded(of.of_unanswerable),
    }


def _trial(trial: AnswerTrial, root: str) -> Json:
    return {
        "id": trial.question.id,
        "question": trial.question.text,
        "dialogue": trial.question.dialogue,
        "asked": trial.asked,
        "kind": trial.question.kind,
        "style": trial.question.style,
        "outcome": trial.outcome.value,
        "state": trial.state.value,
        "confidence": trial.confidence.value,
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
        "keySentences": trial.key_text,
        "keySentencesRight": trial.is_key_right,
        "notes": list(trial.notes),
        "cpuMs": rounded(trial.took.cpu, 1),
    }


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
    for name, summary in summaries.items():
        table.add_row(
            clean(name),
            f"{summary.answerable} + {summary.unanswerable}",
            percent(summary.right),
            percent(summary.right_of_answered),
            percent(summary.wrongly_refused),
            percent(summary.answer_shown),
            percent(summary.right_or_shown),
            percent(summary.unanswerable_refused),
            "–" if summary.auroc is None else f"{summary.auroc:.3f}",
            percent(summary.gold_first),
            percent(summary.gold_found),
        )
    return table


def _states(of: AnswerSummary) -> Table:
    table = make_table("ended", "questions", "right", "of the answerable", "of the unanswerable")
    for word, ended in (
        *((state.value, ended) for state, ended in of.states.items()),
        *((f"confidence {word.value}", ended) for word, ended in of.confidences.items()),
    ):
        table.add_row(
            word,
            f"{ended.answerable} + {ended.unanswerable}",
            percent(ended.right),
            percent(ended.of_answerable),
            percent(ended.of_unanswerable),
        )
    return table


def _lengths(of: AnswerSummary) -> Text:
    lengths = of.lengths
    if lengths.words is None:
        return Text("Nothing was answered.")
    return Text(
        f"The key sentences contain the whole answer in {percent(lengths.key_right)} % of the right answers."
        f" Median words: {lengths.key_words:g} of them, {lengths.words:g} of the answer."
    )


def _stages(summaries: Mapping[str, AnswerSummary]) -> Table:
    table = make_table("answer whole in", *(stage.value for stage in Stage))
    for name, summary in summaries.items():
        if summary.answerable:
            table.add_row(clean(name), *(percent(summary.held[stage]) for stage in Stage))
    return table


def _reasons(summaries: Mapping[str, AnswerSummary]) -> Table:
    reasons = [reason for reason in Reason if reason in summaries["all"].reasons]
    table = make_table("questions failed", *(reason.value for reason in reasons))
    for name, summary in summaries.items():
        table.add_row(clean(name), *(str(summary.reasons.get(reason, 0)) for reason in reasons))
    return table


def _times(results: AnswerResults) -> Table:
    table = make_table("ms / question", *_PERCENTILES)
    for name, word in (("cpuMs", "CPU"), ("wallMs", "wall")):
        values = results.times[name].values()
        table.add_row(word, *("–" if value is None else f"{value:.0f}" for value in values))
    return table


def _case(trial: AnswerTrial, root: str) -> Text:
    """Return one failed question with its reason, the answer that was given, and what a right answer contains."""
    question = trial.question
    answer = trial.text or f"(refused, relevance {trial.relevance:.2f})"
    lines = [
        f"{question.id}  {question.text}",
        f"    {trial.reason}; relevance {trial.relevance:.2f}",
        f"    answer: {comparison.shorten(answer, _LONGEST_TEXT)}",
    ]
    if trial.missing:
        groups = (" or ".join(repr(words) for words in group) for group in trial.missing)
        lines.append(f"    missing: {' and '.join(groups)}")
    if question.gold:
        places = ", ".join(sorted(_path(url, root) for url in question.gold))
        lines.append(f"    documents: {places}")
    return Text("\n".join(map(clean, lines)))


def _path(url: str, root: str) -> str:
    return unquote(url.removeprefix(root).lstrip("/"))
