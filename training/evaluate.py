"""Measures a network on the passages found for the questions of a collection, beside the relevance in use.

    uv run python -m training.evaluate PASSAGES.jsonl.gz... --model cross-encoder-int8.onnx [--split dev]

`training.passages` writes the passages. The network reads every window of the first five.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lightwell.domain.reranking import ReadablePassage, ReadWindow
from lightwell.evaluation.correctness import holds_answer
from lightwell.models import cross_encoder
from lightwell.models.cross_encoder import LocalCrossEncoder

SHOWN = 5
_ALL = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with its passages, best first, and the windows that the network read of each."""

    question: dict
    passages: list[dict]
    windows: list[tuple[ReadWindow, ...]]

    @property
    def is_answerable(self) -> bool:
        return self.question["kind"] != "unanswerable"

    def holds(self, text: str) -> bool:
        return holds_answer(self.question["answer_any"], text)


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    given, held = np.array(scores), np.array(labels, bool)
    if held.all() or not held.any():
        return float("nan")
    above = given[held][:, None] - given[~held][None]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


async def cases(path: Path, network: LocalCrossEncoder, split: str) -> list[Case]:
    """Return the questions of a file with what the network says of their passages."""
    found = []
    with gzip.open(path, "rt") as lines:
        for row in map(json.loads, lines):
            if split in (row["q"]["split"], "all"):
                passages = row["five"][:SHOWN]
                given = [
                    ReadablePassage(
                        head=" › ".join(dict.fromkeys((each["title"], *each["section"]))),
                        text=each["text"],
                    )
                    for each in passages
                ]
                windows = await network.read(row["q"]["question"], given, row["weights"])
                found.append(Case(question=row["q"], passages=passages, windows=windows))
    return found


def _in_use(case: Case) -> list[float]:
    return [each["relevance"] for each in case.passages]


def _new(case: Case) -> list[float]:
    return [max((each.logit for each in some), default=-9.0) for some in case.windows]


def row(found: Sequence[Case], name: str, relevance: Callable[[Case], list[float]]) -> str:
    best = [max(relevance(case), default=-9.0) for case in found]
    pairs = [
        (score, case.holds(each["text"]))
        for case in found
        for score, each in zip(relevance(case), case.passages, strict=True)
    ]
    by_question = auroc(best, [case.is_answerable for case in found])
    by_passage = auroc([score for score, _ in pairs], [held for _, held in pairs])
    return f"| {name} | {by_question:.3f} | {by_passage:.3f} |"


def of_windows(found: Sequence[Case]) -> float:
    """Return how well the network tells the windows with the answer from the others."""
    pairs = [
        (window.logit, case.holds(each["text"][window.start : window.end]))
        for case in found
        if case.is_answerable
        for each, some in zip(case.passages, case.windows, strict=True)
        for window in some
    ]
    return auroc([score for score, _ in pairs], [held for _, held in pairs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("passages", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, default=cross_encoder.WEIGHTS)
    parser.add_argument("--split", default="dev")
    given = parser.parse_args()
    cross_encoder.SPARE_WINDOWS = _ALL
    sha256 = hashlib.sha256(given.model.read_bytes()).hexdigest()
    network = LocalCrossEncoder(weights=given.model, sha256=sha256)
    for path in given.passages:
        found = asyncio.run(cases(path, network, given.split))
        print(f"\n{path.stem}: {len(found)} questions, {given.split}\n")
        print("| | AUROC question | AUROC passage |\n|---|--:|--:|")
        print(row(found, "relevance in use", _in_use))
        print(row(found, "network alone", _new))
        print(f"\nAUROC of windows: {of_windows(found):.3f}")


if __name__ == "__main__":
    main()
