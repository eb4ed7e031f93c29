"""What was promised, decided, said: a list of statements, each on somebody's word."""

from datetime import UTC, datetime, timedelta

import pytest

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.answer.statements import MAX_STATEMENTS, merge_retrievals, paraphrase_question
from lightwell.domain.answers import EXTRACTS, Answer, Confidence
from lightwell.domain.documents import Chunk
from lightwell.domain.evidence import Retrieval
from lightwell.domain.question_analysis import analyze_question
from lightwell.testing.models import ScriptedModel
from lightwell.text.terms import terms
from tests.passages import chunk, found, passage

PROMISES = "What did we promise about deadlines?"
OLD, NEW = datetime(2026, 3, 5, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
CALL = chunk(
    "Rhys asked for a catalogue. Will it float?\n\nWhat I promised:\n\n"
    "- a written plan, district by district, by 17 April 2026\n- a kind word\n\nWhat he did not like:\n\n"
    "- that the offer ends before 30 April 2026",
    1,
    title="Castell call",
    said_at=NEW,
)
PLAN = chunk(
    "## What we promised\n\nYusuf promised a training day by 22 May 2026. Tomas met the board on 3 March 2026. "
    "We promise that a thing will work. Did we promise anything by Friday?",
    2,
    said_at=OLD,
)
AGAIN = chunk("Note: Yusuf promised a training day by 22 May 2026.\n\nYusuf promised a training day by 22 May 2026.", 3, said_at=NEW + timedelta(days=1))  # fmt: skip


def asked(*chunks: Chunk, text: str = PROMISES, relevance: float = 0.9) -> Retrieval:
    return found(text, *(passage(each, relevance=relevance) for each in chunks))


async def listed(retrieval: Retrieval, *replies: str) -> Answer:
    model = ScriptedModel(replies) if replies else None
    return await AnswerGenerator(model=model).statements(retrieval)


async def test_promises_with_a_date_are_listed_newest_first_and_nothing_else() -> None:
    made = await listed(asked(CALL, PLAN))
    assert [(one.text, one.said_at, one.dates) for one in made.sentences] == [
        ("Yusuf promised a training day by 22 May 2026.", OLD, ("22 May 2026",)),
        ("What I promised: a written plan, district by district, by 17 April 2026", NEW, ("17 April 2026",)),
    ]  # fmt: skip
    assert [one.citations[0].id for one in made.sentences] == ["[1]", "[2]"]
    assert [one.citations[0].document_title for one in made.sentences] == [
        "Document 2",
        "Castell call",
    ]
    assert (made.confidence, made.model, made.nearest) == (Confidence.HIGH, EXTRACTS, ())
    assert made.notes == ("a note",)


async def test_a_sentence_of_two_documents_is_one_statement_with_both_citations() -> None:
    (one,) = (await listed(asked(PLAN, AGAIN))).sentences[:1]
    assert one.text == "Yusuf promised a training day by 22 May 2026."
    assert [each.document_title for each in one.citations] == ["Document 2", "Document 3"]
    assert one.said_at == NEW + timedelta(days=1)


async def test_a_unit_that_says_all_that_is_asked_is_enough_where_its_passage_is_not() -> None:
    made = await listed(asked(CALL, PLAN, relevance=0.1))
    assert len(made.sentences) == 2
    assert (made.confidence, made.relevance) == (Confidence.LOW, 0.6)
    assert {cited.score for one in made.sentences for cited in one.citations} == {0.1}


async def test_what_names_no_day_stands_by_its_document_s() -> None:
    undated = chunk("We promise a song.", 4, said_at=datetime(2026, 5, 1, tzinfo=UTC))
    made = await listed(asked(undated, PLAN, CALL, text="What did we promise?"))
    assert [one.text for one in made.sentences][:3] == [
        "Yusuf promised a training day by 22 May 2026.",
        "We promise a song.",
        "What I promised: a written plan, district by district, by 17 April 2026",
    ]


@pytest.mark.parametrize("relevance", [0.1, 0.9])
async def test_a_pronoun_stands_for_whom_the_sentence_before_names(relevance: float) -> None:
    told = chunk(
        "Dr. Albers was angry. Bob promised her a report. He also promised that she gets a call.\n\n"
        "We are few. We promised them a van.\n\n- Albers again\n- Nora promised him a coat\n"
    )
    made = await listed(asked(told, text="What did we promise Dr. Albers?", relevance=relevance))
    assert [one.text for one in made.sentences] == [
        "Bob promised her a report.",
        "He also promised that she gets a call.",
    ]


def test_what_was_said_is_looked_for_in_other_words_too() -> None:
    other = paraphrase_question(analyze_question(PROMISES)).split()
    assert {"versprochen", *terms("promis")} <= {*other}
    assert not {*other} & {*terms("promise deadlines decided")}
    assert paraphrase_question(analyze_question("Who leads Osprey?")) == ""
    one = asked(PLAN, CALL)
    more = merge_retrievals(one, asked(CALL, AGAIN, relevance=0.7))
    assert [each.chunk for each in more.evidence] == [PLAN, CALL, AGAIN]
    assert [each.relevance for each in more.evidence] == [0.9, 0.9, 0.0]
    assert more.best_relevance == one.best_relevance


@pytest.mark.parametrize(
    ("text", "relevance"),
    [
        ("What did we promise about shipping to Mars?", 0.1),
        ("What did we promise about shipping to Mars?", 0.9),
        ("What did we decide about deadlines?", 0.9),
        ("What did the elephants say?", 0.1),
    ],
)
async def test_where_nothing_was_said_the_evidence_is_insufficient(
    text: str, relevance: float
) -> None:
    made = await listed(asked(CALL, PLAN, text=text, relevance=relevance))
    assert (made.sentences, made.confidence) == ((), Confidence.INSUFFICIENT)
    assert made.relevance == (relevance if relevance < 0.6 else 0.594)
    assert len(made.nearest) == 2


async def test_other_words_for_the_same_act_are_found() -> None:
    told = chunk("We guarantee the repair by 3 June 2026. He asked for it by 4 June 2026.")
    made = await listed(asked(told))
    assert [one.text for one in made.sentences] == ["We guarantee the repair by 3 June 2026."]


async def test_a_list_has_an_end() -> None:
    lines = "\n".join(
        f"- We promise thing {number} by {number} May 2026" for number in range(1, 31)
    )
    made = await listed(asked(chunk(lines)))
    assert len(made.sentences) == MAX_STATEMENTS


async def test_a_models_list_is_checked_line_by_line() -> None:
    reply = (
        "- Yusuf promised a training day by 22 May 2026 [2]\n"
        "- Yusuf promised a training day by 23 May 2026 [2]\n"
        "- We promised Castell a written plan by 17 April 2026 [1]\n"
        "- We promised the moon [1]\n"
        "- Yusuf promised a training day by 22 May 2026 [1]\n"
    )
    retrieval = asked(CALL, PLAN)
    made = await listed(retrieval, reply)
    assert [(one.text, [each.id for each in one.citations]) for one in made.sentences] == [
        ("Yusuf promised a training day by 22 May 2026", ["[1]"]),
        ("We promised Castell a written plan by 17 April 2026", ["[2]"]),
    ]
    assert made.model == "scripted"
    assert made.context_tokens > 0


async def test_what_a_model_cites_once_is_cited_wherever_it_stands_again() -> None:
    made = await listed(asked(PLAN, AGAIN), "Yusuf promised a training day by 22 May 2026 [1].")
    (one,) = made.sentences
    assert [each.document_title for each in one.citations] == ["Document 2", "Document 3"]


@pytest.mark.parametrize("reply", ["INSUFFICIENT", "Nothing."])
async def test_a_model_that_finds_nothing_leaves_the_list_empty(reply: str) -> None:
    made = await listed(asked(CALL, PLAN), reply)
    assert (made.sentences, made.confidence) == ((), Confidence.INSUFFICIENT)


async def test_no_model_is_asked_where_there_is_nothing_to_list() -> None:
    model = ScriptedModel(["We promised a written plan [1]."])
    made = await AnswerGenerator(model=model).statements(asked(text="What of Mars?", relevance=0.1))
    assert (made.sentences, made.author, model.sent) == ((), None, [])


async def test_what_the_model_is_sent_asks_for_a_list() -> None:
    model = ScriptedModel(["INSUFFICIENT"])
    await AnswerGenerator(model=model).statements(asked(CALL))
    system, user = model.sent[0].messages
    assert "one statement per entry" in system.content
    assert user.content.startswith("Evidence:\n\n[1]\n~~~\nCastell call")
    assert user.content.endswith(f"Question: {PROMISES}")


async def test_a_statement_reads_as_an_answer_does_and_its_citation_as_the_document() -> None:
    table = "| What | By |\n|---|---|\n| We promised **Marlowe** the report | 6 March 2026 |"
    made = await listed(asked(chunk(table, 4)))
    assert [(each.text, each.citations[0].snippet) for each in made.sentences] == [
        (
            "What: We promised Marlowe the report; By: 6 March 2026",
            "| We promised **Marlowe** the report | 6 March 2026 |",
        )
    ]
