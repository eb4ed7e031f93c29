"""What kind of answer a question asks for, and how much of it a passage lacks."""

import pytest

from lightwell.text.answer_types import AnswerType, expected_answer, lacking_share
from lightwell.text.answer_types.facts import read_facts
from lightwell.text.terms import terms

DAY, FIGURE, PERSON = AnswerType.DAY, AnswerType.FIGURE, AnswerType.PERSON


def lacking(text: str, question: str) -> float:
    """Return how much of what the question asks for a text lacks."""
    return lacking_share(read_facts(text), expected_answer(question), terms(text))


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("When does the contract end?", {DAY}),
        ("What do I do when the server is down?", set[AnswerType]()),
        ("The bucket is lost, what's the target time to get it back?", {FIGURE}),
        ("What time does the office open?", set[AnswerType]()),
        ("Since when is it allowed?", {DAY}),
        ("How much does the licence cost?", {FIGURE}),
        ("What is the maximum file size?", {FIGURE}),
        ("password expiry period", {FIGURE}),
        ("How often are backups made?", {AnswerType.FREQUENCY}),
        ("Who approves expenses?", {PERSON}),
        ("CEO of Nordwind", {PERSON}),
        ("What is the e-mail address of support?", {AnswerType.ADDRESS}),
        ("Where do I write e-mails?", set[AnswerType]()),
        ("What did we promise about deadlines?", {AnswerType.DEADLINE}),
        ("When is the report due?", {DAY, AnswerType.DEADLINE}),
        ("When is it OK to ban an address?", set[AnswerType]()),
        ("When should I restart it?", set[AnswerType]()),
        ("When is it released?", {DAY}),
        ("Does it stop somebody who uses rm?", set[AnswerType]()),
        ("Who pays for people who travel?", {PERSON}),
    ],
)
def test_what_a_question_asks_for(question: str, kinds: set[AnswerType]) -> None:
    assert expected_answer(question).kinds - {AnswerType.NAME} == kinds


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        ("How much does the licence cost?", "The licence costs 40 EUR a month.", 0),
        ("What was decided in July 2024?", "Minutes of 2024-07-09: a budget.", 0),
        ("What was decided in 2024?", "Minutes of 9 July 2024: a budget.", 0),
        ("What was decided in June 2024?", "Minutes of 2024-07-09: a budget.", 0.5),
        ("What discount do we get?", "Nordwind gets 18 percent.", 0),
        ("What is the response time?", "We answer within four hours.", 0),
        ("What is the response time?", "We answer 40 tickets.", 1),
        ("What discount do we get?", "The discount is 500 euros.", 0),
        ("What discount do we get?", "As a goodwill gesture 182.40 euros were credited.", 0.5),
        ("What discount do we get?", "The pump weighs 40 kg.", 1),
        ("How much does the licence cost?", "The licence is sold by our partners.", 1),
        ("How much does the licence cost?", "Call 3 people before you buy it.", 1),
        ("What does the pump cost?", "The pump costs 9,000 crowns.", 0),
        ("What does the pump cost?", "It is sold for CAD 500 or ¥60,000.", 0),
        ("What does the pump cost?", "The crown is 3 years old.", 1),
        ("How many users may sign in?", "At most 50 accounts are open.", 0.5),
        ("How many users may sign in?", "The number is unlimited.", 0.5),
        ("How many users may sign in?", "Users sign in with a password.", 1),
        ("How long are logs kept?", "They are kept for ten (10) years.", 0),
        ("How long are logs kept?", "Half an hour.", 0),
        ("How long are logs kept?", "There are 50 of them.", 1),
        ("How long may a title be?", "Ten or fewer words.", 0),
        ("When do they call back?", "They call within half an hour.", 0),
        ("When does the contract end?", "It ends on 3 May 2026.", 0),
        ("When does the contract end?", "It ends next Friday.", 0),
        ("When does the contract end?", "The contract has two parts.", 1),
        ("How often are backups made?", "Backups are made every night.", 0),
        ("How often are backups made?", "Backups are made by a script.", 1),
        ("Who approves expenses?", "Expenses are approved by the finance team.", 0),
        ("Who approves expenses?", "Expenses are approved by Jane.", 0.5),
        ("Who approves expenses?", "Expenses need an approval.", 1),
        ("What was decided on 3 May 2026?", "The price was raised on 3 May 2026.", 0),
        ("What was decided on 3 May 2026?", "The price was raised.", 1),
        ("How do I reset my password?", "Anything.", 0),
    ],
)
def test_what_a_passage_lacks_of_the_asked_kind(question: str, text: str, share: float) -> None:
    assert lacking(text, question) == share


def test_a_figure_of_the_question_is_no_answer_to_it() -> None:
    assert lacking("It is for 30 users.", "How much is the fee for 30 users?") == 1
