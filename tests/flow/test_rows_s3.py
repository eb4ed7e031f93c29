"""Rows of the specification's S3, each by its number."""

from dataclasses import replace

import pytest

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Predicate, RelationMention
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project
from .notes import noted

TEAM = ["team:us"]
COMPARED = RelationMention(
    subject="Heap",
    object="List",
    predicate=Predicate.COMPARED_TO,
    comparison="Heap is O(log n), List is O(n)",
    use_case="Use Heap for many items",
)


async def test_s3_6_each_statement_names_the_chunk_that_it_comes_from(project: Project) -> None:
    texts = ("We promised Nordwind delivery by 3 May 2026.", "We promised Acme a refund.")
    documents = (make_document(f"{n}.md", text, TEAM) for n, text in enumerate(texts))
    await project.kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))
    reader = await project.kb.reader(TEAM)
    listed = await project.kb.questions.statements("What did we promise?", reader)
    assert len(listed.sentences) == 2
    for each in listed.sentences:
        chunks = await project.kb.documents.chunks(reader, each.citations[0].source_url)
        assert each.source_chunk_id in {str(chunk.id) for chunk in chunks}
        (source,) = [chunk for chunk in chunks if str(chunk.id) == each.source_chunk_id]
        assert each.citations[0].snippet in source.text


async def test_s3_10_a_comparison_and_its_use_case_are_kept_from_documents_and_by_hand(
    database: Database,
) -> None:
    store = await noted(database)
    await store.put(
        "a", TEAM, "Heap (concept)", "List (concept)", "Heap -> Tree [COMPARED_TO]: x // y // z"
    )
    reader = await store.kb.reader(TEAM)
    related = await store.kb.graph.relate(reader, COMPARED)
    assert (related.comparison, related.use_case) == (COMPARED.comparison, COMPARED.use_case)
    held = {
        each.target: (each.predicate, each.comparison, each.use_case)
        for each in (await store.kb.graph.entity(reader, "Heap")).relations
    }
    assert held == {
        "List": (Predicate.COMPARED_TO, COMPARED.comparison, COMPARED.use_case),
        "Tree": (Predicate.COMPARED_TO, "y", "z"),
    }


async def test_s3_10_no_other_predicate_has_a_comparison_or_a_use_case(database: Database) -> None:
    store = await noted(database)
    await store.put("a", TEAM, "Heap (concept)", "List (concept)")
    reader = await store.kb.reader(TEAM)
    for changes in ({"use_case": ""}, {"comparison": ""}):
        wrong = replace(COMPARED, predicate=Predicate.RELATED_TO, **changes)
        with pytest.raises(Invalid, match="Only COMPARED_TO"):
            await store.kb.graph.relate(reader, wrong)
    assert (await store.kb.graph.entity(reader, "Heap")).relations == ()
