"""What is asked in other words than the documents' is answered all the same, by the real local model; what they do not say is not."""

import pytest
from pydantic import SecretStr

from lightwell import Settings, open_knowledge_base
from lightwell.domain.answers import Confidence, confidence
from lightwell.testing.sources import InMemorySource, make_document

TAGS = ["team:all"]
PAGES = {
    "pay.md": "# Pay\n\n## Pay day\n\nSalaries are paid on the 25th of each month. If that is a weekend, on the Friday before.\n\n"
    "## Overtime\n\nOvertime is paid with the salary of the next month.\n",
    "leaving.md": "# Leaving the company\n\nIf you resign, you must give one month of notice in writing to your manager."
    " Your laptop goes back to IT on your last day.\n",
    "laptops.md": "# Laptops\n\nLaptops are replaced every three years. Ask IT for a new one two weeks before.\n\n"
    "## Programme of repairs\n\nThe programme of repairs covers screens and batteries.\n",
    "minutes.md": "# Board meeting 2024-07-09\n\nThe board approved a budget of 40,000 EUR for the new office. Ann Lee will look for a landlord.\n",
    "canteen.md": "# Canteen\n\nThe canteen opens at 11:30 and closes at 14:00. Vegetarian food is served every day.\n",
}
ANSWERED = {
    "when's payday": "25th",
    "when is pay day": "25th",
    "what notice do I have to give if I quit": "one month",
    "I'd like to quit, how much notice?": "one month",
    "how often do I get a new machine": "three years",
    "how often are laptops replaced": "three years",
    "does the program of repairs cover batteries": "batteries",
    "what budget was approved in July 2024": "40,000 EUR",
}
REFUSED = (
    "what budget was approved in June 2024",
    "how many days of parental leave are there",
    "what does lunch cost",
)


async def test_wording_does_not_decide_whether_a_question_is_answered(
    database_url: str,
) -> None:
    async with open_knowledge_base(Settings(database_url=SecretStr(database_url))) as kb:
        documents = tuple(make_document(name, text, TAGS) for name, text in PAGES.items())
        await kb.ingestion.ingest(InMemorySource(documents=documents))
        reader = await kb.reader(TAGS)
        answers = {asked: await kb.questions.ask(asked, reader) for asked in (*ANSWERED, *REFUSED)}
    shown = {
        asked: answer.text + "".join(each.snippet for each in answer.citations)
        for asked, answer in answers.items()
    }
    assert [asked for asked, words in ANSWERED.items() if words not in shown[asked]] == []
    assert [asked for asked in REFUSED if answers[asked].is_answered] == []
    for answer in answers.values():
        assert (answer.relevance >= answer.threshold) == answer.is_answered
        assert answer.confidence is confidence(answer.relevance)
        assert answer.is_answered == (answer.confidence is not Confidence.INSUFFICIENT)


@pytest.mark.parametrize(("relevance", "word"), [(0.85, "high"), (0.7, "medium"), (0.6, "low")])
def test_confidence_is_the_word_for_relevance(relevance: float, word: str) -> None:
    assert confidence(relevance).value == word
