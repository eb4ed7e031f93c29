"""A project with a shelf of documents, and an office whose bot answers from it."""

from collections.abc import AsyncGenerator

import pytest

from lightwell.domain.documents import NewDocument
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource
from tests.channels.memory import Office, opened
from tests.flow.conftest import Project, project_on


async def filled(database: Database, *documents: NewDocument) -> Project:
    """Return a project on this database that has read these documents."""
    project = await project_on(database)
    source = InMemorySource(documents=documents, scope="file:///shelf/")
    await project.kb.ingestion.ingest(source)
    return project


@pytest.fixture
async def office(project: Project) -> AsyncGenerator[Office]:
    async with opened(project) as office:
        yield office
