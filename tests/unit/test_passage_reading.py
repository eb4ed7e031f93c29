"""What a passage that was read is worth: by its best unit, its title and the names it lacks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest

from lightwell.domain.calibration import sigmoid
from lightwell.domain.documents import Chunk, Layout, Locator
from lightwell.domain.evidence import Evidence
from lightwell.domain.ids import ChunkId, DocumentId, GlobalRef
from lightwell.domain.reranking import ReadWindow
from lightwell.ports import Vectors
from lightwell.retrieve.local_reranker import (
    COMPARED,
    MAX_COMPARED,
    RerankQuery,
    read_measures,
    rerank_locally,
    rerank_measures,
)
from lightwell.retrieve.weights import READ, RERANK, load_weights
from lightwell.testing.models import HashEmbedder, ScriptedCrossEncoder
from lightwell.text.answer_types import expected_answer

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
WEIGHTS = {"discount": 2.0, "nordwind": 3.0, "receiv": 1.0}
DISCOUNT = "Nordwind receives a discount of nine percent. The contract ends in May."


class Counting(HashEmbedder):
    """The free embedder, and how many texts it was asked for."""

    asked = 0

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked += len(texts)
        return await super().embed_documents(texts)


def passage(text: str, *, title: str = "Contract", number: int = 1) -> Evidence:
    chunk = Chunk(
        id=ChunkId(UUID(int=number)),
        document_id=DocumentId(UUID(int=number)),
        document_ref=GlobalRef("x"),
        index=0,
        text=text,
        tokens=1,
        title=title,
        url="file:///x",
        system="file",
        kind="document",
        topic="",
        language="en",
        locator=Locator(page=None, last_page=None, section=(), start=0, end=len(text)),
        layout=Layout(sections=(), pages=()),
        created_at=BEGUN,
        updated_at=BEGUN,
    )
    return Evidence(chunk=chunk, relevance=0.5, score=0.0, cosine_distance=None)


async def asked() -> RerankQuery:
    text = "What discount does Nordwind receive?"
    vector = await HashEmbedder().embed_query(text)
    return RerankQuery(
        text=text,
        vector=vector[0],
        weights=WEIGHTS,
        names=frozenset({"nordwind"}),
        expected=expected_answer(text),
    )


async def relevance(entry: Evidence) -> float:
    return (await rerank_locally(HashEmbedder(), await asked(), [entry]))[0].relevance


async def test_a_passage_is_as_relevant_whatever_else_was_found() -> None:
    others = [passage(f"{DISCOUNT} And once more, {n}.", number=n) for n in range(2, 9)]
    [alone] = await rerank_locally(HashEmbedder(), await asked(), [passage(DISCOUNT)])
    beside = await rerank_locally(HashEmbedder(), await asked(), [*others, passage(DISCOUNT)])
    assert beside[-1] == alone
    assert [each.chunk for each in beside[:-1]] == [each.chunk for each in others]


async def test_what_speaks_to_the_question_is_more_relevant_than_what_does_not() -> None:
    apart = "Soup is served on Thursdays. Pancakes come afterwards."
    assert await relevance(passage(DISCOUNT)) > await relevance(passage(apart)) + 0.3


async def test_a_passage_about_somebody_else_is_less_relevant() -> None:
    other = passage(DISCOUNT.replace("Nordwind", "Castell"))
    assert await relevance(other) < await relevance(passage(DISCOUNT)) - 0.2
    named = replace(other, chunk=replace(other.chunk, title="Nordwind"))
    assert await relevance(named) > await relevance(other)


async def test_the_best_unit_comes_first_and_is_a_slice_of_the_passage() -> None:
    [entry] = await rerank_locally(HashEmbedder(), await asked(), [passage(DISCOUNT)])
    best = entry.highlights[0]
    assert DISCOUNT[best.start : best.end] == "Nordwind receives a discount of nine percent."
    assert best.coverage == pytest.approx(1.0)


async def test_of_a_long_passage_only_the_units_with_most_of_the_question_are_compared() -> None:
    embedder = Counting()
    filler = " ".join(f"Item {n} is of another kind." for n in range(40))
    [entry] = await rerank_locally(embedder, await asked(), [passage(f"{filler} {DISCOUNT}")])
    assert embedder.asked == len(entry.highlights) == MAX_COMPARED
    assert entry.highlights[0].coverage == pytest.approx(1.0)


async def test_the_measures_are_those_of_the_weights_in_their_order() -> None:
    bare = await asked()
    named = dict(
        zip(RERANK, rerank_measures(bare, passage("Soup.", title="Discount")), strict=True)
    )
    assert named == {"passage": 0, "cover": 0, "similarity": 0, "title": 1, "missing": 1}
    nobody = replace(bare, names=frozenset[str]())
    assert rerank_measures(nobody, passage("Soup."))[RERANK.index("missing")] == 0


async def read(
    entry: Evidence, logit: float | None, embedder: HashEmbedder | None = None
) -> tuple[Evidence, ScriptedCrossEncoder]:
    """Return the passage as it is judged with a cross-encoder that says this of it, and that one."""
    reader = ScriptedCrossEncoder(lambda _: logit)
    used = embedder or HashEmbedder()
    [scored] = await rerank_locally(used, await asked(), [entry], cross_encoder=reader)
    return scored, reader


def log_odds(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


async def test_what_the_cross_encoder_says_decides() -> None:
    found = {logit: (await read(passage(DISCOUNT), logit))[0] for logit in (4.0, None, -4.0)}
    assert log_odds(found[4.0].relevance) > log_odds(found[None].relevance) + 1
    assert found[-4.0].relevance < found[None].relevance
    assert found[4.0].highlights[0].reading == pytest.approx(sigmoid(4.0), abs=1e-6)
    assert found[None].highlights[0].reading == 0


async def test_a_passage_in_another_language_is_not_read() -> None:
    german = passage(DISCOUNT)
    german = replace(german, chunk=replace(german.chunk, language="de"))
    scored, reader = await read(german, -4.0)
    assert reader.texts == reader.compared == []
    assert scored.relevance == await relevance(german)


async def test_of_a_passage_that_was_read_few_units_and_the_best_window_are_compared() -> None:
    embedder = Counting()
    filler = " ".join(f"Item {n} is of another kind." for n in range(40))
    long = passage(f"{filler} {DISCOUNT}")
    scored, reader = await read(long, 1.0, embedder)
    assert embedder.asked == 0
    *units, window = reader.compared
    assert len(units) == COMPARED
    assert window == f"Contract: {long.chunk.text}"
    assert len(scored.highlights) == MAX_COMPARED
    best = scored.highlights[0]
    assert scored.chunk.text[best.start : best.end].startswith("Nordwind receives")


async def test_of_units_with_as_much_of_the_question_the_one_with_what_is_asked_for_is_compared() -> (
    None
):
    text = "How much discount does Nordwind receive?"
    query = replace(await asked(), text=text, expected=expected_answer(text))
    units = [
        "Nordwind and its discount.",
        "Of the discount Nordwind has 9 %.",
        "A discount: Nordwind.",
    ]
    reader = ScriptedCrossEncoder(lambda _: None)
    long = passage(" ".join(f"{each} Item {n} is of another kind." for n, each in enumerate(units)))
    await rerank_locally(HashEmbedder(), query, [long], cross_encoder=reader)
    assert reader.compared[0] == units[1]


async def test_a_window_that_is_more_similar_than_any_unit_counts() -> None:
    window = ReadWindow(start=0, end=9, logit=1.0)
    likes = [
        read_measures(await asked(), passage(DISCOUNT), (replace(window, similarity=each),))
        for each in (0.2, 0.7)
    ]
    assert [float(each[READ.index("similarity")]) for each in likes] == [0.2, 0.7]


async def test_nothing_speaks_to_nothing() -> None:
    assert await rerank_locally(HashEmbedder(), await asked(), []) == ()
    [entry] = await rerank_locally(HashEmbedder(), await asked(), [passage("")])
    assert entry.highlights == ()


def test_only_what_is_missing_counts_against_a_passage() -> None:
    weights = load_weights()
    fitted = dict(zip(RERANK, weights.rerank.weights, strict=True))
    assert fitted.pop("missing") < 0
    assert np.all(np.array(list(fitted.values())) >= 0)
    read = dict(zip(READ, weights.read.weights, strict=True))
    assert read.pop("lacking") < 0
    assert np.all(np.array(list(read.values())) >= 0)
    assert read["reading"] > 0
