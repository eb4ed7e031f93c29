"""Measures a reader on the passages found for the questions of a collection, beside the reader it would replace.

    uv run python -m training.evaluate PASSAGES.jsonl.gz... [--model local-reader-int8.onnx] [--split dev]

`training.passages` writes the passages.
"""

import argparse
import gzip
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from lightwell.text.units import split_into_units
from training import local_reader
from training.local_reader import Passage, Read


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with its passages, best first, and what the reader in use and the new one say of each."""

    question: dict
    passages: list[dict]
    reads: list[Read]

    @property
    def answerable(self) -> bool:
        return self.question["kind"] != "unanswerable"

    def holds(self, text: str) -> bool:
        """Whether the text holds every part of the expected answer."""
        said = _plain(text)
        return self.answerable and all(
            any(_plain(one) in said for one in group) for group in self.question["answer_any"]
        )


def _plain(text: str) -> str:
    text = text.casefold().replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    return re.sub(r"\s+", " ", re.sub(r"[*_`]", "", text))


class Reader(local_reader.LocalReader):
    """The reader with any weights, without the check of their hash."""

    def __init__(self, weights: Path) -> None:
        super().__init__()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._network = local_reader._Network(  # noqa: SLF001
            encoder=local_reader.load_encoder(),
            session=onnxruntime.InferenceSession(
                str(weights), options, providers=["CPUExecutionProvider"]
            ),
        )

    def now(self, question: str, passages: Sequence[Passage]) -> list[Read]:
        return self._read(question, passages)


def head_of(passage: dict) -> str:
    return " › ".join(dict.fromkeys((passage["title"], *passage["section"])))


def cases(
    path: Path, reader: Reader | None, most: int, column: str
) -> tuple[list[Case], list[float]]:
    """Return the questions of a file with what the reader says, and the seconds of processor time of each."""
    found, seconds = [], []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            passages = row[column][:most]
            began = time.process_time()
            given = [Passage(head=head_of(each), text=each["text"]) for each in passages]
            reads = reader.now(row["q"]["question"], given) if reader else []
            seconds.append(time.process_time() - began)
            found.append(Case(question=row["q"], passages=passages, reads=reads))
    return found, seconds


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    given, held = np.array(scores), np.array(labels, bool)
    if held.all() or not held.any():
        return float("nan")
    above = given[held][:, None] - given[~held][None]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def old_spot(case: Case) -> list[tuple[float, int, int, int]]:
    """Return the units that the reader in use prefers: (worth, passage, start, end), best first."""
    return sorted(
        (
            ((0.5 * cover + 0.5 * like) * each["relevance"], place, start, end)
            for place, each in enumerate(case.passages)
            for start, end, cover, like in each["highlights"]
        ),
        reverse=True,
    )


def new_spot(case: Case) -> list[tuple[float, int, int, int]]:
    """Return the units by the new reader."""
    return sorted(
        (
            (read.answerable * read.score(unit.start, unit.end), place, unit.start, unit.end)
            for place, (each, read) in enumerate(zip(case.passages, case.reads, strict=True))
            for unit in split_into_units(each["text"])
        ),
        reverse=True,
    )


def quote(case: Case, spots: list[tuple[float, int, int, int]], size: int) -> str:
    """Return `size` characters around the best unit."""
    if not spots:
        return ""
    _, place, start, end = spots[0]
    text = case.passages[place]["text"]
    begin = max(0, min((start + end) // 2 - size // 2, len(text) - size))
    return text[begin : begin + size]


def table(
    found: Sequence[Case],
    name: str,
    relevance: Callable[[Case], list[float]],
    spots: Callable[[Case], list[tuple[float, int, int, int]]],
) -> str:
    asked = [case for case in found if case.answerable]
    best = [max(relevance(case), default=0.0) for case in found]
    pairs = [
        (score, case.holds(each["text"]))
        for case in found
        for score, each in zip(relevance(case), case.passages, strict=True)
    ]

    def share(held: Callable[[Case], bool]) -> str:
        return f"{100 * np.mean([held(case) for case in asked]):5.1f}"

    def first(case: Case) -> bool:
        order = np.argsort(-np.array(relevance(case)), kind="stable")
        return case.holds(case.passages[order[0]]["text"]) if len(order) else False

    cells = [
        f"{auroc(best, [case.answerable for case in found]):.3f}",
        f"{auroc(*zip(*pairs, strict=True)):.3f}",
        share(first),
        share(lambda case: any(case.holds(each["text"]) for each in case.passages)),
        share(lambda case: bool(spots(case)) and case.holds(_unit(case, spots(case)[0]))),
        share(lambda case: case.holds(quote(case, spots(case), 600))),
        share(lambda case: case.holds(quote(case, spots(case), 1200))),
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def _unit(case: Case, spot: tuple[float, int, int, int]) -> str:
    return case.passages[spot[1]]["text"][spot[2] : spot[3]]


HEADER = """| reader | AUROC question | AUROC passage | answer in first | answer in all | in best unit | in 600 | in 1200 |
|---|--:|--:|--:|--:|--:|--:|--:|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("passages", type=Path, nargs="+")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--most", type=int, default=5)
    parser.add_argument("--column", default="five")
    given = parser.parse_args()
    reader = Reader(given.model) if given.model else None
    for path in given.passages:
        found, seconds = cases(path, reader, given.most, given.column)
        found = [
            case for case in found if case.question["split"] == given.split or given.split == "all"
        ]
        print(f"\n{path.stem}: {len(found)} questions, {given.split}\n\n{HEADER}")
        print(
            table(
                found,
                "in use",
                lambda case: [each["relevance"] for each in case.passages],
                old_spot,
            )
        )
        if reader:
            print(
                table(found, "new", lambda case: [read.answerable for read in case.reads], new_spot)
            )
            print(
                f"\nprocessor time of reading: median {1000 * np.median(seconds):.0f} ms, 95 % {1000 * np.quantile(seconds, 0.95):.0f} ms"
            )


if __name__ == "__main__":
    main()
