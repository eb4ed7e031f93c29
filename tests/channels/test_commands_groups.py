"""Sharing an answer in a group: only what the group's tags see, and the sharer sees now."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.chat import Thread
from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import ConversationId
from lightwell.domain.questions import Mode, Question
from lightwell.entrypoints.channels.actions import Share
from lightwell.entrypoints.channels.groups import share
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records import channel_groups
from lightwell.records.database import Database
from lightwell.testing.models import ScriptedModel
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import make_retriever
from tests.channels.company import GROUP, ask, asking, change, join, words
from tests.channels.conftest import filled
from tests.flow.conftest import Project

SALES, BOARD = ["team:sales"], ["team:board"]
DOCUMENTS = (
    make_document("a.md", "Nordwind Energie gets a discount of 18 percent.", SALES, title="Terms"),
    make_document("b.md", "Castell Water gets a discount of 40 percent.", BOARD, title="Secret"),
)
OPEN, CLOSED = "Which discount does Nordwind Energie get?", "Which discount does Castell Water get?"


@pytest.fixture
async def project(database: Database) -> Project:
    project = await filled(database, *DOCUMENTS)
    await join(project, "nora", [*SALES, *BOARD])
    return project


async def bind(project: Project, tags: Sequence[str]) -> None:
    await channel_groups.bind(
        project.database, project.kb.project_id, GROUP.platform, GROUP.id, frozenset(tags)
    )


async def asked(project: Project, question: str) -> Share:
    conversation, place = await ask(await asking(project, "nora", GROUP), question)
    return Share(conversation=conversation, place=place, chat=GROUP.id)


async def test_an_answer_that_the_group_may_see_is_posted_with_who_shared_it(
    project: Project,
) -> None:
    action = await asked(project, OPEN)
    await bind(project, SALES)
    posted = await share(await asking(project, "nora", GROUP), action)
    said = words(posted)
    assert said.startswith("Shared by Nora")
    assert "18 percent" in said
    assert "Terms" in said
    assert "Which" not in said  # the question may have what was picked for a name
    assert not posted.buttons


async def test_nothing_goes_to_a_group_that_is_not_bound_or_may_not_see_every_source(
    project: Project,
) -> None:
    nora, closed = await asking(project, "nora", GROUP), await asked(project, CLOSED)
    both = await asked(project, f"{OPEN[:-1]} and {CLOSED.lower()}")
    (turn,) = await project.kb.conversations.turns(nora.reader, ConversationId(both.conversation))
    assert turn.answer is not None
    assert {cited.document_title for cited in turn.answer.citations} == {"Terms", "Secret"}
    with pytest.raises(Invalid, match="An administrator") as unbound:
        await share(nora, closed)
    await bind(project, SALES)
    said: list[str] = [str(unbound.value)]
    for action in (closed, both):
        with pytest.raises(Invalid, match="Not everybody") as refused:
            await share(nora, action)
        said.append(str(refused.value))
    assert not any("team:" in text or "Secret" in text for text in said)
    await bind(project, ["team:none"])
    with pytest.raises(Invalid, match="Not everybody"):
        await share(nora, await asked(project, OPEN))


async def test_what_the_sharer_or_the_group_lost_is_not_posted(project: Project) -> None:
    action = await asked(project, OPEN)
    await bind(project, SALES)
    moved = replace(DOCUMENTS[0], acl_tags=frozenset({*BOARD}))
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(moved, DOCUMENTS[1]), scope="file:///shelf/")
    )
    with pytest.raises(Invalid, match="Not everybody"):
        await share(await asking(project, "nora", GROUP), action)
    await change(project, "nora", PersonChange(acl_tags=frozenset(SALES)))
    with pytest.raises(NotFound):
        await share(await asking(project, "nora", GROUP), action)


async def test_an_answer_whose_document_says_it_no_more_is_not_posted(project: Project) -> None:
    action = await asked(project, OPEN)
    await bind(project, SALES)
    changed = make_document("a.md", "Nordwind Energie gets no discount.", SALES, title="Terms")
    await project.kb.ingestion.ingest(
        InMemorySource(documents=(changed, DOCUMENTS[1]), scope="file:///shelf/")
    )
    with pytest.raises(Invalid, match="changed"):
        await share(await asking(project, "nora", GROUP), action)


async def test_refusals_greetings_and_what_a_model_says_alone_are_never_posted(
    project: Project,
) -> None:
    await bind(project, [*SALES, *BOARD])
    model = ScriptedModel(lambda _: "The moon is made of cheese.")
    answers = AnswerGenerator(model=model)
    kb = KnowledgeBase(project.context, make_retriever(project.context), answers)
    nora = await asking(project, "nora", GROUP)
    alone = Question(text="What is the moon made of?", mode=Mode.BYPASS)
    events = kb.questions.show(alone, nora.reader, thread=Thread())
    (stored,) = [event.stored async for event in events if event.stored]
    assert stored.place is not None
    bypassed = Share(conversation=stored.conversation, place=stored.place, chat=GROUP.id)
    for action in (bypassed, await asked(project, "Hello"), await asked(project, "Who is Xyz?")):
        with pytest.raises(Invalid, match="nothing to share"):
            await share(nora, action)


async def test_nobody_shares_what_somebody_else_has_asked(project: Project) -> None:
    action = await asked(project, OPEN)
    await bind(project, SALES)
    other = await join(project, "zoe", [*SALES, *BOARD])
    mine = await asking(project, "nora", GROUP)
    for asker, forged in (
        (other, action),
        (mine, replace(action, place=action.place + 1)),
        (mine, replace(action, conversation=uuid4())),
    ):
        with pytest.raises(NotFound):
            await share(asker, forged)
