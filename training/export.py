"""Writes the first layers of a trained network as ONNX with int8 weights: they return the states that `training.head` judges by.

python -m training.export RUN/checkpoint.pt states-int8.onnx --layers 4
"""

import argparse
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from training.network import LAYERS, PooledStates, Reader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--trained-layers", type=int, default=LAYERS)
    parser.add_argument("--layers", type=int, default=4, help="how many of them to keep")
    given = parser.parse_args()
    reader = Reader(given.trained_layers)
    reader.load_state_dict(
        torch.load(given.checkpoint, map_location="cpu", weights_only=True)["network"]
    )
    exact = given.out.with_suffix(".float.onnx")
    shown = (
        torch.tensor([[101, 2054, 102, 2025, 102, 3437, 102]]),
        torch.tensor([[0, 0, 0, 1, 1, 1, 1]]),
        torch.ones(1, 7, dtype=torch.int64),
    )
    free = {0: "rows", 1: "tokens"}
    torch.onnx.export(
        PooledStates(reader, given.layers).eval(),
        shown,
        str(exact),
        input_names=["ids", "types", "mask"],
        output_names=["states"],
        dynamic_axes={"ids": free, "types": free, "mask": free, "states": {0: "rows"}},
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
    print(f"{given.out.name}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
