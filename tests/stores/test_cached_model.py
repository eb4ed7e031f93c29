"""A model asked through the cache, on a real database."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from psycopg import AsyncConnection

from lightwell.domain.ids import ChunkId, ProjectId, new_id
from lightwell.ports import Message
from lightwell.records import access_classes
from lightwell.records.database import Database
from lightwell.records.llm_cache.cache import CacheType
from lightwell.records.llm_cache.cached_model import CachedModel, ModelRequest
from lightwell.testing.models import ScriptedModel
from tests.patience import PATIENCE

HOUR = 3600.0

_CHUNK = """
WITH document AS (
    INSERT INTO source_documents (
        document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id, source_url, title, format,
        content_hash,
        acl_tags, class_id)
    SELECT %(document)s, project_id, tenant_id, 'shelf:document:a', 'shelf', 'document', 'a', 'file:///a', '', 'text', '',
           '{}', 1
    FROM projects WHERE project_id = %(project)s
    RETURNING document_id
)
INSERT INTO document_chunks (
    chunk_id, chunk_ref, document_id, chunk_index, chunk_text, chunk_hash, token_count, start_offset, end_offset)
SELECT %(chunk)s, 'a#0', document_id, 0, 'text', '', 1, 0, 4 FROM document
"""


def question(text: str, max_age: float | None) -> ModelRequest:
    return ModelRequest(
        kind=CacheType.KEYWORD_EXTRACTION,
        messages=[Message(role="user", content=text)],
        max_tokens=100,
        max_age=max_age,
    )


@pytest.fixture
async def project_id(database: Database) -> ProjectId:
    return await access_classes.get_or_create_project(database, "tenant", "project")


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[AsyncConnection]:
    async with await AsyncConnection.connect(database_url) as connection:
        yield connection


async def aged(database: Database, seconds: float) -> None:
    await database.execute(
        "UPDATE extraction_cache SET created_at = now() - make_interval(secs => %(seconds)s)",
        {"seconds": seconds},
    )


@pytest.mark.parametrize(
    ("max_age", "age", "said"),
    [(HOUR, HOUR - 60, "first"), (HOUR, HOUR + 60, "second"), (None, 1000 * HOUR, "first")],
)
async def test_a_reply_is_asked_for_anew_when_it_has_outlived_its_age(
    database: Database, project_id: ProjectId, max_age: float | None, age: float, said: str
) -> None:
    model = ScriptedModel(["first", "second"])
    asking = CachedModel(database, project_id, model, slots=1)
    assert (await asking.reply(question("Who?", max_age))).text == "first"
    await aged(database, age)
    assert (await asking.reply(question("Who?", max_age))).text == said
    assert (await asking.reply(question("Who?", max_age))).text == said
    stored = await database.rows("SELECT result FROM extraction_cache", {})
    assert stored == [(said,)]


async def test_replies_that_outlived_their_age_do_not_pile_up(
    database: Database, project_id: ProjectId
) -> None:
    asking = CachedModel(database, project_id, ScriptedModel(["one", "two"]), slots=1)
    await asking.reply(question("Who?", HOUR))
    await aged(database, 2 * HOUR)
    await asking.reply(question("When?", HOUR))
    stored = await database.rows("SELECT result FROM extraction_cache", {})
    assert stored == [("two",)]


async def test_questions_at_once_are_looked_up_and_kept_together(
    database: Database, project_id: ProjectId
) -> None:
    """In order of arrival, each with its own reply; what another worker kept meanwhile holds."""
    model = ScriptedModel(lambda messages: f"About {messages[0].content}")
    asking = CachedModel(database, project_id, model, slots=50)
    texts = [f"{number}?" for number in range(40)]
    stored = await asyncio.gather(*(asking.reply(question(text, None)) for text in texts))
    assert [each.text for each in stored] == [f"About {text}" for text in texts]
    moments = await database.rows("SELECT count(DISTINCT created_at) FROM extraction_cache", {})
    assert moments[0][0] <= 3
    again = CachedModel(database, project_id, ScriptedModel([]), slots=50)
    found = await asyncio.gather(*(again.reply(question(text, None)) for text in texts))
    assert found == stored


async def test_a_reply_about_a_chunk_that_goes_is_kept_without_it(
    database: Database, project_id: ProjectId, other: AsyncConnection
) -> None:
    """Nobody waits for the one who deletes it, who may wait for us."""
    chunk = ChunkId(new_id())
    await database.execute(_CHUNK, {"project": project_id, "document": new_id(), "chunk": chunk})
    asking = CachedModel(database, project_id, ScriptedModel(["Said."]), slots=1)
    async with other.transaction():
        await other.execute("DELETE FROM document_chunks")
        about = replace(question("Who?", None), chunk=chunk)
        stored = await asyncio.wait_for(asking.reply(about), PATIENCE)
    assert stored.text == "Said."
    rows = await database.rows("SELECT result, chunk_id FROM extraction_cache", {})
    assert rows == [("Said.", None)]
