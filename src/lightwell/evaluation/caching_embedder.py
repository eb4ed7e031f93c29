"""An embedder that remembers the vector of each text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lightwell.ports import Embedder, Vectors

_MAX_REMEMBERED = 50_000


@dataclass(slots=True)
class CachingEmbedder:
    """Wraps an embedder, which embeds each text only once."""

    inner: Embedder
    _known: dict[str, Vectors] = field(default_factory=dict[str, Vectors])

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, in order."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._known]
        if unknown:
            self._known.update(zip(unknown, await self.inner.embed_documents(unknown), strict=True))
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        vectors = np.stack([self._known[text] for text in texts])
        for text in list(self._known)[: max(0, len(self._known) - _MAX_REMEMBERED)]:
            del self._known[text]
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        """Return the question's vector, shape (1, dimension)."""
        key = f"?{text}"
        if key not in self._known:
            self._known[key] = await self.inner.embed_query(text)
        return self._known[key]

    def forget(self) -> None:
        """Forget all vectors."""
        self._known.clear()
