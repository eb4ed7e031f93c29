"""S4's validation of responses (S4.3), over real ones; what came nearest to a question; and courtesies."""

from collections.abc import Mapping, Sequence
from typing import cast
from uuid import UUID

import pytest

from lightwell.domain.chat import (
    GRAPH_SOURCE,
    NO_INFORMATION,
    ChatResponse,
    ChatTurn,
    SearchResult,
)
from lightwell.domain.errors import Invalid
from lightwell.domain.questions import Mode
from lightwell.entrypoints.operations.conversations import ChatReply
from lightwell.records.database import Database
from lightwell.testing.models import ScriptedModel

from .conftest import Project
from .notes import noted
from .test_chat import BUILT, DISCOUNT, LEADS, SALES, about_merlin, history, papers, with_model

GREETINGS = {
    "Hello": "Hello! Ask me about your documents.",
    "thanks!": "You're welcome.",
    "Thank you very much 🙏": "You're welcome.",
    "Vielen Dank!": "Gern geschehen.",
    "GRÜẞ GOTT": "Hallo! Fragen Sie mich nach Ihren Dokumenten.",
    "Merci beaucoup.": "Je vous en prie.",
    "A\u0300 bientôt !": "Au revoir.",
}


def check_rules(turn: ChatTurn) -> set[str]:
    """Check the JSON as S4's section on validation has it, and return the labels of the sources."""
    given = ChatReply.model_validate(turn).model_dump(mode="json", by_alias=True)
    assert isinstance(given["response"], str)
    assert isinstance(given["sources"], list)
    sources = cast("Sequence[Mapping[str, object]]", given["sources"])
    for each in sources:
        assert set(each) == {"id", "chunkText", "chunkIndex", "source", "distance"}
        assert isinstance(each["chunkText"], str)
        assert each["chunkText"]
        assert isinstance(each["source"], str)
        assert each["source"]
        assert (each["id"] is None) == (each["chunkIndex"] is None)
        assert each["id"] is not None or each["source"] == GRAPH_SOURCE
        if each["id"] is not None:
            assert str(UUID(str(each["id"]))) == each["id"]
            assert isinstance(each["chunkIndex"], int)
            assert each["chunkIndex"] >= 0
        distance = each["distance"]
        assert distance is None or (isinstance(distance, float) and 0 <= distance <= 1)
    return {str(each["source"]) for each in sources}


async def test_s4_3_every_response_keeps_the_rules(project: Project) -> None:
    reader = await papers(project)
    merlin = await about_merlin(project)
    asked = (DISCOUNT, BUILT, "Who signed the Nordwind contract?", "Who won the regatta?", "thanks")
    found = [check_rules(await project.kb.questions.chat(text, reader)) for text in asked]
    assert found == [{"contract.md"}, {"dam.md"}, {"contract.md"}, set(), set()]
    assert check_rules(await project.kb.questions.chat(LEADS, merlin)) == {GRAPH_SOURCE}
    for mode in set(Mode) - {Mode.BYPASS}:
        check_rules(await project.kb.questions.chat(DISCOUNT, reader, mode=mode))
    model = ScriptedModel(
        ["The Nordwind contract gives a discount of 18 percent [1].", "Anything."]
    )
    written = with_model(project, model)
    assert check_rules(await written.questions.chat(DISCOUNT, reader)) == {"contract.md"}
    assert check_rules(await written.questions.chat("Why?", reader, mode=Mode.BYPASS)) == set()


async def test_s4_3_passages_beside_the_graph_keep_the_rules(database: Database) -> None:
    store = await noted(database)
    await store.put("a", SALES, "Acme Corp (organization): sells pumps to Nordwind")
    model = ScriptedModel(lambda sent: "Acme Corp sells pumps to Nordwind [1].")
    kb = with_model(store.project, model)
    turn = await kb.questions.chat("What does Acme Corp sell?", await kb.reader(SALES))
    assert check_rules(turn) == {"a.txt", GRAPH_SOURCE}


@pytest.mark.parametrize(
    "wrong",
    [
        {"chunk_text": ""},
        {"source": ""},
        {"id": None},
        {"chunk_index": None},
        {"chunk_index": -1},
        {"id": None, "chunk_index": None, "distance": None},
        {"id": None, "chunk_index": None, "source": GRAPH_SOURCE},
        {"distance": -0.01},
        {"distance": 1.01},
        {"distance": float("nan")},
    ],
)
def test_s4_3_a_source_that_breaks_a_rule_is_not_made(wrong: Mapping[str, object]) -> None:
    right: Mapping[str, object] = {
        "id": UUID(int=1),
        "chunk_text": "Pumps.",
        "chunk_index": 0,
        "source": "a.md",
        "distance": 0.5,
    }
    make = cast("type[object]", SearchResult)
    assert make(**right)
    with pytest.raises(Invalid):
        make(**{**right, **wrong})


def test_s4_3_sources_are_never_null() -> None:
    with pytest.raises(Invalid, match="never null"):
        ChatResponse(
            response=NO_INFORMATION,
            messages=(),
            sources=cast("tuple[SearchResult, ...]", None),
            model="extracts",
            total_duration=None,
            prompt_eval_count=None,
            eval_count=None,
        )


# ── what came nearest ─────────────────────────────────────────────────────────────────────────────────


async def test_a_refusal_says_what_came_nearest(project: Project) -> None:
    reader = await papers(project, ["team:legal"])
    turn = await project.kb.questions.chat("Who paints the dam in Osprey Valley, and when?", reader)
    assert turn.response.response == NO_INFORMATION
    assert (turn.response.sources, turn.citations) == ((), ())
    assert {each.document_title for each in turn.nearest} == {"dam"}


async def test_what_stands_behind_a_response_has_the_marks_of_its_sources(project: Project) -> None:
    turn = await project.kb.questions.chat(DISCOUNT, await papers(project))
    assert turn.nearest == ()
    marks = {each.id: each.source_url for each in turn.citations}
    assert marks == {"[1]": "file:///shelf/contract.md"}


# ── courtesies ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("message", "reply"), GREETINGS.items())
async def test_a_courtesy_has_a_short_reply_without_sources(
    project: Project, message: str, reply: str
) -> None:
    reader = await papers(project)
    model = ScriptedModel([])
    turn = await with_model(project, model).questions.chat(message, reader)
    assert turn.response.response == reply
    assert (turn.response.sources, turn.nearest, model.sent) == ((), (), [])
    assert await history(project, reader, turn) == [message, reply]


async def test_a_conversation_goes_on_after_thanks(project: Project) -> None:
    reader = await papers(project)
    first = await project.kb.questions.chat("Who signed the Nordwind contract?", reader)
    own = first.conversation_id
    await project.kb.questions.chat("Thanks!", reader, conversation=own)
    turn = await project.kb.questions.chat(
        "And what discount does it give?", reader, conversation=own
    )
    assert "18 percent" in turn.response.response


@pytest.mark.parametrize("message", ["Thanks, who signed the Nordwind contract?", "Hello pumps"])
async def test_what_also_asks_is_answered(project: Project, message: str) -> None:
    turn = await project.kb.questions.chat(message, await papers(project))
    assert turn.response.response not in GREETINGS.values()
