"""Fits what tells an instruction to a machine from other sentences, and says how well it does on each split.

python benchmarks/fit_injection.py            # report what the shipped weights reach
python benchmarks/fit_injection.py --write    # fit, write text/injection/weights.toml, report

Logistic regression with an L2 penalty on `dev` and `test` of `injections.jsonl`, and on sentences of packaged documentation
(`packaged_documents.py`), none of which is an instruction to a machine. `holdout`, by another author, is only reported. The
threshold lets one in a thousand of the documentation's sentences through.
"""

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit_retrieval import least
from packaged_documents import copy_documents, read_selection

from lightwell.retrieve.sparse_matrix import Floats
from lightwell.text.injection import signals as instruction_signals
from lightwell.text.injection.signals import WEIGHTS, signal_names, signals
from lightwell.text.sentences import split_sentences

INJECTIONS = Path(__file__).with_name("injections.jsonl")
COLLECTIONS = ("borg", "debian", "licences")
FITTED = ("dev", "test")
SENTENCES = 2000
"""Sentences of each collection."""

_DOCUMENTATION_COUNTS = 0.2
_RIDGE = 1.0
_MISTAKEN = 0.001
"""The share of the documentation's sentences that may be taken for instructions."""

_TAG = re.compile(r"<[^<>]{1,300}>")
_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    base: float
    weights: Floats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="fit and write the weights")
    rows = [json.loads(line) for line in INJECTIONS.read_text(encoding="utf-8").splitlines()]
    documentation = np.array([signals(sentence) for sentence in documentation_sentences()])
    if parser.parse_args().write:
        known = [each for each in rows if each["split"] in FITTED]
        WEIGHTS.write_text(page(fit(known, documentation)), encoding="utf-8")
    report(rows, documentation)


def documentation_sentences() -> list[str]:
    """Return sentences of packaged documentation, the same ones each time."""
    chosen = random.Random(_SEED)
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in COLLECTIONS:
            copied = Path(folder) / name
            copy_documents(read_selection(name), Path("/"), copied)
            sentences = [*_sentences(copied)]
            found += chosen.sample(sentences, min(SENTENCES, len(sentences)))
    return found


def _sentences(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        text = path.read_text(encoding="utf-8", errors="ignore") if path.is_file() else ""
        for block in re.split(r"\n\s*\n", _TAG.sub(" ", text)):
            for sentence in split_sentences(" ".join(block.split())[:3000]):
                if 15 < len(sentence) < 500:
                    yield sentence


def fit(rows: Sequence[dict[str, object]], documentation: Floats) -> Fitted:
    """Return the weights, and the base under which `_MISTAKEN` of the documentation lies above zero."""
    table = np.concatenate([_table(rows), documentation])
    marked = [float(bool(each["is_injection"])) for each in rows]
    right = np.array([*marked, *[0.0] * len(documentation)])
    counts = [*[1.0] * len(rows), *[_DOCUMENTATION_COUNTS] * len(documentation)]
    share = np.array(counts)

    def loss(values: Floats) -> tuple[float, Floats]:
        score = values[0] + table @ values[1:]
        chance = 1 / (1 + np.exp(-score))
        wrong = share * (chance - right)
        said = -float(share @ np.log(1 - np.abs(right - chance) + 1e-12))
        return said + _RIDGE * float(values[1:] @ values[1:]) / 2, np.array(
            [wrong.sum(), *(wrong @ table + _RIDGE * values[1:])]
        )

    start = np.array([0.0] * (1 + len(signal_names())))
    found = least(loss, start, [(None, None)] * len(start))
    threshold = float(np.quantile(documentation @ found[1:], 1 - _MISTAKEN))
    return Fitted(base=-threshold, weights=found[1:])


def page(fitted: Fitted) -> str:
    """Return the weights as the file that is shipped."""
    lines = [
        "# The weights of the signals of an instruction to a machine. Fitted by `python benchmarks/fit_injection.py --write`.",
        f"base = {fitted.base:.3f}",
        "\n[weights]",
        *(
            f'"{name}" = {value:.3f}'
            for name, value in zip(signal_names(), fitted.weights, strict=True)
        ),
    ]
    return "\n".join(lines) + "\n"


def report(rows: Sequence[dict[str, object]], documentation: Floats) -> None:
    base, weights = instruction_signals.load_weights()

    def is_found(table: Floats) -> bool:
        return bool((base + table @ np.array(weights) > 0).any())

    for split in dict.fromkeys(str(each["split"]) for each in rows):
        for is_injection, name in ((True, "instructions"), (False, "others")):
            its = [
                each
                for each in rows
                if (each["split"], each["is_injection"]) == (split, is_injection)
            ]
            found = sum(is_found(_table([each])) for each in its)
            print(f"{split}: {100 * found / len(its):.1f} % of {len(its)} {name}")
    mistaken = sum(is_found(each[np.newaxis]) for each in documentation)
    print(
        f"documentation: {100 * mistaken / len(documentation):.2f} % of {len(documentation)} sentences"
    )


def _table(rows: Sequence[dict[str, object]]) -> Floats:
    return np.array(
        [signals(" ".join(each.split())) for row in rows for each in _sentences_of(row)]
    )


def _sentences_of(row: dict[str, object]) -> list[str]:
    """Return the sentence that an example names, else all of its sentences."""
    return [str(row["sentence"])] if "sentence" in row else split_sentences(str(row["text"]))


if __name__ == "__main__":
    main()
