"""Late interaction: chunks are encoded token by token when they are ingested, questions when they are asked.

A chunk matches a question as well as its best window does: for each token of the question, how like it is the token of the window,
or of the head above it, that is most like it (ColBERT, Khattab and Zaharia 2020)? Of a chunk's tokens only the signs of their
vectors are kept, 48 bytes instead of 1,536, and those of punctuation are left out where there are words: `benchmarks/README.md` says what that costs.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import HeadedPassage, TextMatch, WindowMatch
from lightwell.domain.similarity import cosine_scale
from lightwell.models.bge import SPACE, BgeSmall, EncodedText, encode
from lightwell.models.local import compute_all, load_tokenizer
from lightwell.models.text_comparison import TextComparer, bounded, weigh_matches
from lightwell.models.text_windows import (
    blank_markup,
    cut_into_windows,
    shorten,
    tokenize,
    without_markup,
)

MODEL = "bge-small-en-v1.5-int8/signs-2"
"""What vectors were made with. Change its ending with what is encoded or how, and add a migration that notes all chunks as gaps, as 0008 does."""

WINDOW_TOKENS = 120
HEAD_TOKENS = 24
MAX_WINDOWS = 32
"""Windows of a passage that are encoded. Prose has far fewer in a chunk; a text of signs that are a token each must not slow questions."""

_LEAST_MULTIPLIED = 200_000
"""Products of more numbers numpy's BLAS computes on all cores, whose threads then wait busily: see `models.text_comparison`."""

_BYTE = 127


class LocalLateInteraction:
    """bge-small as a `LateInteraction`; it loads its weights with the first text. `threads` texts are encoded concurrently."""

    model = MODEL
    space = SPACE

    def __init__(self, *, threads: int | None = None) -> None:
        self._comparer = TextComparer(threads=threads)
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "late-interaction")

    async def encode(self, passages: Sequence[HeadedPassage]) -> list[MultiVector]:
        """Return the vectors of each passage, in order; one without words has no windows. Raises `ModelFailed`."""
        return await compute_all(self._threads, self._encode, passages)

    async def compare(self, question: str, texts: Sequence[str]) -> list[TextMatch]:
        """Return how each text, without its markup, compares with the question; raise `ModelFailed`."""
        return await self._comparer.compare(question, [without_markup(text) for text in texts])

    async def match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        """Return how the windows of each chunk match the question, in order; raise `ModelFailed`."""
        if not vectors:
            return []
        return await asyncio.to_thread(self._match, question, vectors)

    def _encode(self, passage: HeadedPassage) -> MultiVector:
        tokenizer = load_tokenizer()
        ids, spans = tokenize(tokenizer, passage.text)
        above = tokenizer.encode(f"{blank_markup(passage.head)}:", add_special_tokens=False).ids
        head = shorten(above, HEAD_TOKENS)
        cuts = cut_into_windows(passage.text, spans, WINDOW_TOKENS)[:MAX_WINDOWS]
        encoded = [encode([*head, *ids[first:last]]) for first, last in cuts]
        signs = [
            _signs(window.tokens[len(head) :], ids[first:last])
            for window, (first, last) in zip(encoded, cuts, strict=True)
        ]
        above_all = [_signs(window.tokens[: len(head)], head) for window in encoded[:1]]
        width = BgeSmall.dimension
        return MultiVector(
            starts=np.array([spans[first, 0] for first, _ in cuts], np.int32),
            ends=np.array([spans[last - 1, 1] for _, last in cuts], np.int32),
            tokens=np.array([len(window_signs) for window_signs in signs], np.int32),
            wholes=np.array([_as_bytes(window.whole) for window in encoded], np.int8).reshape(
                -1, width
            ),
            signs=np.concatenate([np.empty((0, width // 8), np.uint8), *above_all, *signs]),
        )

    def _match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        encoded = self._comparer.encode_question(question)
        return [_match_windows(encoded, chunk) for chunk in vectors]


def _signs(tokens: NDArray[np.floating], ids: Sequence[int]) -> NDArray[np.uint8]:
    """Return the signs of the tokens that are words, eight to a byte; of all tokens where none is a word."""
    is_word = np.array([_is_word_piece(id_) for id_ in ids], np.bool_)
    kept = tokens[is_word] if is_word.any() else tokens
    return np.packbits(kept > 0, axis=1)


@cache
def _is_word_piece(id_: int) -> bool:
    piece = load_tokenizer().id_to_token(id_) or ""
    return any(sign.isalnum() for sign in piece)


def _as_bytes(vector: NDArray[np.float32]) -> NDArray[np.int8]:
    largest = float(np.abs(vector).max())
    return np.rint(vector * np.float32(_BYTE / largest)).astype(np.int8)


def _match_windows(question: EncodedText, chunk: MultiVector) -> tuple[WindowMatch, ...]:
    if not (len(chunk.tokens) and len(question.tokens)):
        return ()
    likeness = _compare_signs(np.asarray(question.tokens, np.float32), chunk.signs)
    starts = chunk.head_tokens + np.cumsum(chunk.tokens) - chunk.tokens
    best = np.maximum.reduceat(likeness, starts, axis=0)
    if chunk.head_tokens:
        best = np.maximum(best, likeness[: chunk.head_tokens].max(axis=0))
    wholes = chunk.wholes.astype(np.float32)
    cosines = (wholes @ question.whole) / np.linalg.norm(wholes, axis=1)
    scale = cosine_scale(BgeSmall.model)
    return tuple(
        WindowMatch(
            start=int(chunk.starts[index]),
            end=int(chunk.ends[index]),
            similarity=bounded(scale.similarity(float(cosines[index]))),
            token_match=bounded(weigh_matches(best[index])),
        )
        for index in range(len(best))
    )


def _compare_signs(question: NDArray[np.float32], signs: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the cosine of each token's signs with each token of the question, (tokens, tokens of the question)."""
    width = question.shape[1]
    rows = max(1, _LEAST_MULTIPLIED // question.size)
    # The signs are 0 and 1 here, where they mean -1 and 1: twice the product, without that of all ones, is the same.
    bits: NDArray[np.float32] = np.unpackbits(signs, axis=1).astype(np.float32)
    products = [bits[start : start + rows] @ question.T for start in range(0, len(bits), rows)]
    return (2 * np.concatenate(products) - question.sum(axis=1)) / np.sqrt(np.float32(width))
