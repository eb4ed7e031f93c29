import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from lightwell.domain.errors import ModelFailed
from lightwell.models.endpoint import Endpoint, connect
from lightwell.models.openai_embedder import EmbeddingOptions, OpenAIEmbedder, truncate_to_tokens
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.models import HashEmbedder
from lightwell.text.tokens import token_count
from tests.clocks import InstantClock

TEXTS = [f"note {number} about the budget" for number in range(10)]
SMALL = EmbeddingOptions(dimension=64, batch=4)


@asynccontextmanager
async def embedding(
    fake: FakeEndpoint, space: EmbeddingOptions, *, concurrency: int = 16
) -> AsyncGenerator[OpenAIEmbedder]:
    with fake.running():
        there = Endpoint(
            base_url=fake.base_url,
            api_key=SecretStr("sk-1"),
            model="owl-embed",
            setting="LIGHTWELL_EMBEDDING",
            concurrency=concurrency,
        )
        async with connect(there, clock=InstantClock()) as connection:
            yield OpenAIEmbedder(connection, space)


def sent(fake: FakeEndpoint) -> list[object]:
    return [request.body["input"] for request in fake.requests]


async def test_vectors_come_in_the_order_of_the_texts_with_length_one() -> None:
    """The fake server sends them backwards and three times as long."""
    fake = FakeEndpoint()
    async with embedding(fake, SMALL) as embedder:
        vectors = await embedder.embed_documents(TEXTS)
        question = await embedder.embed_query(TEXTS[3])
    expected = await HashEmbedder(64).embed_documents(TEXTS)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected, atol=1e-6)
    assert np.allclose(question, expected[3:4], atol=1e-6)


async def test_texts_go_in_batches_and_batches_side_by_side() -> None:
    fake = FakeEndpoint(behaviour=Behaviour(latency=0.05))
    async with embedding(fake, SMALL, concurrency=2) as embedder:
        await embedder.embed_documents(TEXTS)
    assert sorted(map(str, sent(fake))) == sorted(map(str, [TEXTS[:4], TEXTS[4:8], TEXTS[8:]]))
    assert fake.max_at_once == 2


async def test_no_texts_cost_no_call() -> None:
    fake = FakeEndpoint()
    async with embedding(fake, SMALL) as embedder:
        assert (await embedder.embed_documents([])).shape == (0, 64)
    assert fake.requests == []


async def test_numbers_are_taken_as_well_as_base64() -> None:
    raw = json.dumps({"data": [{"index": 0, "embedding": [3.0, 4.0]}]}).encode()
    fake = FakeEndpoint(behaviour=Behaviour(raw_body=raw))
    async with embedding(fake, EmbeddingOptions(dimension=2)) as embedder:
        assert (await embedder.embed_query("a")).tolist() == [[np.float32(0.6), np.float32(0.8)]]


async def test_a_dimension_is_asked_for_only_when_vectors_are_to_be_shortened() -> None:
    fake = FakeEndpoint()
    async with embedding(fake, SMALL) as embedder:
        await embedder.embed_query("a")
    assert "dimensions" not in fake.requests[0].body
    fake = FakeEndpoint()
    async with embedding(fake, EmbeddingOptions(dimension=64, is_shortened=True)) as embedder:
        await embedder.embed_query("a")
    assert fake.requests[0].body["dimensions"] == 64


async def test_what_a_batch_left_out_is_asked_for_again() -> None:
    fake = FakeEndpoint(script=[Behaviour(sends_half=True)])
    async with embedding(fake, SMALL) as embedder:
        vectors = await embedder.embed_documents(TEXTS[:4])
    assert sent(fake) == [TEXTS[:4], TEXTS[2:4]]
    assert np.allclose(vectors, await HashEmbedder(64).embed_documents(TEXTS[:4]), atol=1e-6)


async def test_trouble_repeats_only_the_batch_that_had_it() -> None:
    fake = FakeEndpoint(script=[Behaviour(), Behaviour(status=500), Behaviour()])
    async with embedding(fake, SMALL, concurrency=1) as embedder:
        vectors = await embedder.embed_documents(TEXTS)
    assert len(fake.requests) == 4
    assert np.allclose(vectors, await HashEmbedder(64).embed_documents(TEXTS), atol=1e-6)


async def test_the_prefixes_that_a_model_wants_are_set_before_texts_and_questions() -> None:
    fake = FakeEndpoint()
    space = EmbeddingOptions(dimension=64, document_prefix="passage: ", query_prefix="query: ")
    async with embedding(fake, space) as embedder:
        await embedder.embed_documents(["a", ""])
        await embedder.embed_query("b")
    assert sent(fake) == [["passage: a", "passage: "], ["query: b"]]


async def test_a_text_too_long_is_cut_and_an_empty_one_is_not_sent_empty() -> None:
    fake = FakeEndpoint()
    async with embedding(fake, EmbeddingOptions(dimension=64, max_tokens=5)) as embedder:
        await embedder.embed_documents(["one two three four five six seven", ""])
    assert sent(fake) == [["one two three four five", " "]]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"data": [{"index": 0, "embedding": [1, 2, 3]}]}, "have 3 numbers instead of 2"),
        ({"data": [{"index": 0, "embedding": [0, 0]}]}, "all zeros or not finite"),
        ({"data": [{"index": 0, "embedding": "AAAAAAAA8H8="}]}, "all zeros or not finite"),
        ({"data": [{"index": 0, "embedding": "?"}]}, "neither numbers nor base64"),
        ({"data": [{"index": 0, "embedding": "AAAA"}]}, "neither numbers nor base64"),
        ({"data": [{"index": 1, "embedding": [1, 2]}]}, "texts that were not in the request"),
        ({"data": []}, "gave no vectors"),
        ({}, "not the expected JSON"),
    ],
)
async def test_vectors_that_cannot_be_used_are_refused(
    raw: dict[str, object], message: str
) -> None:
    fake = FakeEndpoint(behaviour=Behaviour(raw_body=json.dumps(raw).encode()))
    async with embedding(fake, EmbeddingOptions(dimension=2)) as embedder:
        with pytest.raises(ModelFailed, match=message):
            await embedder.embed_documents(["a"])


async def test_the_dimension_that_is_wrong_names_the_setting() -> None:
    async with embedding(FakeEndpoint(embedder=HashEmbedder(16)), SMALL) as embedder:
        with pytest.raises(ModelFailed, match="set LIGHTWELL_EMBEDDING_DIMENSION"):
            await embedder.embed_documents(TEXTS)


@given(st.text(max_size=60), st.integers(1, 20))
def test_a_cut_text_is_a_beginning_that_fits(text: str, max_tokens: int) -> None:
    short = truncate_to_tokens(text, max_tokens)
    assert text.startswith(short)
    assert token_count(short) <= max_tokens
    assert short == text or token_count(text) > max_tokens
