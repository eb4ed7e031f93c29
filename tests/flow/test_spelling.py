"""Misspelt questions: corrected by what the reader's documents contain, and by nothing else."""

from dataclasses import replace

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.questions import MAX_QUESTION_LENGTH
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records.database import Database
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever
from lightwell.wiring.models import is_ordinary_word
from tests.flow.conftest import Project, project_on

OWN = ["team:a"]
PASSWORDS = "The wifi password is changed on the first Monday of each month."


def spelling(project: Project) -> KnowledgeBase:
    retriever = replace(make_retriever(project.context), is_word=is_ordinary_word)
    return KnowledgeBase(project.context, retriever, AnswerGenerator(model=None))


async def test_a_misspelt_question_is_read_as_the_documents_spell_it(database: Database) -> None:
    project = await project_on(database)
    await project.kb.ingestion.ingest(
        InMemorySource(
            documents=(
                make_document("wifi.md", PASSWORDS, OWN),
                make_document("lunch.md", "Lunch is served at noon in the kitchen.", OWN),
            )
        )
    )
    kb = spelling(project)
    reader = await kb.reader(OWN)
    right = await kb.questions.search("wifi password", reader)
    found = await kb.questions.search("wifi pasword", reader)
    assert found.question.text == "wifi pasword"
    assert found.notes == ("Read “pasword” as “password”.",)
    assert found.weights == right.weights
    assert found.best_relevance == right.best_relevance > 0.5
    longest = ("wifi pasword " + "the " * MAX_QUESTION_LENGTH)[: MAX_QUESTION_LENGTH - 1] + "?"
    assert (await kb.questions.search(longest, reader)).notes == ()
