"""The demo believes nothing: what it asks is held against what the example world promises."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightwell.domain.answers import (
    INSUFFICIENT,
    Answer,
    Answered,
    Citation,
    CitedSentence,
    InsufficientEvidence,
)
from lightwell.domain.business_systems import NewSource
from lightwell.domain.documents import Locator
from lightwell.domain.evidence import Metrics
from lightwell.domain.ids import QueryId, new_id
from lightwell.entrypoints.cli.demo import check_answer, temporary_store
from lightwell.entrypoints.cli.demo_systems import pause_systems, show_systems
from lightwell.ingest.item_sync import SyncRequest
from lightwell.settings import ChatSettings, EmbeddingSettings, IngestionSettings, Settings
from lightwell.testing.example_company import SYSTEMS, ExampleCompany
from lightwell.wiring import open_knowledge_base
from lightwell.world import DEMO, Question

BURSTS, CASTELL = DEMO[0][0], DEMO[2][0]
METRICS = Metrics(
    vector_ms=0,
    vector_hits=0,
    vector_top=0.0,
    vector_mean=0.0,
    graph_ms=0,
    graph_hits=0,
    graph_depth=0,
    concepts=0,
    fusion_ms=0,
    overlap=0,
    rrf_top=0.0,
    rerank_ms=0,
    rerank_top=0.0,
)


def answered(text: str, snippet: str = "") -> Answer:
    """Return an answer with one citation, or insufficient evidence for the sentence that says so."""
    cited = Citation(
        id="[1]",
        source_url="file:///tarn.pdf",
        source_system="file",
        source_type="document",
        document_ref="file:document:1",
        document_id="1",
        chunk_ref="file:document:1#0",
        chunk_id="1",
        document_title="Tarn 4",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        dated_at=None,
        snippet=snippet,
        score=0.9,
        locator=Locator(page=3, last_page=3, section=(), start=0, end=10),
    )
    sentence = CitedSentence(text=text.removesuffix(" [1]"), citations=(cited,))
    is_refused = text == INSUFFICIENT
    return Answer(
        query_id=QueryId(new_id()),
        question="",
        outcome=InsufficientEvidence() if is_refused else Answered(sentences=(sentence,)),
        relevance=0.1 if is_refused else 0.9,
        author=None,
        metrics=METRICS,
    )


@pytest.mark.parametrize(
    ("question", "who", "answer", "complaint"),
    [
        (BURSTS, "ada", answered("It averages 64\npairs. [1]"), ""),
        (BURSTS, "ada", answered("Many. [1]", "averages 64 pairs for each"), ""),
        (BURSTS, "ada", answered("Many. [1]", "pairs"), "neither the answer nor its"),
        (BURSTS, "ada", answered(INSUFFICIENT), "the answer should say '64 pairs'"),
        (BURSTS, "bob", answered(INSUFFICIENT), ""),
        (BURSTS, "bob", answered("64 pairs [1]"), "there should be no answer"),
        (CASTELL, "grace", answered(INSUFFICIENT), ""),
        (CASTELL, "grace", answered("0.5 percent [1]"), "there should be no answer"),
    ],
)
def test_an_answer_is_held_against_the_promise(
    question: Question, who: str, answer: Answer, complaint: str
) -> None:
    problem = check_answer(question, who, answer)
    assert problem.startswith(complaint)
    assert bool(problem) == bool(complaint)


async def test_a_server_has_nothing_to_sync_after_the_demo(database_url: str) -> None:
    chosen = Settings(
        database_url=SecretStr(database_url), ingestion=IngestionSettings(extraction="rules")
    )
    async with open_knowledge_base(chosen, open_source=ExampleCompany().open) as kb:
        await show_systems(kb)
        assert len(await kb.sources.list()) == len(SYSTEMS)
        assert await kb.sources.list_due() == []
        await kb.sources.resume("attio")
        assert len(await kb.sources.list_due()) == 1
        await pause_systems(kb)
        assert await kb.sources.list_due() == []


async def test_s2_5_a_sync_that_a_person_asks_for_finds_a_rename_in_attio(
    database_url: str,
) -> None:
    chosen, company = (
        Settings(
            database_url=SecretStr(database_url), ingestion=IngestionSettings(extraction="rules")
        ),
        ExampleCompany(),
    )
    async with open_knowledge_base(chosen, open_source=company.open) as kb:
        await kb.sources.create(NewSource(name="crm", system="attio", adds_people=True))
        first = await kb.sources.sync("crm", SyncRequest(is_full=True))
        assert first.counts.inserted > 0
        records = company.attio.records
        [deal] = [ref for ref in records if company.attio.slug_of(records[ref]) == "deals"]
        company.attio.change_record(deal, {"name": "Nordwind northern network"})
        again = await kb.sources.sync("crm", SyncRequest(is_full=True))
        assert again.counts.updated > 0
        # what a server is asked for: a worker syncs it
        company.attio.change_record(deal, {"name": "Nordwind eastern network"})
        await kb.sources.request_sync("crm")
        [(_, due)] = await kb.sources.list_due()
        await kb.sources.sync_due(due)
        [run] = (await kb.sources.show("crm", limit=1)).runs
        assert run.counts.updated > 0


def test_the_demo_touches_nothing_of_the_users() -> None:
    users = Settings(
        data=Path("mine"),
        database_url=SecretStr("postgresql://host/production"),
        chat=ChatSettings(url="http://localhost:1/v1"),
        embedding=EmbeddingSettings(url="http://localhost:1/v1"),
        ingestion=IngestionSettings(extraction="model"),
        project="ours",
    )
    apart = temporary_store(users)
    assert (apart.data, apart.database_url) == (Path("mine/demo"), None)
    assert (apart.chat.url, apart.embedding.url, apart.ingestion.extraction) == (
        None,
        None,
        "rules",
    )
    assert apart.project != users.project
