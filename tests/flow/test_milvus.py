"""Lightwell on PostgreSQL and a real Milvus: ingestion, questions, access, deletion, failures, and the copy from one store to the other."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast
from uuid import UUID

import pytest
import pytest_asyncio
from pydantic import SecretStr
from pymilvus import DataType, MilvusClient

from lightwell import KnowledgeBase, open_knowledge_base
from lightwell.domain.documents import DocumentState
from lightwell.domain.errors import IndexFailed, Invalid
from lightwell.domain.graph import ManualEdit
from lightwell.domain.ids import ChunkId
from lightwell.domain.operations import Check
from lightwell.records import embedding_spaces, projects
from lightwell.records.embedding_spaces import Space
from lightwell.settings import Settings, StoreSettings
from lightwell.stores.milvus.collection import Field, connect
from lightwell.stores.milvus.vectors import MilvusVectors
from lightwell.testing.server import temporary_folder
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import delete_project, stores
from lightwell.wiring.database import open_database
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
    with pytest.MonkeyPatch.context() as patch, databases.lent() as url:
        patch.setattr(stores, "MILVUS_SECONDS", 120.0)
        yield Settings(
            database_url=SecretStr(url),
            stores=StoreSettings(vector_store="milvus", milvus_url=milvus_url),
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kb(on_milvus: Settings) -> AsyncIterator[KnowledgeBase]:
    async with open_knowledge_base(on_milvus) as opened:
        await opened.ingestion.ingest(InMemorySource(documents=(OURS, THEIRS)))
        yield opened
    await delete_project(on_milvus)


async def dense_hits(kb: KnowledgeBase, question: str, tags: list[str]) -> list[str]:
    found = await kb.questions.search(question, await kb.reader(tags))
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
    assert "12 kilograms" in (await kb.questions.ask(WEIGHT, ours)).text
    assert "9,000 crowns" in (await kb.questions.ask(PRICE, theirs)).text
    assert "crowns" not in (await kb.questions.ask(PRICE, ours)).text
    assert await dense_hits(kb, PRICE, US) == [OURS.url]


async def test_what_is_retagged_or_deleted_is_found_no_more(kb: KnowledgeBase) -> None:
    moved = make_document("c.md", "The Fjell radio sends every 30 minutes.", US)
    await kb.ingestion.ingest(InMemorySource(documents=(OURS, THEIRS, moved)))
    asked = "How often does the Fjell radio send?"
    assert moved.url in await dense_hits(kb, asked, US)
    again = make_document("c.md", "The Fjell radio sends every 30 minutes.", THEM)
    await kb.ingestion.ingest(InMemorySource(documents=(OURS, THEIRS, again)))
    assert moved.url not in await dense_hits(kb, asked, US)
    assert moved.url in await dense_hits(kb, asked, THEM)
    await kb.documents.delete(await kb.reader(THEM), [moved.url])
    assert moved.url not in await dense_hits(kb, asked, THEM)


async def test_s3_11_an_ingestion_that_meets_a_killed_server_loses_nothing(
    kb: KnowledgeBase, milvus_use: MilvusUse
) -> None:
    late = make_document("d.md", "The Osprey buoy floats for 400 days.", US)
    await kb.ingestion.enqueue(InMemorySource(documents=(OURS, THEIRS, late)))
    with milvus_use.kill():
        await until_served(kb.ingestion.finish_jobs)
        reader = await kb.reader(US)
        assert (await kb.documents.get(reader, late.url)).state is DocumentState.ACTIVE
        answer = await until_served(
            lambda: kb.questions.ask("For how many days does the Osprey buoy float?", reader)
        )
    assert "400 days" in answer.text


async def test_vectors_move_to_postgres_and_back_without_a_model(
    kb: KnowledgeBase, on_milvus: Settings
) -> None:
    written = ManualEdit(
        name="Nordwind", kind="organization", description="a shipyard that builds radios"
    )
    await kb.graph.create(await kb.reader(US), written)
    await kb.ingestion.finish_jobs()
    counts: list[int] = []
    there = await copy_vectors_to(on_milvus, "postgres", counts.append)
    assert (there.missing, there.missing_profiles) == (0, 0)
    assert min(there.chunks, there.profiles) > 0
    assert counts[-1] == there.chunks + there.profiles
    async with open_knowledge_base(
        on_milvus.with_values({"stores.vector_store": "postgres"})
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
    client = MilvusClient(on_milvus.stores.milvus_url)
    client.create_collection(name, dimension=4, metric_type="L2")
    try:
        found = await vector_store_check(on_milvus)
        assert not found.ok
        assert f"The collection {name}" in found.fix
        assert "lightwell copy-vectors milvus" in found.fix
    finally:
        client.drop_collection(name)
        client.close()
    gone = on_milvus.with_values({"stores.milvus_url": "http://127.0.0.1:1"})
    assert "LIGHTWELL_MILVUS_URL" in (await vector_store_check(gone)).fix


async def vector_store_check(settings: Settings) -> Check:
    return next(each for each in await examine(settings) if each.name == "vector store")


async def test_a_server_that_is_not_there_is_named_with_its_setting(databases: Databases) -> None:
    with databases.lent() as url:
        settings = Settings(
            database_url=SecretStr(url),
            stores=StoreSettings(vector_store="milvus", milvus_url="http://127.0.0.1:1"),
        )
        with pytest.raises(IndexFailed, match=r"127\.0\.0\.1:1 .*LIGHTWELL_MILVUS_URL"):
            async with open_knowledge_base(settings):
                pass


@asynccontextmanager
async def passages_of(settings: Settings) -> AsyncGenerator[tuple[MilvusVectors, Space]]:
    """Yield the index of the settings' project, and its space."""
    async with (
        open_database(settings) as database,
        connect(settings.stores.milvus_url, "", 120) as server,
    ):
        project_id = await projects.find(database, settings.tenant, settings.project)
        space = await embedding_spaces.find_active(database, project_id)
        assert space is not None
        yield MilvusVectors(database=database, server=server, project_id=project_id), space


async def rows_of(settings: Settings) -> dict[str, dict[str, object]]:
    """Return all rows of the project's passages in Milvus, by their texts."""
    async with passages_of(settings) as (index, space):
        name = f"lightwell_{index.project_id.hex}_{space.id}_passages"
        rows = cast(
            "list[dict[str, object]]",
            await index.server.client.query(
                name,
                filter='chunk_id != ""',
                output_fields=["chunk_id", "content_text", "metadata", "topic_tag", "class_id"],
                consistency_level="Strong",
            ),
        )
    return {str(row["content_text"]): row for row in rows}


async def test_s3_1_a_row_has_the_text_and_the_metadata_of_its_passage(
    kb: KnowledgeBase, on_milvus: Settings
) -> None:
    table = "# Radios\n\n## Prices\n\n| radio | price |\n|---|---|\n| Fjell | 12 |\n\n```\nopen()\n```\n"
    listed = make_document("e.md", table, US, title="Price list", topic="radios")
    await kb.ingestion.ingest(InMemorySource(documents=(OURS, THEIRS, listed)))
    reader = await kb.reader(US)
    document = await kb.documents.get(reader, listed.url)
    [row] = [each for text, each in (await rows_of(on_milvus)).items() if "Fjell" in text]
    metadata = cast("dict[str, object]", row["metadata"])
    assert row["topic_tag"] == "radios"
    assert metadata == {
        "documentId": str(document.id),
        "documentUrl": listed.url,
        "documentTitle": "Price list",
        "sectionPath": metadata["sectionPath"],
        "chunkIndex": 0,
        "hasCode": True,
        "hasFormula": False,
        "hasTable": True,
        "language": metadata["language"],
        "ingestedAt": document.ingested_at and document.ingested_at.isoformat(),
        "documentUpdatedAt": document.updated_at.isoformat(),
        "tokenCount": metadata["tokenCount"],
    }
    assert metadata["sectionPath"]
    assert cast("int", metadata["tokenCount"]) > 0


async def test_s3_1_a_row_follows_a_rename_and_new_tags_and_goes_with_its_document(
    kb: KnowledgeBase, on_milvus: Settings
) -> None:
    kestrel = "The Kestrel drone weighs 300 grams and costs 77 crowns."
    named = make_document("kestrel.md", kestrel, US, title="Drones")
    await kb.ingestion.ingest(InMemorySource(documents=(OURS, THEIRS, named)))
    ours = (await rows_of(on_milvus))[kestrel]
    moved = replace(named, url="file:///shelf/falcon.md", source_id="falcon.md")
    await kb.ingestion.ingest(InMemorySource(documents=(OURS, THEIRS, moved)))
    renamed = (await rows_of(on_milvus))[kestrel]
    assert renamed["chunk_id"] == ours["chunk_id"], "the passage stayed"
    assert cast("dict[str, object]", renamed["metadata"])["documentUrl"] == moved.url
    assert renamed["class_id"] == ours["class_id"]
    retagged = replace(moved, acl_tags=frozenset(THEM))
    await kb.ingestion.ingest(InMemorySource(documents=(OURS, THEIRS, retagged)))
    theirs = (await rows_of(on_milvus))[kestrel]
    assert theirs["class_id"] != ours["class_id"]
    assert theirs["metadata"] == renamed["metadata"]
    await kb.documents.erase(await kb.reader(THEM), [moved.url])
    assert not [text for text in await rows_of(on_milvus) if "Kestrel" in text]


async def test_a_collection_of_an_earlier_version_is_refused_until_the_command_wrote_it_anew(
    kb: KnowledgeBase, on_milvus: Settings
) -> None:
    assert await dense_hits(kb, WEIGHT, US)
    chunks = await rows_of(on_milvus)
    ids = [ChunkId(UUID(str(row["chunk_id"]))) for row in chunks.values()]
    async with passages_of(on_milvus) as (index, space):
        held = await index.vectors(space.id, ids)
        earlier = index.earlier(space.id)
        await earlier.create(
            space.dimension,
            (
                Field(name="chunk_id", type=DataType.VARCHAR, length=36, is_primary=True),
                Field(name="topic_tag", type=DataType.VARCHAR, length=1024),
                Field(name="metadata", type=DataType.JSON),
            ),
        )
        try:
            described = {"topic_tag": "", "metadata": {"documentId": ""}, "class_id": 1}
            await earlier.upsert(
                [{"chunk_id": str(chunk), "vector": held[chunk], **described} for chunk in ids]
            )
            await index.server.client.drop_collection(f"{earlier.name}_passages")
            with pytest.raises(IndexFailed, match="lightwell copy-vectors milvus"):
                async with open_knowledge_base(on_milvus):
                    pass
            assert "lightwell copy-vectors milvus" in (await vector_store_check(on_milvus)).fix
            written = await copy_vectors_to(on_milvus, "milvus", lambda _: None)
            assert (written.chunks, written.missing) == (len(chunks), 0)
            assert not await earlier.exists()
        finally:
            await earlier.drop()
    assert await rows_of(on_milvus) == chunks
    async with open_knowledge_base(on_milvus) as again:
        assert await dense_hits(again, WEIGHT, US)


async def test_a_command_with_milvus_writes_nothing_about_its_transport_to_standard_error(
    milvus_url: str,
) -> None:
    """gRPC logs whenever a program is started while a call is open, as those of the embedded PostgreSQL are."""
    with temporary_folder() as folder:
        said = await ingest_on_an_embedded_server(folder, milvus_url)
    assert not re.findall(r"(?i).*(?:grpc|fork).*", said)


async def ingest_on_an_embedded_server(folder: Path, milvus_url: str) -> str:
    """Return what `lightwell ingest` writes to standard error; its collections are dropped."""
    shelf, data = folder / "shelf", folder / "data"
    shelf.mkdir()
    (shelf / "note.md").write_text("The Osprey buoy floats for 400 days.", "utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GRPC_")},
        "LIGHTWELL_DATA": str(data),
        "LIGHTWELL_VECTOR_STORE": "milvus",
        "LIGHTWELL_MILVUS_URL": milvus_url,
    }
    environment.pop("LIGHTWELL_DATABASE_URL", None)
    command = [
        str(Path(sys.executable).with_name("lightwell")),
        "ingest",
        str(shelf),
        "--acl",
        "us",
    ]
    async with connect(milvus_url, "", 120) as server:
        there = await server.client.list_collections()
        try:
            ran = await asyncio.create_subprocess_exec(
                *command,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            _, said = await ran.communicate()
        finally:
            for name in await server.client.list_collections():
                if name not in there:
                    await server.client.drop_collection(name)
    assert ran.returncode == 0, said.decode()
    return said.decode()
