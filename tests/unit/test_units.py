"""What can be quoted: sentences, items, rows; also the rows of a table that lost its rules on the way from a page."""

import pytest

from lightwell.text.units import unit_spans

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
    return [text[start:end] for start, end in unit_spans(text)]


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


def test_a_line_with_a_long_link_does_not_make_rows_of_the_others() -> None:
    text = (
        "If you do not have a grant yet, please write to the desk of the Tech\nPortfolio and ask what to do, as"
        ' [the guide of last year]({% page "/office-of-solutions/tech-operations/guidelines-for-research" %})\n'
        "Tells, or look at https://handbook.example.gov/getting-started/classes/gsa-internal-tools/index and see [the\n"
        "Portfolio page](https://handbook.example.gov/tools/and/more/of/them/on/a/long/path.html) for it."
    )
    assert parts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "See [Must I pay? Or not?](#must-i) below.",
        "[Who may go?](#who)",
        "[Foo? Bar](https://e.example/F_(b)) is it.",
        "[Who? Me][ref] and all.",
        'Ask [us. Or them!]({% page "/ask/#us" %}) first.',
    ],
)
def test_a_sentence_does_not_end_within_a_link(text: str) -> None:
    assert parts(text) == [text]
    assert parts(f"One is here. {text}\n\nTwo is there.") == ["One is here.", text, "Two is there."]


@pytest.mark.parametrize(
    "text",
    [
        "Das Treffen war am 3. Mai in Berlin. | Danach ging es weiter.",
        "Vom 3. bis 5. Juni ist zu. | Bonn, 3.–5. April 2026.",
        "Er wohnt im 2. Stock bei Anna. | Die 3. Auflage ist neu.",
        "Es gibt z. B. Bonn, d. h. drei Orte. | Auch z.B. Köln, u. a. wegen Anna.",
        "Siehe Nr. 5 bzw. Abs. 3 gem. § 5 des Vertrags. | Gut.",
        "Dr. Weber kommt um ca. 20 Uhr. | Er zahlt 5 Mrd. Euro.",
        "Es sind 20 Euro inkl. MwSt. und zzgl. Versand. | Alle zahlen MwSt. | Danach nichts mehr usw. | Gut.",
        "We shipped version 3. | May it last.",
        "I am 30. | He is 31. | We sold 12. | August was better.",
        "Never mind. | It was a gem. | There were 5. | Nobody saw the max. | It fell.",
        "She was born in 1999. | Mai is her name.",
    ],
)
def test_a_german_dot_that_ends_no_sentence_cuts_none(text: str) -> None:
    assert parts(text.replace(" |", "")) == text.split(" | ")
