import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from lightwell.domain.errors import Invalid, ModelBusy, ModelFailed
from lightwell.models.rerankers import (
    Calibration,
    Dialect,
    RemoteReranker,
    RerankEndpoint,
    reranking,
)
from lightwell.testing.clock import HurriedClock
from lightwell.testing.endpoint import Behaves, FakeEndpoint

QUESTION = "budget of the Atlas project"
PASSAGES = ["cats sleep", "the Atlas budget", "budget of the Atlas project", "cats purr"]


@asynccontextmanager
async def reranker(
    fake: FakeEndpoint,
    dialect: Dialect = Dialect.PLAIN,
    calibration: Calibration | None = None,
    *,
    timeout_seconds: float = 2,
) -> AsyncGenerator[RemoteReranker]:
    with fake.running():
        there = RerankEndpoint(
            base_url=fake.url,
            api_key=SecretStr("sk-1"),
            model="owl-rank",
            dialect=dialect,
            timeout_seconds=timeout_seconds,
        )
        async with reranking(there, calibration=calibration, clock=HurriedClock()) as one:
            yield one


@pytest.mark.parametrize(
    ("dialect", "path", "body"),
    [
        (Dialect.COHERE, "/v2/rerank", {"model": "owl-rank", "documents": PASSAGES, "top_n": 4}),
        (Dialect.JINA, "/v1/rerank", {"model": "owl-rank", "documents": PASSAGES, "top_n": 4}),
        (Dialect.PLAIN, "/rerank", {"model": "owl-rank", "documents": PASSAGES, "top_n": 4}),
        (Dialect.TEI, "/rerank", {"texts": PASSAGES, "truncate": True}),
    ],
)
async def test_each_dialect_gets_its_form_and_gives_every_passage_once(
    dialect: Dialect, path: str, body: dict[str, object]
) -> None:
    fake = FakeEndpoint()
    async with reranker(fake, dialect) as one:
        found = await one.rerank(QUESTION, PASSAGES)
    assert fake.requests[0].path == path
    assert fake.requests[0].body == body | {"query": QUESTION}
    assert fake.requests[0].headers["authorization"] == "Bearer sk-1"
    assert [each.place for each in found] == [2, 1, 0, 3]
    assert [each.relevance for each in found] == pytest.approx([1, 2 / 3, 0, 0], abs=1e-5)


async def test_raw_scores_become_probabilities() -> None:
    fake = FakeEndpoint(scored=lambda share: share * 10 - 5)
    async with reranker(fake, Dialect.TEI) as one:
        found = await one.rerank(QUESTION, PASSAGES)
    assert [each.relevance for each in found][::3] == pytest.approx(
        [1 / (1 + math.exp(-5)), 1 / (1 + math.exp(5))]
    )


async def test_a_calibration_moves_the_relevance_and_not_the_order() -> None:
    async with reranker(FakeEndpoint(), calibration=Calibration(a=0.5, b=-1)) as one:
        found = await one.rerank(QUESTION, PASSAGES)
    assert [each.place for each in found] == [2, 1, 0, 3]
    assert found[1].relevance == pytest.approx(1 / (1 + math.exp(1 - 0.5 * math.log(2))))


def test_a_calibration_that_would_turn_the_order_round_is_refused() -> None:
    with pytest.raises(Invalid, match="above 0"):
        Calibration(a=-1)


async def test_an_endpoint_that_takes_few_at_once_gets_batches() -> None:
    fake = FakeEndpoint()
    async with reranker(fake, Dialect.TEI) as one:
        found = await one.rerank("budget", [f"page {page}" for page in range(39)] + ["budget"])
    assert sorted(len(str(request.body["texts"]).split(",")) for request in fake.requests) == [
        8,
        32,
    ]
    assert (len(found), found[0].place) == (40, 39)


async def test_no_passages_cost_no_call() -> None:
    fake = FakeEndpoint()
    async with reranker(fake) as one:
        assert await one.rerank(QUESTION, []) == []
    assert fake.requests == []


@pytest.mark.parametrize(
    ("behaves", "message"),
    [
        (Behaves(latency=0.3), "did not answer within 0.1 s"),
        (Behaves(status=401), "answered 401: check LIGHTWELL_RERANK_API_KEY"),
        (Behaves(status=500), "answered 500"),
        (Behaves(hangs_up=True), "cannot be reached"),
        (Behaves(raw=b"nonsense"), "not the JSON it should be"),
        (Behaves(raw=b'[{"index": 0, "score": NaN}]'), "not the JSON it should be"),
        (Behaves(raw=b'[{"index": 0, "score": 1}]'), "not one score for each passage"),
        (Behaves(raw=b'{"results": []}'), "not one score for each passage"),
    ],
)
async def test_a_reranker_that_fails_is_asked_once_and_says_why(
    behaves: Behaves, message: str
) -> None:
    fake = FakeEndpoint(behaves=behaves)
    async with reranker(fake, timeout_seconds=0.1 if behaves.latency else 5) as one:
        with pytest.raises(ModelFailed, match=message):
            await one.rerank(QUESTION, PASSAGES)
    assert len(fake.requests) == 1


async def test_a_reranker_that_keeps_failing_is_not_asked_any_more() -> None:
    fake = FakeEndpoint(behaves=Behaves(latency=0.03))
    async with reranker(fake, timeout_seconds=0.01) as one:
        for _ in range(5):
            with pytest.raises(ModelFailed, match="did not answer"):
                await one.rerank(QUESTION, PASSAGES)
        with pytest.raises(ModelBusy, match="is left alone until"):
            await one.rerank(QUESTION, PASSAGES)
    assert len(fake.requests) <= 5


@pytest.mark.parametrize(
    ("base_url", "dialect", "url"),
    [
        ("https://api.cohere.com", Dialect.COHERE, "https://api.cohere.com/v2/rerank"),
        ("https://api.jina.ai/v1/", Dialect.JINA, "https://api.jina.ai/v1/rerank"),
        ("http://host:8000/v1", Dialect.PLAIN, "http://host:8000/v1/rerank"),
        ("http://host:8000/rerank", Dialect.TEI, "http://host:8000/rerank"),
    ],
)
def test_a_base_url_may_bring_part_of_the_path(base_url: str, dialect: Dialect, url: str) -> None:
    there = RerankEndpoint(base_url=base_url, api_key=SecretStr(""), model="owl", dialect=dialect)
    assert there.url == url
