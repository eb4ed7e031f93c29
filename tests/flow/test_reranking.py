"""Evidence from a real store, reranked over real HTTP."""

import pytest
from pydantic import SecretStr

from lightwell.domain.calibration import Calibration
from lightwell.domain.evidence import Evidence
from lightwell.models.rerankers import Dialect, RerankEndpoint, open_reranker
from lightwell.retrieve.rerank import UNANSWERED, RerankResult, rerank
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document
from tests.flow.conftest import Project

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


async def evidence(project: Project) -> tuple[Evidence, ...]:
    await project.kb.ingestion.ingest(InMemorySource(documents=NOTES))
    reader = await project.kb.reader(["team:sales"])
    return (await project.kb.questions.search(QUESTION, reader)).evidence


async def judged(
    fake: FakeEndpoint,
    given: tuple[Evidence, ...],
    calibration: Calibration | None = None,
    timeout_seconds: float = 5,
) -> RerankResult:
    with fake.running():
        there = RerankEndpoint(
            dialect=Dialect.PLAIN,
            base_url=fake.base_url,
            api_key=SecretStr(""),
            model="owl-rank",
            timeout_seconds=timeout_seconds,
        )
        async with open_reranker(there, calibration=calibration) as reranker:
            return await rerank(reranker, QUESTION, given)


async def test_what_answers_comes_first_and_what_does_not_is_dropped(project: Project) -> None:
    contract, lunch, visit = sorted(await evidence(project), key=lambda one: one.chunk.title)
    found = (lunch, visit, contract)
    fake = FakeEndpoint(score_of=lambda share: max(0.0, share - 0.1))
    after = await judged(fake, found)
    assert [(each.chunk.title, each.original_rank, each.new_rank) for each in after.evidence] == [
        ("Contract", 2, 0),
        ("Visit", 1, 1),
    ]
    assert [each.relevance for each in after.evidence] == pytest.approx([0.9, 0.4])
    assert [each.chunk.id for each in after.evidence] == [contract.chunk.id, visit.chunk.id]
    assert fake.requests[0].path == "/v1/rerank"
    assert fake.requests[0].body["query"] == QUESTION


async def test_a_calibration_decides_what_is_dropped(project: Project) -> None:
    found = await evidence(project)
    after = await judged(FakeEndpoint(), found, Calibration(a=1, b=-3))
    assert [each.chunk.title for each in after.evidence] == ["Contract"]


@pytest.mark.parametrize(
    "behaves",
    [
        Behaviour(latency=2),
        Behaviour(status=500),
        Behaviour(closes_connection=True),
        Behaviour(raw_body=b"soup"),
    ],
)
async def test_a_reranker_in_trouble_changes_nothing_and_says_so(
    project: Project, behaves: Behaviour
) -> None:
    found = await evidence(project)
    after = await judged(FakeEndpoint(behaviour=behaves), found, timeout_seconds=0.5)
    assert [(each.chunk.id, each.relevance) for each in after.evidence] == [
        (each.chunk.id, each.relevance) for each in found
    ]
    assert after.note == UNANSWERED
