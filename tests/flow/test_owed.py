"""What is owed comes from open items alone that the reader sees, and from nobody's words but those of our own people."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.briefs import Brief
from lightwell.domain.documents import NewDocument
from lightwell.domain.ids import GlobalRef
from lightwell.domain.item_structure import ItemStructure, StatedEntity
from lightwell.domain.questions import Filters
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records.database import Database
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever

from .conftest import Project, project_on

SALES, BOARD = ["team:sales"], ["team:board"]
ACME = StatedEntity(ref=GlobalRef("crm:company:1"), kind="company", name="Acme Pumps")
TERN = StatedEntity(ref=GlobalRef("crm:company:2"), kind="company", name="Acme Nets")


def item(
    number: int,
    title: str,
    text: str,
    tags: Sequence[str] = SALES,
    about: StatedEntity = ACME,
    **metadata: str,
) -> NewDocument:
    """Return an item of a business system about a company, last changed in 2026."""
    name, ref = f"{number}.md", GlobalRef(f"crm:task:{number}")
    own_entity = StatedEntity(ref=ref, kind="task", name=title)
    return replace(
        make_document(name, text, tags, title=title),
        system="crm",
        kind="task",
        item_ref=ref,
        structure=ItemStructure(entities=(own_entity, about)),
        metadata=metadata,
        updated_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


def task(
    number: int, title: str, due: str, tags: Sequence[str] = SALES, *, work_state: str = "open"
) -> NewDocument:
    text = f"Status: open\nDeadline: {due}\nAssignee: Nora Lie\n\n{title}"
    return item(number, title, text, tags, due=due, work_state=work_state)


SEEN = [
    task(1, "Send the offer", "2031-03-04"),
    task(2, "Call the port", "2031-03-05", work_state="closed"),
    item(
        3,
        "Call",
        "Author: Nora Lie\n\nWe ship the nets by 9 March 2031.",
        about=TERN,
        own_authors="Nora Lie",
    ),
    item(4, "Mail", "Author: Rolf Ek\n\nWe pay by 7 March 2031.", own_authors=""),
]
UNSEEN = [
    task(5, "Sell the pier", "2031-03-03", BOARD),
    item(
        6,
        "Secret",
        "Author: Nora Lie\n\nI will sign by 2 March 2031.",
        BOARD,
        own_authors="Nora Lie",
    ),
    task(7, "Send the bill", "2024-03-03", BOARD),
]
ASKED = (
    "What is due in March 2031?",
    "What did we promise Acme Pumps?",
    "What did we promise Acme?",
    "What is overdue?",
    "When is the pier due?",
)


async def filled(database: Database, documents: Sequence[NewDocument]) -> Project:
    project = await project_on(database)
    await project.kb.ingestion.ingest(
        InMemorySource(documents=tuple(documents), scope="file:///shelf/")
    )
    return project


async def test_open_items_and_our_own_words_are_owed(database: Database) -> None:
    project = await filled(database, [*SEEN, *UNSEEN])
    kb, reader = project.kb, await project.kb.reader(SALES)
    answer = await kb.questions.ask("What is due in March 2031?", reader)
    assert answer.text.splitlines() == [
        "Send the offer (Deadline: 2031-03-04; Assignee: Nora Lie) [1]",
        "Nora Lie: We ship the nets by 9 March 2031. [2]",
    ]
    assert [cited.snippet for cited in answer.citations] == [
        "Deadline: 2031-03-04\nAssignee: Nora Lie",
        "We ship the nets by 9 March 2031.",
    ]
    named = await kb.questions.ask("What did we promise Acme Nets?", reader)
    assert named.text == "Nora Lie: We ship the nets by 9 March 2031. [1]"
    either = await kb.questions.ask("What did we promise Acme?", reader)
    assert len(either.sentences) == 2
    filtered = await kb.questions.ask(
        ASKED[0], reader, filters=Filters(since=datetime(2030, 1, 1, tzinfo=UTC).date())
    )
    assert not filtered.is_answered


async def test_what_the_reader_does_not_see_changes_nothing(
    database: Database, other_database: Database
) -> None:
    whole, alone = await filled(database, [*SEEN, *UNSEEN]), await filled(other_database, SEEN)
    for question in ASKED:
        told = []
        for kb in (whole.kb, alone.kb):
            reader = await kb.reader(SALES)
            answer = await kb.questions.ask(question, reader)
            listed = await kb.questions.statements(question, reader)
            told.append((answer.text, answer.relevance, listed.text, listed.relevance))
        assert told[0] == told[1]
    briefs = [
        await kb.questions.brief("Acme Pumps", await kb.reader(SALES))
        for kb in (whole.kb, alone.kb)
    ]
    lines = [
        [line.text for line in (*made.about, *made.lately, *made.open_points)]
        for made in briefs
        if isinstance(made, Brief)
    ]
    assert lines[0] == lines[1]
    assert lines[0][-1] == "Send the offer (Deadline: 2031-03-04; Assignee: Nora Lie)"


@pytest.mark.parametrize("question", ["What is open with Acme Pumps?", ASKED[1]])
async def test_that_no_words_may_filter_is_no_filter(database: Database, question: str) -> None:
    project = await filled(database, SEEN)
    reader = await project.kb.reader(SALES)
    told = [
        await project.kb.questions.ask(question, reader, filters=filters)
        for filters in (Filters(), Filters(from_words=False))
    ]
    assert "Send the offer" in told[0].text
    assert told[1].text == told[0].text


@pytest.fixture(params=["Etc/GMT-14", "Etc/GMT+12"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The server's time zone; at any time, one of these two has another day than UTC."""
    monkeypatch.setenv("TZ", str(request.param))
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone")
async def test_what_is_overdue_is_told_from_the_day_of_the_servers_time_zone(
    database: Database,
) -> None:
    today = datetime.now().astimezone().date()
    yesterday = today - timedelta(days=1)
    tasks = [task(1, "Send the offer", f"{today}"), task(2, "Call the depot", f"{yesterday}")]
    project = await filled(database, tasks)
    answer = await project.kb.questions.ask("What is overdue?", await project.kb.reader(SALES))
    assert f"Call the depot (Deadline: {yesterday}; Assignee: Nora Lie)" in answer.text
    assert "Send the offer" not in answer.text


async def test_a_model_reads_what_is_owed_first(database: Database) -> None:
    project = await filled(database, SEEN)
    model = ScriptedModel(["Nothing."])
    context = project.context
    kb = KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=model))
    await kb.questions.ask("What is due in March 2031?", await kb.reader(SALES))
    first, second = (
        model.sent[0].messages[-1].content.index(words) for words in ("[1]\n", "[2]\n")
    )
    assert "Send the offer" in model.sent[0].messages[-1].content[first:second]


@pytest.mark.parametrize("due", ["soon", "2031-13-40"])
async def test_metadata_that_name_no_day_are_no_deadline(database: Database, due: str) -> None:
    text = f"Deadline: {due}\n\nSend the offer"
    project = await filled(database, [item(1, "Offer", text, due=due)])
    answer = await project.kb.questions.ask("What is due?", await project.kb.reader(SALES))
    assert "Offer" not in answer.text
