"""How the command line shows what an answer quotes."""

from dataclasses import replace

import pytest

from lightwell.answer.quotes import make_nearest_citation
from lightwell.entrypoints.cli import text_output
from tests.passages import chunk, passage


@pytest.mark.parametrize(
    ("snippet", "key", "shown"),
    [
        (
            "Read [the FAQ](https://e.example/faq). Then **call us**.",
            "Then **call us**.",
            "Then call us.",
        ),
        ("See [the FAQ](https://e.example/faq).", "", "See the FAQ."),
        ("```\n# List all\nls **/*.py && echo <b>x</b>\n```", "# List all", "# List all"),
        ("![Plan](plan.png)", "", "![Plan](plan.png)"),
    ],
    ids=["the key sentence", "all of it", "code", "nothing but markup"],
)
def test_a_citation_shows_its_key_sentence_without_markup(
    snippet: str, key: str, shown: str
) -> None:
    at = snippet.index(key)
    cited = replace(
        make_nearest_citation(1, passage(chunk(snippet))),
        snippet=snippet,
        highlight=(at, at + len(key)) if key else (0, 0),
    )
    lines = [each.plain.strip() for each in text_output.citation(cited)]
    assert f"“{shown}”" in lines
