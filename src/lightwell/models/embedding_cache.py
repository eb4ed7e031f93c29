"""Embeddings that are kept in memory, so that questions about the same passages do not embed their sentences again."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lightwell.ports import Embedder, Vectors

MAX_CACHED = 10_000
"""Texts. With 384 dimensions they take about 20 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedEmbedder:
    """An embedder that computes each text once, as long as the text is among the `max_cached` last used.

    It keeps hashes of texts, no text. It must stand in front of one embedder only, whose vectors depend on nothing but
    the text. Questions are not kept.
    """

    # Readers share the cache. A reader's request names only sentences of passages that this reader sees, and a vector
    # is a function of its sentence, so what a reader gets does not depend on others; only the time does, as it does
    # with the pages that the database has in memory. For an endpoint the counted tokens would depend on others too, so
    # `wiring` puts this only in front of the local model, which counts none.

    inner: Embedder
    max_cached: int = MAX_CACHED
    _vectors: dict[bytes, NDArray[np.float32]] = field(
        default_factory=dict[bytes, NDArray[np.float32]]
    )

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in order; raise `ModelFailed`."""
        if not texts:
            return await self.inner.embed_documents(texts)
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        vectors = {key: self._vectors[key] for key in text_of if key in self._vectors}
        missing = [key for key in text_of if key not in vectors]
        if missing:
            computed = await self.inner.embed_documents([text_of[key] for key in missing])
            # Copies, or one kept row would keep the vectors of its whole batch in memory.
            vectors.update((key, row.copy()) for key, row in zip(missing, computed, strict=True))
        self._keep(vectors)
        return np.stack([vectors[key] for key in keys])

    async def embed_query(self, text: str) -> Vectors:
        """Return the question's vector, shape (1, dimension); raise `ModelFailed`."""
        return await self.inner.embed_query(text)

    def _keep(self, used: dict[bytes, NDArray[np.float32]]) -> None:
        for key, vector in used.items():
            self._vectors.pop(key, None)  # what is used again goes to the end of the order
            self._vectors[key] = vector
        for key in list(self._vectors)[: max(0, len(self._vectors) - self.max_cached)]:
            del self._vectors[key]
