"""Fits the head of the cross-encoder on the states of a trained network, and writes the file that Lightwell ships.

python -m training.head states-int8.onnx EXAMPLES.npz... --out cross-encoder-int8.onnx

The head is a logistic regression over the states that `training.export` pools. It costs one run of the network for each
example, where training the network costs three, and repairs what a network has learned of wrongly marked examples.
"""

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from sklearn.linear_model import LogisticRegression

from training.evaluate import auroc
from training.network import BEGIN, END

MAX_BYTES = 25_000_000
RIDGE = 2e-4
"""scikit-learn's C: small, since there are more numbers than a few thousand examples can tell apart."""
DOCUMENTATION = "docs-"
"""Sources of this kind count in full, others (encyclopedia, medicine) at `OTHERS`."""
OTHERS = 0.6

Floats = NDArray[np.float32]


def examples(path: Path, most: int, seed: int) -> list[tuple[str, bool, list[int], list[int]]]:
    """Return at most so many examples of each source: its name, whether the text answers, token ids and types."""
    with np.load(path) as given:
        rows, ids, sources = given["rows"], given["ids"], given["sources"]
    starts = np.concatenate([[0], np.cumsum(rows[:, :3].sum(axis=1))])
    chance = np.random.default_rng(seed)
    found: list[tuple[str, bool, list[int], list[int]]] = []
    for number, source in enumerate(sources):
        of_source = np.flatnonzero(rows[:, 7] == number)
        for row in chance.choice(of_source, min(most, len(of_source)), replace=False):
            question, head, text, first = (int(each) for each in rows[row, :4])
            given_ids = ids[starts[row] : starts[row] + question + head + text].tolist()
            line = [BEGIN, *given_ids[:question], END, *given_ids[question : question + head], END]
            line += [*given_ids[question + head :], END]
            types = [0] * (question + 2) + [1] * (len(line) - question - 2)
            found.append((str(source), first >= 0, line, types))
    return found


def states(network: Path, given: Sequence[tuple[str, bool, list[int], list[int]]]) -> Floats:
    """Return the pooled states of each example, one run each, as Lightwell runs the network."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(network), options, providers=["CPUExecutionProvider"]
    )
    rows = []
    for _, _, line, types in given:
        ids = np.array([line], np.int64)
        seen = {"ids": ids, "types": np.array([types], np.int64), "mask": np.ones_like(ids)}
        rows.append(session.run(["states"], seen)[0][0])
    return np.stack(rows)


def fitted(
    pooled: Floats, answers: NDArray[np.bool_], sources: Sequence[str]
) -> tuple[Floats, float]:
    """Return weights and bias of the logit, for the states as they are."""
    middle, spread = pooled.mean(axis=0), pooled.std(axis=0) + 1e-6
    weight = np.array([1.0 if each.startswith(DOCUMENTATION) else OTHERS for each in sources])
    model = LogisticRegression(C=RIDGE, max_iter=300)
    model.fit((pooled - middle) / spread, answers, sample_weight=weight)
    weights = (model.coef_[0] / spread).astype(np.float32)
    return weights, float(model.intercept_[0] - weights @ middle)


def attach(network: Path, weights: Floats, bias: float, out: Path) -> None:
    """Write the network with the head as its only output, `answers`, (rows,)."""
    model = onnx.load(str(network))
    graph = model.graph
    graph.initializer.extend(
        [
            numpy_helper.from_array(weights[:, None], "head.weight"),
            numpy_helper.from_array(np.array([bias], np.float32), "head.bias"),
            numpy_helper.from_array(np.array([1], np.int64), "head.axis"),
        ]
    )
    graph.node.extend(
        [
            helper.make_node("MatMul", ["states", "head.weight"], ["head.product"]),
            helper.make_node("Squeeze", ["head.product", "head.axis"], ["head.column"]),
            helper.make_node("Add", ["head.column", "head.bias"], ["answers"]),
        ]
    )
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("answers", onnx.TensorProto.FLOAT, ["rows"]))
    onnx.checker.check_model(model)
    onnx.save(model, str(out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", type=Path)
    parser.add_argument("examples", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, default=1000, help="examples of each source")
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    found = [each for path in given.examples for each in examples(path, given.most, given.seed)]
    sources = [source for source, *_ in found]
    answers = np.array([answers for _, answers, *_ in found])
    pooled = states(given.network, found)
    held = np.random.default_rng(given.seed).random(len(found)) < 0.15
    kept = [source for source, out in zip(sources, held, strict=True) if not out]
    weights, bias = fitted(pooled[~held], answers[~held], kept)
    print(
        f"{len(found):,} examples; held out: AUROC {auroc(pooled[held] @ weights, answers[held]):.3f}"
    )
    weights, bias = fitted(pooled, answers, sources)
    attach(given.network, weights, bias, given.out)
    content = given.out.read_bytes()
    print(f"{given.out.name}: {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}")
    if len(content) > MAX_BYTES:
        raise SystemExit(f"more than {MAX_BYTES:,} bytes")


if __name__ == "__main__":
    main()
