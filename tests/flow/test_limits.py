"""How many passages are wanted says how many come, not whether they are enough."""

import pytest

from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import project_on

ASKED = "Who repairs the pump of the Osprey station?"


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
async def test_the_outcome_does_not_hang_on_how_many_passages_are_wanted(
    database: Database, limit: int
) -> None:
    project = await project_on(database, "limits")
    texts = [
        "The pump of the Osprey station stands by the river. The Osprey station has a pump house.",
        "Osprey station: pump, pump house, station keeper. Who knows the Osprey station?",
        "Jane Smith repairs the pump of the Osprey station every spring.",
        "The canteen serves soup at noon.",
        "A station is a place where trains stop.",
    ]
    documents = [
        make_document(f"{number}.txt", text, ["team:a"]) for number, text in enumerate(texts)
    ]
    await project.kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))
    reader = await project.kb.reader(["team:a"])

    whole = await project.kb.questions.search(ASKED, reader, limit=5)
    some = await project.kb.questions.search(ASKED, reader, limit=limit)

    assert (
        some.best_relevance
        == whole.best_relevance
        == max(each.relevance for each in whole.evidence)
    )
    assert len(some.evidence) == limit
    in_order = [each for each in whole.evidence if each in some.evidence]
    assert list(some.evidence) == in_order
    left = [each.relevance for each in whole.evidence if each not in some.evidence]
    assert max(left, default=0.0) <= min(each.relevance for each in some.evidence)
