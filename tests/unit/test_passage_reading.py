"""What a passage that was read is worth: by its best unit, its title and the names it lacks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest

from lightwell.domain.documents import Chunk, Layout, Locator
from lightwell.domain.evidence import Evidence
from lightwell.domain.ids import ChunkId, DocumentId, GlobalRef
from lightwell.domain.reranking import EncodedChunk, WindowMatch
from lightwell.ports import Vectors
from lightwell.retrieve.local_reranker import (
    COMPARED,
    MAX_COMPARED,
    RerankQuery,
    compared_measures,
    rerank_locally,
    rerank_measures,
)
from lightwell.retrieve.weights import COMPARED as COMPARED_MEASURES
from lightwell.retrieve.weights import RERANK, load_weights
from lightwell.testing.models import HashEmbedder
from lightwell.text.answer_types import expected_answer
from tests.scripted_late_interaction import ScriptedLateInteraction, in_one_window

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


async def judged(
    entry: Evidence, match: float, embedder: HashEmbedder | None = None
) -> tuple[Evidence, ScriptedLateInteraction]:
    """Return the passage as it is judged where its one window matches so well, and what compared it."""
    model = ScriptedLateInteraction(lambda _: match)
    entry = encoded_in(entry, window(match, len(entry.chunk.text)))
    used = embedder or HashEmbedder()
    [scored] = await rerank_locally(used, await asked(), [entry], late_interaction=model)
    return scored, model


def encoded_in(entry: Evidence, *windows: WindowMatch) -> Evidence:
    vectors = in_one_window(entry.chunk.text)
    return replace(entry, windows=windows, encoded=(EncodedChunk(start=0, vectors=vectors),))


def window(match: float, end: int, *, start: int = 0) -> WindowMatch:
    return WindowMatch(start=start, end=end, similarity=match, token_match=match)


def log_odds(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


async def test_how_well_a_window_matches_decides() -> None:
    found = [(await judged(passage(DISCOUNT), match))[0] for match in (0.1, 0.5, 0.9)]
    odds = [log_odds(each.relevance) for each in found]
    assert odds[0] + 0.5 < odds[1] < odds[2] - 0.5


async def test_a_passage_that_is_not_encoded_is_embedded() -> None:
    embedder, model = Counting(), ScriptedLateInteraction(lambda _: 0.9)
    entries = [passage(DISCOUNT), encoded_in(passage(DISCOUNT), window(0.9, 45))]
    plain, encoded = await rerank_locally(embedder, await asked(), entries, late_interaction=model)
    assert embedder.asked == len(plain.highlights) == 2
    assert len(model.compared) == COMPARED
    assert plain.relevance == await relevance(passage(DISCOUNT))
    assert encoded.relevance != plain.relevance
    assert all(each.window_match == each.token_match == 0 for each in plain.highlights)


async def test_of_an_encoded_passage_few_units_are_compared() -> None:
    embedder = Counting()
    filler = " ".join(f"Item {n} is of another kind." for n in range(40))
    scored, model = await judged(passage(f"{filler} {DISCOUNT}"), 0.5, embedder)
    assert embedder.asked == 0
    assert len(model.compared) == COMPARED
    assert len(scored.highlights) == MAX_COMPARED
    best = scored.highlights[0]
    assert scored.chunk.text[best.start : best.end].startswith("Nordwind receives")
    compared = [each for each in scored.highlights if each.token_match > 0]
    assert best in compared
    assert len(compared) <= COMPARED
    assert all(each.token_match == pytest.approx(each.similarity, abs=1e-6) for each in compared)


async def test_units_of_the_window_that_matches_best_come_first() -> None:
    text = "Nordwind has a discount. Nordwind has its discount."
    entry = encoded_in(passage(text), window(0.2, 24), window(0.6, len(text), start=25))
    [scored] = await rerank_locally(
        HashEmbedder(),
        await asked(),
        [entry],
        late_interaction=ScriptedLateInteraction(lambda _: 0.0),
    )
    assert [(each.start, each.window_match) for each in scored.highlights] == [(25, 1), (0, 0)]


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
    model = ScriptedLateInteraction(lambda _: 0.0)
    long = passage(" ".join(f"{each} Item {n} is of another kind." for n, each in enumerate(units)))
    long = encoded_in(long, window(0.5, len(long.chunk.text)))
    await rerank_locally(HashEmbedder(), query, [long], late_interaction=model)
    assert model.compared[0] == units[1]


async def test_the_window_that_is_most_similar_counts() -> None:
    windows = (window(0.2, 9), window(0.7, 20, start=10), window(0.4, 30, start=21))
    measures = compared_measures(await asked(), replace(passage(DISCOUNT), windows=windows))
    assert measures[COMPARED_MEASURES.index("window")] == 0.7


async def test_nothing_speaks_to_nothing() -> None:
    assert await rerank_locally(HashEmbedder(), await asked(), []) == ()
    [entry] = await rerank_locally(HashEmbedder(), await asked(), [passage("")])
    assert entry.highlights == ()


def test_only_what_is_missing_counts_against_a_passage() -> None:
    weights = load_weights()
    fitted = dict(zip(RERANK, weights.rerank.weights, strict=True))
    assert fitted.pop("missing") < 0
    assert np.all(np.array(list(fitted.values())) >= 0)
    compared = dict(zip(COMPARED_MEASURES, weights.compared.weights, strict=True))
    assert compared.pop("lacking") < 0
    assert np.all(np.array(list(compared.values())) >= 0)
    assert compared["window"] > 0
