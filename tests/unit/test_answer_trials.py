"""The result of a question: its outcome, its reason, and the stages that contain its answer."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lightwell.domain.answers import Answer, Answered, AnswerState, Confidence
from lightwell.domain.evidence import Highlight, Retrieval
from lightwell.evaluation.answer_measures import summarize_answers, worst_first
from lightwell.evaluation.answers import (
    AnswerTrial,
    AskTime,
    Exchange,
    Reason,
    Stage,
    TrialOutcome,
    judge,
    stages_holding,
)
from lightwell.evaluation.collection import CollectionQuestion
from lightwell.ports import Message
from tests.answers import GROUPS, answer, question, refusal
from tests.passages import chunk, found, passage

WHOLE = "There are 25 days each year. Your manager approves them."
RIGHT = "25 days [1]\nYour manager approves them [1]"
NEAREST = [passage(chunk("There are 25 days.")), passage(chunk("Ask your manager.", 2))]
TIME = AskTime(wall=20.0, cpu=10.0)


def retrieved(*texts: str) -> Retrieval:
    entries = [passage(chunk(text, number)) for number, text in enumerate(texts, start=1)]
    return found("How many days, and who approves them?", *entries)


def trial(
    given: Answer,
    retrieval: Retrieval,
    *,
    asked: CollectionQuestion | None = None,
    exchanges: Sequence[Exchange] = (),
) -> AnswerTrial:
    return judge(asked or question(), given, retrieval, exchanges, TIME)


def exchange(reply: str, sent: str = WHOLE) -> Exchange:
    return Exchange(sent=(Message(role="user", content=sent),), reply=reply)


def test_a_right_answer_has_no_reason() -> None:
    done = trial(answer(RIGHT), retrieved(WHOLE))
    assert (done.outcome, done.reason, done.missing) == (TrialOutcome.RIGHT, None, ())
    assert done.is_well


@pytest.mark.parametrize(
    ("given", "passage_text", "reason"),
    [
        (refusal(), "Nothing about it.", Reason.NOT_RETRIEVED),
        (answer("Wrong [1]"), "There are 25 days.", Reason.NOT_RETRIEVED),
        (refusal(relevance=0.5), WHOLE, Reason.BELOW_THRESHOLD),
        (refusal(relevance=0.7), WHOLE, Reason.WRONG_SENTENCE),
        (answer("Something else [1]"), WHOLE, Reason.WRONG_SENTENCE),
        (answer("25 days [1]"), WHOLE, Reason.INCOMPLETE),
    ],
)
def test_an_answer_is_lost_where_it_was_last_whole(
    given: Answer, passage_text: str, reason: Reason
) -> None:
    assert trial(given, retrieved(passage_text)).reason is reason


@pytest.mark.parametrize(
    ("given", "said", "reason"),
    [
        (refusal(), exchange(RIGHT), Reason.DROPPED),
        (answer("25 days [1]"), exchange(RIGHT), Reason.DROPPED),
        (refusal(), exchange("INSUFFICIENT"), Reason.DECLINED),
        (refusal(), exchange("INSUFFICIENT", sent="25 days"), Reason.LEFT_OUT_OF_CONTEXT),
        (answer("25 days [1]"), exchange("25 days [1]"), Reason.INCOMPLETE),
        (answer("Never [1]"), exchange("Never [1]"), Reason.WRONG_REPLY),
    ],
)
def test_with_a_model_the_reason_says_who_lost_it(
    given: Answer, said: Exchange, reason: Reason
) -> None:
    assert trial(given, retrieved(WHOLE), exchanges=[said]).reason is reason


def test_what_no_document_answers_is_to_be_refused() -> None:
    asked = question(())
    assert trial(refusal(), retrieved(WHOLE), asked=asked).is_well
    answered = trial(answer(RIGHT), retrieved(WHOLE), asked=asked)
    assert (answered.outcome, answered.reason) == (TrialOutcome.WRONG, Reason.NOT_REFUSED)


def test_gold_documents_are_all_needed_unless_one_is_enough() -> None:
    gold = ("file:///2.pdf", "file:///3.pdf")
    both = trial(refusal(), retrieved("a.", "b.", "c."), asked=question(gold=gold))
    assert (both.is_gold_first, both.is_gold_found) == (False, True)
    one = retrieved("a.", "b.")
    assert not trial(refusal(), one, asked=question(gold=gold)).is_gold_found
    assert trial(refusal(), one, asked=question(gold=gold, is_one_gold_enough=True)).is_gold_found


def test_each_stage_holds_what_its_part_of_the_evidence_holds() -> None:
    far = "25 days are given. " + "Filler words stand here. " * 80 + "Ask your manager."
    assert stages_holding(GROUPS, retrieved(far)) == {Stage.BEST_PASSAGE, Stage.ALL_PASSAGES}
    assert stages_holding(GROUPS, retrieved("25 days are given.", "Ask your manager.")) == {
        Stage.THREE_SENTENCES,
        Stage.ALL_PASSAGES,
    }
    assert Stage.BEST_SENTENCE in stages_holding(
        GROUPS, retrieved("25 days, if your manager agrees to them.")
    )
    assert not stages_holding(GROUPS, found("How many days?"))


def test_a_window_lies_around_the_best_sentence_and_uses_its_whole_size() -> None:
    before = "Filler words stand here. " * 20
    text = before + "Ask your manager. There are 25 days."
    entry = passage(chunk(text))
    last = replace(entry, highlights=entry.highlights[-1:])
    held = stages_holding(GROUPS, found("How many days?", last))
    assert {Stage.WINDOW_600, Stage.WINDOW_1200} <= held
    first = replace(entry, highlights=entry.highlights[:1])
    distant = replace(first, chunk=chunk(before * 2 + text))
    assert Stage.WINDOW_600 not in stages_holding(GROUPS, found("How many days?", distant))


def test_a_wider_window_holds_what_a_narrow_one_lacks() -> None:
    text = f"{'x ' * 1000}The best sentence. {'y ' * 220}25 days, says the manager. {'z ' * 1000}"
    best = Highlight(start=2000, end=2018, coverage=1.0, similarity=1.0)
    entry = replace(passage(chunk(text)), highlights=(best,))
    assert stages_holding(GROUPS, found("How many days?", entry)) == {
        Stage.WINDOW_1200,
        Stage.BEST_PASSAGE,
        Stage.ALL_PASSAGES,
    }


def test_a_refusal_may_show_the_answer() -> None:
    assert trial(refusal(NEAREST), retrieved(WHOLE)).is_answer_shown
    assert not trial(refusal(NEAREST[:1]), retrieved(WHOLE)).is_answer_shown


TRIALS = [
    trial(answer(RIGHT), retrieved(WHOLE)),
    trial(answer("25 days [1]"), retrieved(WHOLE)),
    trial(refusal(NEAREST), retrieved(WHOLE)),
    trial(refusal(), retrieved("Nothing.")),
    trial(refusal(relevance=0.3), retrieved("Nothing."), asked=question(())),
    trial(answer("Made up [1]", relevance=0.95), retrieved("Nothing."), asked=question(())),
]


def test_shares_are_counted_by_hand() -> None:
    whole = summarize_answers(TRIALS)
    assert (whole.answerable, whole.unanswerable) == (4, 2)
    assert (whole.right, whole.right_of_answered, whole.wrongly_refused) == (0.25, 0.5, 0.5)
    assert (whole.answer_shown, whole.right_or_shown) == (0.25, 0.5)
    assert whole.unanswerable_refused == 0.5
    assert whole.auroc == pytest.approx(2 / 8)
    assert (whole.gold_first, whole.held[Stage.ALL_PASSAGES]) == (1.0, 0.75)
    assert whole.reasons == {
        Reason.NOT_RETRIEVED: 1,
        Reason.BELOW_THRESHOLD: 1,
        Reason.INCOMPLETE: 1,
        Reason.NOT_REFUSED: 1,
    }


def test_what_became_of_questions_is_counted_by_state_and_by_word_of_confidence() -> None:
    trials = [
        *TRIALS,
        trial(answer(RIGHT, relevance=0.65), retrieved(WHOLE)),
        trial(answer("Never [1]", relevance=0.75), retrieved(WHOLE)),
    ]
    whole = summarize_answers(trials)
    states = {
        state: (ended.answerable, ended.unanswerable, ended.right)
        for state, ended in whole.states.items()
    }
    assert states == {
        AnswerState.ANSWERED: (3, 1, pytest.approx(1 / 3)),
        AnswerState.POSSIBLY: (1, 0, 1.0),
        AnswerState.INSUFFICIENT: (2, 1, 0.0),
    }
    assert whole.states[AnswerState.ANSWERED].of_answerable == 0.5
    assert whole.states[AnswerState.ANSWERED].of_unanswerable == 0.5
    words = {word: (ended.answerable, ended.right) for word, ended in whole.confidences.items()}
    assert words == {
        Confidence.HIGH: (2, 0.5),
        Confidence.MEDIUM: (1, 0.0),
        Confidence.LOW: (1, 1.0),
    }


def test_key_sentences_are_judged_alone_and_counted_in_words() -> None:
    long = answer("The leave: 25 days, as your manager says. Ask early.")
    lengths = summarize_answers([trial(with_key(long, (11, 18)), retrieved(WHOLE))]).lengths
    assert (lengths.key_right, lengths.key_words, lengths.words) == (0.0, 2, 10)
    lengths = summarize_answers([trial(with_key(long, (11, 40)), retrieved(WHOLE))]).lengths
    assert (lengths.key_right, lengths.key_words, lengths.words) == (1.0, 6, 10)
    assert summarize_answers([trial(refusal(), retrieved(WHOLE))]).lengths.words is None


def with_key(given: Answer, highlight: tuple[int, int]) -> Answer:
    whole = given.sentences[0]
    sentence = replace(
        whole, text=whole.text[slice(*highlight)], context=whole.text, highlight=highlight
    )
    return replace(given, outcome=Answered(sentences=(sentence,)))


def test_nothing_is_said_of_no_question() -> None:
    none = summarize_answers([])
    assert (none.right, none.auroc, none.unanswerable_refused) == (None, None, None)


def test_sure_and_wrong_is_worst_and_a_refusal_with_the_answer_at_hand_is_next() -> None:
    assert [each.reason for each in worst_first(TRIALS)] == [
        Reason.NOT_REFUSED,
        Reason.INCOMPLETE,
        Reason.BELOW_THRESHOLD,
        Reason.NOT_RETRIEVED,
    ]
