"""Whatever the bytes are, a file of office programs, data or code becomes a document that is sound, or is refused with a reason."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.documents import Format, ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.chunking import split_into_chunks
from lightwell.ingest.parse import parse
from tests.generation import examples
from tests.packages import epub, opendocument, powerpoint, shape, slide, slide_table, zipped

pytestmark = pytest.mark.slow

LIST = "<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>"
TABLE = (
    '<table:table><table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>a</text:p>'
    "</table:table-cell></table:table-row></table:table>"
)
NOTE = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>n</text:p></text:note-body></text:note>"
NOTEBOOK = {
    "nbformat": 4,
    "metadata": {"kernelspec": {"language": "python"}, "authors": [{"name": "Ada"}]},
    "cells": [
        {"cell_type": "markdown", "source": ["# A\n", "```\nb\n"]},
        {
            "cell_type": "code",
            "source": "x = 1",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "2"}},
                {"output_type": "error", "ename": "E", "evalue": "v"},
            ],
        },
        {"cell_type": "heading", "level": 2, "source": "B"},
    ],
    "worksheets": [{"cells": [{"cell_type": "raw", "source": "---\ntitle: x\n---"}]}],
}
YAML = "# c\na: &x\n  b: [1, 2]\n  c: {d: e, <<: *x}\nf:\n  - g: |\n      text\n    h: !T i\n---\n? [j]\n: k\n"
TOML = 'a = "b"\n[c.d]\ne = 2026-01-02T03:04:05Z\nf = [1, 2.5, {g = true}]\n[[h]]\ni = """x\ny"""\n'
JSON = '{"openapi": "3", "paths": {"/a": {"get": {"summary": "s"}}}, "b": [{"c": 1}, {"c": null}], "d": [[1.5e3]]}'
PYTHON = 'import a\n\n\n# c\n@d\ndef f(x: int) -> str:\n    """Doc."""\n    return x\n\n\nclass A(B):\n    y = 1\n\n    async def g(self): ...\n'
CURLY = (
    "/* a */\n@B\npublic class A<T> {\n  /** c */\n  int f(int x) {\n    return 1;\n  }\n}\n"
    "const g = (x) => {\n};\nfunc (r *R) S(x int) {\n}\nimpl A for B {\n}\ndef h!(x)\nend\nCREATE TABLE t (\n id int\n);\n"
)


@dataclass(frozen=True)
class Sample:
    """A sound file, by whose mutations a parser is tried."""

    format: Format
    name: str
    content: bytes


SAMPLES = (
    Sample(
        Format.PPTX,
        "a.pptx",
        powerpoint(
            slide(shape("A", "title"), shape("b\nc", "body"), slide_table("d|e", "f|g")),
            slide(shape("h", "sldNum"), shape("i")),
            notes={1: "n"},
            title="t",
        ),
    ),
    Sample(
        Format.OPENDOCUMENT,
        "a.odt",
        opendocument(
            f'<text:h text:outline-level="2">A</text:h><text:p>b<text:s text:c="3"/>{NOTE}</text:p>{LIST}{TABLE}',
            styles='<style:style style:name="P1" style:parent-style-name="Title"/>',
        ),
    ),
    Sample(
        Format.OPENDOCUMENT,
        "a.odp",
        opendocument(
            '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>A</text:p></draw:text-box></draw:frame>'
            "<presentation:notes><text:p>n</text:p></presentation:notes></draw:page>",
            kind="presentation",
        ),
    ),
    Sample(
        Format.EPUB,
        "a.epub",
        epub("<h1>A</h1><p>b<span id='c'/></p>", "<p>d</p>", contents={1: "e", 2: "f"}),
    ),
    Sample(Format.NOTEBOOK, "a.ipynb", json.dumps(NOTEBOOK).encode()),
    Sample(Format.DATA, "a.yaml", YAML.encode()),
    Sample(Format.DATA, "a.toml", TOML.encode()),
    Sample(Format.DATA, "a.json", JSON.encode()),
    Sample(Format.DATA, "a.jsonl", f"{JSON}\n[]\n".encode()),
    Sample(Format.CODE, "a.py", PYTHON.encode()),
    *(
        Sample(Format.CODE, f"a.{name}", CURLY.encode())
        for name in ("ts", "java", "go", "rs", "c", "rb", "sql", "sh", "r")
    ),
)
NASTY = (
    *(b"", b"\x00", b"\xff", b"\xed\xa0\x80", b"(" * 300, b"[" * 300, b"{" * 300, b"<a>" * 300),
    *(b"&lol;", b"<!DOCTYPE a [<!ENTITY lol 'x'>]>", b"9" * 5000, b"1e999", b"0001-01-01", b"\r"),
    *(b"\n\n\n", b"\t", b" " * 200, b"'''", b'"""', b"/*", b"#", b"```", b"|", b"$$", b"\\("),
    *("é\u0301".encode(), "\u2028".encode(), "\U0001f600".encode(), b"*x", b"&x", b"!!python/x"),
)

edits = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.integers(0, 40),
        st.one_of(st.sampled_from(NASTY), st.binary(max_size=8)),
        st.integers(0, 10_000),
    ),
    min_size=1,
    max_size=6,
)


def edited(content: bytes, changes: Sequence[tuple[int, int, bytes, int]]) -> bytes:
    """Return the content with stretches replaced by other bytes, or by a stretch of itself."""
    for place, length, new, source in changes:
        start = place % (len(content) + 1)
        put = new if source % 2 else content[source % (len(content) + 1) :][:200]
        content = content[:start] + put + content[start + length :]
    return content


def members(content: bytes) -> Mapping[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def read(sample: Sample, content: bytes) -> None:
    with suppress(Unreadable):
        check(parse(content, sample.format, name=sample.name))


def check(document: ParsedDocument) -> None:
    """Assert that the parts of a document cover it, as its type promises, and that it can be cut into chunks."""
    text = document.text
    assert text.strip()
    assert "\r" not in text
    for parts in (document.sections, document.pages):
        for before, after in pairwise(parts):
            assert before.end == after.start
        if parts:
            assert (parts[0].start, parts[-1].end) == (0, len(text))
    for span in document.spans:
        assert 0 <= span.start < span.end <= len(text)
    assert "\n" not in document.title + document.author
    chunks = split_into_chunks(document)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_sound_file_is_read(sample: Sample) -> None:
    document = parse(sample.content, sample.format, name=sample.name)
    check(document)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
@given(changes=edits)
@examples(60)
def test_a_changed_file_is_a_document_or_refused(
    sample: Sample, changes: Sequence[tuple[int, int, bytes, int]]
) -> None:
    read(sample, edited(sample.content, changes))


@pytest.mark.parametrize("sample", SAMPLES[:4], ids=lambda sample: sample.name)
@given(changes=edits, picked=st.integers(0, 50))
@examples(60)
def test_a_package_with_a_changed_member_is_a_document_or_refused(
    sample: Sample, changes: Sequence[tuple[int, int, bytes, int]], picked: int
) -> None:
    inside = dict(members(sample.content))
    name = [*inside][picked % len(inside)]
    inside[name] = edited(inside[name], changes)
    read(sample, zipped(inside))


texts = st.one_of(
    st.text(max_size=20), st.sampled_from(["name", "cells", "source", "paths", "openapi", "#", ""])
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(texts, inner, max_size=6)),
    max_leaves=40,
)


@given(value=values)
@examples(200)
def test_any_value_is_a_document_or_refused(value: object) -> None:
    content = json.dumps(value).encode("utf-8")
    for sample in SAMPLES:
        if sample.name in ("a.json", "a.yaml", "a.jsonl", "a.ipynb"):
            read(sample, content)


@given(content=st.binary(max_size=300))
@examples(60)
def test_any_bytes_are_a_document_or_refused(content: bytes) -> None:
    for sample in SAMPLES:
        read(sample, content)
