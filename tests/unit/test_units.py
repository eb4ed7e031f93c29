"""What can be quoted: sentences, items, rows; also the rows of a table that lost its rules on the way from a page."""

from lightwell.domain.units import units

PAGE = """Figures
First quarter 2026 Plan First quarter 2025
Revenue €3.1 million €3.4 million €2.8 million
Cash at the end of
March
Orders in hand €4.7 million €4.0 million €2.9 million
Revenue is below plan since the first lot for Nordwind moved into April. It will
come back in May."""

WRAPPED = """Bob said that he would come, and so he came to the house of his mother in
London on the very same day. He then left the house for the station of
Paris with Anna."""


def parts(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in units(text)]


def test_the_rows_of_a_table_without_rules_are_units_of_their_own() -> None:
    assert parts(PAGE) == [
        "Figures",
        "First quarter 2026 Plan First quarter 2025",
        "Revenue €3.1 million €3.4 million €2.8 million",
        "Cash at the end of\nMarch",
        "Orders in hand €4.7 million €4.0 million €2.9 million",
        "Revenue is below plan since the first lot for Nordwind moved into April.",
        "It will\ncome back in May.",
    ]


def test_prose_that_was_wrapped_is_cut_at_its_sentences_alone() -> None:
    assert parts(WRAPPED) == [
        WRAPPED[: WRAPPED.index(" He")],
        WRAPPED[WRAPPED.index("He then") :],
    ]


def test_the_same_text_is_cut_once() -> None:
    assert units(PAGE) is units("".join(PAGE))
