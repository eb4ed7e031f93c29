import random

from lightwell.models.cross_encoder import load_window_cutter
from training import questions
from training.negatives import Index
from training.prepare import NONE, Example, Maker, Shards, Text
from training.sources import Asked, Paragraph, Section

TEXT = "The office opens at eight. Everybody has 25 days of annual leave. Dogs may come on Fridays."
ANSWER = "25 days"


def shards_of(text: Text) -> Shards:
    made = Shards(load_window_cutter(), random.Random(3))
    for _ in range(20):
        made.add(Example(question="How many days off?", text=text, source="made"))
    return made


def test_the_marked_tokens_are_the_answers() -> None:
    start = TEXT.index(ANSWER)
    sentence = TEXT.index("Everybody"), TEXT.index(" Dogs")
    made = shards_of(
        Text(head="Leave", text=TEXT, answer=sentence, exact=(start, start + len(ANSWER)))
    )
    expected = load_window_cutter().text(ANSWER)[0]
    at = 0
    for question, head, size, first, last, opens, closes, _ in made.rows:
        text = made.ids[at + question + head : at + question + head + size]
        assert text[first : last + 1] == expected
        assert opens <= first <= last <= closes
        at += question + head + size
    assert at == len(made.ids)


def test_a_text_without_an_answer_marks_none() -> None:
    made = shards_of(Text(head="Leave", text=TEXT))
    assert {row[3:7] for row in made.rows} == {(-1, -1, -1, -1)}


def test_text_beside_an_answer_lacks_it() -> None:
    start = TEXT.index(ANSWER)
    asked = (Asked(question="How many days off?", start=start, end=start + len(ANSWER)),) * 20
    texts = (
        f"{TEXT} " + "The rooms have numbers. " * 12,
        "Days off are rare here. " * 12,
        "Bread is baked. " * 12,
    )
    article = [
        Paragraph(head="Leave", group="a", text=text, asked=asked if text is texts[0] else ())
        for text in texts
    ]
    made = list(Maker(7).from_articles(article, 20))
    assert {each.source for each in made} == {"squad", "squad-apart", "squad-near"}
    for each in made:
        first, last = each.text.exact
        shown = each.text.text[first:last] if first != NONE else ""
        assert shown == (ANSWER if each.source == "squad" else "")
        assert (ANSWER in each.text.text) == (each.source == "squad")


def test_the_nearest_text_shares_most_words() -> None:
    index = Index(["dogs on fridays", "annual leave of days", "office hours", "soup at noon"])
    assert index.nearest("leave days", 2) == [1]
    assert index.nearest("quokka", 2) == []


def test_headings_become_questions_and_bare_words_do_not() -> None:
    chance = random.Random(1)
    assert questions.from_heading("What is a sprint?", "", chance) == "What is a sprint?"
    assert "reset a password" in (questions.from_heading("Reset a password", "", chance) or "")
    assert questions.from_heading("Notes", "", chance) is None


def test_the_same_seed_asks_the_same() -> None:
    asked = [
        [questions.careless("How do I reset my password?", chance) for _ in range(30)]
        for chance in (random.Random(5), random.Random(5))
    ]
    assert asked[0] == asked[1]
    assert len(set(asked[0])) > 5


def test_a_section_that_does_not_answer_is_no_positive_example() -> None:
    """Such sections once counted as answers, whole: a network trained on them said of every passage that it answers."""
    page = [
        Section(
            document="guide",
            path=("Guide", f"How do I {verb} the pump?"),
            body=f"To {verb} the pump, turn lever {verb}-lever to the left and wait for the green light.",
        )
        for verb in ("start", "stop", "clean", "paint", "mount", "ship", "sell")
    ]
    examples = list(Maker(1).from_sections([page]))
    negatives = [each for each in examples if each.source.endswith(("-near", "-page"))]
    assert {each.source for each in negatives} >= {"docs-question-near", "docs-question-page"}
    for each in negatives:
        assert each.text.answer == each.text.exact == (NONE, NONE)
    positives = [each for each in examples if each.source == "docs-question"]
    assert positives
    assert all(each.text.answer[0] >= 0 for each in positives)
