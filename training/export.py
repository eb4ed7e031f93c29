"""Writes a trained network as ONNX with int8 weights, and prints its hash and what the rounding costs.

python -m training.export RUN/checkpoint.pt local-reader-int8.onnx
"""

import argparse
import hashlib
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from training.network import LAYERS, Reader

MAX_BYTES = 25_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--layers", type=int, default=LAYERS)
    given = parser.parse_args()
    network = Reader(given.layers)
    network.load_state_dict(
        torch.load(given.checkpoint, map_location="cpu", weights_only=True)["network"]
    )
    network.eval()
    exact = given.out.with_suffix(".float.onnx")
    shown = (
        torch.tensor([[101, 2054, 102, 2025, 102, 3437, 102]]),
        torch.tensor([[0, 0, 0, 1, 1, 1, 1]]),
        torch.ones(1, 7, dtype=torch.int64),
    )
    free = {0: "rows", 1: "tokens"}
    torch.onnx.export(
        network,
        shown,
        str(exact),
        input_names=["ids", "types", "mask"],
        output_names=["answerable", "tokens"],
        dynamic_axes={
            "ids": free,
            "types": free,
            "mask": free,
            "answerable": {0: "rows"},
            "tokens": free,
        },
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(
        exact,
        given.out,
        per_channel=True,
        reduce_range=False,
        weight_type=QuantType.QInt8,
        extra_options={"MatMulConstBOnly": True},
    )
    content = given.out.read_bytes()
    print(f"{given.out.name}: {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}")
    if len(content) > MAX_BYTES:
        raise SystemExit(f"more than {MAX_BYTES:,} bytes")
    _compare(exact, given.out)


def _compare(exact: Path, rounded: Path) -> None:
    chance = np.random.default_rng(3)
    sessions = [
        onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        for path in (exact, rounded)
    ]
    gaps = []
    for _ in range(20):
        ids = chance.integers(1000, 20000, (1, 120))
        seen = {
            "ids": ids,
            "types": (np.arange(120)[None] > 12).astype(np.int64),
            "mask": np.ones_like(ids),
        }
        first, second = (session.run(None, seen) for session in sessions)
        gaps.append(abs(first[0] - second[0]).max())
    print(
        f"answerability logits differ by {np.mean(gaps):.3f} on average, {max(gaps):.3f} at most, on noise"
    )


if __name__ == "__main__":
    main()
