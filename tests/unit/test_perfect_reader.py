"""The simulated chat model that finds the expected answer if its prompt contains it."""

import json
from pathlib import Path

import pytest

from lightwell.answer.prompt import Context, answer_messages
from lightwell.answer.reply import verify_reply
from lightwell.testing.perfect_reader import NOT_ANSWERABLE, PerfectReader
from tests.passages import chunk, passage

QUESTION = "How many days, and who approves them?"
GROUPS = (("25 days",), ("manager",))
PASSAGES = (
    passage(
        chunk("Coffee is free.\n\n- There are 25 days (see 145) of leave.\n- Sick days are others.")
    ),
    passage(chunk("Leave is planned. Your manager approves it.", 2)),
)


async def said(*passages: int, question: str = QUESTION) -> str:
    shown = tuple(PASSAGES[each] for each in passages)
    context = Context(entities=(), relations=(), passages=shown, tokens=0)
    messages = answer_messages(question, context)
    return (await PerfectReader({QUESTION: GROUPS}).reply(messages, max_tokens=200)).text


@pytest.mark.asyncio
async def test_it_quotes_what_holds_the_answer() -> None:
    reply = await said(0, 1)
    assert json.loads(reply)["sentences"] == [
        {"quotes": [text], "text": text}
        for text in ("There are 25 days (see 145) of leave.", "Your manager approves it.")
    ]
    assert len(verify_reply(reply, PASSAGES, QUESTION)) == 2


@pytest.mark.asyncio
async def test_without_the_whole_answer_it_gives_up() -> None:
    assert await said(0) == NOT_ANSWERABLE
    assert await said(0, 1, question="How much is the coffee?") == NOT_ANSWERABLE


@pytest.mark.asyncio
async def test_it_knows_the_answers_of_a_collection(tmp_path: Path) -> None:
    asked = {"id": "1", "question": QUESTION, "answer_any": GROUPS}
    (tmp_path / "questions.jsonl").write_text(json.dumps(asked))
    reader = PerfectReader.from_questions(tmp_path / "questions.jsonl")
    context = Context(entities=(), relations=(), passages=PASSAGES, tokens=0)
    assert reader.say(answer_messages(QUESTION, context)) == await said(0, 1)
