"""A text whose vector is kept is not embedded again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lightwell.models.embedding_cache import CachedEmbedder
from lightwell.ports import Vectors
from lightwell.testing.models import HashEmbedder


@dataclass(frozen=True, slots=True)
class Counting:
    inner: HashEmbedder = field(default_factory=lambda: HashEmbedder(dimension=16))
    texts: list[str] = field(default_factory=list[str])

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts.extend(texts)
        return await self.inner.embed_documents(texts)

    async def embed_query(self, text: str) -> Vectors:
        self.texts.append(text)
        return await self.inner.embed_query(text)


async def test_each_text_is_embedded_once_and_gets_its_own_vector() -> None:
    counting = Counting()
    cached = CachedEmbedder(inner=counting)
    first = await cached.embed_documents(["well", "light", "well"])
    second = await cached.embed_documents(["pump", "well"])
    assert counting.texts == ["well", "light", "pump"]
    plain = await HashEmbedder(dimension=16).embed_documents(
        ["well", "light", "well", "pump", "well"]
    )
    assert np.array_equal(np.concatenate([first, second]), plain)


async def test_what_was_not_used_for_longest_is_dropped() -> None:
    counting = Counting()
    cached = CachedEmbedder(inner=counting, max_cached=2)
    await cached.embed_documents(["one", "two"])
    await cached.embed_documents(["one", "three"])
    counting.texts.clear()
    await cached.embed_documents(["one", "three"])
    assert counting.texts == []
    await cached.embed_documents(["two"])
    assert counting.texts == ["two"]


async def test_more_texts_at_once_than_fit_are_all_embedded() -> None:
    cached = CachedEmbedder(inner=Counting(), max_cached=2)
    texts = [f"text {number}" for number in range(10)]
    assert np.array_equal(
        await cached.embed_documents(texts), await HashEmbedder(dimension=16).embed_documents(texts)
    )


async def test_no_text_gives_no_vector_and_questions_are_not_kept() -> None:
    counting = Counting()
    cached = CachedEmbedder(inner=counting)
    assert (await cached.embed_documents([])).shape == (0, 16)
    await cached.embed_query("well?")
    await cached.embed_query("well?")
    assert counting.texts == ["well?", "well?"]


async def test_a_kept_vector_does_not_keep_its_batch_and_cannot_be_changed_from_outside() -> None:
    cached = CachedEmbedder(inner=Counting())
    given = await cached.embed_documents(["well"])
    expected = given.copy()
    given[:] = 0
    assert np.array_equal(await cached.embed_documents(["well"]), expected)
