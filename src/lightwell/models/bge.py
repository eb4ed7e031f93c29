"""The local model of similarity: bge-small-en-v1.5 with int8 weights, on the CPU. It compares questions with sentences, windows and
pieces, as wholes and token by token.

It has learned which passages answer questions, in English, where the embedder of new stores has learned which sentences mean the
same. A store can be embedded with it, too.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from lightwell.models.local import (
    QUESTION_PIECES,
    compute_all,
    embed_windows,
    open_session,
    run_network,
    unit_vector,
)
from lightwell.ports import Vectors

WEIGHTS = Path(__file__).parent / "data" / "bge-small-en-v1.5-int8.onnx"
WEIGHTS_SHA256 = "871ab4e755d9ab0eb8a7f7a965136e24f08b1ac26303c6e55c122be3a2c04172"

_INNER_STATES = "/encoder/layer.10/output/LayerNorm/LayerNormalization_output_0"
"""The states after the last layer but one. Compared token by token they tell best which passage answers (`benchmarks/README.md`)."""

_ASKED = "Represent this sentence for searching relevant passages: "
"""What stands before a question: the model was trained with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedText:
    """A text as unit vectors: as a whole, (384,), and each token of it in its context, (tokens, 384)."""

    whole: NDArray[np.float32]
    tokens: NDArray[np.float32] | NDArray[np.float16]


class BgeSmall:
    """bge-small-en-v1.5 as an `Embedder`; it loads its weights with the first text.

    `threads` texts are embedded concurrently, by default one per core.
    """

    model = "bge-small-en-v1.5-int8"
    dimension = 384

    def __init__(self, *, threads: int | None = None) -> None:
        # One thread and one run per text: see `models.local`.
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "bge")

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; raise `ModelFailed`."""
        vectors = await compute_all(self._threads, _embed, texts)
        return np.stack(vectors) if vectors else np.empty((0, self.dimension), np.float32)

    async def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of the question's first `QUESTION_PIECES`, shape (1, 384); raise `ModelFailed`."""
        return (await asyncio.to_thread(self.encode_question, text))[np.newaxis]

    def encode_question(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of the question's first `QUESTION_PIECES`, (384,), on the calling thread; raise `ModelFailed`."""
        return _embed(_ASKED + text, QUESTION_PIECES)

    def encode(self, pieces: Sequence[int]) -> EncodedText:
        """Return the vectors of at most 510 word pieces, on the calling thread; raise `ModelFailed`."""
        whole, tokens = run_network(_open(), pieces, ["last_hidden_state", _INNER_STATES])
        inner = tokens[1:-1]
        lengths = np.linalg.norm(inner, axis=1, keepdims=True)
        return EncodedText(whole=unit_vector(whole[0]), tokens=inner / lengths)


def _embed(text: str, most: int | None = None) -> NDArray[np.float32]:
    return embed_windows(text, most, _encode)


def _encode(pieces: Sequence[int]) -> NDArray[np.float32]:
    [states] = run_network(_open(), pieces, ["last_hidden_state"])
    return unit_vector(states[0])


def _open() -> onnxruntime.InferenceSession:
    return open_session(WEIGHTS, WEIGHTS_SHA256, outputs=(_INNER_STATES,))
