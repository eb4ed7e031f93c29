import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.errors import ModelFailed
from lightwell.domain.similarity import cosine_scale
from lightwell.models import bge
from lightwell.models.bge import MAX_PIECES, BgeSmall, EncodedText, encode_question
from lightwell.models.local import WINDOW, read_verified, windows

PUBLISHED = [-0.0393, -0.0012, 0.0456, -0.0227, 0.0022, -0.0147]
LONG = " ".join(f"The lease of room {number} ends in winter." for number in range(120))


@pytest.fixture(scope="module")
def embedder() -> BgeSmall:
    return BgeSmall(threads=2)


async def test_texts_of_one_meaning_are_nearer_than_others(embedder: BgeSmall) -> None:
    vectors = await embedder.embed_documents(
        [
            "The invoice is due within thirty days.",
            "Payment must be made in a month.",
            "Cats like to sleep in the sun.",
        ]
    )
    scale = cosine_scale(embedder.model)
    alike, unlike = (scale.similarity(float(vectors[0] @ each)) for each in vectors[1:])
    assert alike > unlike + 0.3


async def test_every_vector_has_length_one_and_the_promised_shape(embedder: BgeSmall) -> None:
    vectors = await embedder.embed_documents(["short", "", LONG])
    assert vectors.shape == (3, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


async def test_no_texts_give_no_vectors(embedder: BgeSmall) -> None:
    assert (await embedder.embed_documents([])).shape == (0, 384)


async def test_a_question_is_read_to_its_five_hundredth_word_piece(embedder: BgeSmall) -> None:
    """So 2,000 signs of junk, each a word piece, cost no more than a long question."""
    begins = "Which lease ends? " + "_" * MAX_PIECES
    whole = await embedder.embed_query(begins + "." * 1000)
    assert np.array_equal(whole, await embedder.embed_query(begins))
    (as_passage,) = await embedder.embed_documents([begins + "." * 1000])
    assert not np.array_equal(whole[0], as_passage)


async def test_a_vector_does_not_depend_on_its_company(embedder: BgeSmall) -> None:
    texts = ["A budget of 40,000 euros.", LONG, "Ada", "Who approved the budget for Atlas?"]
    together = await embedder.embed_documents(texts)
    alone = [(await embedder.embed_documents([text]))[0] for text in texts]
    backwards = (await embedder.embed_documents(texts[::-1]))[::-1]
    assert np.array_equal(together, np.stack(alone))
    assert np.array_equal(together, backwards)


async def test_a_vector_does_not_depend_on_the_number_of_threads(embedder: BgeSmall) -> None:
    texts = ["one", LONG, "two words"]
    single = await BgeSmall(threads=1).embed_documents(texts)
    assert np.array_equal(single, await embedder.embed_documents(texts))


async def test_the_end_of_a_long_text_counts(embedder: BgeSmall) -> None:
    text = LONG[:1000] + " Penguins breed in Antarctica." * 40
    start, whole = await embedder.embed_documents([LONG[:1000], text])
    penguins = (await embedder.embed_query("Where do penguins breed?"))[0]
    assert whole @ penguins > start @ penguins + 0.1


async def test_the_vocabulary_is_the_uncased_one(embedder: BgeSmall) -> None:
    upper, lower = await embedder.embed_documents(["ÉCLAIR Recipe", "eclair recipe"])
    assert np.array_equal(upper, lower)


async def test_the_event_loop_stays_free_while_the_model_reads(embedder: BgeSmall) -> None:
    for read in (embedder.embed_documents([LONG, LONG]), embedder.embed_query(LONG)):
        beats = 0
        reading = asyncio.create_task(read)
        while not reading.done():
            await asyncio.sleep(0)
            beats += 1
        assert (
            beats > 2
        )  # a model that read in the loop would let it turn once, on a busy machine, too


async def test_the_vectors_are_those_of_the_published_model(embedder: BgeSmall) -> None:
    """The first numbers that the published int8 file gives for this text, within what another order of its steps makes of them."""
    (vector,) = await embedder.embed_documents(["This is an example sentence"])
    assert vector[:6] == pytest.approx(PUBLISHED, abs=0.01)  # pyright: ignore[reportUnknownMemberType]


def test_a_question_is_read_once_for_its_vector_and_those_of_its_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []
    encode = bge.encode

    def counting(pieces: Sequence[int]) -> EncodedText:
        read.append(len(pieces))
        return encode(pieces)

    monkeypatch.setattr(bge, "encode", counting)
    encoded = [encode_question("Where do the gentoo penguins breed?") for _ in range(3)]
    assert read == [len(encoded[0].tokens)]
    assert encoded[0].whole.shape == (384,)
    assert np.allclose(np.linalg.norm(encoded[0].tokens, axis=1), 1, atol=1e-5)


def test_a_process_opens_the_network_once() -> None:
    """Commands, knowledge bases and servers in one process share its weights."""
    assert bge._open_network() is bge._open_network()  # pyright: ignore[reportPrivateUsage]


async def test_foreign_weights_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "model.onnx"
    foreign.write_bytes(b"something else")
    with pytest.raises(ModelFailed, match=r"model\.onnx is not the file"):
        read_verified(foreign, hashlib.sha256(b"the weights").hexdigest())
    with pytest.raises(ModelFailed, match="install Lightwell again"):
        read_verified(tmp_path / "gone.onnx", "")


@given(st.lists(st.integers(), max_size=3 * WINDOW + 5))
def test_windows_lose_nothing_and_are_even(pieces: list[int]) -> None:
    cut = windows(pieces)
    assert [piece for window in cut for piece in window] == pieces
    sizes = [len(window) for window in cut]
    assert max(sizes) <= WINDOW
    assert max(sizes) - min(sizes) <= 1
    assert len(cut) == max(1, -(-len(pieces) // WINDOW))
