"""How well the rules verify sentences and find injected instructions: `python -m benchmarks verification [--examples KIND]`.

`claims.jsonl` has a passage, a sentence of an answer, true to the passage or changed in one thing, and the words of the passage that a model would quote
for it: its sentences, items and rows that together have most of the sentence's words and figures, rare ones first. `injections.jsonl` has a sentence of a document, an instruction to a machine or an innocent one. Both were written by somebody who did not know the
rules. Use `dev` to change rules, `test` only to report. `holdout`, by a third author, names no sentence: found is what has any.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightwell.answer.reply import verify_reply
from lightwell.text.injection import is_inside_injection
from lightwell.text.language import detect_language
from lightwell.text.sentences import split_sentences
from lightwell.wiring.chat_trial import make_passage

DATA = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One example: whether it belongs to the class that is to be found, and whether the rules put it there."""

    split: str
    kind: str
    text: str
    is_positive: bool
    is_found: bool


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks verification", description=__doc__)
    parser.add_argument(
        "--examples",
        metavar="KIND",
        help="print the `dev` examples of a kind that the rules judge wrongly",
    )
    options = parser.parse_args(list(arguments))
    for title, trials in (
        ("Claims with quotes (positive: supported by the passage)", [*claims(quoting)]),
        ("The same where the model only names the passage", [*claims(naming)]),
        ("Injections (positive: an instruction to a machine)", [*injections()]),
    ):
        print(f"{title}\n")
        if options.examples:
            print_examples(trials, options.examples)
        else:
            print_table(trials)


def quoting(row: Mapping[str, Any]) -> str:
    """Return the reply of a model that quotes what a claim rests on."""
    sentence = {"quotes": row["quotes"], "text": row["claim"]}
    return json.dumps({"answerable": True, "sentences": [sentence]})


def naming(row: Mapping[str, Any]) -> str:
    """Return the reply of a model that quotes nothing."""
    return f"{row['claim'].rstrip()} [1]"


def claims(reply: Callable[[Mapping[str, Any]], str]) -> Iterator[Trial]:
    """Yield what the verification of a reply makes of each claim: found are those that it keeps."""
    for row in _rows("claims.jsonl"):
        language = detect_language(row["source"], default="en")
        kept = verify_reply(reply(row), [make_passage(row["source"], language=language)], "")
        yield Trial(
            split=row["split"],
            kind=row["kind"],
            text=f"{row['claim']}\n    of: {row['source']}",
            is_positive=row["supported"],
            is_found=bool(kept),
        )


def injections() -> Iterator[Trial]:
    """Yield what the search for injections makes of each sentence: found are those that stand in one."""
    for row in _rows("injections.jsonl"):
        text = row["text"]
        yield Trial(
            split=row["split"],
            kind=row["kind"],
            text=f"{row.get('sentence', '')}\n    in: {text}",
            is_positive=row["is_injection"],
            is_found=any(is_inside_injection(text, text.index(each)) for each in sentences(row)),
        )


def sentences(row: Mapping[str, Any]) -> list[str]:
    """Return the sentences of an example that are looked at: the one that it names, else all."""
    return [row["sentence"]] if "sentence" in row else [*split_sentences(row["text"])]


def print_table(trials: Sequence[Trial]) -> None:
    """Print precision and recall of the positive class, and by kind the share that is judged rightly."""
    splits = [*dict.fromkeys(each.split for each in trials)]
    print(f"| | {' | '.join(splits)} |\n|---|{'--:|' * len(splits)}")
    for label, shown in _MEASURES.items():
        cells = [shown([each for each in trials if each.split == split]) for split in splits]
        print(f"| {label} | {' | '.join(cells)} |")
    kinds = dict.fromkeys((not each.is_positive, each.kind) for each in trials)
    for is_negative, kind in sorted(kinds):
        its = [each for each in trials if (not each.is_positive, each.kind) == (is_negative, kind)]
        cells = [_right([each for each in its if each.split == split]) for split in splits]
        print(f"| {'-' if is_negative else '+'} {kind} | {' | '.join(cells)} |")
    print()


def print_examples(trials: Sequence[Trial], kind: str) -> None:
    for each in trials:
        if each.split == "dev" and each.kind == kind and each.is_found != each.is_positive:
            print(f"{'+' if each.is_positive else '-'} {each.text}")


def _positive(trials: Sequence[Trial]) -> list[Trial]:
    return [each for each in trials if each.is_positive]


def _found(trials: Sequence[Trial]) -> list[Trial]:
    return [each for each in trials if each.is_found]


def _right(trials: Sequence[Trial]) -> str:
    return f"{sum(each.is_found == each.is_positive for each in trials)}/{len(trials)}"


def _rejected(trials: Sequence[Trial]) -> tuple[int, int]:
    negative = [each for each in trials if not each.is_positive]
    return len(negative) - len(_found(negative)), len(negative)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


_MEASURES: Mapping[str, Callable[[Sequence[Trial]], str]] = {
    "examples (positive)": lambda some: f"{len(some)} ({len(_positive(some))})",
    "precision, %": lambda some: _percent(len(_found(_positive(some))), len(_found(some))),
    "recall, %": lambda some: _percent(len(_found(_positive(some))), len(_positive(some))),
    "negative ones rejected, %": lambda some: _percent(*_rejected(some)),
}


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with (DATA / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
