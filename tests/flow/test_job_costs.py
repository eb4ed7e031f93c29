"""What a job says of its extraction: what models cost, and how many relations fitted no predicate."""

from dataclasses import replace
from typing import cast

import pytest
from structlog.testing import capture_logs

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Predicate, RelationMention, parse_predicate
from lightwell.domain.usage import OperationType
from lightwell.entrypoints.operations.corrections import StatedRelation
from lightwell.entrypoints.operations.jobs import Job
from lightwell.records.database import Database
from lightwell.testing.endpoint import Body, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import passage, read_by_model
from .notes import noted

TEAM = ["team:a"]


def _extract(body: Body) -> str:
    text = passage(body)
    if "Zorn" in text:
        return "E|Zorn|person|a name\nE|Osprey|product|a pump\nR|Zorn|Osprey|LOVES|much|He does|5|0.9\nEND"
    return "E|Acme Corp|organization|a firm\nE|Tarn|product|a pump\nR|Acme Corp|Tarn|USES|x|Yes|5|0.9\nEND"


async def test_s1_1_a_job_keeps_what_its_document_cost_and_what_fitted_no_predicate(
    database: Database,
) -> None:
    odd = make_document("odd.md", "Zorn has an Osprey.", TEAM)
    plain = make_document("plain.md", "Acme Corp has a Tarn.", TEAM)
    with FakeEndpoint(_extract).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, meter):
            with capture_logs() as logs:
                done = await project.kb.ingestion.ingest(InMemorySource(documents=(odd, plain)))
            reader = await project.kb.reader(TEAM)
            jobs = {each.url: each for each in await project.kb.jobs.list(reader)}
    one, other = (jobs[each.url] for each in (odd, plain))
    assert (one.unknown_predicates, other.unknown_predicates) == (1, 0)
    assert {each.url: each.unknown_predicates for each in done.done} == {odd.url: 1, plain.url: 0}
    assert one.usage.calls == other.usage.calls == 1
    total = meter.summary
    assert one.usage.total_input_tokens + other.usage.total_input_tokens == total.total_input_tokens
    assert (
        one.usage.total_output_tokens + other.usage.total_output_tokens == total.total_output_tokens
    )
    assert one.usage.by_operation_type == {
        OperationType.INGESTION: one.usage.total_input_tokens + one.usage.total_output_tokens
    }
    shown = Job.model_validate(one)
    assert (shown.usage.calls, shown.unknown_predicates) == (1, 1)
    (line,) = [each for each in logs if "unknown predicates" in str(each["event"])]
    assert line["relations"] == 1
    assert "LOVES" not in str(logs)


async def test_a_document_that_costs_nothing_says_so(database: Database) -> None:
    store = await noted(database)
    await store.put("a", TEAM, "Heap (concept)")
    (job,) = await store.kb.jobs.list(await store.kb.reader(TEAM))
    assert (job.usage.calls, job.usage.by_operation_type, job.unknown_predicates) == (0, {}, 0)


async def test_s3_9_an_invalid_predicate_is_refused_by_hand(database: Database) -> None:
    assert parse_predicate("uses") is Predicate.USES
    store = await noted(database)
    await store.put("a", TEAM, "Heap (concept)", "List (concept)")
    reader = await store.kb.reader(TEAM)
    wrong = replace(
        RelationMention(subject="Heap", object="List"), predicate=cast("Predicate", "LOVES")
    )
    with pytest.raises(Invalid, match=r"^Invalid predicate type: 'LOVES'"):
        await store.kb.graph.relate(reader, wrong)
    body = {"source": "Heap", "target": "List", "predicate": "LOVES"}
    with pytest.raises(Invalid, match=r"^Invalid predicate type: 'LOVES'"):
        StatedRelation.model_validate(body)
    assert (await store.kb.graph.entity(reader, "Heap")).relations == ()
