"""The fields of a concept: read, corrected, carried by merges and splits, and aliases that find their entity."""

import csv
from pathlib import Path

import pytest

from lightwell.domain.briefs import Brief
from lightwell.domain.concepts import Concept
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.exports import ExportConfig, ExportFormat
from lightwell.domain.graph import ManualEdit
from lightwell.domain.graph_views import Candidates
from lightwell.entrypoints.operations.graph import Entity
from lightwell.entrypoints.operations.searches import Passages
from lightwell.records.database import Database
from lightwell.records.search import find_named_entities
from lightwell.testing.endpoint import Body, FakeEndpoint
from lightwell.testing.sources import InMemorySource, make_document

from .extraction_model import passage, read_by_model
from .notes import Noted, noted
from .observed import entities_seen

TEAM = ["team:a"]
STATED = Concept(
    aliases=("Dijkstras algorithm", "SPF"),
    category="algorithm",
    difficulty="intermediate",
    tags=("icpc", "graphs"),
)


def _extract(body: Body) -> str:
    if "Dijkstra" not in passage(body):
        return "END"
    return (
        "E|Dijkstra|concept|finds shortest paths|Dijkstras algorithm, SPF|algorithm|intermediate|icpc, graphs\n"
        "END"
    )


async def test_s3_3_the_fields_of_a_concept_are_read_wherever_an_entity_is(
    database: Database, tmp_path: Path
) -> None:
    with FakeEndpoint(_extract).running() as endpoint:
        async with read_by_model(database, endpoint.base_url) as (project, _):
            document = make_document("a.md", "Dijkstra finds the shortest paths.", TEAM)
            await project.kb.ingestion.ingest(InMemorySource(documents=(document,)))
            kb = project.kb
            reader = await kb.reader(TEAM)
            details = await kb.graph.entity(reader, "Dijkstra")
            assert details.entity.concept == STATED
            shown = Entity.model_validate(details.entity)
            assert (shown.aliases, shown.tags) == ([*STATED.aliases], [*STATED.tags])
            assert (shown.category, shown.difficulty) == (STATED.category, STATED.difficulty)
            assert shown.created_at
            assert shown.updated_at
            assert shown.created_at <= shown.updated_at
            listed = {each.name: each for each in await entities_seen(kb.graph, reader)}
            assert listed["Dijkstra"].concept == STATED
            found = await kb.questions.search("What does Dijkstra find?", reader)
            (entity,) = Passages.model_validate(found).entities
            assert (entity.aliases, entity.category) == ([*STATED.aliases], "algorithm")
            for form in (ExportFormat.CSV, ExportFormat.MD):
                path = tmp_path / f"graph.{form}"
                await kb.documents.export(
                    reader, ExportConfig(format=form, output_path=path, include_relations=False)
                )
            rows = csv.DictReader((tmp_path / "graph.csv").read_text("utf-8-sig").splitlines())
            row = next(each for each in rows if each["name"] == "Dijkstra")
            assert (row["category"], row["difficulty"]) == ("algorithm", "intermediate")
            text = (tmp_path / "graph.md").read_text()
            for words in ("Also called: Dijkstras algorithm, SPF", "Tags: icpc, graphs"):
                assert words in text


async def _stated(database: Database) -> Noted:
    store = await noted(database)
    await store.put("a", TEAM, "Dijkstra (concept, aliases=SPF): finds paths", "Heap (concept)")
    await store.put("b", TEAM, "Dijkstra (concept, aliases=Dijkstra-Algorithm)")
    await store.put("c", TEAM, "Dijkstra (concept, tags=graphs)")
    return store


async def test_what_several_passages_state_of_a_concept_is_joined(database: Database) -> None:
    store = await _stated(database)
    graph, reader = store.kb.graph, await store.kb.reader(TEAM)
    concept = (await graph.entity(reader, "Dijkstra")).entity.concept
    assert concept == Concept(aliases=("Dijkstra-Algorithm", "SPF"), tags=("graphs",))
    await store.remove("b")
    assert (await graph.entity(reader, "Dijkstra")).entity.concept.aliases == ("SPF",)


@pytest.mark.parametrize("name", ["SPF", "spf", "Dijkstra Algorithm", "dijkstra-algorithm"])
async def test_a_stated_alias_finds_its_entity(database: Database, name: str) -> None:
    store = await _stated(database)
    kb = store.kb
    reader = await kb.reader(TEAM)
    assert (await kb.graph.entity(reader, name)).entity.name == "Dijkstra"
    brief = await kb.questions.brief(name, reader)
    assert isinstance(brief, Brief)
    assert brief.entity.name == "Dijkstra"
    candidates = await kb.questions.candidates(name, reader)
    assert isinstance(candidates, Candidates)
    assert [each.entity.name for each in candidates.candidates] == ["Dijkstra"]
    found = await kb.questions.search(f"Which paths finds {name}?", reader)
    assert [each.name for each in found.entities] == ["Dijkstra"]


async def test_an_entity_s_own_name_comes_before_the_alias_of_another(database: Database) -> None:
    store = await noted(database)
    await store.put("a", TEAM, "Dijkstra (concept, aliases=Heap): finds paths", "Heap (concept)")
    reader = await store.kb.reader(TEAM)
    assert (await store.kb.graph.entity(reader, "Heap")).entity.name == "Heap"
    (named,) = await find_named_entities(database, reader, ["heap"])
    assert named.id == (await store.kb.graph.entity(reader, "Heap")).entity.id


async def test_an_alias_that_only_hidden_documents_or_people_state_finds_nothing(
    database: Database, other_database: Database
) -> None:
    full, own = await noted(database), await noted(other_database)
    await full.put(
        "s", ["team:b"], "Dijkstra (concept, aliases=Falcon, category=secret): is hidden"
    )
    for store in (full, own):
        await store.put("v", TEAM, "Dijkstra (concept): finds paths")
    hidden_from = await full.kb.reader(["team:b"])
    await full.kb.graph.edit(
        hidden_from, "Dijkstra", ManualEdit(concept=Concept(aliases=("Osprey",), tags=("x",)))
    )
    assert (await full.kb.graph.entity(hidden_from, "Osprey")).entity.name == "Dijkstra"
    seen: list[object] = []
    for store in (full, own):
        kb = store.kb
        reader = await kb.reader(TEAM)
        for alias in ("Falcon", "Osprey"):
            with pytest.raises(NotFound):
                await kb.graph.entity(reader, alias)
            with pytest.raises(NotFound):
                await kb.questions.brief(alias, reader)
            assert (await kb.questions.candidates(alias, reader)).candidates == ()
            answer = await kb.questions.ask(f"What is {alias}?", reader)
            found = await kb.questions.search(f"What is {alias}?", reader)
            seen.append((alias, answer.text, found.entities, len(found.evidence)))
        seen.append((await kb.graph.entity(reader, "Dijkstra")).entity.concept)
    assert seen[:3] == seen[3:]
    assert seen[2] == Concept()


async def test_what_people_write_of_a_concept_replaces_what_documents_state_and_stays(
    database: Database,
) -> None:
    store = await _stated(database)
    graph, reader = store.kb.graph, await store.kb.reader(TEAM)
    edit = ManualEdit(concept=Concept(aliases=("Shortest paths",), category="algorithm"))
    edited = await graph.edit(reader, "Dijkstra", edit)
    expected = Concept(aliases=("Shortest paths",), category="algorithm", tags=("graphs",))
    assert edited.concept == expected
    again = await graph.edit(reader, "Dijkstra", ManualEdit(concept=Concept(difficulty="advanced")))
    assert (again.concept.aliases, again.concept.difficulty) == (expected.aliases, "advanced")
    await store.put("c", TEAM, "Dijkstra (concept, category=theorem)")
    assert (await graph.entity(reader, "shortest paths")).entity.concept.category == "algorithm"
    with pytest.raises(NotFound):
        await graph.entity(reader, "SPF")
    await graph.delete(reader, "Dijkstra")
    restored = await graph.restore(reader, "Dijkstra")
    assert (restored.concept.category, restored.concept.aliases) == (
        "theorem",
        ("Dijkstra-Algorithm", "SPF"),
    )


@pytest.mark.parametrize(
    ("concept", "problem"),
    [
        (Concept(aliases=("a, b",)), "comma"),
        (Concept(aliases=("--",)), "not a valid alias"),
        (Concept(tags=("x" * 201,)), "at most 200"),
        (Concept(tags=tuple(map(str, range(101)))), "at most 100"),
    ],
)
async def test_a_concept_that_makes_no_sense_is_refused(
    database: Database, concept: Concept, problem: str
) -> None:
    store = await _stated(database)
    reader = await store.kb.reader(TEAM)
    with pytest.raises(Invalid, match=problem):
        await store.kb.graph.edit(reader, "Heap", ManualEdit(concept=concept))


async def test_merges_and_splits_carry_the_fields(database: Database) -> None:
    store = await _stated(database)
    graph, reader = store.kb.graph, await store.kb.reader(TEAM)
    await graph.edit(
        reader, "Heap", ManualEdit(concept=Concept(aliases=("PQ",), difficulty="easy"))
    )
    merged = await graph.merge(reader, ["Heap"], "Dijkstra")
    assert merged.target_entity.concept.difficulty == "easy"
    assert (await graph.entity(reader, "PQ")).entity.name == "Dijkstra"
    await graph.unmerge(reader, "Heap")
    assert (await graph.entity(reader, "PQ")).entity.name == "Heap"
    await graph.split(reader, "Dijkstra", "Edsger", documents=["file:///shelf/b.txt"])
    assert (await graph.entity(reader, "Dijkstra Algorithm")).entity.name == "Edsger"
    assert (await graph.entity(reader, "Dijkstra")).entity.concept.aliases == ("SPF",)
