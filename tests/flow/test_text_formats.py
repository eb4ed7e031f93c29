"""One folder with a file of each text format: each question is answered from the right document, with its section."""

from pathlib import Path

from lightwell.connectors.files import Files
from tests.mails import make_mail, make_mailbox

from .conftest import Project

FILES = {
    "valve.adoc": """\
= Valve Guide
Ann Lee <ann@x.example>
:product: Osprey Valve

== Pressure

.Limits
|===
|Part |Limit

|Inlet |The inlet of the {product} bears 16 bar.
|===

== Storage

[NOTE]
====
Keep the valve at 5 degrees.
====
""",
    "motor.rst": """\
Motor Guide
===========

Oil
---

.. list-table::
   :header-rows: 1

   * - Part
     - Oil
   * - Gearbox
     - The gearbox takes 3 litres of oil.

Noise [#law]_
-------------

.. tip:: Wear ear plugs.

.. [#law]
   The motor may reach 70 decibels.
""",
    "sensor.mdx": """\
import Tabs from '@theme/Tabs';
import {Unit,
  Scale} from './units';

# Sensor Guide

## Cable {#cable .wide}

<Tabs>
<TabItem value="long" label="Outdoor">

The outdoor cable measures 40 metres.

</TabItem>
</Tabs>
""",
}


async def test_each_format_answers_with_its_section(project: Project, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    mails = [
        make_mail("Ana <ana@x.example>", "Crane", "Which rope does the crane need?\n", number=1),
        make_mail(
            "Ben <ben@x.example>",
            "Re: Crane",
            "The crane needs a rope of steel.\n",
            number=2,
            answers=1,
        ),
    ]
    (tmp_path / "team.mbox").write_bytes(make_mailbox(mails))
    source = Files(root=tmp_path, default_tags=frozenset({"team:a"}))
    result = await project.kb.ingestion.ingest(source)
    assert result.problems == ()
    reader = await project.kb.reader(["team:a"])
    asked = {
        "How much pressure does the inlet of the valve bear?": (
            "Valve Guide",
            "Pressure",
            "16 bar",
        ),
        "How many litres of oil does the gearbox take?": ("Motor Guide", "Oil", "3 litres"),
        "How many decibels may the motor reach?": ("Motor Guide", "Noise", "70 decibels"),
        "How long is the outdoor cable?": ("Sensor Guide", "Cable", "40 metres"),
        "Which rope does the crane need?": ("Crane", "Ben, 2026-01-05 10:02", "steel"),
    }
    for question, (title, section, words) in asked.items():
        answer = await project.kb.questions.ask(question, reader)
        first = answer.citations[0]
        assert (first.document_title, first.locator.section[-1]) == (title, section), question
        assert words in first.snippet
        assert not {"import", "|===", ".. ", "TabItem", "[#"} & set(answer.text.split())
