"""Two runs of `lightwell eval` on a collection: which figures differ, which questions got better, which got worse, and what was answered."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from rich.console import RenderableType
from rich.text import Text

from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.saved_results import Json, make_table, warnings_of_comparison

LONGEST_TEXT = 200
"""Characters of an answer that the terminal shows, of two beside each other."""

_FIGURES = (
    ("right", ("right",)),
    ("right, of those answered or possibly", ("rightOfAnswered",)),
    ("right, of those answered", ("states", "answered", "right")),
    ("right, of those possibly", ("states", "possibly", "right")),
    ("right, of high confidence", ("confidences", "high", "right")),
    ("right, of medium confidence", ("confidences", "medium", "right")),
    ("wrongly refused", ("wronglyRefused",)),
    ("right or shown", ("rightOrShown",)),
    ("unanswerable: refused", ("unanswerableRefused",)),
    ("unanswerable: answered", ("states", "answered", "ofUnanswerable")),
    ("key sentences hold the answer", ("keySentences", "ofRight")),
    ("gold document first", ("goldFirst",)),
    ("answer in the five passages", ("answerIn", "fivePassages")),
)
"""What is compared of all questions, by its path in `quality`; shares."""

_ROWS = ("first turns", "follow-ups")
_LENGTHS = (
    ("median words of the key sentences", ("keySentences", "medianWords")),
    ("median words of an answer", ("keySentences", "medianWordsOfAnswer")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value of both runs; `is_share` lies from 0 to 1. None is no question that counts for it."""

    name: str
    before: float | None
    now: float | None
    is_share: bool = True

    @property
    def texts(self) -> tuple[str, str, str]:
        """Both values and the change, as they are shown: shares in percent."""
        scale, form = (100, ".1f") if self.is_share else (1, "g")
        before, now = (
            "–" if value is None else format(scale * value, form)
            for value in (self.before, self.now)
        )
        change = ""
        if self.before is not None and self.now is not None:
            change = format(scale * (self.now - self.before), f"+{form}")
        return before, now, change


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one run made of a question: in a few words, and its answer, "" for a refusal."""

    outcome: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A question of which both runs made something else. `asked` is how the newer one read it."""

    id: str
    question: str
    asked: str
    expected: str
    before: Side
    now: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, `titles` of them. `otherwise` ended in another state, right in neither run or in both."""

    titles: tuple[str, str]
    warnings: Sequence[str]
    figures: Sequence[Figure]
    better: Sequence[Moved]
    worse: Sequence[Moved]
    otherwise: Sequence[Moved]


def compare(before: Json, now: Json) -> Comparison:
    """Return what differs between both results, which are of a collection each."""
    old, new = _by_id(before), _by_id(now)
    pairs = [(old[id_], later) for id_, later in new.items() if id_ in old]
    changed = [pair for pair in pairs if _outcome(pair[0]) != _outcome(pair[1])]
    by_change: dict[tuple[bool, bool], list[Moved]] = {}
    for earlier, later in changed:
        change = bool(earlier["isWell"]), bool(later["isWell"])
        by_change.setdefault(change, []).append(_moved(earlier, later))
    return Comparison(
        titles=(_title(before), _title(now)),
        warnings=[warning.plain for warning in warnings_of_comparison(before, now)],
        figures=list(_figures(before, now)),
        better=by_change.get((False, True), []),
        worse=by_change.get((True, False), []),
        otherwise=[*by_change.get((False, False), []), *by_change.get((True, True), [])],
    )


def text(comparison: Comparison) -> list[RenderableType]:
    """Return the comparison for the terminal: what got worse before what got better, each with both answers in short."""
    table = make_table("", "before", "now", "change")
    for figure in comparison.figures:
        table.add_row(clean(figure.name), *figure.texts)
    parts: list[RenderableType] = [
        Text(clean("Compared: {} → {}".format(*comparison.titles)), style="bold"),
        *(Text(clean(warning), style="red") for warning in comparison.warnings),
        table if table.row_count else Text("No figure has changed."),
    ]
    for word, some in (("Worse now", comparison.worse), ("Better now", comparison.better)):
        parts.append(Text(f"{word}: {len(some)}", style="bold"))
        parts += [Text(clean(line)) for question in some for line in _lines(question)]
    parts.append(Text(f"Otherwise, no better and no worse: {len(comparison.otherwise)}", "bold"))
    parts += [
        Text(clean(f"  {one_line(question)}  ({question.before.outcome} → {question.now.outcome})"))
        for question in comparison.otherwise
    ]
    return parts


def one_line(question: Moved) -> str:
    """Return the question with its id."""
    return f"{question.id}  {question.question}"


def _lines(question: Moved) -> Iterator[str]:
    yield f"  {one_line(question)}"
    for word, side in (("before", question.before), ("now", question.now)):
        answer = f": {shorten(side.answer)}" if side.answer else ""
        yield f"    {word:6}  {side.outcome}{answer}"


def shorten(answer: str, longest: int = LONGEST_TEXT) -> str:
    """Return the beginning of an answer, on one line."""
    line = " ".join(answer.split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def _figures(before: Json, now: Json) -> Iterator[Figure]:
    """Yield the figures that differ, of those that both runs have."""
    for name, path in _FIGURES:
        yield from _figure(name, (before, now), ("quality", "all", *path))
    for row in _ROWS:
        yield from _figure(f"{row}: right", (before, now), ("quality", row, "right"))
    for name, path in _LENGTHS:
        yield from _figure(name, (before, now), ("quality", "all", *path), is_share=False)
    for measure in ("p50", "p95"):
        name = f"processor, ms a question, {measure}"
        yield from _figure(name, (before, now), ("time", "cpuMs", measure), is_share=False)


def _figure(
    name: str, runs: tuple[Json, Json], path: Sequence[str], *, is_share: bool = True
) -> Iterator[Figure]:
    values = [_value(run, path) for run in runs]
    if all(is_there for is_there, _ in values) and values[0] != values[1]:
        yield Figure(name=name, before=values[0][1], now=values[1][1], is_share=is_share)


def _value(run: Json, path: Iterable[str]) -> tuple[bool, float | None]:
    """Return whether a run has this value, and the value."""
    value: object = run
    for name in path:
        branch = cast("Json", value if isinstance(value, dict) else {})
        if name not in branch:
            return False, None
        value = branch[name]
    return True, value if isinstance(value, float | int) else None


def _moved(before: Json, now: Json) -> Moved:
    expected = cast("Sequence[Sequence[str]]", now["missing"] or before["missing"] or ())
    return Moved(
        id=str(now["id"]),
        question=str(now["question"]),
        asked=str(now.get("asked") or now["question"]),
        expected=" and ".join(" or ".join(group) for group in expected),
        before=_side(before),
        now=_side(now),
    )


def _side(trial: Json) -> Side:
    return Side(outcome=_outcome(trial), answer=str(trial.get("keySentences") or trial["text"]))


def _outcome(trial: Json) -> str:
    """Return what became of a question; a run of an older version has no state."""
    outcome = str(trial["outcome"])
    state = str(trial.get("state") or "")
    words = outcome if outcome == "refused" or state != "possibly" else f"possibly, {outcome}"
    return f"{words} ({trial['reason']})" if trial["reason"] else words


def _title(run: Json) -> str:
    model = cast("Json", run.get("settings") or {}).get("model", "")
    return f"{run.get('dataset')}, Lightwell {run.get('version')} {str(run.get('codeHash'))[:7]}, {model}"


def _by_id(results: Json) -> dict[str, Json]:
    return {str(trial["id"]): trial for trial in cast("Sequence[Json]", results["answers"])}
