"""Conversations that are shown again: streamed, read back with what their documents still say, asked again, renamed."""

from collections.abc import Sequence

import pytest
from psycopg.types.json import Jsonb

from lightwell.domain.access import Reader
from lightwell.domain.answers import AnswerState, StepKind, StreamChunk, StreamType
from lightwell.domain.chat import Thread
from lightwell.domain.errors import Invalid, NotFound
from lightwell.domain.ids import ConversationId, new_id
from lightwell.domain.questions import Mode, Question
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project
from .test_ingestion import residue

SALES, SUPPORT = ["team:sales"], ["team:support"]
CONTRACT = (
    "The Nordwind contract gives a discount of 18 percent on all items. It was signed in Kiel."
)
DAM = "The dam in Tarn Valley was built in 1931. Hannah Price inspects the dam."
DISCOUNT = "What discount does the Nordwind contract give?"
BUILT = "When was the dam in Tarn Valley built?"


async def put(project: Project, name: str, text: str, tags: Sequence[str] = SALES) -> None:
    source = InMemorySource(documents=(make_document(name, text, list(tags)),))
    await project.kb.ingestion.ingest(source, name)


async def papers(project: Project) -> Reader:
    await put(project, "contract.md", CONTRACT)
    await put(project, "dam.md", DAM)
    return await project.kb.reader(SALES)


async def show(
    project: Project, reader: Reader, text: str, thread: Thread | None, **options: bool
) -> list[StreamChunk]:
    shown = project.kb.questions.show(Question(text=text), reader, thread=thread, **options)
    return [event async for event in shown]


async def begin(project: Project, reader: Reader, text: str = DISCOUNT) -> ConversationId:
    last = (await show(project, reader, text, Thread()))[-1]
    assert last.stored is not None
    return last.stored.conversation


async def test_each_sentence_says_where_it_stands_and_what_it_cites(project: Project) -> None:
    reader = await papers(project)
    events = await show(project, reader, DISCOUNT, None)
    answer = events[-1].answer
    assert answer is not None
    assert answer.state is AnswerState.ANSWERED
    text = "".join(event.content for event in events)
    assert text == answer.text
    placed = [event.placed for event in events if event.placed]
    assert tuple(placed) == answer.placed_sentences
    assert [text[one.start : one.end] for one in placed] == [one.text for one in placed]
    ids = {citation.id for citation in answer.citations}
    for sentence in answer.placed_sentences:
        assert text[sentence.start : sentence.end] == sentence.text
        assert set(sentence.citations) <= ids
    assert any("18 percent" in sentence.text for sentence in answer.placed_sentences)
    assert events[-1].stored is None


async def test_the_steps_name_only_what_the_reader_sees(project: Project) -> None:
    reader = await papers(project)
    await put(project, "hidden.md", "The secret Nordwind contract gives 30 percent.", SUPPORT)
    events = await show(project, reader, DISCOUNT, None, with_steps=True)
    steps = [event.step for event in events if event.step]
    assert [step.kind for step in steps] == list(StepKind)
    assert "contract" in steps[1].titles
    assert "hidden" not in steps[1].titles
    assert steps[2].count > 0
    assert [event.type for event in events][:4] == [StreamType.STEP] * 3 + [StreamType.TOKEN]


async def test_a_streamed_conversation_is_continued_and_shown_again(project: Project) -> None:
    reader = await papers(project)
    first = await show(project, reader, "Who signed the Nordwind contract, and where?", Thread())
    assert first[-1].stored is not None
    conversation, place = first[-1].stored.conversation, first[-1].stored.place
    assert place == 0
    thread = Thread(conversation=conversation)
    last = (await show(project, reader, "And what discount does it give?", thread))[-1]
    assert last.answer is not None
    assert "18 percent" in last.answer.text
    turns = await project.kb.conversations.turns(reader, conversation)
    assert [turn.place for turn in turns] == [0, 2]
    assert turns[1].question == "And what discount does it give?"
    shown = turns[1].answer
    assert shown is not None
    assert (shown.text, shown.sentences) == (last.answer.text, last.answer.placed_sentences)
    assert (shown.context, shown.confidence, shown.relevance) == (
        last.answer.context,
        last.answer.confidence,
        last.answer.relevance,
    )
    assert shown.citations == last.answer.citations
    assert not shown.is_changed


async def test_asking_again_replaces_what_came_after(project: Project) -> None:
    reader = await papers(project)
    conversation = await begin(project, reader)
    for _ in range(2):
        await show(project, reader, BUILT, Thread(conversation=conversation))
    again = Thread(conversation=conversation, replaces=2)
    last = (await show(project, reader, "Who inspects the dam in Tarn Valley?", again))[-1]
    assert last.stored is not None
    assert last.stored.place == 2
    turns = await project.kb.conversations.turns(reader, conversation)
    assert [turn.question for turn in turns] == [DISCOUNT, "Who inspects the dam in Tarn Valley?"]


async def test_a_greeting_is_an_answer_of_the_conversation(project: Project) -> None:
    reader = await papers(project)
    events = await show(project, reader, "Thank you!", Thread())
    assert events[-1].answer is not None
    assert events[-1].answer.state is AnswerState.COURTESY
    assert events[0].content == events[-1].answer.text
    outside = await show(project, reader, "Thank you!", None)
    assert outside[-1].answer is not None
    assert outside[-1].answer.state is AnswerState.INSUFFICIENT


async def test_a_changed_document_takes_its_citation_with_it(project: Project) -> None:
    reader = await papers(project)
    conversation = await begin(project, reader)
    await put(project, "contract.md", "All about the list prices.\n\nThey hold for everybody.")
    (turn,) = await project.kb.conversations.turns(reader, conversation)
    assert turn.answer is not None
    assert turn.answer.is_changed
    assert turn.answer.citations == ()


async def test_what_others_get_now_is_not_shown_again(project: Project) -> None:
    reader = await papers(project)
    conversation = await begin(project, reader)
    await project.kb.conversations.rename(reader, conversation, "  The 18\npercent ")
    (listed,) = await project.kb.conversations.list(reader)
    assert listed.title == "The 18 percent"
    for tags, count in ((SUPPORT, 0), (SALES, 1)):
        await put(project, "contract.md", CONTRACT, tags)
        reader = await project.kb.reader(SALES)
        assert len(await project.kb.conversations.turns(reader, conversation)) == count
        (listed,) = await project.kb.conversations.list(reader)
        assert listed.title == ("The 18 percent" if count else "")
        titled = await project.kb.conversations.list(reader, title="PERCENT")
        assert len(titled) == count


async def test_an_answer_that_was_stored_as_whole_pieces_is_shown_as_its_key_sentences(
    project: Project,
) -> None:
    reader = await papers(project)
    conversation = await begin(project, reader)
    key = "The Nordwind contract gives a discount of 18 percent on all items."
    stored = {
        "lead": [{"text": key, "start": 0, "end": len(key), "citations": ["[1]"]}],
        "sentences": [{"text": CONTRACT, "start": 0, "end": len(CONTRACT), "citations": ["[1]"]}],
    }
    statement = """
    UPDATE conversation_turns SET answer = (answer - '{context,confidence,relevance}'::text[]) || %(stored)s
    WHERE answer IS NOT NULL
    """
    await project.context.database.execute(statement, {"stored": Jsonb(stored)})
    (turn,) = await project.kb.conversations.turns(reader, conversation)
    shown = turn.answer
    assert shown is not None
    assert [sentence.text for sentence in shown.sentences] == [key]
    assert [piece.text for piece in shown.context] == [CONTRACT]
    assert (shown.state, shown.confidence) == (AnswerState.ANSWERED, None)


async def test_a_title_is_the_owners_alone(project: Project) -> None:
    reader = await papers(project)
    conversation = await begin(project, reader)
    other = await project.kb.reader(["team:sales", "user:eve"])
    for name in (conversation, ConversationId(new_id())):
        with pytest.raises(NotFound, match="There is no conversation"):
            await project.kb.conversations.rename(other, name, "Mine")
        with pytest.raises(NotFound, match="There is no conversation"):
            await project.kb.conversations.turns(other, name)
    for title in (" ", "x" * 121):
        with pytest.raises(Invalid):
            await project.kb.conversations.rename(reader, conversation, title)


@pytest.mark.parametrize("how", ["soft", "hard"])
@pytest.mark.parametrize("question", ["Who signed about pumps?", "Which colour has the moon?"])
async def test_nothing_of_a_deleted_document_stays(
    project: Project, how: str, question: str
) -> None:
    """A title goes, too: the person who gave it had read the answers."""
    await put(project, "a.md", "Zyxwvut signed the contract about pumps.")
    reader = await papers(project)
    conversation = await begin(project, reader, question)
    await project.kb.conversations.rename(reader, conversation, "All of Zyxwvut")
    assert "conversation_titles" in await residue(project, "zyxwvut")
    if how == "hard":
        await project.kb.documents.erase(reader, ["file:///shelf/a.md"])
    else:
        await project.kb.documents.delete(reader, ["file:///shelf/a.md"])
    cites = question.startswith("Who")
    assert await residue(project, "zyxwvut") == (
        [] if cites or how == "hard" else ["conversation_titles"]
    )


async def test_without_documents_nothing_is_cited(project: Project) -> None:
    reader = await papers(project)
    question = Question(text="Which colour has the moon?", mode=Mode.NAIVE)
    shown = project.kb.questions.show(question, reader, thread=Thread())
    events = [event async for event in shown]
    assert events[-1].stored is not None
    (turn,) = await project.kb.conversations.turns(reader, events[-1].stored.conversation)
    assert turn.answer is not None
    assert (turn.answer.state, turn.answer.sentences, turn.answer.citations) == (
        AnswerState.INSUFFICIENT,
        (),
        (),
    )
