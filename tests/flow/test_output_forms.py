"""The form of replies: by a schema where the endpoint takes one, else in lines, and kept replies hold in both."""

import json

import pytest

from lightwell.ingest.extract.extraction_prompt import ExtractionSpec, OutputForm
from lightwell.records.database import Database
from lightwell.testing.endpoint import Body, FakeEndpoint, Request
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import SLOTS, Options, content, names, read_by_model

TAGS = ["team:a"]
AUTO = Options(wanted=ExtractionSpec(form=OutputForm.JSON), instead=OutputForm.LINES)
NOTES = tuple(
    make_document(f"{n:02}.md", f"Acme Corp buys Pump {n} from Nordwind.", TAGS, title=f"{n}")
    for n in range(40)
)
NO_SCHEMA = frozenset({"response_format"})


def in_its_form(body: Body) -> str:
    """Reply in JSON to whoever sends a schema, else in lines."""
    if "response_format" not in body:
        return names(body)
    rows = [row.split("|") for row in names(body).splitlines()[:-1]]
    return json.dumps({sign: [row[1:] for row in rows if row[0] == sign] for sign in "ER"})


def in_lines(request: Request) -> bool:
    return "\nEND" in content(request.body, 0)


async def test_an_endpoint_that_takes_a_schema_is_given_one(database: Database) -> None:
    with FakeEndpoint(in_its_form).running() as endpoint:
        async with read_by_model(database, endpoint.base_url, AUTO) as (project, _):
            await project.kb.ingestion.ingest(InMemorySource(documents=NOTES[:3]))
    assert len(endpoint.requests) == 3
    assert not any(in_lines(request) for request in endpoint.requests)
    assert all("response_format" in request.body for request in endpoint.requests)
    kinds = await database.rows(
        "SELECT DISTINCT entity_kind FROM document_entity_mentions WHERE name = 'Nordwind'", {}
    )
    assert kinds == [("organization",)]


async def test_one_that_takes_none_is_asked_in_lines_and_nothing_is_paid_twice(
    database: Database,
) -> None:
    with FakeEndpoint(in_its_form, declined_parameters=NO_SCHEMA).running() as endpoint:
        async with read_by_model(database, endpoint.base_url, AUTO) as (project, meter):
            await project.kb.ingestion.ingest(InMemorySource(documents=NOTES))
            asked = [one for one in endpoint.requests if "response_format" not in one.body]
            assert len(asked) == meter.summary.calls == len(NOTES)
            assert all(in_lines(request) for request in asked)
            assert len(endpoint.requests) - len(asked) <= SLOTS
    kept = await database.rows("SELECT result FROM extraction_cache", {})
    assert len(kept) == len(NOTES)
    assert all(text.endswith("END") for (text,) in kept)


@pytest.mark.parametrize("declines", [frozenset[str](), NO_SCHEMA])
async def test_what_was_replied_in_one_form_holds_in_the_other(
    database: Database, declines: frozenset[str]
) -> None:
    """The endpoint takes a schema from now on, or no longer."""
    documents = NOTES[:3]
    with FakeEndpoint(in_its_form, declined_parameters=NO_SCHEMA - declines).running() as before:
        async with read_by_model(database, before.base_url, AUTO) as (project, _):
            await project.kb.ingestion.ingest(InMemorySource(documents=documents))
            reader = await project.kb.reader(TAGS)
            estimate = await project.kb.ingestion.estimate_again(reader, None)
            assert (estimate.cached, estimate.calls) == (3, 0)
    with FakeEndpoint(in_its_form, declined_parameters=declines).running() as after:
        async with read_by_model(database, after.base_url, AUTO) as (project, _):
            await project.kb.ingestion.reread(reader, None)
            assert after.requests == []
            more = make_document("new.md", "Jane Smith met Nordwind.", TAGS)
            await project.kb.ingestion.ingest(InMemorySource(documents=(*documents, more)))
            await project.kb.ingestion.reread(reader, None)
            estimate = await project.kb.ingestion.estimate_again(reader, None)
            assert (estimate.cached, estimate.calls) == (4, 0)
    paid = [one for one in after.requests if not declines & one.body.keys()]
    assert len(paid) == 1
    assert in_lines(paid[0]) == bool(declines)
