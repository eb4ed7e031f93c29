"""What calls cost: sums, prices, and a budget that is never exceeded."""

import asyncio
from datetime import UTC, datetime

import pytest

from lightwell.domain.errors import BudgetSpent, Invalid, ModelRefused
from lightwell.domain.usage import OperationType, Price, TokenUsage, summarize_usage
from lightwell.models.meter import Meter, MeteredModel
from lightwell.ports import Message
from lightwell.testing.models import ScriptedModel

ASKED = [Message(role="user", content="one two three four five")]
INGESTION, QUERY = OperationType.INGESTION, OperationType.QUERY


def usage(kind: OperationType, asked: int, said: int) -> TokenUsage:
    return TokenUsage(
        operation_type=kind,
        model_name="m",
        input_tokens=asked,
        output_tokens=said,
        timestamp=datetime.now(UTC),
    )


def test_a_summary_adds_up() -> None:
    total = summarize_usage([usage(INGESTION, 10, 1), usage(QUERY, 5, 2), usage(INGESTION, 20, 3)])
    assert (total.calls, total.total_input_tokens, total.total_output_tokens) == (3, 35, 6)
    assert dict(total.by_operation_type) == {INGESTION: 34, QUERY: 7}


def test_no_count_is_negative() -> None:
    with pytest.raises(Invalid):
        usage(INGESTION, -1, 0)


def test_a_price_is_known_or_not() -> None:
    assert Price(input=1.0, output=10.0).cost(500_000, 100_000) == pytest.approx(1.5)
    assert Price(input=1.0, output=None).cost(1, 1) is None


async def test_a_meter_notes_replies_streams_and_refusals() -> None:
    meter = Meter()
    said = [
        "hello there",
        ModelRefused("no", response_text="never", input_tokens=7, output_tokens=2),
        "bye now",
    ]
    model = MeteredModel(inner=ScriptedModel(said), meter=meter, operation=QUERY)
    await model.reply(ASKED, max_tokens=10)
    with pytest.raises(ModelRefused):
        await model.reply(ASKED, max_tokens=10)
    assert "".join([part async for part in model.stream(ASKED, max_tokens=10)]) == "bye now"
    assert [(one.input_tokens, one.output_tokens) for one in meter.usages] == [
        (5, 2),
        (7, 2),
        (5, 2),
    ]


async def test_calls_at_once_never_exceed_the_budget_together() -> None:
    meter = Meter(budget=100)
    model = MeteredModel(
        inner=ScriptedModel(lambda _: "word" + " word" * 9, latency=0.01),
        meter=meter,
        operation=INGESTION,
    )

    async def ask() -> bool:
        try:
            await model.reply(ASKED, max_tokens=20)
        except BudgetSpent:
            return False
        return True

    done = await asyncio.gather(*(ask() for _ in range(20)))
    assert meter.spent_tokens <= 100
    assert sum(done) == len(meter.usages) == (100 - 25) // 15 + 1


async def test_a_question_is_answered_whatever_the_budget() -> None:
    meter = Meter(budget=1)
    model = MeteredModel(inner=ScriptedModel(["yes"]), meter=meter, operation=QUERY)
    assert (await model.reply(ASKED, max_tokens=10)).text == "yes"
