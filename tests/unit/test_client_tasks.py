"""A chat client's prompts for titles, tags, follow-up questions and searches, as Open WebUI sends them: no question is mistaken for one."""

import json

import pytest

from lightwell.answer.client_tasks import LONGEST_TASK, Wanted, find_task, perform
from lightwell.domain.errors import ModelFailed
from lightwell.testing.models import ScriptedModel, ScriptedReply

HISTORY = """USER: What discount does Nordwind Energie receive on sensors, and until when does the offer of Nordwind hold?
ASSISTANT: Nordwind receives a discount of 18 percent. [1]
USER: And the pumps?"""

WANTED = {
    "title": '{ "title": "your concise title here" }',
    "tags": '{ "tags": ["tag1", "tag2", "tag3"] }',
    "follow_ups": '{ "follow_ups": ["Question 1?", "Question 2?"] }',
    "text": '{ "text": "<your_completion>" }',
    "queries": '{\n  "queries": ["query1", "query2"]\n}',
}


def prompt(wanted: str, history: str = HISTORY) -> str:
    return (
        "### Task:\nDo what is asked for with the chat history.\n\n### Guidelines:\n- Be brief.\n\n### Output:\n"
        f"JSON format: {WANTED[wanted]}\n\n### Chat History:\n<chat_history>\n{history}\n</chat_history>"
    )


async def made(wanted: str, said: ScriptedReply | None = None, history: str = HISTORY) -> object:
    task = find_task([prompt(wanted, history)])
    assert task is not None
    assert task.wanted is Wanted(wanted)
    model = None if said is None else ScriptedModel([said])
    reply = json.loads(await perform(task, model))
    if model is not None:
        (sent,) = model.sent
        assert [message.content for message in sent.messages] == [task.text]
    return reply[wanted]


async def test_without_a_model_rules_say_something_sane() -> None:
    assert await made("title") == "What discount does Nordwind Energie receive on"
    assert await made("tags") == ["Nordwind", "Energie", "discount"]
    assert await made("queries") == ["And the pumps?"]
    assert await made("follow_ups") == []
    assert await made("text") == ""


@pytest.mark.parametrize("history", ["", "USER: ", "ASSISTANT: Hello!", "USER: ok"])
async def test_a_conversation_about_nothing_is_general(history: str) -> None:
    assert await made("title", history=history) in ("General", "ok")
    assert await made("tags", history=history) == ["General"]
    assert await made("queries", history=history) in ([], ["ok"])


@pytest.mark.parametrize(
    ("wanted", "said", "value"),
    [
        ("title", '{"title": "Nordwind\'s discount"}', "Nordwind's discount"),
        ("title", 'Sure!\n```json\n{ "title": "Discount" }\n```', "Discount"),
        ("title", '<think>{"title": 1}</think>{"title": "Discount"}', "Discount"),
        ("title", '{"title": "<img src=//x.example> a\\n[b](//y.example)"}', "a b"),
        ("tags", '{"tags": ["Sales", 7, "Discounts", ""]}', ["Sales", "Discounts"]),
        ("follow_ups", json.dumps({"follow_ups": ["Why?"] * 90}), ["Why?"] * 5),
    ],
)
async def test_a_model_is_asked_without_documents(wanted: str, said: str, value: object) -> None:
    assert await made(wanted, said) == value


@pytest.mark.parametrize(
    "said",
    ["", "Nordwind", '{"title": ""}', '{"title": ["a"]}', '{"tags": "a"}', "{" * 9000, ModelFailed("It is down.")],
)  # fmt: skip
async def test_where_a_model_fails_rules_answer(said: ScriptedReply) -> None:
    assert await made("title", said) == "What discount does Nordwind Energie receive on"
    assert await made("tags", said) == ["Nordwind", "Energie", "discount"]


@pytest.mark.parametrize(
    "messages",
    [
        ["What discount does Nordwind receive?"],
        ["### Task: what does this heading mean in our runbook?"],
        ['What does <chat_history></chat_history> with { "title": 1 } mean?'],
        ['### Task:\nWhat is {"title": "x"}?'],
        ["### Task:\nWhat is <chat_history>\nUSER: a\n</chat_history>?"],
        ['### Task:\nWhat is this?\n<chat_history>\nUSER: {"title": "x"}\n</chat_history>'],
        ["Hello", prompt("title")],
        [prompt("title") + " " * LONGEST_TASK],
        [],
    ],
)
def test_a_question_is_no_task(messages: list[str]) -> None:
    assert find_task(messages) is None


def test_a_prompt_in_another_language_is_known_by_its_structure() -> None:
    text = prompt("title").replace("### Task:", "### Tarefa:").replace("Chat History", "Histórico")
    assert find_task([text]) is not None
