"""A person asks in a chat and gets what that person may see, in one message that grows."""

from collections.abc import AsyncGenerator

import pytest

from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document
from tests.channels.memory import Office, opened
from tests.flow.conftest import project_on

SALES, BOARD = "team:sales", "team:board"
DOCUMENTS = (
    make_document("a.md", "Nordwind Energie gets a discount of 18 percent.", [SALES]),
    make_document("b.md", "Castell Water gets a discount of 25 percent.", [BOARD]),
)
DISCOUNT = "What discount does Nordwind Energie get?"
HIDDEN = "What discount does Castell Water get?"


@pytest.fixture
async def office(database: Database) -> AsyncGenerator[Office]:
    project = await project_on(database)
    await project.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS, scope="file:///shelf/"))
    async with opened(project) as office:
        yield office


async def test_an_answer_grows_in_one_message_and_has_its_sources(office: Office) -> None:
    ada = await office.join("ada", SALES)
    post = await office.say(ada, DISCOUNT)
    assert "18 percent" in post.text
    assert "[1]" in post.labels
    versions = [written.text for written in office.channel.written]
    assert len(office.channel.posts) == 1
    assert versions[0] == "…"
    assert versions[-1] == post.text
