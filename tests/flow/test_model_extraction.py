"""The graph that a model writes, over a real endpoint that behaves as well or badly as each test wants."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import BudgetSpent, ModelFailed
from lightwell.ingest.reading import Wanted
from lightwell.models.meter import Meter
from lightwell.records.database import Database, Row
from lightwell.testing.endpoint import Behaves, Body, FakeEndpoint
from lightwell.testing.shelf import Shelf, written

from .conftest import Project
from .reading_model import Options, names, passage, read_by_model

TAGS = ["team:a"]
ACME = written("acme.md", "Acme Corp buys pumps from Nordwind.", TAGS, title="Acme note")


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(names).running() as running:
        yield running


async def ingest(project: Project, *documents: NewDocument) -> None:
    done = await project.kb.ingest(Shelf(documents=documents))
    assert done.troubles == ()


async def mentions(project: Project) -> dict[str, Row]:
    rows = await project.database.rows(
        "SELECT name, entity_kind, description, mention_type FROM document_entity_mentions", {}
    )
    return {row[0]: row[1:] for row in rows}


async def cached(project: Project) -> list[Row]:
    return await project.database.rows(
        "SELECT cache_type, result, is_complete, tokens_used, input_tokens, chunk_id, id"
        " FROM extraction_cache ORDER BY created_at, id",
        {},
    )


async def test_a_model_writes_the_graph_and_its_reply_is_kept(
    database: Database, endpoint: FakeEndpoint
) -> None:
    async with read_by_model(database, endpoint.base_url) as (project, meter):
        await ingest(project, ACME)
        found = await mentions(project)
        assert found["Acme Corp"] == ("organization", "Acme Corp stands in the passage", "explicit")
        assert found["Acme note"][2] == "metadata"
        predicates = await project.database.rows("SELECT predicate FROM relations", {})
        assert predicates == [("USES",)]
        ((kind, text, complete, used, asked, chunk, reply),) = await cached(project)
        assert (kind, complete) == ("ENTITY_EXTRACTION", True)
        assert text == names(endpoint.requests[0].body)
        assert used > asked > 100
        assert meter.summary.total_input_tokens == asked
        assert meter.spent == used
        chunks = await project.database.rows(
            "SELECT chunk_id, llm_cache_ids FROM document_chunks", {}
        )
        assert chunks == [(chunk, [reply])]
