"""A folder with a file of each format of office programs, data and code: one question on each is cited from its place."""

import json
from pathlib import Path

from lightwell import Settings, files, open_knowledge_base
from tests.packages import epub, opendocument, powerpoint, shape, slide

FILES = {
    "plan.pptx": powerpoint(
        slide(shape("The year ahead", "title")),
        slide(shape("Halden depot", "title"), shape("The Halden depot opens on 3 May 2027.")),
    ),
    "guide.odt": opendocument(
        '<text:h text:outline-level="1">Boiler</text:h><text:h text:outline-level="2">Winter</text:h>'
        "<text:p>Before winter the boiler is drained through the blue valve.</text:p>"
    ),
    "novel.epub": epub(
        "<p>It was a stormy night.</p>",
        "<h1>Skagen</h1><p>The lighthouse keeper of Skagen was called Marta Lindgren.</p>",
        contents={1: "The storm"},
    ),
    "study.ipynb": json.dumps(
        {
            "nbformat": 4,
            "metadata": {},
            "cells": [
                {
                    "cell_type": "markdown",
                    "source": "# Herring\n\n## Origin\n\n42 percent of the herring came from the northern bay.",
                }
            ],
        }
    ).encode(),
    "deploy.yaml": b"name: shop\nbackup:\n  # For how many days a backup of the shop is kept.\n  retention_days: 35\n"
    b"  schedule: nightly\n  bucket: eu-north\n  owner: Grace\n",
    "ledger.py": b'import os\n\n\ndef close_quarter(year: int) -> None:\n    """Close the quarter: invoices become overdue after ninety days."""\n'
    b"    mark(year)\n",
}
QUESTIONS = {
    "When does the Halden depot open?": ("plan.pptx", ("Slide 2: Halden depot",), "3 May 2027"),
    "Through what is the boiler drained before winter?": (
        "guide.odt",
        ("Boiler", "Winter"),
        "blue valve",
    ),
    "Who was the lighthouse keeper of Skagen?": ("novel.epub", ("Skagen",), "Marta Lindgren"),
    "How much of the herring came from the northern bay?": (
        "study.ipynb",
        ("Herring", "Origin"),
        "42 percent",
    ),
    "For how many days is a backup of the shop kept?": ("deploy.yaml", ("backup",), "35"),
    "After how many days do invoices become overdue?": (
        "ledger.py",
        ("close_quarter",),
        "ninety days",
    ),
}


async def test_a_question_on_each_format_is_cited_from_its_section(
    tmp_path: Path, database_url: str
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    settings = Settings(database_url=database_url)  # pyright: ignore[reportArgumentType]
    async with open_knowledge_base(settings) as kb:
        done = await kb.ingestion.ingest(files(tmp_path, frozenset({"team:us"}), settings))
        assert done.problems == ()
        reader = await kb.reader(["team:us"])
        for question, (name, section, words) in QUESTIONS.items():
            answer = await kb.questions.ask(question, reader)
            assert answer.citations, question
            first = answer.citations[0]
            assert first.source_url.endswith(f"/{name}"), question
            assert first.locator.section == section
            assert words in answer.text, question
            assert first.locator.page == (2 if name == "plan.pptx" else None)
            text = await kb.documents.text(reader, first.source_url)
            assert text[first.locator.start : first.locator.end] == first.snippet
        shown = await kb.documents.get(reader, (tmp_path / "plan.pptx").as_uri())
        assert shown.page_count == 0, "there are no pictures of slides"
