"""The local network: bge-small-en-v1.5 with int8 weights, on the CPU. It has learned which passages answer questions, in English.

One run over a text gives its vector as a whole and one for each token. All that is compared here was made by it: passages, windows
of them, questions, and profiles.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Protocol, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from lightwell.models.local import compute_all, load_tokenizer, read_verified, windows
from lightwell.ports import Vectors

SPACE = "bge-small-en-v1.5-int8/windows-1"
"""The embedding space of its vectors. Change its ending with how they are made, and add a migration that notes all chunks as gaps: 0008 with the columns of 0010."""

WEIGHTS = Path(__file__).parent / "data" / "bge-small-en-v1.5-int8.onnx"
WEIGHTS_SHA256 = "ed0b8a774c229cf78e9a7abb293d9acce975cf077002946915f9846912b38336"

MAX_PIECES = 510
"""Word pieces that the network reads at a time, without its two special tokens."""

_CACHED_QUESTIONS = 16
"""A question is asked of chunks, of windows, of units, and of the pieces of an answer."""

_BEGIN, _END = 101, 102
"""The word pieces before and after what the network reads."""

_OPENING = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedText:
    """A text as unit vectors: as a whole, (384,), and each token of it in its context, (tokens, 384)."""

    whole: NDArray[np.float32]
    tokens: NDArray[np.float32]


class BgeSmall:
    """bge-small-en-v1.5 as an `Embedder`; it loads its weights with the first text.

    `threads` texts are embedded concurrently, by default one per core. A question does not wait for them.
    """

    model = SPACE
    dimension = 384

    def __init__(self, *, threads: int | None = None) -> None:
        # One thread per text, not several per text: onnxruntime's own threads spin, at twice the
        # processor time for the same texts. One text per run: longer batches are not faster, need
        # padding, and would make a text's vector a matter of its company on some processors.
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "bge")

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order: the mean of its windows' vectors; raise `ModelFailed`."""
        vectors = await compute_all(self._threads, _embed, texts)
        return np.stack(vectors) if vectors else np.empty((0, self.dimension), np.float32)

    async def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of the question's first `MAX_PIECES`, shape (1, 384); raise `ModelFailed`."""
        return (await asyncio.to_thread(encode_question, text)).whole[np.newaxis]


# Readers share the cache. A question's vectors are a function of its words alone, so what a reader gets does not depend on
# others: see `models.embedding_cache`.
@lru_cache(_CACHED_QUESTIONS)
def encode_question(text: str) -> EncodedText:
    """Return the vectors of the question's first `MAX_PIECES`, from one run, on the calling thread; raise `ModelFailed`.

    The model's card advises a sentence before a question. Without it as many passages are found, and its tokens are the question's own.
    """
    return encode(_pieces(text)[:MAX_PIECES])


def encode(pieces: Sequence[int]) -> EncodedText:
    """Return the vectors of at most `MAX_PIECES` word pieces, from one run, on the calling thread; raise `ModelFailed`.

    The whole is the last layer's, the tokens are those of the last layer but one: compared token by token, they tell best which
    passage answers (`benchmarks/README.md`).
    """
    inputs = {"input_ids": np.array([[_BEGIN, *pieces, _END]], np.int64)}
    whole, tokens = cast(
        "list[NDArray[np.float32]]", _open_network().run(["whole", "tokens"], inputs)
    )
    inner = tokens[0, 1:-1]
    lengths = np.linalg.norm(inner, axis=1, keepdims=True)
    return EncodedText(whole=unit_vector(whole[0, 0]), tokens=inner / lengths)


def unit_vector(vector: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the vector at length one."""
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _embed(text: str) -> NDArray[np.float32]:
    vectors = [encode(window).whole for window in windows(_pieces(text))]
    return vectors[0] if len(vectors) == 1 else unit_vector(np.mean(vectors, axis=0))


def _pieces(text: str) -> list[int]:
    return load_tokenizer().encode(text, add_special_tokens=False).ids


class _Options(Protocol):
    intra_op_num_threads: int


def _open_network() -> onnxruntime.InferenceSession:
    """Return the network, the same for each caller in a process: it may run in several threads at once."""
    with _OPENING:
        return _open_once()


@cache
def _open_once() -> onnxruntime.InferenceSession:
    options = cast("_Options", onnxruntime.SessionOptions())
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        read_verified(WEIGHTS, WEIGHTS_SHA256), options, providers=["CPUExecutionProvider"]
    )
