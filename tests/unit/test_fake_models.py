import asyncio

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lightwell.domain.errors import ModelFailed
from lightwell.ports import ChatModel, Embedder, Message
from lightwell.testing.models import HashEmbedder, ScriptedModel

ASKED = [Message(role="user", content="Why is that so?")]


@given(st.lists(st.text(max_size=40), max_size=5))
async def test_hashed_vectors_have_length_one_and_depend_on_their_text_alone(
    texts: list[str],
) -> None:
    embedder: Embedder = HashEmbedder(32)
    vectors = await embedder.embed_documents(texts)
    assert vectors.shape == (len(texts), 32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal((await embedder.embed_query(text))[0], vector)


async def test_texts_with_common_words_are_near() -> None:
    vectors = await HashEmbedder().embed_documents(
        ["the budgets of Atlas", "Atlas budget approved", "cats sleep"]
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


async def test_a_scripted_model_follows_its_script_and_keeps_what_it_was_asked() -> None:
    scripted = ScriptedModel(["first", ModelFailed("on purpose")])
    model: ChatModel = scripted
    reply = await model.reply(ASKED, max_tokens=9, schema={"type": "object"})
    assert (reply.text, reply.complete, reply.usage.model) == ("first", True, "scripted")
    with pytest.raises(ModelFailed, match="on purpose"):
        await model.reply(ASKED, max_tokens=9)
    with pytest.raises(ModelFailed, match="no further reply"):
        await model.reply(ASKED, max_tokens=9)
    assert [sent.schema for sent in scripted.sent] == [{"type": "object"}, None, None]
    assert scripted.sent[0].messages == tuple(ASKED)


async def test_a_scripted_reply_is_cut_at_its_limit() -> None:
    model = ScriptedModel(lambda messages: messages[-1].content * 5)
    reply = await model.reply(ASKED, max_tokens=10)
    assert not reply.complete
    assert 0 < reply.usage.output_tokens <= 10


@example("  ")
@given(st.text(max_size=50))
async def test_a_scripted_stream_is_the_reply_in_parts(text: str) -> None:
    model = ScriptedModel([text])
    parts = [part async for part in model.stream(ASKED, max_tokens=500)]
    assert "".join(parts) == text


async def test_a_scripted_model_takes_its_time_by_the_given_sleep() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    await ScriptedModel(["a"], latency=2, sleep=sleep).reply(ASKED, max_tokens=5)
    assert slept == [2]
