"""Vectors of tokens in 40 bytes, and how a question's tokens compare with them.

The 384 numbers of a passage's token are projected to 160, and of these four at a time are replaced by the nearest of 256 code words (product
quantization, Jégou et al. 2011). A question's tokens are projected, too, by another matrix: the two are fitted together, so
that the products of questions' and passages' tokens change least (`benchmarks/fit_token_codes.py` makes the file).
"""

import io
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lightwell.models.bge import unit_vector
from lightwell.models.local import read_verified

Floats = NDArray[np.float32]

PATH = Path(__file__).parent / "data" / "token-codes.npz"
SHA256 = "01b599b3519a60d58a4230bf31ee5efad2df9cf06ee01a694b132a1c9be17d91"

WORDS = 256
"""Code words of each part of a vector: a byte names one."""

_MULTIPLIED = 200_000
"""Larger products numpy's BLAS computes on all cores, whose threads then wait busily for the next one: 10 ms of processor for each
product instead of 0.2. It does so with vectors that multiply much smaller matrices, so these are left to `einsum`, which has one thread."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionTokens:
    """The tokens of a question as passages' tokens are compared with them: `projected` (tokens, 160), and what is added for each, (tokens,)."""

    projected: Floats
    added: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenCodes:
    """How vectors are packed: `mean` (384,) is taken off a passage's token, which `passages` (384, 160) project; `words` (parts, 256, 4) are the code words; `questions`
    (384, 160) project a question's tokens. `whole` (161, 384) makes the vector of a text of the mean of its tokens.
    """

    mean: Floats
    passages: Floats
    questions: Floats
    words: Floats
    whole: Floats

    @property
    def bytes(self) -> int:
        """The bytes of a token."""
        return len(self.words)

    def encode(self, tokens: Floats) -> NDArray[np.uint8]:
        """Return passages' tokens, (tokens, 384), as codes, (tokens, bytes)."""
        projected = _multiply(tokens - self.mean, self.passages)
        parts = projected.reshape(len(tokens), self.bytes, self.words.shape[2])
        codes = np.empty((len(tokens), self.bytes), np.uint8)
        for part, words in enumerate(self.words):
            distances = (words * words).sum(axis=1) / 2 - _multiply(parts[:, part], words.T)
            codes[:, part] = distances.argmin(axis=1)
        return codes

    def decode(self, codes: NDArray[np.uint8]) -> Floats:
        """Return what codes stand for, (tokens, 160)."""
        words = self.words.reshape(-1, self.words.shape[2])
        rows = codes + np.arange(self.bytes, dtype=np.intp) * WORDS
        return words.take(rows, axis=0).reshape(len(codes), self.bytes * self.words.shape[2])

    def of_question(self, tokens: Floats) -> QuestionTokens:
        """Return the tokens of a question, (tokens, 384), as they are compared."""
        return QuestionTokens(
            projected=np.einsum("td,dp->tp", tokens, self.questions),
            added=np.einsum("td,d->t", tokens, self.mean),
        )

    def compare(self, question: QuestionTokens, codes: NDArray[np.uint8]) -> Floats:
        """Return how alike each token of a passage and each of a question are, (tokens, tokens of the question): about their cosines."""
        return _multiply(self.decode(codes), question.projected.T) + question.added

    def whole_of(self, codes: NDArray[np.uint8]) -> Floats:
        """Return about the unit vector, (384,), that a text of these tokens, at least one, has as a whole."""
        mean = self.decode(codes).mean(axis=0)
        return unit_vector(np.einsum("p,pd->d", mean, self.whole[:-1]) + self.whole[-1])


def _multiply(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices, computed on the calling thread."""
    if min(len(left), right.shape[1]) < 2:
        return np.einsum("ij,jk->ik", left, right)
    blocks = -(-len(left) // max(2, _MULTIPLIED // right.size))
    edges = [len(left) * edge // blocks for edge in range(blocks + 1)]
    return np.concatenate([left[start:end] @ right for start, end in pairwise(edges)])


@cache
def load_token_codes() -> TokenCodes:
    """Return the bundled codes; raise `ModelFailed` when the file is missing or changed."""
    with np.load(io.BytesIO(read_verified(PATH, SHA256)), allow_pickle=False) as arrays:
        return TokenCodes(**{name: arrays[name].astype(np.float32) for name in arrays})
