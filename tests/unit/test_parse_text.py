import random

import pytest

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse


def read(content: bytes, name: str = "a.txt") -> ParsedDocument:
    return parse(content, Format.TEXT, name=name)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_is_found(encoding: str) -> None:
    assert read("Größe – “fünf” €".encode(encoding)).text == "Größe – “fünf” €"


@pytest.mark.parametrize(
    "content", [b"MZ" + b"\x00\x01" * 4000, random.Random(1).randbytes(20_000), b"abc\x00" * 9]
)
def test_a_binary_file_is_refused(content: bytes) -> None:
    with pytest.raises(Unreadable, match="not text") as caught:
        read(content)
    assert caught.value.reason == "binary"


def test_underlined_lines_are_headings_and_other_rules_are_not() -> None:
    text = "Top\n===\nOne.\n\nBelow\n-----\nTwo.\n\nname | age\n----------\nA sentence.\n---\n"
    assert [each.path for each in read(text.encode()).sections] == [("Top",), ("Top", "Below")]


def test_what_looks_like_code_or_a_table_is_marked() -> None:
    code = "def f(x):\n    return g(x)\nclass A:"
    table = "a | b | c\n1 | 2 | 3"
    text = f"Some words.\n\n{code}\n\nWords, more; words.\n\n{table}\n"
    document = read(text.encode())
    assert [(each.kind, document.text[each.start : each.end]) for each in document.spans] == [
        (SpanKind.CODE, code),
        (SpanKind.TABLE, table),
    ]
