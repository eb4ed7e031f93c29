"""Without a model, an entity and a relation are described by the best sentence of the documents that the reader sees."""

from lightwell.domain.graph import Entity, Predicate
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

A, B = ["team:a"], ["team:b"]
SAYS_WHAT = "Osprey is a pump controller for waterworks. Osprey uses Grafana."
NAMES_IT = "Yesterday we talked about Osprey and about Grafana in the long meeting."


async def entity(project: Project, tags: list[str], name: str) -> Entity:
    reader = await project.kb.reader(tags)
    return (await project.kb.graph.entity(reader, name)).entity


async def put(project: Project, **texts: list[str]) -> None:
    documents = (make_document(f"{name}.md", text, [tag]) for name, (text, tag) in texts.items())
    await project.kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))


async def test_a_reader_sees_the_best_sentence_of_the_own_documents(project: Project) -> None:
    await put(project, one=[SAYS_WHAT, "team:a"], two=[NAMES_IT, "team:b"])
    assert (await entity(project, A, "Osprey")).description.startswith("Osprey is a pump")
    assert (await entity(project, B, "Osprey")).description == NAMES_IT
    assert (await entity(project, [*A, *B], "Osprey")).description.startswith("Osprey is a pump")


async def test_what_is_no_longer_visible_describes_nothing(project: Project) -> None:
    await put(project, one=[SAYS_WHAT, "team:a"], two=[NAMES_IT, "team:a"])
    await put(project, two=[NAMES_IT, "team:a"])
    assert (await entity(project, A, "Osprey")).description == NAMES_IT


async def test_a_relation_has_its_sentence_keywords_and_the_predicate_that_it_states(
    project: Project,
) -> None:
    await put(project, one=[SAYS_WHAT, "team:a"], two=[NAMES_IT, "team:b"])
    found = await project.kb.graph.entity(await project.kb.reader(A), "Osprey")
    [relation] = found.relations
    assert (relation.source, relation.predicate, relation.target) == (
        "Osprey",
        Predicate.USES,
        "Grafana",
    )
    assert (relation.description, relation.keywords) == ("Osprey uses Grafana.", "uses")
    other = await project.kb.graph.entity(await project.kb.reader(B), "Osprey")
    assert [(each.predicate, each.description) for each in other.relations] == [
        (Predicate.RELATED_TO, NAMES_IT)
    ]


async def test_quotes_cost_no_vectors(project: Project) -> None:
    await put(project, one=[SAYS_WHAT, "team:a"])
    assert await project.database.rows("SELECT 1 FROM described_profiles", {}) == []
