"""A reranker in the settings scores what a question finds; if it does not reply, the answer says so."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import pytest
from pydantic import SecretStr

from lightwell.domain.answers import Confidence
from lightwell.domain.errors import Invalid
from lightwell.entrypoints.operations.questions import StreamEvent
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models import late_interaction
from lightwell.retrieve.rerank import UNANSWERED
from lightwell.settings import EmbeddingSettings, QuestionSettings, RerankerSettings, Settings
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base
from lightwell.wiring.examination import examine
from tests.scripted_late_interaction import ScriptedLateInteraction

QUESTION = "What discount does Nordwind receive on all items?"
NOTES = (
    make_document(
        "contract.md",
        "# Contract\n\nNordwind receives a discount of 18 percent on all items. The term is three years.",
        ["team:sales"],
    ),
    make_document(
        "visit.md", "# Visit\n\nNordwind showed us all items in the store.", ["team:sales"]
    ),
    make_document("lunch.md", "# Lunch\n\nOn Fridays there is soup and bread.", ["team:sales"]),
)


def named(
    server: str, fake: FakeEndpoint, values: Mapping[str, object] = MappingProxyType({})
) -> Settings:
    return Settings(
        database_url=SecretStr(server),
        embedding=EmbeddingSettings(url=fake.base_url, model="owl"),
        questions=QuestionSettings(rerank="endpoint"),
        reranker=RerankerSettings(url=fake.base_url, model="owl-rank", timeout_ms=500),
    ).with_values(values)


@asynccontextmanager
async def base(settings: Settings) -> AsyncGenerator[KnowledgeBase]:
    async with open_knowledge_base(settings) as kb:
        await kb.ingestion.ingest(InMemorySource(documents=NOTES))
        yield kb


async def test_the_rerankers_order_and_relevance_decide(database_url: str) -> None:
    with FakeEndpoint(score_of=lambda share: 0.95 - 0.9 * share).running() as fake:
        async with base(named(database_url, fake)) as kb:
            reader = await kb.reader(["team:sales"])
            found = await kb.questions.search(QUESTION, reader)
            assert [each.chunk.title for each in found.evidence] == ["Lunch", "Visit"]
            assert [each.new_rank for each in found.evidence] == [0, 1]
            assert found.evidence[0].original_rank == 2
            assert found.best_relevance == pytest.approx(0.95)
            assert found.notes == ()


async def test_a_calibration_moves_what_counts_as_enough(database_url: str) -> None:
    with FakeEndpoint(score_of=lambda share: 0.05 + 0.5 * share).running() as fake:
        async with base(named(database_url, fake)) as kb:
            assert not (
                await kb.questions.search(QUESTION, await kb.reader(["team:sales"]))
            ).is_sufficient
        async with base(named(database_url, fake, {"reranker.shift": 2.0})) as kb:
            assert (
                await kb.questions.search(QUESTION, await kb.reader(["team:sales"]))
            ).is_sufficient


async def test_a_reranker_that_is_too_slow_leaves_the_order_before_and_a_note(
    database_url: str,
) -> None:
    with FakeEndpoint().running() as fake:
        async with base(named(database_url, fake, {"questions.rerank": "local"})) as kb:
            before = await kb.questions.search(QUESTION, await kb.reader(["team:sales"]))
    slow = FakeEndpoint(behaviour=Behaviour(latency=2))
    with FakeEndpoint().running() as fake, slow.running():
        settings = named(database_url, fake, {"reranker.url": slow.base_url})
        async with open_knowledge_base(settings) as kb:
            reader = await kb.reader(["team:sales"])
            after = await kb.questions.search(QUESTION, reader)
            answer = await kb.questions.ask(QUESTION, reader)
            turn = await kb.questions.chat(QUESTION, reader)
            events = [event async for event in kb.questions.stream(QUESTION, reader)]
    assert turn.notes == (UNANSWERED,)
    done = json.loads(StreamEvent.model_validate(events[-1]).data)
    assert (done["type"], done["notes"]) == ("done", [UNANSWERED])
    assert [(one.chunk.id, one.relevance) for one in after.evidence] == [
        (one.chunk.id, one.relevance) for one in before.evidence
    ]
    assert after.notes == answer.notes == (UNANSWERED,)
    assert answer.confidence is not Confidence.INSUFFICIENT


async def test_the_bundled_late_interaction_judges_what_answers(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = {"match": 1.0}
    scripted = ScriptedLateInteraction(lambda _: says["match"])
    monkeypatch.setattr(late_interaction, "LocalLateInteraction", lambda: scripted)
    with FakeEndpoint().running() as fake:
        async with base(named(database_url, fake, {"questions.rerank": "local"})) as kb:
            reader = await kb.reader(["team:sales"])
            assert (
                await kb.questions.ask(QUESTION, reader)
            ).confidence is not Confidence.INSUFFICIENT
            sure = (await kb.questions.search(QUESTION, reader)).best_relevance
            says["match"] = 0.0
            assert (await kb.questions.search(QUESTION, reader)).best_relevance < sure - 0.1
    assert {"Contract", "Visit", "Lunch"} == {text.partition("\n")[0] for text in scripted.texts}


async def test_without_any_reranker_the_fusion_says_how_relevant_a_passage_is(
    database_url: str,
) -> None:
    with FakeEndpoint().running() as fake:
        async with base(named(database_url, fake, {"questions.rerank": "local"})) as kb:
            read = await kb.questions.search(QUESTION, await kb.reader(["team:sales"]))
        async with base(named(database_url, fake, {"questions.rerank": "none"})) as kb:
            unread = await kb.questions.search(QUESTION, await kb.reader(["team:sales"]))
    assert [one.chunk.id for one in read.evidence] == [one.chunk.id for one in unread.evidence]
    assert [one.relevance for one in read.evidence] != [one.relevance for one in unread.evidence]
    assert unread.evidence[0].highlights


async def test_a_provider_without_a_key_is_named_before_anything_is_asked(
    database_url: str,
) -> None:
    with (
        FakeEndpoint().running() as fake,
        pytest.raises(Invalid, match="LIGHTWELL_RERANK_API_KEY"),
    ):
        async with open_knowledge_base(named(database_url, fake, {"questions.rerank": "cohere"})):
            pass


async def test_the_doctor_finds_a_reranker_whose_scores_mean_nothing(database_url: str) -> None:
    with FakeEndpoint(score_of=lambda share: 0.9 - share / 2).running() as fake:
        checks = {each.name: each for each in await examine(named(database_url, fake))}
        assert not checks["reranker"].ok
        assert "not usable" in checks["reranker"].fix
    with FakeEndpoint().running() as fake:
        checks = {each.name: each for each in await examine(named(database_url, fake))}
        assert checks["reranker"].ok
