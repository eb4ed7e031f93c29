"""A question reads no stored passage: what `lightwell.text` says of it was read when it came in, and is kept with it."""

import inspect
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import cast

import pytest

import lightwell.text
from lightwell.records.database import Database
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project, project_on

TAGS = ["team:a"]
MARK = "quorzan"
"""A word in every sentence, item and row of the documents, and in no title, heading or question."""

ALLOWED = {
    "markup.strip_markup": (200, "what is shown, or may be, is shown without markup"),
    "markup.strip_bullet": (120, "what is shown, or may be, is shown without bullet"),
    "pieces.shorten": (60, "a snippet is cut at its length"),
    "tokens.token_count": (60, "the tokens of what is shown are counted"),
    "terms.words": (
        40,
        "statements that are shown are told from each other, and from the units of other passages",
    ),
    "terms.terms": (60, "of a long sentence that is shown the words around what is asked for"),
    "dates.find_first_date": (20, "statements that are shown are ordered by their dates"),
    "the embedder": (100, "stands for a network, by terms"),
    "sentences.is_question": (120, "of each unit of the evidence the end is looked at"),
    "tables.keys.keys_of": (40, "the names of columns, where a question asks for a figure"),
    "terms.stem_words": (
        24,
        "the distinct words of a stored analysis are stemmed, by looks into a cache",
    ),
}
"""The functions that may get a part of a passage: how often for one question, and why. Not asked here: where a chat model answers, `verification`
reads what it cites, and `prompt` what it is sent; a brief reads the sentences about its entity; what the network has not read (other
languages) is embedded unit by unit."""

HANDS_ON = {"analysis.stored.decode"}
"""Gets a text for the case that nothing is stored of it; then `analyse` is noted."""


@dataclass(slots=True)
class Watch:
    """Notes which function of `lightwell.text` other code gave a text with the mark."""

    noted: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    is_inside: ContextVar[bool] = field(default_factory=lambda: ContextVar("inside", default=False))

    def watched(self, function: Callable[..., object], name: str) -> Callable[..., object]:
        @wraps(function)
        def call(*arguments: object, **named: object) -> object:
            if not self.is_inside.get():
                self.noted.setdefault(name, []).extend(
                    text for text in texts((*arguments, *named.values())) if MARK in text.casefold()
                )
            token = self.is_inside.set(True)
            try:
                return function(*arguments, **named)
            finally:
                self.is_inside.reset(token)

        return call

    def too_often(self) -> dict[str, list[str]]:
        """Return the functions that got parts of passages more often than they may, with what they got; forget all."""
        noted = {name: got for name, got in self.noted.items() if len(got) > most(name)}
        self.noted.clear()
        return noted


def most(name: str) -> int:
    """Return how often a function may get a part of a passage for one question."""
    return ALLOWED[name][0] if name in ALLOWED else 0


def texts(values: Collection[object]) -> Iterator[str]:
    """Yield the texts among these values, and in lists and tuples of them; terms are sets."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from texts(cast("list[object]", value))


def public_functions() -> Iterator[tuple[str, FunctionType]]:
    """Yield the public functions of `lightwell.text` with their names below it."""
    for info in pkgutil.walk_packages(lightwell.text.__path__, "lightwell.text."):
        module = import_module(info.name)
        for name, value in inspect.getmembers(module, inspect.isfunction):
            if value.__module__ == info.name and not name.startswith("_"):
                yield f"{info.name.removeprefix('lightwell.text.')}.{name}", value


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    modules = [
        module
        for name, module in sys.modules.items()
        if name.startswith("lightwell.") and not name.startswith("lightwell.testing.")
    ]
    embed = vars(HashEmbedder)["_vector"]
    monkeypatch.setattr(HashEmbedder, "_vector", watch.watched(embed, "the embedder"))
    for name, function in public_functions():
        if name in HANDS_ON:
            continue
        watched = watch.watched(function, name)
        for module in modules:
            for attribute, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, attribute, watched)
    return watch


PAGE = """# Annual leave

Everybody has 25 quorzan days of annual leave a year. They quorzan ask Jane Smith, who approves it by Friday, as was decided on 3 May 2026.

Who approves a longer quorzan leave?
Paul Meyer, the quorzan head of people, approves it within two weeks.

These quorzan teams have more days:

- quorzan engineers: 28 days
- quorzan drivers: 30 days
- quorzan cooks: 31 days

| quorzan Band | Days |
|---|---|
| quorzan Engineer | 28 |
| quorzan Driver | 30 |

Longer leave is a matter that the quorzan council of annual leave has gone through in the course of more than one long evening, with the heads of people, of \
engineering, of finance, of the kitchens and of the drivers, with the lawyers of both sides, with those who came back from it and those who are still away, \
and, after everybody had been heard, and heard again, and the minutes had been read aloud, it decided that longer leave is approved where somebody covers \
for whoever takes it, and that the quorzan council is told.

Open quorzan point: the rules for part time are to be decided by 1 June 2026.
"""

QUESTIONS = (
    "How many days of annual leave does everybody have?",
    "Who approves a longer leave?",
    "When was the annual leave decided?",
    "How many days do drivers have?",
    "Which teams have more days, and who approves leave?",
    "What is open with annual leave?",
    "What did Jane Smith decide about annual leave?",
    "What colour is the submarine of the annual leave?",
    "Was annual leave decided on 3 May 2026?",
)


async def filled(database: Database) -> Project:
    project = await project_on(database)
    documents = tuple(
        make_document(f"{number}.md", PAGE.replace("25", str(24 + number)) * number, TAGS)
        for number in range(1, 5)
    )
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    return project


async def test_no_function_reads_a_stored_passage_when_a_question_is_asked(
    database: Database, watch: Watch
) -> None:
    project = await filled(database)
    assert "analysis.chunk.analyse" in watch.too_often(), "the watch notes what is read"
    reader = await project.kb.reader(TAGS)
    questions = project.kb.questions
    for question in QUESTIONS:
        await questions.search(question, reader)
        assert not watch.too_often(), question
        await questions.ask(question, reader)
        assert not watch.too_often(), question
        await questions.statements(question, reader)
        assert not watch.too_often(), question


async def test_a_passage_without_an_analysis_is_noted(database: Database, watch: Watch) -> None:
    project = await filled(database)
    await database.execute("DELETE FROM chunk_analyses", {})
    watch.too_often()
    await project.kb.questions.search(QUESTIONS[0], await project.kb.reader(TAGS))
    assert "analysis.chunk.analyse" in watch.too_often()
