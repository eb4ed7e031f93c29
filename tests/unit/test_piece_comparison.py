"""Which pieces are quoted where late interaction compares them as wholes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lightwell.answer.extractive import extract_pieces
from lightwell.answer.piece_comparison import extract_compared_pieces
from lightwell.domain.evidence import Retrieval
from lightwell.domain.multi_vectors import MultiVector
from lightwell.domain.reranking import (
    EncodedChunk,
    EncodedSpan,
    HeadedPassage,
    TextMatch,
    WindowMatch,
)
from tests.passages import chunk, found
from tests.scripted_late_interaction import in_one_window, read_spans

ASKED = "How long does the nightly archive stay in the vault?"
WORDS = (
    "How long the nightly archive has to stay in the vault is a question for the summer meeting."
)
SENSE = "The nightly archive is deleted from the vault after thirty days."
OTHER = "The vault has a nightly alarm. Guards stay long."


@dataclass
class ScriptedComparison:
    """Finds that texts with `wanted` match each question, and others not; keeps what it was asked."""

    wanted: str
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
        return [_match(0.9 if self.wanted in each else 0.3) for each in words]


def _match(tokens: float) -> TextMatch:
    return TextMatch(similarity=0.5, token_match=tokens)


def evidence(*texts: str, is_encoded: bool = True) -> Retrieval:
    retrieval = found(ASKED, *(chunk(text, n) for n, text in enumerate(texts, 1)))
    if not is_encoded:
        return retrieval
    return replace(
        retrieval,
        evidence=tuple(
            replace(
                entry,
                encoded=(EncodedChunk(start=0, vectors=in_one_window(entry.chunk.text)),),
            )
            for entry in retrieval.evidence
        ),
    )


async def chosen(retrieval: Retrieval, encoder: ScriptedComparison) -> list[str]:
    return [each.text for each in await extract_compared_pieces(retrieval, encoder)]


async def test_the_piece_that_is_similar_as_a_whole_comes_before_the_one_with_more_words() -> None:
    asked = evidence(WORDS, SENSE)
    assert extract_pieces(asked)[0].text == WORDS
    encoder = ScriptedComparison("thirty days")
    assert await chosen(asked, encoder) == [SENSE]
    ((question, texts),) = encoder.compared
    assert question == ASKED
    assert set(texts) == {WORDS, SENSE}


async def test_a_second_piece_follows_only_close_behind_the_best() -> None:
    both = await chosen(evidence(WORDS, SENSE), ScriptedComparison("vault"))
    assert sorted(both) == sorted([WORDS, SENSE])
    assert await chosen(evidence(WORDS, SENSE), ScriptedComparison("summer")) == [WORDS]


async def test_pieces_of_passages_that_are_not_encoded_are_not_compared() -> None:
    encoder = ScriptedComparison("thirty days")
    asked = evidence(WORDS, SENSE, is_encoded=False)
    assert await chosen(asked, encoder) == [each.text for each in extract_pieces(asked)]
    assert not encoder.compared


async def test_at_most_four_pieces_of_each_part_are_compared() -> None:
    texts = [f"{OTHER} This is vault number {number}." for number in range(9)]
    encoder = ScriptedComparison("number 2")
    await chosen(evidence(*texts), encoder)
    assert [len(texts) for _, texts in encoder.compared] == [4]


async def test_one_piece_is_not_compared() -> None:
    encoder = ScriptedComparison("")
    assert await chosen(evidence(SENSE), encoder) == [SENSE]
    assert not encoder.compared
