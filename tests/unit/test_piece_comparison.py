"""Which pieces are quoted where late interaction compares them as wholes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from lightwell.answer import piece_comparison
from lightwell.answer.extractive import MAX_PIECES, list_pieces
from lightwell.answer.piece_comparison import Extracts, PieceChooser, measure_choice
from lightwell.answer.relevance import CHOICE, RelevanceWeights, covers, load_weights
from lightwell.domain.evidence import Retrieval
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.question_analysis import analyze_question
from lightwell.domain.questions import SUFFICIENT_RELEVANCE
from lightwell.domain.reranking import (
    EncodedChunk,
    EncodedSpan,
    HeadedPassage,
    TextMatch,
    WindowMatch,
)
from tests.passages import chunk, extract_pieces, found, passage
from tests.scripted_late_interaction import in_one_window, read_spans

ASKED = "How long does the nightly archive stay in the vault?"
WORDS = (
    "How long the nightly archive has to stay in the vault is a question for the summer meeting."
)
SENSE = "The nightly archive is deleted from the vault after thirty days."
OTHER = "The vault has a nightly alarm. Guards stay long."


WEIGHTS = RelevanceWeights(
    piece=np.array([22.0, 9.0, 5.0, 0.5]),
    close=0.7,
    more=4.0,
    base=-4.2,
    choice=np.array([0.4, 4.4, 2.5, -2.2, -1.8]),
    possible=0.3,
    medium=0.7,
    high=0.8,
)


@pytest.fixture(autouse=True)
def _weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that a new fit does not change."""
    monkeypatch.setattr(piece_comparison, "load_weights", lambda: WEIGHTS)


def test_the_shipped_weights_have_a_scale_that_rises() -> None:
    shipped = load_weights()
    assert 0 < shipped.possible < shipped.medium < shipped.high < 1
    assert all(shipped.piece >= 0)


@dataclass
class ScriptedComparison:
    """Finds that texts with `wanted` match each question by 0.9, and others by `others`; keeps what it was asked."""

    wanted: str
    others: float = 0.3
    similarity: float = 0.5
    compared: list[tuple[str, Sequence[str]]] = field(
        default_factory=list[tuple[str, Sequence[str]]]
    )

    model: str = "scripted"
    space: str = "none"

    async def encode(self, passages: Sequence[HeadedPassage]) -> list[MultiVector]:
        raise NotImplementedError

    async def match(
        self, question: str, vectors: Sequence[MultiVector]
    ) -> list[tuple[WindowMatch, ...]]:
        raise NotImplementedError

    async def compare(
        self, question: str, texts: Sequence[Sequence[EncodedSpan]]
    ) -> list[TextMatch]:
        words = [read_spans(spans) for spans in texts]
        self.compared.append((question, words))
        return [self._match(each) for each in words]

    def _match(self, text: str) -> TextMatch:
        match = 0.9 if self.wanted in text else self.others
        words = {str(word): match for word in ASKED.rstrip("?").split()}
        return TextMatch(similarity=self.similarity, token_match=match, words=words)


@dataclass
class ScriptedNames(ScriptedComparison):
    """Finds that texts match by the place they have among those compared, and by the names in them."""

    wanted: str = ""
    names: tuple[str, ...] = ()

    async def compare(
        self, question: str, texts: Sequence[Sequence[EncodedSpan]]
    ) -> list[TextMatch]:
        order = ["40 EUR", "for years", "60 EUR"]
        matches: list[TextMatch] = []
        for text in map(read_spans, texts):
            place = next(n for n, part in enumerate(order) if part in text)
            words = {name: 0.7 if name in text else 0.3 for name in self.names}
            match = 0.9 - 0.03 * place
            matches.append(TextMatch(similarity=0.5, token_match=match, words=words))
        return matches


@dataclass
class ScriptedFollowUp(ScriptedComparison):
    """Finds that a question with its subject matches other texts than by its own words, and is similar to none."""

    def _match(self, text: str) -> TextMatch:
        match = super()._match(text)
        if self.compared[-1][0] == ASKED:
            return replace(match, similarity=0.9)
        return TextMatch(similarity=0.05, token_match=1.2 - match.token_match)


def evidence(*texts: str, is_encoded: bool = True, relevance: float = 0.9) -> Retrieval:
    entries = [passage(chunk(text, n), relevance=relevance) for n, text in enumerate(texts, 1)]
    encoded = [
        replace(each, encoded=(EncodedChunk(start=0, vectors=in_one_window(each.chunk.text)),))
        for each in entries
    ]
    return found(ASKED, *(encoded if is_encoded else entries))


async def extracted(
    retrieval: Retrieval, encoder: ScriptedComparison, *, is_judged: bool = False
) -> Extracts:
    return await PieceChooser(late_interaction=encoder, is_judged=is_judged).extract(retrieval)


async def chosen(retrieval: Retrieval, encoder: ScriptedComparison) -> list[str]:
    return [each.text for each in (await extracted(retrieval, encoder)).pieces]


async def test_the_piece_that_is_similar_as_a_whole_comes_before_the_one_with_more_words() -> None:
    asked = evidence(WORDS, SENSE)
    assert extract_pieces(asked)[0].text == WORDS
    encoder = ScriptedComparison("thirty days")
    assert await chosen(asked, encoder) == [SENSE]
    ((question, texts),) = encoder.compared
    assert question == ASKED
    assert set(texts) == {WORDS, SENSE}


async def test_a_second_piece_follows_only_close_behind_the_best() -> None:
    close = ScriptedComparison("thirty days", others=0.85)
    assert sorted(await chosen(evidence(WORDS, SENSE), close)) == sorted([WORDS, SENSE])
    assert await chosen(evidence(WORDS, SENSE), ScriptedComparison("summer")) == [WORDS]


async def test_a_piece_is_more_relevant_the_further_it_leads() -> None:
    asked = evidence(WORDS, SENSE)
    clear = await extracted(asked, ScriptedComparison("thirty days"))
    rival = await extracted(asked, ScriptedComparison("thirty days", others=0.85))
    assert clear.relevance > rival.relevance > SUFFICIENT_RELEVANCE


async def test_a_piece_is_more_relevant_the_more_it_means_what_is_asked() -> None:
    asked = evidence(SENSE)
    clear = await extracted(asked, ScriptedComparison("thirty days", similarity=0.6))
    vague = await extracted(asked, ScriptedComparison("thirty days", similarity=0.4))
    other = await extracted(asked, ScriptedComparison("Debian", others=0.4, similarity=0.1))
    assert clear.relevance > vague.relevance > SUFFICIENT_RELEVANCE > other.relevance
    assert [each.text for each in other.pieces] == [SENSE]


@pytest.mark.parametrize(
    ("text", "words", "share"),
    [
        ("The payday of January is late.", {"When": 0.3, "payday": 0.5, "January": 0.5}, 1.0),
        ("Wages come on the 5th of the month.", {"payday": 0.71, "January": 0.7}, 1.0),
        (
            "Wages come on the 5th of the month.",
            {"When": 0.9, "payday": 0.2, "January": 0.7},
            1 / 3,
        ),
        ("Wages come on the 5th of the month.", {"payday": 0.56, "January": 0.4}, 1 / 3),
    ],
)
def test_a_word_that_is_matched_in_meaning_is_not_missing(
    text: str, words: Mapping[str, float], share: float
) -> None:
    weights = {"payday": 2.0, "januari": 1.0}
    (candidates,) = list_pieces(found("When is payday?", chunk(text), weights=weights))
    match = TextMatch(similarity=0.5, token_match=0.5, words=words)
    covered = covers(candidates.pieces[0], match, weights)
    assert sum(covered.values()) == pytest.approx(share)


async def test_a_comparison_takes_a_piece_for_each_thing() -> None:
    asked = "What do the Plover vault and the Heron vault cost?"
    texts = (
        "The Plover vault costs 40 EUR a month.",
        "The Plover vault has cost much for years.",
        "The Heron vault costs 60 EUR.",
    )
    retrieval = replace(evidence(*texts), analysis=analyze_question(asked))
    weights = {"plover": 3.0, "heron": 3.0, "vault": 1.0, "cost": 1.0}
    encoder = ScriptedNames(names=("Plover", "Heron", "vault", "cost"))
    chosen_pieces = await chosen(replace(retrieval, weights=weights), encoder)
    assert chosen_pieces == [texts[0], texts[2]]


async def test_the_best_piece_may_stand_in_a_passage_that_alone_is_not_relevant_enough() -> None:
    asked = evidence(WORDS, SENSE)
    weaker = replace(asked.evidence[1], relevance=0.55)
    asked = replace(asked, evidence=(asked.evidence[0], weaker))
    answer = await extracted(asked, ScriptedComparison("thirty days"))
    assert [each.text for each in answer.pieces] == [SENSE]
    assert answer.relevance > SUFFICIENT_RELEVANCE


async def test_the_own_words_of_a_follow_up_choose_and_its_subject_says_whether_that_answers() -> (
    None
):
    follow_up = evidence(WORDS, SENSE)
    follow_up = replace(follow_up, question=replace(follow_up.question, subject="Debian"))
    encoder = ScriptedFollowUp("thirty days")
    answer = await extracted(follow_up, encoder)
    assert [each.text for each in answer.pieces] == [SENSE]
    assert [question for question, _ in encoder.compared] == [f"{ASKED} (Debian)", ASKED]
    assert answer.relevance < SUFFICIENT_RELEVANCE


@pytest.mark.parametrize(("title", "share"), [("Papers", 0.75), ("Papers of Nordwind", 0.0)])
def test_names_of_the_question_that_neither_the_passage_nor_its_title_has_are_missing(
    title: str, share: float
) -> None:
    weights = {"nordwind": 3.0, "osprey": 1.0, "pay": 2.0}
    text = "Osprey is paid at the end of each month."
    retrieval = found(
        "What does Nordwind pay to Osprey?", chunk(text, title=title), weights=weights
    )
    (candidates,) = list_pieces(retrieval)
    match = TextMatch(similarity=0.5, token_match=0.5)
    measures = dict(zip(CHOICE, measure_choice(candidates, match).tolist(), strict=True))
    assert measures["missing"] == pytest.approx(share)


async def test_an_endpoint_that_reranked_passages_has_judged_them() -> None:
    asked = evidence(WORDS, SENSE, relevance=0.65)
    answer = await extracted(asked, ScriptedComparison("thirty days"), is_judged=True)
    assert [each.text for each in answer.pieces] == [SENSE]
    assert answer.relevance == 0.65


async def test_pieces_of_passages_that_are_not_encoded_are_not_compared() -> None:
    encoder = ScriptedComparison("thirty days")
    asked = evidence(WORDS, SENSE, is_encoded=False)
    assert await chosen(asked, encoder) == [each.text for each in extract_pieces(asked)]
    assert (await extracted(asked, encoder)).relevance == 0.9
    assert not encoder.compared


async def test_few_pieces_of_each_part_are_compared() -> None:
    texts = [f"{OTHER} This is vault number {number}." for number in range(2 * MAX_PIECES)]
    encoder = ScriptedComparison("number 2")
    await chosen(evidence(*texts), encoder)
    assert [len(texts) for _, texts in encoder.compared] == [MAX_PIECES]


async def test_nothing_is_quoted_where_nothing_is_found() -> None:
    answer = await extracted(evidence(), ScriptedComparison(""))
    assert (list(answer.pieces), answer.relevance) == ([], 0.0)
