"""A copy of the graph in another store says what PostgreSQL says, to each reader, after every kind of change."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from psycopg import sql

from lightwell.domain.access import Reader
from lightwell.domain.graph import MergeStrategy
from lightwell.domain.ids import ChunkId, EntityId, RelationId
from lightwell.domain.questions import Filters
from lightwell.ports import GraphIndex, GraphStore, Neighbourhood
from lightwell.records.database import Database
from lightwell.records.graph import copies
from lightwell.retrieve.channels import WITHOUT_GRAPH
from lightwell.stores.copied_graph import CopiedGraph
from lightwell.stores.postgres.graph import PostgresGraph
from lightwell.testing.sources import InMemorySource, make_document
from tests.age_server.server import AgeServer, age_server_of_test
from tests.graph_stores import COPIES, open_age_of, open_neo4j_of, open_store
from tests.neo4j_server.server import Neo4jServer, own_server
from tests.store_combinations import Stores

from .conftest import Project, project_on
from .test_noninterference import view

pytestmark = pytest.mark.slow

TAGS = (["team:a"], ["team:b"], ["team:a", "team:b"])
ACME = "Acme Corp met Jane Smith in March. Acme Corp is part of Nordwind. Osprey Ltd wrote to Acme Corp."
DOCUMENTS = (
    make_document("1.md", ACME, ["team:a"]),
    make_document("2.md", "Jane Smith of Nordwind visited Tarn Valley with ENG-42.", ["team:a"]),
    make_document(
        "3.md", "Nordwind owes money to Osprey Ltd. Jane Smith knows ENG-42.", ["team:b"]
    ),
    make_document("4.md", "Osprey Ltd uses Tarn Valley. Acme Corp wrote to Nordwind.", ["team:b"]),
)


@pytest.fixture(params=COPIES)
async def graph_store(request: pytest.FixtureRequest) -> AsyncIterator[GraphStore]:
    async with AsyncExitStack() as stack:
        store = await open_store(request, stack)
        assert store is not None
        yield store


@dataclass(frozen=True, kw_only=True)
class OwnStore:
    """A store whose server belongs to one test, which may kill it."""

    store: GraphStore
    server: Neo4jServer | AgeServer


@pytest.fixture(params=COPIES)
async def own_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OwnStore]:
    async with AsyncExitStack() as stack:
        if request.param == "age":
            age = stack.enter_context(age_server_of_test())
            yield OwnStore(store=open_age_of(age), server=age)
            return
        if settings.get_current_profile_name() != "thorough":
            pytest.skip("`make test-long` runs it: a second Neo4j takes minutes of a small machine")
        request.getfixturevalue("neo4j_server")  # it has fetched the files
        neo4j = stack.enter_context(own_server(tmp_path / "neo4j"))
        yield OwnStore(store=await open_neo4j_of(neo4j, stack), server=neo4j)


async def ids(database: Database, column: str) -> list[ChunkId]:
    """Return every id that anything mentions or states, also what is deleted by now."""
    table = "relation_mentions" if column == "relation_id" else "document_entity_mentions"
    rows = await database.rows(
        sql.SQL("SELECT DISTINCT {} FROM {} ORDER BY 1").format(
            sql.Identifier(column), sql.Identifier(table)
        ),
        {},
    )
    return [ChunkId(row[0]) for row in rows if row[0] is not None]


async def answers(
    graph: GraphIndex, reader: Reader, entities: Sequence[EntityId], relations: Sequence[RelationId]
) -> list[object]:
    chunks = [ChunkId(each) for each in await graph.chunks_mentioning(reader, entities, limit=100)]
    return [
        chunks,
        [await graph.chunks_mentioning(reader, [each], limit=2) for each in entities],
        [
            await graph.chunks_mentioning(reader, [each], limit=9, filters=Filters(topic="no"))
            for each in entities
        ],
        [await graph.chunks_stating(reader, [each], limit=9) for each in relations],
        [await graph.chunks_relating(reader, [each], limit=2) for each in entities],
        await graph.chunks_relating(reader, entities[:3], limit=3),
        [await graph.neighbour_chunks(reader, [each], rarest=10, limit=3) for each in chunks],
        plain(await graph.neighbourhood(reader, chunks, entities[:2])),
    ]


def plain(near: Neighbourhood) -> object:
    return (
        near.chunks,
        near.entities,
        near.counts.tolist(),
        near.mentions.tolist(),
        near.relations.tolist(),
        [round(each, 6) for each in near.weights.tolist()],
    )


async def assert_same(project: Project, store: GraphStore) -> None:
    database = project.database
    entities = [EntityId(each) for each in await ids(database, "entity_id")]
    relations = [RelationId(each) for each in await ids(database, "relation_id")]
    for tags in TAGS:
        reader = await project.kb.reader(tags)
        expected = await answers(PostgresGraph(database), reader, entities, relations)
        assert await answers(CopiedGraph(database, store), reader, entities, relations) == expected
        assert bool(expected[0]) == bool(tags)


async def test_a_copy_follows_every_change(database: Database, graph_store: GraphStore) -> None:
    project = await project_on(database, stores=Stores(graph=graph_store))
    kb = project.kb
    await kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    await assert_same(project, graph_store)
    reader = await kb.reader(["team:a"])
    await kb.graph.merge(reader, ["Osprey Ltd"], "Acme Corp", strategy=MergeStrategy.CONCATENATE)
    await assert_same(project, graph_store)
    narrowed = make_document("1.md", ACME, ["team:b"])
    rewritten = make_document("2.md", "Jane Smith of Acme Corp visited ENG-42.", ["team:a"])
    await kb.ingestion.ingest(InMemorySource(documents=(narrowed, rewritten, *DOCUMENTS[2:3])))
    await assert_same(project, graph_store)
    copy = project.context.graph_copy
    assert copy is not None
    assert await copy.rebuild() == 3
    await assert_same(project, graph_store)


async def test_s3_3_nothing_invisible_is_felt_through_a_copy(
    database: Database, other_database: Database, graph_store: GraphStore
) -> None:
    full = await project_on(database, stores=Stores(graph=graph_store))
    own = await project_on(other_database, stores=Stores(graph=graph_store))
    await full.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    await own.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS[:2]))
    asked = ["What about Acme Corp and Jane Smith?", "Who owes money to Nordwind?"]
    readers = await full.kb.reader(["team:a"]), await own.kb.reader(["team:a"])
    assert await view(full, readers[0], asked) == await view(own, readers[1], asked)
    found = await full.kb.questions.search(asked[0], readers[0])
    assert not found.notes
    assert any("entities" in each.ranks for each in found.evidence)


async def test_s3_11_what_waits_for_the_copy_is_left_out_and_never_shown_old(
    database: Database, graph_store: GraphStore
) -> None:
    project = await project_on(database, stores=Stores(graph=graph_store))
    await project.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    reader = await project.kb.reader(["team:a"])
    graph = CopiedGraph(database, graph_store)
    entities = [EntityId(each) for each in await ids(database, "entity_id")]
    first, second = await graph.chunks_mentioning(reader, entities, limit=9)
    moved = "UPDATE document_entity_mentions SET entity_id = NULL WHERE chunk_id = %(chunk)s"
    await database.execute(moved, {"chunk": first})
    assert await graph.chunks_mentioning(reader, entities, limit=1) == [second]
    near = await graph.neighbourhood(reader, [first, second], [])
    assert set(near.mentions[0].tolist()) == {1}
    [lag] = await copies.list_lags(database)
    assert (lag.changes, lag.is_filled) == (2, True), "a chunk and its document"
    copy = project.context.graph_copy
    assert copy is not None
    assert await copy.update()
    assert (await copies.list_lags(database))[0].changes == 0


async def test_s3_11_a_killed_store_costs_channels_and_nothing_else(
    database: Database, own_store: OwnStore
) -> None:
    """The server is killed during ingestion, deletion and questions."""
    store, server = own_store.store, own_store.server
    project = await project_on(database, stores=Stores(graph=store))
    await project.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS[:2]))
    reader = await project.kb.reader(["team:a"])
    asked = "What about Acme Corp and Jane Smith?"
    assert not (await project.kb.questions.search(asked, reader)).notes
    server.kill()
    found = await project.kb.questions.search(asked, reader)
    assert WITHOUT_GRAPH in found.notes
    assert found.evidence
    await project.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS[1:]))
    urls = {each.chunk.url for each in (await project.kb.questions.search(asked, reader)).evidence}
    assert urls == {"file:///shelf/2.md"}
    server.start()
    await project.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS[1:]))
    copied = CopiedGraph(database, store)
    reader = await project.kb.reader(["team:a", "team:b"])
    entities = [EntityId(each) for each in await ids(database, "entity_id")]
    expected = await PostgresGraph(database).chunks_mentioning(reader, entities, limit=9)
    assert await copied.chunks_mentioning(reader, entities, limit=9) == expected
    assert not (await project.kb.questions.search(asked, await project.kb.reader(["team:a"]))).notes
