"""Half characters and NULs, wherever they come in: a sentence that says how to mend it, never a traceback."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lightwell.connectors.files import Files
from lightwell.domain.access import Reader
from lightwell.domain.errors import Invalid
from lightwell.domain.graph import ManualEdit
from lightwell.domain.questions import Filters, Mode
from lightwell.knowledge_base import KnowledgeBase
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

TAGS = ["team:a"]
Verb = Callable[[KnowledgeBase, Reader, str], Awaitable[object]]
VERBS: dict[str, Verb] = {
    "ask": lambda kb, reader, text: kb.questions.ask(text, reader),
    "search": lambda kb, reader, text: kb.questions.search(text, reader),
    "statements": lambda kb, reader, text: kb.questions.statements(text, reader),
    "chat": lambda kb, reader, text: kb.questions.chat(text, reader),
    "topic": lambda kb, reader, text: kb.questions.search(
        "What?", reader, filters=Filters(topic=text)
    ),
    "brief": lambda kb, reader, text: kb.questions.brief(text, reader),
    "reader": lambda kb, reader, text: kb.reader([text]),
    "document": lambda kb, reader, text: kb.documents.get(reader, text),
    "entity": lambda kb, reader, text: kb.graph.entity(reader, text),
    "name": lambda kb, reader, text: kb.graph.create(reader, ManualEdit(name=text)),
    "description": lambda kb, reader, text: kb.graph.create(
        reader, ManualEdit(name="Acme", description=text)
    ),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("text", ["a\ud800b", "caf\udce9", "a\0b"])
async def test_it_is_refused_in_a_sentence(project: Project, verb: str, text: str) -> None:
    reader = await project.kb.reader(TAGS)
    with pytest.raises(Invalid, match="contains"):
        await VERBS[verb](project.kb, reader, text)


async def test_a_document_with_half_a_character_is_reported_and_the_rest_goes_on(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "title.md").write_text('---\ntitle: "a\\ud800b"\n---\nThe dam is old.\n')
    (tmp_path / "text.txt").write_bytes(b"The pump is \xed\xa0\x80 blue.")
    (tmp_path / "good.md").write_text("The boat is red.\n")
    done = await project.kb.ingestion.ingest(Files(root=tmp_path, default_tags=frozenset(TAGS)))
    (trouble,) = done.problems
    assert trouble.url.endswith("title.md")
    assert "line 1: found invalid Unicode character escape code" in trouble.message
    status = await project.kb.documents.status(await project.kb.reader(TAGS))
    assert status.chunks == 2


async def test_a_document_whose_title_is_no_text_is_refused(project: Project) -> None:
    document = replace(make_document("a.md", "The dam is old.", TAGS), title="a\ud800b")
    ended = await project.kb.ingestion.ingest(InMemorySource(documents=(document,)))
    assert ["contains U+D800" in trouble.message for trouble in ended.problems] == [True]


async def test_to_look_nowhere_is_refused(project: Project) -> None:
    reader = await project.kb.reader(TAGS)
    for look in (project.kb.questions.search, project.kb.questions.statements):
        with pytest.raises(Invalid, match="does not search"):
            await look("What?", reader, mode=Mode.BYPASS)
