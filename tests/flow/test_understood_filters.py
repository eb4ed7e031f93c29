"""Words of a question that say of which documents it is asked: they filter where such documents answer, and never widen or betray."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.question_cost import counting
from lightwell.domain.answers import AnswerState
from lightwell.domain.documents import NewDocument
from lightwell.domain.questions import Filters, Question, UnderstoodFilter
from lightwell.knowledge_base import KnowledgeBase
from lightwell.knowledge_base.understanding import understand
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

QUESTION = "Which pressure of the harbour pump did Ada write in Linear last month?"
LAST_MONTH = datetime.now(UTC).replace(day=1) - timedelta(days=10)


def written(name: str, text: str, author: str, tag: str = "team:a") -> NewDocument:
    return replace(
        make_document(f"{name}.txt", text, [tag]),
        system="linear",
        kind="issue",
        metadata={"author": author},
        updated_at=LAST_MONTH,
    )


ADA = written("a", "The pressure of the harbour pump is 41 bar.", "Ada Okafor")
BOB = written("b", "The pressure of the harbour pump is 52 bar.", "Bob Lie")
FILE = make_document("f.txt", "The pressure of the harbour pump is 63 bar.", ["team:a"])
CANTEEN = make_document("c.txt", "The canteen opens at 11:30 on Fridays.", ["team:a"])


async def filled(project: Project, *documents: NewDocument) -> KnowledgeBase:
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    return project.kb


async def test_words_for_the_documents_filter_and_are_told(project: Project) -> None:
    kb = await filled(project, ADA, BOB, FILE, CANTEEN)
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask(QUESTION, reader)
    assert "41 bar" in answer.text
    assert {citation.source_url for citation in answer.citations} == {ADA.url}
    assert answer.question == QUESTION
    days = [(each.field, each.words) for each in answer.filters if each.field in ("since", "until")]
    assert days == [("since", "last month"), ("until", "last month")]
    assert [each for each in answer.filters if (each.field, each.words) not in days] == [
        UnderstoodFilter(field="author", value="Ada Okafor", words="did Ada write"),
        UnderstoodFilter(field="system", value="linear", words="in Linear"),
    ]
    found = await kb.questions.search(QUESTION, reader)
    assert [each.chunk.url for each in found.evidence] == [ADA.url]
    assert found.understood == answer.filters
    turn = await kb.questions.chat(QUESTION, reader)
    assert turn.filters == answer.filters
    events = [event async for event in kb.questions.stream(QUESTION, reader)]
    assert events[-1].answer is not None
    assert events[-1].answer.filters == answer.filters
    assert (await kb.questions.statements(QUESTION, reader)).filters == answer.filters


async def test_a_request_can_leave_the_words_alone_and_its_own_filters_come_first(
    project: Project,
) -> None:
    kb = await filled(project, ADA, BOB, FILE, CANTEEN)
    reader = await kb.reader(["team:a"])
    everywhere = await kb.questions.search(QUESTION, reader, filters=Filters(from_words=False))
    assert {each.chunk.url for each in everywhere.evidence} >= {ADA.url, BOB.url, FILE.url}
    assert not everywhere.understood
    own = await kb.questions.search(QUESTION, reader, filters=Filters(authors=("Bob",)))
    assert [each.chunk.url for each in own.evidence] == [BOB.url]
    assert {each.field for each in own.understood} == {"system", "since", "until"}


async def test_where_those_documents_answer_nothing_all_are_searched_and_a_note_says_so(
    project: Project,
) -> None:
    kb = await filled(project, ADA, BOB, CANTEEN)
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask("When does the canteen open on Fridays, in Linear?", reader)
    assert "11:30" in answer.text
    assert not answer.filters
    assert answer.state is AnswerState.POSSIBLY
    assert any("“in Linear”" in note for note in answer.notes)


@pytest.mark.parametrize(
    "question",
    [
        "What did Ada write in Linear last month?",
        "issues by Ada",
        "notes by Ada",
        "Show me the latest issues by Ada",
    ],
)
async def test_a_question_for_documents_alone_lists_them(project: Project, question: str) -> None:
    later = replace(
        written("l", "The valve is closed now.", "Ada Okafor"),
        updated_at=LAST_MONTH + timedelta(hours=1),
    )
    kb = await filled(project, ADA, BOB, FILE, CANTEEN, later)
    answer = await kb.questions.ask(question, await kb.reader(["team:a"]))
    assert [sentence.citations[0].source_url for sentence in answer.sentences] == [
        later.url,
        ADA.url,
    ]
    assert "The valve is closed now." in answer.text.splitlines()[0]


async def test_days_of_what_is_owed_are_no_days_of_documents(project: Project) -> None:
    kb = await filled(project, ADA, BOB, FILE)
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask("What did we promise Nordwind in June 2025?", reader)
    assert not answer.filters
    assert not any("searched" in note for note in answer.notes)


async def test_a_day_that_no_document_is_dated_stays_a_word_of_the_question(
    project: Project,
) -> None:
    minutes = make_document("m.txt", "On 3 May 2026 the board decided to sell.", ["team:a"])
    kb = await filled(project, ADA, minutes)
    answer = await kb.questions.ask(
        "What did the board decide on 3 May 2026?", await kb.reader(["team:a"])
    )
    assert "to sell" in answer.text
    assert not answer.filters


@pytest.mark.parametrize(
    ("question", "lookups"),
    [
        ("Which pressure has the harbour pump?", 0),
        ("Which pressure of the pump was reported last month?", 0),
        ("Which pressure of the pump did Nobody write in Linear?", 1),
    ],
)
async def test_only_a_system_a_type_or_a_person_takes_a_look_at_the_documents(
    project: Project, question: str, lookups: int
) -> None:
    kb = await filled(project, ADA)
    reader = await kb.reader(["team:a"])
    with counting() as counts:
        await understand(project.kb.questions.database, reader, Question(text=question))
    assert counts.statements == lookups


@pytest.mark.parametrize("author", ["Ada Okafor", ""])
async def test_a_person_who_is_the_author_of_hidden_documents_alone_is_no_filter(
    project: Project, author: str
) -> None:
    """With and without the hidden document, the reply is the same."""
    hidden = written("h", "The pressure of the harbour pump is 99 bar.", author, "team:b")
    kb = await filled(project, BOB, FILE, replace(hidden, system="attio", kind="note"))
    reader = await kb.reader(["team:a"])
    for question in (
        "What is the pressure of the harbour pump in notes by Ada Okafor?",
        "What is the pressure of the harbour pump in Attio?",
    ):
        answer = await kb.questions.ask(question, reader)
        assert not answer.filters
        assert not any("searched" in note for note in answer.notes)
        assert "99 bar" not in answer.text
