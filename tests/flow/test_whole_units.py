"""What people read of documents of site generators: whole units without marks, while each snippet stands word for word in its document."""

from dataclasses import replace

import pytest

from lightwell.domain.documents import Format
from lightwell.testing.sources import InMemorySource, make_document

from .conftest import Project

GUIDE = """.. _pump:

Restarting the pump
===================

The Osprey pump is restarted in :ref:`two steps <steps>`:

#. Close the *red* valve.
#. Run the command ``pump --restart``:

   .. code-block:: shell

      pump --restart osprey
"""
PAGE = """# Valves {#valves}

::: warning Heron valves need _two_ people
Close a Heron valve only with [a colleague](https://halden.example/a){data-zoomable}.
:::

Valve pressures of Finch are:
Valve | Pressure
-|-
Finch north | 5 bar
Finch south | 7 bar
"""


@pytest.mark.parametrize(
    ("asked", "reads"),
    [
        (
            "How is the Osprey pump restarted?",
            "The Osprey pump is restarted in two steps:\n1. Close the red valve.\n1. Run the command `pump --restart`:\n"
            "   pump --restart osprey",
        ),
        (
            "Who closes a Heron valve?",
            "Heron valves need two people:\nClose a Heron valve only with a colleague.",
        ),
        ("What pressure does valve Finch south have?", "Valve: Finch south; Pressure: 7 bar"),
    ],
)
async def test_an_answer_is_a_whole_unit_without_marks(
    project: Project, asked: str, reads: str
) -> None:
    documents = (
        replace(make_document("pump.rst", GUIDE, ["team:a"]), format=Format.RST),
        make_document("valves.md", PAGE, ["team:a"]),
    )
    await project.kb.ingestion.ingest(InMemorySource(documents=documents))
    reader = await project.kb.reader(["team:a"])
    answer = await project.kb.questions.ask(asked, reader)
    assert reads in "\n".join(one.context or one.text for one in answer.sentences)
    for one in answer.citations:
        text = await project.kb.documents.text(reader, one.source_url)
        assert one.snippet == text[one.locator.start : one.locator.start + len(one.snippet)]
