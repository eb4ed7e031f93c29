"""Notebooks: what people wrote, their code, and in short what it printed."""

import json

import pytest

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse
from lightwell.ingest.parse.formats import detect_format


def read(notebook: object) -> ParsedDocument:
    content = json.dumps(notebook).encode()
    return parse(content, detect_format("a.ipynb", content), name="a.ipynb")


def code(source: str, *outputs: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def text(source: object) -> dict[str, object]:
    return {"cell_type": "markdown", "source": source}


PICTURE = "data:image/png;base64," + "A" * 5000


def test_cells_become_markdown_in_their_order() -> None:
    document = read(
        {
            "nbformat": 4,
            "metadata": {
                "kernelspec": {"language": "julia"},
                "authors": [{"name": "Ada Park"}, {}],
            },
            "cells": [
                text(
                    ["# Flow\n", "\n", f"See ![the pump]({PICTURE}) and ![it](attachment:a.png)."]
                ),
                code(
                    "flow = 3\nprint(flow)",
                    {"output_type": "stream", "text": ["\x1b[1m3\x1b[0m\n"]},
                    {
                        "output_type": "display_data",
                        "data": {"image/png": "A" * 5000, "text/plain": "<Figure>"},
                    },
                ),
                text("## Loss\n\n```\nopen fence"),
                code("1/0", {"output_type": "error", "ename": "DivideError", "evalue": "by 0"}),
                code("many", {"output_type": "stream", "text": "line\n" * 500}),
            ],
        }
    )
    assert document.text.startswith(
        "# Flow\n\nSee the pump and it.\n\n```julia\nflow = 3\nprint(flow)\n```\n\n```\n3\n```\n\n```\n<Figure>\n```\n\n"
        "## Loss\n\n```\nopen fence\n```\n\n```julia\n1/0\n```\n\n```\nDivideError: by 0\n```"
    )
    assert document.text.count("line\n") == 20
    assert [section.path for section in document.sections] == [("Flow",), ("Flow", "Loss")]
    assert {span.kind for span in document.spans} == {SpanKind.CODE}
    assert (document.title, document.author) == ("Flow", "Ada Park")


def test_notebooks_of_version_three_are_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Flow"]},
        {
            "cell_type": "code",
            "language": "python",
            "input": ["x = 1"],
            "outputs": [{"output_type": "pyout", "text": ["1"]}],
        },
    ]
    document = read({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]})
    assert document.text == "## Flow\n\n```python\nx = 1\n```\n\n```\n1\n```"


def test_front_matter_of_quarto_names_title_and_author() -> None:
    raw = {"cell_type": "raw", "source": "---\ntitle: Pumps\nauthor: Ada\n---"}
    document = read({"metadata": {}, "cells": [raw, text("Words.")]})
    assert (document.title, document.author, document.text.strip()) == ("Pumps", "Ada", "Words.")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "broken"),
        (b"[]", "broken"),
        (b"[" * 100_000, "broken"),
        (b'{"cells": 7}', "empty"),
        (b'{"cells": [{"cell_type": "code", "source": null, "outputs": {"a": 1}}, 3]}', "empty"),
    ],
)
def test_what_is_no_notebook_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(content, Format.NOTEBOOK, name="a.ipynb")
    assert caught.value.reason == reason


def test_half_a_sign_is_no_hindrance() -> None:
    assert read({"metadata": {}, "cells": [text("a\ud800b")]}).text == "a?b"
