"""Lightwell on PostgreSQL and a real Milvus: ingestion, questions, access, deletion, failures, and the copy from one store to the other."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

import pytest
import pytest_asyncio
from pydantic import SecretStr
from pymilvus import MilvusClient

from lightwell import KnowledgeBase, open_knowledge_base
from lightwell.domain.documents import DocumentState
from lightwell.domain.errors import IndexFailed, Invalid
from lightwell.domain.graph import ManualEdit
from lightwell.domain.health import Check
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import delete_project
from lightwell.wiring.examination import examine
from lightwell.wiring.vector_copies import copy_vectors_to
from tests.conftest import Databases
from tests.milvus_server import MilvusUse

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

T = TypeVar("T")

US, THEM = ["team:us"], ["team:them"]
OURS = make_document(
    "a.md",
    "The Tarn 4 weighs 12 kilograms and was built in Bergen.",
    US,
)
THEIRS = make_document("b.md", "The Tarn 4 costs 9,000 crowns, which nobody else may know.", THEM)
WEIGHT, PRICE = "How much does the Tarn 4 weigh?", "What does the Tarn 4 cost?"


@pytest.fixture(scope="module")
def on_milvus(milvus_url: str, databases: Databases) -> Iterator[Settings]:
    with databases.lent() as url:
        yield Settings(
            database_url=SecretStr(url),
            vector_store="milvus",
            milvus_url=milvus_url,
            milvus_timeout_seconds=120,
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kb(on_milvus: Settings) -> AsyncIterator[KnowledgeBase]:
    async with open_knowledge_base(on_milvus) as opened:
        await opened.ingest(InMemorySource(documents=(OURS, THEIRS)))
        yield opened
    await delete_project(on_milvus)


async def dense_hits(kb: KnowledgeBase, question: str, tags: list[str]) -> list[str]:
    found = await kb.search(question, await kb.reader(tags))
    return [each.chunk.url for each in found.evidence]


async def until_served(operation: Callable[[], Awaitable[T]]) -> T:
    """Return the result of an operation, which is repeated while Milvus cannot be reached, and then says so."""
    while True:
        try:
            return await operation()
        except IndexFailed as error:
            if "Milvus at" not in str(error):
                raise
            await asyncio.sleep(0.2)


async def test_questions_are_answered_from_what_the_reader_sees(kb: KnowledgeBase) -> None:
    ours, theirs = await kb.reader(US), await kb.reader(THEM)
    assert "12 kilograms" in (await kb.ask(WEIGHT, ours)).text
    assert "9,000 crowns" in (await kb.ask(PRICE, theirs)).text
    assert "crowns" not in (await kb.ask(PRICE, ours)).text
    assert await dense_hits(kb, PRICE, US) == [OURS.url]


async def test_what_is_retagged_or_deleted_is_found_no_more(kb: KnowledgeBase) -> None:
    moved = make_document("c.md", "The Fjell radio sends every 30 minutes.", US)
    await kb.ingest(InMemorySource(documents=(OURS, THEIRS, moved)))
    asked = "How often does the Fjell radio send?"
    assert moved.url in await dense_hits(kb, asked, US)
    again = make_document("c.md", "The Fjell radio sends every 30 minutes.", THEM)
    await kb.ingest(InMemorySource(documents=(OURS, THEIRS, again)))
    assert moved.url not in await dense_hits(kb, asked, US)
    assert moved.url in await dense_hits(kb, asked, THEM)
    await kb.delete(await kb.reader(THEM), [moved.url])
    assert moved.url not in await dense_hits(kb, asked, THEM)


async def test_s3_11_an_ingestion_that_meets_a_killed_server_loses_nothing(
    kb: KnowledgeBase, milvus_use: MilvusUse
) -> None:
    late = make_document("d.md", "The Osprey buoy floats for 400 days.", US)
    await kb.enqueue(InMemorySource(documents=(OURS, THEIRS, late)))
    with milvus_use.kill():
        await until_served(kb.finish_jobs)
        reader = await kb.reader(US)
        assert (await kb.document(reader, late.url)).state is DocumentState.ACTIVE
        answer = await until_served(
            lambda: kb.ask("For how many days does the Osprey buoy float?", reader)
        )
    assert "400 days" in answer.text


async def test_vectors_move_to_postgres_and_back_without_a_model(
    kb: KnowledgeBase, on_milvus: Settings
) -> None:
    written = ManualEdit(
        name="Nordwind", kind="organization", description="a shipyard that builds radios"
    )
    await kb.graph.create(await kb.reader(US), written)
    await kb.finish_jobs()
    counts: list[int] = []
    there = await copy_vectors_to(on_milvus, "postgres", counts.append)
    assert (there.missing, there.missing_profiles) == (0, 0)
    assert min(there.chunks, there.profiles) > 0
    assert counts[-1] == there.chunks + there.profiles
    async with open_knowledge_base(
        on_milvus.model_copy(update={"vector_store": "postgres"})
    ) as other:
        assert await dense_hits(other, WEIGHT, US) == await dense_hits(kb, WEIGHT, US)
    assert await copy_vectors_to(on_milvus, "milvus", counts.append) == there
    with pytest.raises(Invalid, match="postgres and milvus"):
        await copy_vectors_to(on_milvus, "qdrant", counts.append)


async def test_the_doctor_looks_at_the_server_and_at_its_indexes(
    kb: KnowledgeBase, on_milvus: Settings
) -> None:
    assert await dense_hits(kb, WEIGHT, US)
    found = await vector_store_check(on_milvus)
    assert found.ok
    assert re.fullmatch(r"Milvus \S+ answers, [1-9]\d* collections", found.detail)
    name = f"lightwell_{'0' * 32}_odd"
    client = MilvusClient(on_milvus.milvus_url)
    client.create_collection(name, dimension=4, metric_type="L2")
    try:
        found = await vector_store_check(on_milvus)
        assert not found.ok
        assert f"The collection {name}" in found.fix
        assert "lightwell copy-vectors milvus" in found.fix
    finally:
        client.drop_collection(name)
        client.close()
    gone = on_milvus.model_copy(update={"milvus_url": "http://127.0.0.1:1"})
    assert "LIGHTWELL_MILVUS_URL" in (await vector_store_check(gone)).fix


async def vector_store_check(settings: Settings) -> Check:
    return next(each for each in await examine(settings) if each.name == "vector store")


async def test_a_server_that_is_not_there_is_named_with_its_setting(databases: Databases) -> None:
    with databases.lent() as url:
        settings = Settings(
            database_url=SecretStr(url), vector_store="milvus", milvus_url="http://127.0.0.1:1"
        )
        with pytest.raises(IndexFailed, match=r"127\.0\.0\.1:1 .*LIGHTWELL_MILVUS_URL"):
            async with open_knowledge_base(settings):
                pass
