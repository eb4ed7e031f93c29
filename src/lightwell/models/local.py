"""What the local network needs beside its weights: the vocabulary, threads, and files that are what they should be."""

import asyncio
import hashlib
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeVar

from tokenizers import BertWordPieceTokenizer

from lightwell.domain.errors import ModelFailed

WINDOW = 144
"""Word pieces of a text that are embedded at a time: about as many as a passage's windows have with their head."""

_VOCABULARY = Path(__file__).parent / "data" / "bert-base-uncased-vocab.txt"
_VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

A = TypeVar("A")
R = TypeVar("R")


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


def windows(pieces: list[int]) -> list[list[int]]:
    """Cut the word pieces into the fewest windows of even size, at most `WINDOW` each; an empty text is one empty window."""
    count = max(1, -(-len(pieces) // WINDOW))
    edges = [len(pieces) * edge // count for edge in range(count + 1)]
    return [pieces[start:end] for start, end in itertools.pairwise(edges)]


@cache
def load_tokenizer() -> BertWordPieceTokenizer:
    """Return the tokenizer of the bundled vocabulary; raise `ModelFailed` as `read_verified`."""
    read_verified(_VOCABULARY, _VOCABULARY_SHA256)
    return BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True)


def is_word(word: str) -> bool:
    """Return whether the bundled vocabulary has this word, in lower case, as one piece; raise `ModelFailed` as `read_verified`."""
    return load_tokenizer().token_to_id(word) is not None


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
            f"{path.name} is not the file that the local model needs: install Lightwell again"
        )
    return content
