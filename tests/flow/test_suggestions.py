"""Suggested questions: only from what one sees, and each has an answer."""

from lightwell.domain.answers import AnswerState
from lightwell.knowledge_base.suggestions import suggestions_of
from lightwell.records.documents.outlines import Outline
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

SALES, SUPPORT = ["team:sales"], ["team:support"]
PRICES = (
    "# Prices 2026\n\n## Discounts\n\nEverybody gets 18 percent.\n\n## Freight\n\nIt is included."
)
RUNBOOK = "# Runbook\n\n## Restart the gateway\n\nHold the button for ten seconds."
VERTRAG = "# Mietvertrag\n\n## Kündigung\n\nDer Vertrag kann mit einer Frist von drei Monaten gekündigt werden, und zwar zum Ende des Jahres."


async def test_each_suggestion_is_answered_by_a_document_that_the_reader_sees(
    project: Project,
) -> None:
    documents = (
        make_document("prices.md", PRICES, SALES),
        make_document("vertrag.md", VERTRAG, SALES),
        make_document("runbook.md", RUNBOOK, SUPPORT),
        make_document("note.txt", "No heading here.", SALES),
    )
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    reader = await project.kb.reader(SALES)
    suggested = await project.kb.questions.suggestions(reader)
    assert {one.document_title for one in suggested} == {"Prices 2026", "Mietvertrag"}
    assert {one.question for one in suggested} == {
        "What does “Prices 2026” say about “Discounts”?",
        "„Mietvertrag“: Kündigung?",
    }
    for one in suggested:
        answer = await project.kb.questions.ask(one.question, reader)
        assert answer.state is AnswerState.ANSWERED
        assert answer.citations[0].document_title == one.document_title
    german, *_ = await project.kb.questions.suggestions(reader, "de")
    assert german.document_title == "Mietvertrag"
    assert await project.kb.questions.suggestions(await project.kb.reader([])) == ()


def test_what_cannot_be_asked_for_is_left_out() -> None:
    titles = ("a", "a", "b", "c" * 71, "d", "e", "f")
    headings = ("Prices", "Freight", "1. Prices", "Prices", "x" * 51, "Prices", "Prices {title}")
    listed = [
        Outline(title=title, language="en", headings=[heading])
        for title, heading in zip(titles, headings, strict=True)
    ]
    made = suggestions_of(listed)
    assert [one.document_title for one in made] == ["a", "e", "f"]
    assert made[2].question == "What does “f” say about “Prices {title}”?"
