import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from pydantic import SecretStr

from lightwell.domain.calibration import Calibration, sigmoid
from lightwell.domain.errors import Invalid, ModelBusy, ModelFailed
from lightwell.domain.usage import OperationType
from lightwell.models.meter import Meter
from lightwell.models.rerankers import (
    Dialect,
    RemoteReranker,
    RerankEndpoint,
    Scores,
    open_reranker,
)
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from tests.clocks import InstantClock
from tests.patience import PATIENCE

QUESTION = "budget of the Atlas project"
PASSAGES = ["cats sleep", "the Atlas budget", "budget of the Atlas project", "cats purr"]


def endpoint(dialect: Dialect = Dialect.PLAIN, base_url: str = "http://here") -> RerankEndpoint:
    return RerankEndpoint(
        dialect=dialect, base_url=base_url, api_key=SecretStr("sk-1"), model="owl-rank"
    )


@asynccontextmanager
async def reranker(
    fake: FakeEndpoint,
    there: RerankEndpoint | None = None,
    calibration: Calibration | None = None,
    meter: Meter | None = None,
) -> AsyncGenerator[RemoteReranker]:
    with fake.running():
        here = replace(there or endpoint(), base_url=fake.url)
        async with open_reranker(
            here, calibration=calibration, meter=meter, clock=InstantClock()
        ) as one:
            yield one


@pytest.mark.parametrize(
    ("dialect", "path", "body"),
    [
        (Dialect.COHERE, "/v2/rerank", {"model": "owl-rank", "documents": PASSAGES, "top_n": 4}),
        (
            Dialect.JINA,
            "/v1/rerank",
            {"model": "owl-rank", "documents": PASSAGES, "top_n": 4, "return_documents": False},
        ),
        (
            Dialect.PLAIN,
            "/rerank",
            {"model": "owl-rank", "documents": PASSAGES, "top_n": 4, "return_documents": False},
        ),
        (Dialect.TEI, "/rerank", {"texts": PASSAGES, "truncate": True}),
    ],
)
async def test_each_dialect_gets_its_form_and_gives_every_passage_once(
    dialect: Dialect, path: str, body: dict[str, object]
) -> None:
    fake = FakeEndpoint()
    async with reranker(fake, endpoint(dialect)) as one:
        found = await one.rerank(QUESTION, PASSAGES)
    assert fake.requests[0].path == path
    assert fake.requests[0].body == body | {"query": QUESTION}
    assert fake.requests[0].headers["authorization"] == "Bearer sk-1"
    assert [each.index for each in found] == [2, 1, 0, 3]
    assert [each.relevance for each in found] == pytest.approx([1, 2 / 3, 0, 0], abs=1e-5)


async def test_logits_become_probabilities_where_the_setting_says_that_they_are() -> None:
    fake = FakeEndpoint(score_of=lambda share: share - 0.5)
    async with reranker(fake, replace(endpoint(), scores=Scores.LOGIT)) as one:
        found = await one.rerank(QUESTION, PASSAGES)
    assert [each.relevance for each in found][::3] == pytest.approx([sigmoid(0.5), sigmoid(-0.5)])


async def test_logits_are_never_taken_for_probabilities() -> None:
    fake = FakeEndpoint(score_of=lambda share: share * 10 - 5)
    async with reranker(fake) as one:
        with pytest.raises(ModelFailed, match="set LIGHTWELL_RERANK_SCORES=logit"):
            await one.rerank(QUESTION, PASSAGES)


async def test_a_cosine_below_zero_is_no_relevance() -> None:
    fake = FakeEndpoint(score_of=lambda share: share - 0.1)
    async with reranker(fake) as one:
        found = await one.rerank(QUESTION, PASSAGES)
    assert [each.relevance for each in found] == pytest.approx([0.9, 2 / 3 - 0.1, 0, 0], abs=1e-5)


async def test_a_server_with_one_model_need_not_be_told_its_name() -> None:
    fake = FakeEndpoint()
    async with reranker(fake, replace(endpoint(), model="")) as one:
        await one.rerank(QUESTION, PASSAGES)
    assert "model" not in fake.requests[0].body


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        (b'{"results": [{"index": 0, "relevance_score": 1}], "usage": {"total_tokens": 31}}', 31),
        (b'{"results": [{"index": 0, "relevance_score": 1}], "usage": {"total_tokens": null}}', 4),
        (b'{"results": [{"index": 0, "relevance_score": 1}], "usage": null, "meta": {}}', 4),
        (b'[{"index": 0, "score": 1}]', 4),
    ],
)
async def test_what_a_call_costs_is_noted_as_told_or_as_sent(raw: bytes, tokens: int) -> None:
    meter = Meter()
    async with reranker(FakeEndpoint(behaviour=Behaviour(raw_body=raw)), meter=meter) as one:
        await one.rerank("two words", ["cats sleep"])
    assert [(each.operation_type, each.model_name) for each in meter.usages] == [
        (OperationType.RERANK, "owl-rank")
    ]
    assert (meter.usages[0].input_tokens, meter.usages[0].output_tokens) == (tokens, 0)


async def test_a_calibration_moves_the_relevance_and_not_the_order() -> None:
    async with reranker(FakeEndpoint(), calibration=Calibration(a=0.5, b=-1)) as one:
        found = await one.rerank(QUESTION, PASSAGES)
    assert [each.index for each in found] == [2, 1, 0, 3]
    assert found[1].relevance == pytest.approx(1 / (1 + math.exp(1 - 0.5 * math.log(2))))


async def test_an_endpoint_that_takes_few_at_once_gets_batches() -> None:
    fake = FakeEndpoint()
    async with reranker(fake, endpoint(Dialect.TEI)) as one:
        found = await one.rerank("budget", [f"page {page}" for page in range(39)] + ["budget"])
    assert sorted(len(str(request.body["texts"]).split(",")) for request in fake.requests) == [
        8,
        32,
    ]
    assert (len(found), found[0].index) == (40, 39)


async def test_no_passages_cost_no_call() -> None:
    fake = FakeEndpoint()
    async with reranker(fake) as one:
        assert await one.rerank(QUESTION, []) == []
    assert fake.requests == []


@pytest.mark.parametrize(
    ("behaves", "message"),
    [
        (Behaviour(latency=1), "did not answer within 0.5 s: .* LIGHTWELL_RERANK_TIMEOUT_MS"),
        (Behaviour(status=401), "answered 401: check LIGHTWELL_RERANK_API_KEY"),
        (Behaviour(status=500), "answered 500"),
        (Behaviour(closes_connection=True), "cannot be reached"),
        (Behaviour(raw_body=b"nonsense"), "not the expected JSON"),
        (Behaviour(raw_body=b'[{"index": 0, "score": NaN}]'), "not the expected JSON"),
        (Behaviour(raw_body=b'[{"index": 0, "score": 1}]'), "not one score for each passage"),
        (Behaviour(raw_body=b'{"results": []}'), "not one score for each passage"),
    ],
)
async def test_a_reranker_that_fails_is_asked_once_and_says_why(
    behaves: Behaviour, message: str
) -> None:
    fake = FakeEndpoint(behaviour=behaves)
    there = replace(endpoint(), timeout_seconds=0.5 if behaves.latency else PATIENCE)
    async with reranker(fake, there) as one:
        with pytest.raises(ModelFailed, match=message):
            await one.rerank(QUESTION, PASSAGES)
    assert len(fake.requests) == 1


async def test_a_reranker_that_keeps_failing_is_not_asked_any_more() -> None:
    fake = FakeEndpoint(behaviour=Behaviour(latency=0.03))
    async with reranker(fake, replace(endpoint(), timeout_seconds=0.01)) as one:
        for _ in range(5):
            with pytest.raises(ModelFailed, match="did not answer"):
                await one.rerank(QUESTION, PASSAGES)
        with pytest.raises(ModelBusy, match="gets no calls until"):
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
    assert endpoint(dialect, base_url).url == url


@pytest.mark.parametrize(
    ("dialect", "url", "model"),
    [
        (Dialect.COHERE, "https://api.cohere.com/v2/rerank", "rerank-v3.5"),
        (Dialect.JINA, "https://api.jina.ai/v1/rerank", "jina-reranker-v2-base-multilingual"),
    ],
)
def test_a_provider_needs_no_url_and_no_model(dialect: Dialect, url: str, model: str) -> None:
    there = RerankEndpoint(dialect=dialect, api_key=SecretStr("sk-1"))
    assert (there.url, there.model_name) == (url, model)


@pytest.mark.parametrize("dialect", [Dialect.COHERE, Dialect.JINA])
def test_a_provider_without_a_key_is_refused(dialect: Dialect) -> None:
    with pytest.raises(Invalid, match="API key must be configured: set LIGHTWELL_RERANK_API_KEY"):
        RerankEndpoint(dialect=dialect, api_key=SecretStr(""), base_url="http://here")


def test_a_server_of_ones_own_needs_a_url_and_no_key() -> None:
    RerankEndpoint(dialect=Dialect.PLAIN, api_key=SecretStr(""), base_url="http://here")
    with pytest.raises(Invalid, match="set LIGHTWELL_RERANK_URL"):
        RerankEndpoint(dialect=Dialect.PLAIN, api_key=SecretStr("sk-1"))


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_time_at_all_is_refused(seconds: float) -> None:
    with pytest.raises(Invalid, match="Timeout must be positive"):
        replace(endpoint(), timeout_seconds=seconds)
