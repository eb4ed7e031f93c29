"""Which pieces are quoted where passages were matched token by token."""

from dataclasses import replace

from lightwell.answer.piece_comparison import MAX_BEHIND, extract_pieces
from lightwell.domain.evidence import Retrieval
from lightwell.domain.reranking import MatchedUnit, MatchedWindow
from lightwell.text.units import split_into_units
from tests.passages import chunk, found

ASKED = "How long does the nightly archive stay in the vault?"
WORDS = (
    "How long the nightly archive has to stay in the vault is a question for the summer meeting."
)
SENSE = "The nightly archive is deleted from the vault after thirty days."


def matched(
    *texts: tuple[str, float | None], asked: str = ASKED, similarity: float = 0.5
) -> Retrieval:
    """Return these texts as passages, each with how well all its tokens match; None: not compared."""
    retrieval = found(asked, *(chunk(text, n) for n, (text, _) in enumerate(texts, 1)))
    evidence = [
        entry if match is None else replace(entry, windows=(window(text, match, similarity),))
        for entry, (text, match) in zip(retrieval.evidence, texts, strict=True)
    ]
    return replace(retrieval, evidence=tuple(evidence))


def window(text: str, match: float, similarity: float) -> MatchedWindow:
    units = tuple(
        MatchedUnit(start=each.start, end=each.end, best=(match, match))
        for each in split_into_units(text)
    )
    return MatchedWindow(
        start=0, end=len(text), similarity=similarity, head=(0.1, 0.1), units=units
    )


def chosen(retrieval: Retrieval) -> list[str]:
    return [each.text for each in extract_pieces(retrieval)]


def test_the_piece_that_matches_as_a_whole_comes_before_the_one_with_more_words() -> None:
    assert chosen(matched((WORDS, None), (SENSE, None)))[0] == WORDS
    assert chosen(matched((WORDS, 0.5), (SENSE, 0.8))) == [SENSE]


def test_a_second_piece_follows_only_close_behind_the_best() -> None:
    near, far = 0.8 - 0.9 * MAX_BEHIND, 0.8 - 1.1 * MAX_BEHIND
    assert chosen(matched((WORDS, near), (SENSE, 0.8))) == [SENSE, WORDS]
    assert chosen(matched((WORDS, far), (SENSE, 0.8))) == [SENSE]


def test_a_piece_is_worth_what_its_units_match_together() -> None:
    both = f"{SENSE} {WORDS}"
    retrieval = matched((both, 0.0), (WORDS, 0.6))
    first, second = (each for each in split_into_units(both))
    units = (
        MatchedUnit(start=first.start, end=first.end, best=(0.9, 0.1)),
        MatchedUnit(start=second.start, end=second.end, best=(0.1, 0.9)),
    )
    entry = retrieval.evidence[0]
    whole = replace(entry, windows=(replace(entry.windows[0], units=units),))
    assert chosen(replace(retrieval, evidence=(whole, *retrieval.evidence[1:]))) == [both]


def test_a_piece_that_was_not_compared_comes_last() -> None:
    assert chosen(matched((WORDS, None), (SENSE, 0.3))) == [SENSE]


def test_of_a_question_of_several_parts_each_has_its_piece() -> None:
    guards = "The vault guards change at noon."
    asked = f"{ASKED[:-1]}, and when do the vault guards change?"
    assert chosen(matched((SENSE, 0.9), (guards, 0.2), asked=asked)) == [SENSE, guards]
