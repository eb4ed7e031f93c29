"""What a copy of the graph shows to somebody who opens it with the tools of its store, and that it stays what PostgreSQL says."""

import random
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString, cast
from uuid import UUID

import pytest
from hypothesis import settings
from neo4j import GraphDatabase
from neo4j.time import DateTime

from lightwell.domain.access import Reader
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import GraphFailed, Invalid, NotFound
from lightwell.domain.graph import ManualEdit, Predicate, RelationKey, RelationMention
from lightwell.domain.ids import EntityId
from lightwell.ingest.graph_copy import GraphCopy
from lightwell.ports import GraphBatch, GraphStore
from lightwell.records.database import Database
from lightwell.records.documents import renames
from lightwell.records.graph import copies
from lightwell.stores.copied_graph import CopiedGraph
from lightwell.testing.sources import InMemorySource, make_document
from tests.age_server.server import AgeServer
from tests.graph_contents import Contents, read_contents
from tests.graph_stores import COPIES, open_store
from tests.neo4j_server.server import PASSWORD, Neo4jServer
from tests.store_combinations import Stores

from .conftest import Project, project_on
from .observed import entities_seen

pytestmark = pytest.mark.slow

A, B = ["team:a"], ["team:b"]
SEARCH = (
    """# Breadth-first search

Breadth-first search uses a Queue. Breadth-first search is compared with Depth-first search by Ada Quist.

```python
def visit(queue): ...
```

"""
    + "Ada Quist wrote about Breadth-first search and the Queue of Nordwind Energie. " * 40
    + """

# Cost

The cost of Breadth-first search is $O(V + E)$, says Ada Quist.

"""
    + "Nordwind Energie pays for each step of Depth-first search. " * 40
)
TEAM_B = "Nordwind Energie owes money to Osprey Ltd. Ada Quist knows Osprey Ltd."
DOCUMENTS = (
    make_document("search.md", SEARCH, A, title="Searching graphs", topic="graphs"),
    make_document("b.md", TEAM_B, B, title="Debts"),
)


@dataclass(frozen=True, kw_only=True)
class Copied:
    """A project with the copy of its graph on a real server."""

    project: Project
    store: GraphStore
    server: Neo4jServer | AgeServer

    @property
    def copy(self) -> GraphCopy:
        copy = self.project.context.graph_copy
        assert copy is not None
        return copy

    async def contents(self) -> Contents:
        assert await self.copy.update()
        found = await copies.find(
            self.project.database, self.project.context.project_id, self.store.name
        )
        assert found is not None
        return read_contents(self.server, found.graph)


@pytest.fixture(params=COPIES)
async def copied(request: pytest.FixtureRequest, database: Database) -> AsyncIterator[Copied]:
    async with AsyncExitStack() as stack:
        store = await open_store(request, stack)
        assert store is not None
        server = cast("Neo4jServer | AgeServer", request.getfixturevalue(f"{request.param}_server"))
        project = await project_on(database, stores=Stores(graph=store))
        yield Copied(project=project, store=store, server=server)


on_neo4j = pytest.mark.parametrize("copied", ["neo4j"], indirect=True)
on_age = pytest.mark.parametrize("copied", ["age"], indirect=True)


async def compared(copied: Copied) -> None:
    """State a comparison by hand, with what only such a relation has."""
    kb = copied.project.kb
    await kb.graph.relate(
        await kb.reader(A),
        RelationMention(
            subject="Breadth-first search",
            object="Nordwind Energie",
            predicate=Predicate.COMPARED_TO,
            description="Both visit every vertex",
            keywords="order",
            comparison="the one goes wide, the other deep",
            use_case="wide for the shortest path",
        ),
    )


@on_neo4j
async def test_s3_3_nodes_show_what_a_person_looks_for(copied: Copied) -> None:
    kb = copied.project.kb
    await kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    await copied.project.database.execute(
        'UPDATE profiles SET attributes = \'{"aliases": "BFS; wide search", "category": "algorithm",'
        ' "difficulty": "beginner", "tags": "graphs, search"}\''
        " WHERE subject = 'entity' AND lower(display_name) = 'breadth-first search'",
        {},
    )
    shown = await copied.contents()
    [concept] = [each for each in shown.of("Concept") if each.get("category")]
    described = {
        name: concept[name] for name in ("name", "category", "difficulty", "aliases", "tags")
    }
    assert described == {
        "name": "Breadth-first search",
        "category": "algorithm",
        "difficulty": "beginner",
        "aliases": ["BFS", "wide search"],
        "tags": ["graphs", "search"],
    }
    seen = {
        each.name: each.description
        for each in await entities_seen(kb.graph, await kb.reader(A))
        if each.name in ("Breadth-first search", "Ada Quist")
    }
    assert all(seen.values())
    assert (
        seen.items() <= {each["name"]: each["description"] for each in shown.of("Concept")}.items()
    )
    for name in ("createdAt", "updatedAt"):
        assert cast("DateTime", concept[name]).tzinfo is not None
    [document] = [each for each in shown.of("Document") if each["title"] == "Searching graphs"]
    stored = await kb.documents.get(await kb.reader(A), DOCUMENTS[0].url)
    assert (document["url"], document["format"], document["status"]) == (
        stored.url,
        "markdown",
        "active",
    )
    assert document["chunkCount"] == stored.chunk_count > 1
    assert cast("DateTime", document["ingestedAt"]).to_native() == stored.ingested_at
    chunks = [each for each in shown.of("Chunk") if each["topic"] == "graphs"]
    assert len(chunks) == stored.chunk_count
    assert {each["hasCode"] for each in chunks} == {True, False}
    assert any(each["hasFormula"] for each in chunks)
    for each in chunks:
        assert len(str(each["preview"])) == 200
        assert len(str(each["hash"])) == 64
        assert cast("int", each["tokenCount"]) > 0
        assert each["hasTable"] is False


@on_neo4j
async def test_s3_3_relationships_lead_where_the_seed_says(copied: Copied) -> None:
    await copied.project.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    await compared(copied)
    shown = await copied.contents()
    follows = {(a["hash"], b["hash"]) for a, _, b in shown.between("NEXT_CHUNK")}
    sources = [(a, b) for a, _, b in shown.between("FROM_DOCUMENT")]
    assert len(follows) == len(sources) - len(shown.of("Document")) > 0
    code = shown.between("CODE_EXAMPLE_FOR")
    assert {(a["hasCode"], b["name"]) for a, _, b in code} == {(True, "Breadth-first search")}
    formulas = shown.between("FORMULA_FOR")
    assert formulas
    assert all(a["hasFormula"] for a, _, _ in formulas)
    mentions = {
        (a["title"], b["name"]): (cast("int", edge["frequency"]), cast("float", edge["relevance"]))
        for a, edge, b in shown.between("MENTIONS")
    }
    assert mentions["Searching graphs", "Ada Quist"][0] > 40
    assert max(relevance for _, relevance in mentions.values()) == 1.0
    assert all(0 < relevance <= 1 for _, relevance in mentions.values())
    [(wide, comparison, deep)] = shown.between("COMPARED_TO")
    assert (wide["name"], deep["name"]) == ("Breadth-first search", "Nordwind Energie")
    assert comparison["comparison"] == "the one goes wide, the other deep"
    assert comparison["useCase"] == "wide for the shortest path"
    assert comparison["description"] == "Both visit every vertex"
    assert all(edge["description"] for _, edge, _ in shown.between("RELATED_TO"))
    for start, edge, end in [*shown.between("DISCUSSES"), *shown.between("RELATED_TO")]:
        assert start["class_id"] == edge["class_id"] == end["class_id"]


async def test_no_node_and_no_edge_says_what_another_class_says(copied: Copied) -> None:
    """An entity that two classes name is two nodes, and no edge leads from one class to the other."""
    kb = copied.project.kb
    await kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    for tags, said in ((A, "pays in advance"), (B, "never pays")):
        edit = ManualEdit(name="Nordwind Energie", description=said)
        await kb.graph.edit(await kb.reader(tags), "Nordwind Energie", edit)
    shown = await copied.contents()
    label = "Concept" if copied.store.name == "neo4j" else "Entity"
    said = {
        each["class_id"]: each["description"]
        for each in shown.of(label)
        if each["name"] == "Nordwind Energie"
    }
    assert sorted(map(str, said.values())) == ["never pays", "pays in advance"]
    for kind, start, edge, end in shown.edges:
        classes = {each["class_id"] for each in (start, edge, end) if "class_id" in each}
        assert len(classes) == 1, kind


@on_neo4j
async def test_every_query_in_the_documentation_finds_something(copied: Copied) -> None:
    kb = copied.project.kb
    await kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    await compared(copied)
    needs = RelationMention(
        subject="Breadth-first search", object="Ada Quist", predicate=Predicate.PREREQUISITE
    )
    await kb.graph.relate(await kb.reader(A), needs)
    assert await copied.copy.update()
    page = (Path(__file__).parents[2] / "docs" / "stores.md").read_text("utf-8")
    queries = re.findall(r"```cypher\n(.*?)```", page, re.DOTALL)
    assert len(queries) == 6
    assert isinstance(copied.server, Neo4jServer)
    with GraphDatabase.driver(copied.server.url, auth=("neo4j", PASSWORD)) as driver:
        driver.execute_query("CALL db.awaitIndexes(60)")
        for query in queries:
            assert driver.execute_query(cast("LiteralString", query)).records, query


@on_age
async def test_s0_10_age_shows_profiles_with_their_sources(copied: Copied) -> None:
    again = make_document("again.md", SEARCH, A, title="Searching graphs, again", topic="graphs")
    documents = (*DOCUMENTS, again)
    await copied.project.kb.ingestion.ingest(InMemorySource(documents=documents))
    await compared(copied)
    shown = await copied.contents()
    rows = await copied.project.database.rows(
        "SELECT subject, subject_id, class_id, display_name, coalesce(nullif(description, ''), quote), weight, source_ids,"
        " ARRAY(SELECT source_url FROM unnest(source_ids) WITH ORDINALITY AS source (chunk_id, place)"
        "       JOIN document_chunks USING (chunk_id) JOIN source_documents USING (document_id)"
        "       GROUP BY source_url ORDER BY min(place))"
        " FROM profiles",
        {},
    )
    for row in rows:
        subject, subject_id, class_id, name, description, weight, chunks, paths = row
        sources = {"source_chunk_ids": [str(each) for each in chunks], "source_file_paths": paths}
        named = {"description": description, **sources}
        if subject == "entity":
            [node] = [
                each
                for each in shown.of("Entity")
                if each["entity_key"] == f"{subject_id}:{class_id}"
            ]
            assert node["type"]
            assert named | {"name": name} == {key: node[key] for key in (*named, "name")}
        else:
            [(_, edge, _)] = [
                each
                for each in shown.between("RELATED_TO")
                if each[1]["relation_key"] == f"{subject_id}:{class_id}"
            ]
            expected = named | {"keywords": name, "weight": weight}
            assert expected == {key: edge[key] for key in expected}
    assert len(rows) == len(shown.of("Entity")) + len(shown.between("RELATED_TO"))
    assert max(len(row[6]) for row in rows if row[0] == "relation") > 1, (
        "one edge has several sources"
    )


SEEDS = range(20 if settings.get_current_profile_name() == "thorough" else 2)


@pytest.mark.parametrize("seed", SEEDS)
async def test_after_any_history_a_copy_is_what_a_rebuild_writes(copied: Copied, seed: int) -> None:
    history = History(copied, random.Random(seed))
    for _ in range(14):
        await history.step()
    texts = (await copied.contents()).texts()
    assert texts
    await copied.copy.rebuild()
    assert (await copied.contents()).texts() == texts


class History:
    """Changes of every kind, of documents and by hand, in a random order."""

    NAMES = ("Ada Quist", "Nordwind Energie", "Osprey Ltd", "Tarn Valley", "Acme Corp", "ENG-42")

    def __init__(self, copied: Copied, luck: random.Random) -> None:
        self._copied, self._luck = copied, luck
        self._documents: dict[str, NewDocument] = {}

    async def step(self) -> None:
        steps = [self._write, self._write, self._remove, self._rename, self._edit, self._correct]
        await self._luck.choice(steps)()
        if self._luck.random() < 0.7:
            assert await self._copied.copy.update()

    def _text(self) -> str:
        pairs = [self._luck.sample(self.NAMES, 2) for _ in range(3)]
        body = " ".join(f"{one} wrote to {other}." for one, other in pairs)
        parts = [f"# {self._luck.choice(self.NAMES)}", body * self._luck.choice((1, 60))]
        return "\n\n".join(
            [*parts, *self._luck.sample(["```\ncode()\n```", "$x^2$", "# Ende", body], 2)]
        )

    async def _write(self) -> None:
        name = f"{self._luck.randrange(4)}.md"
        document = make_document(
            name,
            self._text(),
            self._luck.choice((A, B, [*A, *B])),
            title=self._luck.choice(("", "One", "Two")),
        )
        kept = self._documents.get(name)
        if kept is not None and self._luck.random() < 0.4:  # only its tags
            document = replace(kept, acl_tags=document.acl_tags)
        self._documents[name] = document
        await self._ingest()

    async def _remove(self) -> None:
        if self._documents:
            del self._documents[self._luck.choice(sorted(self._documents))]
            await self._ingest()

    async def _ingest(self) -> None:
        await self._copied.project.kb.ingestion.ingest(
            InMemorySource(documents=tuple(self._documents.values()))
        )

    async def _rename(self) -> None:
        if not self._documents:
            return
        name = self._luck.choice(sorted(self._documents))
        document = self._documents.pop(name)
        moved = f"{self._luck.randrange(10**6)}-moved.md"
        renamed = replace(document, url=f"file:///shelf/{moved}", source_id=moved)
        project = self._copied.project
        rows = await project.database.rows(
            "SELECT document_id FROM source_documents WHERE source_url = %(url)s AND NOT is_deleted",
            {"url": document.url},
        )
        async with project.database.transaction() as connection:
            await renames.rename(connection, project.context.project_id, rows[0][0], renamed)
        self._documents[moved] = renamed
        await self._ingest()

    async def _edit(self) -> None:
        graph, reader = self._copied.project.kb.graph, await self._reader()
        edit = ManualEdit(description=self._luck.choice(("a firm", "a person", "a place")))
        try:
            await graph.edit(reader, self._luck.choice(self.NAMES), edit)
        except (NotFound, Invalid):
            return

    async def _correct(self) -> None:
        graph, reader = self._copied.project.kb.graph, await self._reader()
        one, other = self._luck.sample(self.NAMES, 2)
        related = RelationMention(
            subject=one, object=other, predicate=Predicate.USES, description="by hand"
        )
        corrections = [
            lambda: graph.merge(reader, [one], other),
            lambda: graph.unmerge(reader, one),
            lambda: graph.delete(reader, one),
            lambda: graph.restore(reader, one),
            lambda: graph.relate(reader, related),
            lambda: graph.delete_relations(
                reader, [RelationKey(source=one, predicate=Predicate.USES, target=other)]
            ),
            lambda: graph.split(reader, one, f"{one} II", documents=[self._any_url()]),
        ]
        try:
            await self._luck.choice(corrections)()
        except (NotFound, Invalid):
            return

    def _any_url(self) -> str:
        return self._luck.choice(
            [each.url for each in self._documents.values()] or ["file:///none"]
        )

    async def _reader(self) -> Reader:
        return await self._copied.project.kb.reader(self._luck.choice((A, B, [*A, *B])))


async def test_a_copy_of_an_earlier_version_is_not_read_and_written_anew(
    copied: Copied, caplog: pytest.LogCaptureFixture
) -> None:
    kb, database = copied.project.kb, copied.project.database
    await kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    texts = (await copied.contents()).texts()
    await database.execute("UPDATE graph_copies SET version = 1", {})
    graph, reader = CopiedGraph(database, copied.store), await kb.reader(A)
    with pytest.raises(GraphFailed, match="lightwell graph rebuild"):
        await graph.chunks_mentioning(reader, [EntityId(UUID(int=0))], limit=1)
    assert await copied.copy.update()
    assert "an earlier version wrote the copy of the graph, which is written anew" in caplog.text
    assert await graph.chunks_mentioning(reader, [EntityId(UUID(int=0))], limit=1) == []
    assert (await copied.contents()).texts() == texts


@on_neo4j
async def test_s3_3_full_text_finds_concepts_by_all_their_words_also_after_an_update(
    copied: Copied,
) -> None:
    """An earlier version made the index over names only, and one concept for all classes."""
    assert isinstance(copied.server, Neo4jServer)
    with GraphDatabase.driver(copied.server.url, auth=("neo4j", PASSWORD)) as driver:
        for statement in (
            "DROP INDEX conceptNameIndex IF EXISTS",
            "CREATE FULLTEXT INDEX conceptNameIndex FOR (k:Concept) ON EACH [k.name]",
        ):
            driver.execute_query(statement)
        kb = copied.project.kb
        await kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
        edit = ManualEdit(description="keeps pelicans in Zuidhoek")
        await kb.graph.edit(await kb.reader(B), "Osprey Ltd", edit)
        found = driver.execute_query(
            "CALL db.awaitIndexes(60) CALL db.index.fulltext.queryNodes('conceptNameIndex', 'pelicans') YIELD node"
            " RETURN node.name AS name"
        ).records
        assert "Osprey Ltd" in {each["name"].rstrip(".") for each in found}
        found = driver.execute_query(
            "CALL db.index.fulltext.queryNodes('chunkPreviewIndex', 'owes') YIELD node RETURN node.preview AS preview"
        ).records
        assert any("owes money" in each["preview"] for each in found)


@dataclass(frozen=True, kw_only=True)
class Counting:
    """A store that counts what it is given to write."""

    store: GraphStore
    written: list[int]

    def __getattr__(self, name: str) -> object:
        return getattr(self.store, name)

    async def write(self, batch: GraphBatch) -> bool:
        gone = batch.gone
        rows = (batch.chunks, batch.documents, batch.entities, batch.relations)
        self.written.append(
            sum(map(len, (*rows, gone.chunks, gone.documents, gone.entities, gone.relations)))
        )
        return await self.store.write(batch)


@on_age
async def test_one_more_document_costs_the_same_however_many_there_are(copied: Copied) -> None:
    counting = Counting(store=copied.store, written=[])
    project = await project_on(
        copied.project.database, "counted", Stores(graph=cast("GraphStore", counting))
    )
    shelf: tuple[NewDocument, ...] = ()
    costs: list[int] = []
    for number in range(12):
        shelf = (*shelf, make_document(f"{number}.md", TEAM_B, B))
        counting.written.clear()
        await project.kb.ingestion.ingest(InMemorySource(documents=shelf))
        costs.append(sum(counting.written))
    assert costs[1] == costs[-1] > 0, costs
