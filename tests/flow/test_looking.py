"""Looking twice: a chat model searches, opens and follows names before it answers, as the reader, and within a budget."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from lightwell.answer.looking.looking import MAX_STEPS, NOT_UNDERSTOOD
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.answer.prompt import Budget, Prompt
from lightwell.domain.answers import Answer, AnswerState, StepKind, StreamType
from lightwell.domain.chat import Thread
from lightwell.domain.errors import Invalid, ModelFailed
from lightwell.domain.questions import Filters, Mode, Question
from lightwell.knowledge_base import KnowledgeBase
from lightwell.ports import Message, Reply
from lightwell.testing.models import ScriptedModel, ScriptedReply
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.text.tokens import token_count
from lightwell.wiring import make_retriever

from .conftest import Project
from .notes import Noted, noted

ASKED = Question(text="Who leads the maker of the river station's pump?", look_twice=True, limit=1)
PUMP = "The pump of the river station comes from Halden Works."
LEADER = "Halden Works has been led by Ada Berg since 2021."
LONG = "\n\n".join(
    f"## Part {number}\n\n{'The valve is checked in spring and in autumn by two people. ' * 40}\n\nThe seal number is {number * 111}."
    for number in range(1, 7)
)
DOCUMENTS = (
    make_document("pump.md", PUMP, ["team:a"], title="Pump"),
    make_document("leader.md", LEADER, ["team:a"], title="Halden Works"),
    make_document("manual.md", f"# Manual\n\n{LONG}", ["team:a"], title="Manual"),
    make_document("secret.md", "Ada Berg leaves Halden Works in June.", ["team:b"], title="Board"),
)


def say(action: str, query: str = "", passage: int = 0, **more: str) -> str:
    return json.dumps({"action": action, "query": query, "passage": passage, **more})


SECOND = say("search", "Who leads Halden Works?")
END = say("answer")


def answered(text: str = "Halden Works has been led by Ada Berg since 2021.") -> str:
    return json.dumps({"answerable": True, "sentences": [{"quotes": [text], "text": text}]})


def looking(*actions: ScriptedReply, answer: ScriptedReply | None = None) -> ScriptedModel:
    """Return a model that asks for these actions, then ends the search, and answers from what it was shown."""
    left = list(actions)

    def reply(messages: Sequence[Message]) -> ScriptedReply:
        if is_looking(messages):
            return left.pop(0) if left else END
        return answer or answered()

    return ScriptedModel(reply)


def is_looking(messages: Sequence[Message]) -> bool:
    return messages[0].content == Prompt.LOOK.text


def prompts(model: ScriptedModel) -> tuple[list[str], list[str]]:
    """Return what the model was shown last while it looked, and when it answered."""
    asked = [sent.messages for sent in model.sent]
    return (
        [each.content for messages in asked if is_looking(messages) for each in messages[-1:]],
        [messages[-1].content for messages in asked if not is_looking(messages)],
    )


async def filled(project: Project, model: ScriptedModel | None, **options: object) -> KnowledgeBase:
    await project.kb.ingestion.ingest(InMemorySource(documents=DOCUMENTS))
    generator = replace(AnswerGenerator(model=model), **options)
    return KnowledgeBase(project.context, make_retriever(project.context), generator)


async def test_the_second_hop_is_found_and_cited(project: Project) -> None:
    model = looking(SECOND)
    kb = await filled(project, model)
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask(ASKED, reader)
    assert answer.text == f"{LEADER} [1]"
    assert answer.citations[0].document_title == "Halden Works"
    shown, final = prompts(model)
    assert PUMP in shown[0]
    assert LEADER not in shown[0]
    assert LEADER in shown[1]
    assert (PUMP in final[0], LEADER in final[0]) == (True, True)
    once = looking()
    kb = await filled(project, once)
    await kb.questions.ask(replace(ASKED, look_twice=False), reader)
    assert prompts(once)[0] == []
    assert LEADER not in prompts(once)[1][0]


async def test_each_step_is_an_event(project: Project) -> None:
    kb = await filled(project, looking(SECOND, say("open", passage=1), say("find", "seal", 1)))
    reader = await kb.reader(["team:a"])
    events = [event async for event in kb.questions.stream(ASKED, reader)]
    steps = [event.step for event in events if event.step]
    assert [(step.kind, step.query, step.titles) for step in steps] == [
        (StepKind.SEARCHING, "", ()),
        (StepKind.READING, "", ("Pump",)),
        (StepKind.SEARCHING, "Who leads Halden Works?", ()),
        (StepKind.READING, "", ("Halden Works", "Manual")),
        (StepKind.READING, "", ("Pump",)),
        (StepKind.SEARCHING, "seal", ("Pump",)),
        (StepKind.CHECKING, "", ()),
    ]
    kinds = [event.type for event in events]
    assert kinds[: len(steps)] == [StreamType.STEP] * len(steps)
    assert kinds[-1] is StreamType.DONE


async def test_a_conversation_looks_twice_too(project: Project) -> None:
    kb = await filled(project, looking(SECOND))
    reader = await kb.reader(["team:a"])
    turn = await kb.questions.chat(ASKED.text, reader, look_twice=True)
    assert (turn.state, turn.response.response) == (AnswerState.ANSWERED, f"{LEADER} [1]")
    assert [source.source for source in turn.response.sources] == ["leader.md"]
    assert turn.response.prompt_eval_count == sum(
        len_tokens(sent.messages) for sent in looking_model(kb).sent
    )
    thread = Thread(conversation=turn.conversation_id)
    shown = [event async for event in kb.questions.show(ASKED, reader, thread=thread)]
    assert shown[-1].stored is not None


def looking_model(kb: KnowledgeBase) -> ScriptedModel:
    model = kb.questions.generator.model
    assert isinstance(model, ScriptedModel)
    return model


def len_tokens(messages: Sequence[Message]) -> int:
    return sum(token_count(message.content) for message in messages)


async def test_a_document_is_read_on_and_searched_for_words(project: Project) -> None:
    model = looking(
        say("find", "seal number 555", 1), say("open", passage=2), say("find", "zebra", 1)
    )
    kb = await filled(project, model)
    reader = await kb.reader(["team:a"])
    chunks = await kb.documents.chunks(reader, "file:///shelf/manual.md")
    assert len(chunks) >= 3
    await kb.questions.ask(replace(ASKED, text="When is the valve checked?"), reader)
    shown, final = prompts(model)
    assert "[2]" in shown[1]
    assert "The seal number is 555." in shown[1]
    assert "Nothing new is found." in shown[3]
    read = [chunk for chunk in chunks if chunk.text in final[0]]
    assert len(read) > 1


def asked_by(own: Noted, model: ScriptedModel) -> KnowledgeBase:
    context = own.project.context
    return KnowledgeBase(context, make_retriever(context), AnswerGenerator(model=model))


async def test_neighbours_are_shown_as_background(project: Project) -> None:
    own = await noted(project.database, "looking")
    await own.put("a", ["team:a"], "Acme -> Nordwind [USES]: buys turbine blades every spring")
    await own.put("b", ["team:b"], "Acme -> Zeta [USES]: buys secrets")
    model = looking(say("neighbours", "acme"), answer=answered("Acme buys turbine blades."))
    kb = asked_by(own, model)
    reader = await kb.reader(["team:a"])
    asked = replace(ASKED, text="What does Acme buy?", mode=Mode.MIX, limit=5)
    await kb.questions.ask(asked, reader)
    shown, final = prompts(model)
    assert "Acme → Nordwind" in shown[1]
    assert "Acme → Nordwind" in final[0].partition("Evidence:")[0]
    assert "Zeta" not in "".join((*shown, *final))
    without = looking(say("neighbours", "acme"))
    kb = asked_by(own, without)
    await kb.questions.ask(replace(asked, include_graph=False), reader)
    assert "Nothing new is found." in prompts(without)[0][1]


async def test_steps_are_counted_and_an_action_is_never_repeated(project: Project) -> None:
    model = looking(*(say("search", f"valve {number}") for number in range(99)))
    kb = await filled(project, model)
    reader = await kb.reader(["team:a"])
    await kb.questions.ask(ASKED, reader)
    assert len(prompts(model)[0]) == MAX_STEPS
    again = looking(*[SECOND] * 9)
    kb = await filled(project, again)
    await kb.questions.ask(ASKED, reader)
    assert len(prompts(again)[0]) == 2


async def test_the_model_is_told_what_a_follow_up_leaves_out(project: Project) -> None:
    model = looking(SECOND)
    kb = await filled(project, model)
    reader = await kb.reader(["team:a"])
    await kb.questions.ask(replace(ASKED, text="Who leads it?", subject="Halden Works"), reader)
    assert prompts(model)[0][0].endswith("Question: Who leads it? (Halden Works)")


async def test_another_part_of_a_passage_is_shown_for_another_search(project: Project) -> None:
    model = looking(say("search", "Which seal number is 555?"))
    kb = await filled(project, model)
    reader = await kb.reader(["team:a"])
    asked = replace(ASKED, text="Which valve is checked in spring?", limit=5)
    await kb.questions.ask(asked, reader)
    shown, _ = prompts(model)
    assert "The seal number is 555." not in shown[0]
    assert "The seal number is 555." in shown[1]


async def test_no_prompt_is_longer_than_an_answer_s_context(project: Project) -> None:
    model = looking(*(say("search", f"valve {number}") for number in range(99)))
    kb = await filled(project, model, budget=Budget(max_tokens=600))
    reader = await kb.reader(["team:a"])
    await kb.questions.ask(ASKED, reader)
    shown = [sent.messages for sent in model.sent if is_looking(sent.messages)]
    assert 0 < len(shown) < MAX_STEPS
    assert max(map(len_tokens, shown)) <= 600


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("Halden Works makes pumps.", NOT_UNDERSTOOD),
        (ModelFailed("the model is asleep"), "the model is asleep."),
    ],
)
async def test_a_model_that_cannot_look_answers_at_once(
    project: Project, reply: ScriptedReply, note: str
) -> None:
    kb = await filled(project, looking(reply, answer=answered(PUMP)))
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask(ASKED, reader)
    kb = await filled(project, looking(answer=answered(PUMP)))
    once = await kb.questions.ask(replace(ASKED, look_twice=False), reader)
    assert without_note(answer) == without_note(once)
    assert [one for one in answer.notes if one.startswith(note)]
    later = looking(SECOND, reply)
    kb = await filled(project, later)
    answer = await kb.questions.ask(ASKED, reader)
    assert answer.text == f"{LEADER} [1]"
    assert [one for one in answer.notes if one.startswith(note)]


def without_note(answer: Answer) -> object:
    return answer.text, answer.relevance, answer.state, answer.citations, answer.model


async def test_a_model_that_fails_at_last_leaves_what_extracts_say_of_the_first_search(
    project: Project,
) -> None:
    failed = ModelFailed("the model is asleep")
    kb = await filled(project, looking(SECOND, answer=failed))
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask(ASKED, reader)
    kb = await filled(project, looking(answer=failed))
    once = await kb.questions.ask(replace(ASKED, look_twice=False), reader)
    assert answer.text == once.text


class Slow(ScriptedModel):
    """A model that never says what to look at next."""

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> Reply:
        if is_looking(messages):
            await asyncio.Event().wait()
        return await super().reply(messages, max_tokens=max_tokens, schema=schema)


async def test_the_answer_keeps_half_of_the_time(project: Project) -> None:
    kb = await filled(project, Slow(lambda _: answered(PUMP)), seconds=4.0)
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask(ASKED, reader)
    assert answer.text == f"{PUMP} [1]"
    assert [note for note in answer.notes if "did not finish within" in note]


async def test_the_filters_of_the_question_hold_for_each_search(project: Project) -> None:
    model = looking(say("search", "Who leads Halden Works?", system="file"))
    kb = await filled(project, model)
    reader = await kb.reader(["team:a"])
    answer = await kb.questions.ask(replace(ASKED, filters=Filters(systems=("linear",))), reader)
    assert not answer.is_answered
    assert LEADER not in "".join(prompts(model)[0])


async def test_it_needs_a_model_and_a_search(project: Project) -> None:
    kb = await filled(project, None)
    reader = await kb.reader(["team:a"])
    with pytest.raises(Invalid, match="LIGHTWELL_CHAT_URL"):
        await kb.questions.ask(ASKED, reader)
    with pytest.raises(Invalid, match="LIGHTWELL_CHAT_URL"):
        await kb.questions.chat(ASKED.text, reader, look_twice=True)
    with pytest.raises(Invalid, match="LIGHTWELL_CHAT_URL"):
        await anext(kb.questions.stream(ASKED, reader))
    with pytest.raises(Invalid, match="bypass"):
        replace(ASKED, mode=Mode.BYPASS)
