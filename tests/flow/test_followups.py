"""A follow-up is looked for where the last answer came from, and costs little more than a question."""

from pydantic import SecretStr

from benchmarks.question_cost import Clock, Cost, counting
from lightwell.domain.access import Reader
from lightwell.domain.answers import Answer, AnswerState
from lightwell.domain.chat import Thread
from lightwell.domain.ids import ConversationId
from lightwell.domain.questions import Question
from lightwell.knowledge_base import KnowledgeBase
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_knowledge_base

TAGS = ["team:people"]
PARENTAL = """# Parental leave

Parental leave lasts 16 weeks and is paid in full.

It may be taken in several parts.

Ruth Adler approves parental leave."""
SICK = """# Sick leave

Sick leave may be taken in several parts, also by the hour.

Tom Birch approves sick leave."""
PARKING = """# Parking

There are 40 parking lots behind the main building."""
WEEKS = "How many weeks does parental leave last?"


async def shelf(kb: KnowledgeBase) -> Reader:
    pages = {"parental.md": PARENTAL, "sick.md": SICK, "parking.md": PARKING}
    documents = tuple(make_document(name, text, TAGS) for name, text in pages.items())
    await kb.ingestion.ingest(InMemorySource(documents=documents))
    return await kb.reader(TAGS)


async def ask(kb: KnowledgeBase, reader: Reader, *messages: str) -> tuple[Answer, ConversationId]:
    """Ask one after the other in a conversation; return the last answer."""
    conversation: ConversationId | None = None
    answers: list[Answer] = []
    for message in messages:
        thread = Thread(conversation=conversation)
        async for event in kb.questions.show(Question(text=message), reader, thread=thread):
            if event.answer is not None and event.stored is not None:
                answers.append(event.answer)
                conversation = event.stored.conversation
    assert conversation is not None
    return answers[-1], conversation


def titles(answer: Answer) -> set[str]:
    return {citation.document_title for citation in answer.citations}


async def test_a_follow_up_is_looked_for_where_the_last_answer_came_from(database_url: str) -> None:
    async with open_knowledge_base(Settings(database_url=SecretStr(database_url))) as kb:
        reader = await shelf(kb)
        for first, page in (
            (WEEKS, "Parental leave"),
            ("May sick leave be by the hour?", "Sick leave"),
        ):
            for follow_up in ("may I take it in several parts?", "who approves that?"):
                answer, _ = await ask(kb, reader, first, follow_up)
                assert titles(answer) == {page}, follow_up
        answer, _ = await ask(kb, reader, WEEKS, "How many parking lots are there?")
        assert "40 parking lots" in answer.text
        answer, _ = await ask(kb, reader, WEEKS, "and what is the wifi password?")
        assert answer.state is AnswerState.INSUFFICIENT


async def test_what_a_follow_up_leaves_out_counts_in_a_stream_too(database_url: str) -> None:
    """A chat client sends the conversation itself, and streams."""
    async with open_knowledge_base(Settings(database_url=SecretStr(database_url))) as kb:
        reader = await shelf(kb)
        follow_up = Question(text="who approves that?", subject="parental leave")
        whole = await kb.questions.ask(follow_up, reader)
        events = [event async for event in kb.questions.stream(follow_up, reader)]
        streamed = events[-1].answer
        assert streamed is not None
        assert streamed.question == whole.question == follow_up.as_read
        assert (streamed.text, titles(streamed)) == (whole.text, {"Parental leave"})


def _least(costs: list[Cost]) -> float:
    """Return the fewest statements."""
    return min(cost.counts.statements for cost in costs)


async def test_a_follow_up_costs_one_statement_and_one_inference_more(database_url: str) -> None:
    """A question that stands alone costs one statement more after an answer than after a greeting; the inference is for a subject."""
    with counting() as counts:
        async with open_knowledge_base(Settings(database_url=SecretStr(database_url))) as kb:
            reader = await shelf(kb)
            messages = {"Who approves parental leave?": (1, 0), "who approves it?": (None, 1)}
            for message, (statements, inferences) in messages.items():
                costs: list[Cost] = []
                # The first of all reads what is kept, and on a slow machine what is kept for seconds is read again: the least counts.
                for first in ("hello", "hello", "hello", WEEKS, WEEKS):
                    _, conversation = await ask(kb, reader, first)
                    await kb.questions.ask(message, reader)  # its words are encoded now
                    clock = Clock(counts=counts)
                    clock.start()
                    await kb.questions.chat(message, reader, conversation=conversation)
                    costs.append(clock.stop())
                alone, following = costs[1:3], costs[3:]
                encoded = following[0].counts.inferences - alone[0].counts.inferences
                assert encoded == inferences
                if statements is not None:  # a subject has words and names that are looked up
                    assert _least(following) - _least(alone) == statements
