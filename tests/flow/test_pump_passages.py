"""A document made to slow down regular expressions stops neither answers nor briefs."""

import time

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.briefs import MAX_NAME_LENGTH
from lightwell.domain.errors import Invalid
from lightwell.knowledge_base import KnowledgeBase
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever

from .conftest import Project

TAGS = ["team:v"]
MAX_CPU_SECONDS = 20.0
"""The slow patterns took minutes; what is left takes a second."""


def document(number: int, pump: str, size: int) -> str:
    return (
        f"Jane Smith (jane.smith@acme.example) signed contract number {number} for {number} percent with Acme Corp.\n\n"
        f"```\n{pump * (size // len(pump))}\n```\n\nJane Smith promised the report. The deadline of Acme Corp is open."
    )


@pytest.mark.parametrize("pump", ["_", "-", "a.", "+"])
async def test_questions_and_briefs_end(project: Project, pump: str) -> None:
    texts = (document(number, pump, 100_000 // number) for number in (1, 2, 3))
    documents = tuple(make_document(f"{at}.md", text, TAGS) for at, text in enumerate(texts))
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    model = ScriptedModel(["Jane Smith signed contract number 1 for 1 percent [1]."] * 9)
    written_by_model = KnowledgeBase(
        project.context,
        make_retriever(project.context),
        AnswerGenerator(model=model),
    )
    asked = "What contract number did Jane Smith sign with Acme Corp for how many percent?"
    began = time.thread_time()
    for kb in (project.kb, written_by_model):
        reader = await kb.reader(TAGS)
        assert (await kb.questions.ask(asked, reader)).relevance > 0
        await kb.questions.statements("What did Jane Smith promise?", reader)
        await kb.questions.brief("Jane Smith", reader)
        await kb.questions.chat(asked, reader)
    assert time.thread_time() - began < MAX_CPU_SECONDS


async def test_a_name_that_is_no_name_is_refused(project: Project) -> None:
    reader = await project.kb.reader(TAGS)
    with pytest.raises(Invalid, match="A name has at most 400 characters"):
        await project.kb.questions.brief("a " * MAX_NAME_LENGTH, reader)
