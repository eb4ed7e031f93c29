"""Which one to three lines of a piece are the answer, what is their context, and what stands above an answer that is doubtful."""

from dataclasses import replace

import pytest

from lightwell.answer.key_sentences import key_sentences
from lightwell.answer.pipeline import AnswerGenerator
from lightwell.answer.quotes import SupportedSentence
from lightwell.domain.answers import MAY_NOT_ANSWER, AnswerState
from lightwell.domain.evidence import Retrieval
from tests.passages import chunk, extract_pieces, found, passage

ABOUT = "The store keeps its papers in boxes, which stand in the cellar of the old house near the river. "
LATE = f"{ABOUT * 3}Plover ends in May 2031. {ABOUT * 3}"
STEPS = (
    "Plover is repaired in the workshop near the gate by whoever has the key that day:\n\n"
    + "".join(
        f"{n}. Turn the wheel marked {n} until it clicks and wait for the lamp to go out.\n"
        for n in range(1, 7)
    )
)


def answered(asked: str, text: str) -> tuple[SupportedSentence, SupportedSentence]:
    """Return the piece that is quoted, and the key sentences of it."""
    retrieval = found(asked, chunk(text))
    (piece,) = extract_pieces(retrieval)
    return piece, key_sentences(piece, retrieval)


def test_the_sentence_that_answers_stands_with_its_neighbours_and_the_piece_is_context() -> None:
    piece, key = answered("When does Plover end?", LATE)
    assert "Plover ends in May 2031." in key.text
    assert len(key.text) <= 300 < len(piece.text)
    assert key.context == piece.text
    assert key.context[slice(*key.highlight)] == key.text
    (quote,) = key.quotes
    assert quote.text[slice(*quote.key)] == key.text
    assert quote.text == piece.quotes[0].text


def test_a_sentence_with_the_date_that_is_asked_for_answers_alone() -> None:
    piece, key = answered("When does Plover end?", "Plover ends on 3 May 2031. It hums at night.")
    assert piece.text == "Plover ends on 3 May 2031. It hums at night."
    assert (key.text, key.context) == ("Plover ends on 3 May 2031.", piece.text)


def test_a_list_that_a_line_leads_to_comes_whole_where_it_is_short() -> None:
    piece, key = answered("How is Plover repaired in the workshop?", STEPS)
    assert 300 < len(piece.text) < 600
    assert (key.text, key.context) == (piece.text, "")


def test_key_sentences_do_not_end_with_a_line_that_leads_to_more() -> None:
    code = "\n".join(f"    wheel --turn {n} --until lamp-{n}-is-out" for n in range(20))
    text = f"{ABOUT}Plover ends in May 2031. Turn the wheels to end it:\n\n{code}\n"
    for asked in ("When does Plover end?", "How does Plover end?"):
        piece, key = answered(asked, text)
        assert "Turn the wheels to end it:\nwheel --turn 0" in piece.text
        assert key.text.endswith("Plover ends in May 2031.")


def test_of_a_short_piece_the_heading_is_left_to_the_source() -> None:
    piece, key = answered(
        "When does Plover end?", "## Ends\n\nPlover ends in May. Heron ends in June."
    )
    assert piece.text == "Ends\nPlover ends in May. Heron ends in June."
    assert (key.text, key.context) == ("Plover ends in May. Heron ends in June.", "")


@pytest.mark.parametrize("relevance", [0.65, 0.75])
async def test_what_may_not_answer_says_so_first_and_a_stream_says_it_first_too(
    relevance: float,
) -> None:
    retrieval = doubtful(relevance)
    answer = await AnswerGenerator(model=None).answer(retrieval)
    is_doubtful = relevance < 0.7
    assert answer.state is (AnswerState.POSSIBLY if is_doubtful else AnswerState.ANSWERED)
    assert answer.text.startswith(f"{MAY_NOT_ANSWER}\n") == is_doubtful
    (placed,) = answer.placed_sentences
    assert answer.text[placed.start : placed.end] == placed.text == answer.sentences[0].text
    assert [piece.text for piece in answer.context] == [answer.whole_text]
    events = [event async for event in AnswerGenerator(model=None).stream(retrieval)]
    assert "".join(event.content for event in events) == answer.text
    assert [event.placed for event in events if event.placed] == [placed]


def doubtful(relevance: float) -> Retrieval:
    entry = passage(chunk(LATE), relevance=relevance)
    return replace(found("When does Plover end?", entry))
