"""The comparison of texts with a question: as wholes, and token by token (late interaction).

For each token of the question it looks for the token of a text that means most nearly the same, where both stand in their context.
So it sees how much of the question a text speaks to, in whatever words. The method is ColBERT's (Khattab and Zaharia, 2020),
here with the token vectors of a model that was trained to compare whole texts, and with more weight on what a text matches least.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lightwell.domain.reranking import TextMatch
from lightwell.domain.similarity import cosine_scale
from lightwell.models.bge import BgeSmall, EncodedText, encode, encode_question
from lightwell.models.local import load_tokenizer

MAX_QUESTION_TOKENS = 40
MAX_TEXT_TOKENS = 224
"""Of a longer text, only its beginning is compared."""

_ROWS = 16
"""Tokens of a text that are multiplied at once. For larger products numpy's BLAS uses all cores, and its threads then wait busily
for the next one: 10 ms of processor for each product instead of 0.2."""

_CACHED_TEXTS = 512
"""Texts whose vectors a process keeps, as half floats: some 30 MB, at most 90."""


class TextComparer:
    """Compares texts with questions by bge-small; it loads its weights with the first question.

    `threads` texts are encoded concurrently, by default one per core.
    """

    # Readers share the cache. A request names only texts of passages that its reader sees, and vectors are a function of the text
    # alone, so what a reader gets does not depend on others: see `models.embedding_cache`.

    def __init__(self, *, threads: int | None = None) -> None:
        # One thread and one run per text, as for the embedder: see `models.bge`.
        self._threads = ThreadPoolExecutor(threads or os.cpu_count() or 1, "text-comparer")
        self._encode = lru_cache(_CACHED_TEXTS)(self._encode_text)

    async def compare(self, question: str, texts: Sequence[str]) -> list[TextMatch]:
        """Return how each text, without markup, matches the question; raise `ModelFailed`."""
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        asking = loop.run_in_executor(self._threads, self.encode_question, question)
        encoding = [loop.run_in_executor(self._threads, self._encode, text) for text in texts]
        try:
            question_vectors = await asking
            encoded = await asyncio.gather(*encoding)
        finally:
            for task in (asking, *encoding):
                task.cancel()
        return [_match(question_vectors, text) for text in encoded]

    def encode_question(self, question: str) -> EncodedText:
        """Return the question's vectors, those of its first tokens, on the calling thread; raise `ModelFailed`."""
        encoded = encode_question(question)
        return EncodedText(whole=encoded.whole, tokens=encoded.tokens[:MAX_QUESTION_TOKENS])

    def _encode_text(self, text: str) -> EncodedText:
        encoded = encode(_tokens(text)[:MAX_TEXT_TOKENS])
        return EncodedText(whole=encoded.whole, tokens=encoded.tokens.astype(np.float16))


def _tokens(text: str) -> list[int]:
    return load_tokenizer().encode(text, add_special_tokens=False).ids


def _match(question: EncodedText, text: EncodedText) -> TextMatch:
    scale = cosine_scale(BgeSmall.model)
    similarity = scale.similarity(float(text.whole @ question.whole))
    return TextMatch(similarity=bounded(similarity), token_match=_token_match(question, text))


def _token_match(question: EncodedText, text: EncodedText) -> float:
    if not (len(question.tokens) and len(text.tokens)):
        return 0.0
    starts = range(0, len(text.tokens), _ROWS)
    blocks = [text.tokens[start : start + _ROWS].astype(np.float32) for start in starts]
    best = np.max([(question.tokens @ block.T).max(axis=1) for block in blocks], axis=0)
    return bounded(weigh_matches(best))


def weigh_matches(matches: NDArray[np.float32]) -> float:
    """Return the mean of how well the tokens of a question are matched, where the half that is matched least counts three times.

    So a text that says a little on everything that is asked comes before one that says much, but not on the point. ColBERT's mean
    counts all alike.
    """
    least = np.sort(matches)[: max(1, len(matches) // 2)]
    return float(matches.mean() + least.mean()) / 2


def bounded(number: float) -> float:
    """Return a share between 0 and 1, with six decimals."""
    return round(min(1.0, max(0.0, number)), 6)
