"""What small models do to rows, as seen in replies of a model of 1.5 billion weights."""

import uuid

import pytest

from lightwell.domain.documents import Format
from lightwell.domain.ids import ChunkId
from lightwell.ingest.chunking import split_into_chunks
from lightwell.ingest.extract.reply_parser import parse_reply
from lightwell.ingest.extract.reply_rows import Problem
from lightwell.ingest.parse import parse
from lightwell.ports import ExtractionInput

TEXT = "Ada Lovelace wrote a program for the Analytical Engine in London."
ADA, ENGINE = "E|Ada Lovelace|person|wrote a program", "E|Analytical Engine|product|a machine"
USES = "R|Ada Lovelace|Analytical Engine|USES|programming|She wrote for it|8|0.9"


def chunk(text: str = TEXT) -> ExtractionInput:
    [draft] = split_into_chunks(parse(text.encode(), Format.TEXT, name="notes.txt"))
    return ExtractionInput(
        id=ChunkId(uuid.UUID(int=1)), document_title="Notes", draft=draft, is_first=True
    )


@pytest.mark.parametrize(
    "rows",
    [
        (ADA, ENGINE, USES.replace("R|", "E|")),
        (ADA, ENGINE, "E|Ada Lovelace|uses|Analytical Engine|wrote a program for it"),
        (ADA, ENGINE, "R|Ada Lovelace|USES|Analytical Engine|wrote a program for it"),
        (ADA, ENGINE.replace("E|", "R|"), USES),
    ],
)
def test_a_row_with_the_wrong_mark_or_order_is_what_its_predicate_says(
    rows: tuple[str, ...],
) -> None:
    parsed = parse_reply("\n".join([*rows, "END"]), chunk())
    said = parsed.extraction
    assert [one.name for one in said.mentions] == ["Ada Lovelace", "Analytical Engine"]
    [fact] = said.relation_mentions
    assert (fact.subject, fact.object, fact.predicate) == (
        "Ada Lovelace",
        "Analytical Engine",
        "USES",
    )
    assert not parsed.problems


def test_a_description_in_the_place_of_the_keywords_is_one() -> None:
    short = "R|Ada Lovelace|London|USES|life"
    long = "R|Ada Lovelace|Engine|USES|she wrote a program for it in London"
    said = parse_reply(f"{short}\n{long}\nEND", chunk()).extraction
    assert [(one.keywords, one.description) for one in said.relation_mentions] == [
        ("life", ""),
        ("", "she wrote a program for it in London"),
    ]


def test_what_the_example_says_is_not_believed_of_others() -> None:
    reply = (
        "E|Ben Osei|person|Wrote a program for the Analytical Engine\nE|Oracle|product|A database\n"
        "R|Ben Osei|Oracle|USES|work|She wrote a program for it.|8|0.9\nEND"
    )
    parsed = parse_reply(reply, chunk("Ben Osei is moving the index from Oracle."))
    assert [one.description for one in parsed.extraction.mentions] == ["", "A database"]
    assert [one.description for one in parsed.extraction.relation_mentions] == [""]
    assert parsed.problems == {Problem.ECHOED: 2}
    of_the_example = parse_reply(reply, chunk()).extraction
    assert of_the_example.mentions[0].description == "Wrote a program for the Analytical Engine"


def test_numbers_in_the_place_of_a_description_are_weight_and_confidence() -> None:
    reply = "E|London|place|Unknown\nR|Ada Lovelace|London|PART_OF|life|8|0.9\nEND"
    said = parse_reply(reply, chunk()).extraction
    assert said.mentions[0].description == ""
    [fact] = said.relation_mentions
    assert (fact.keywords, fact.description, fact.weight, fact.confidence) == ("life", "", 8, 0.9)
