"""reStructuredText becomes Markdown: what people read of it stays, and no mark of Sphinx does."""

import pytest

from lightwell.answer.quotes import render_text
from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.ingest.parse import parse
from lightwell.ingest.parse._rst_tables import drawn_cells
from lightwell.ingest.parse.rst import to_markdown

GUIDE = """.. _guide:

=====
Guide
=====

:orphan:
:Author: Ann Lee

.. highlight:: sh
.. A comment
   on two lines.
.. |vault| replace:: the big vault

See :ref:`the setup <setup>`, :doc:`/install`, :func:`~os.path.join`, |vault| and `Nordwind
<https://nordwind.example/a>`_ [#f]_ or PEP_ and ``a `b` c``.

.. _setup:

Set it *up*
===========

Run this::

    make vault

Then open it:

.. tab:: Python 3.15+

   .. code-block:: sh
      :linenos:

      vault --open

.. tab:: Windows

   .. code-block:: bat

      vault.exe

.. note:: Mind the gap.

   It is **wide**.

.. image:: vault.png
   :alt: The vault

#. First step:

   .. code-block:: sh

      turn wheel

#. Second step.

   * Nested
     item

term
    What it *means*.

.. versionadded:: 3.2
   The wheel.

.. only:: html

   .. seealso:: The press.

Deeper
^^^^^^

    A quotation.

.. [#f] A footnote.

>>> 1 + 1
2
"""
READS = """# Guide

Author: Ann Lee

See the setup, /install, `os.path.join`, the big vault and [Nordwind](https://nordwind.example/a) or PEP and `a `b` c`.

## Set it *up*

Run this:

```
make vault
```

Then open it:

Python 3.15+:

```
vault --open
```

Windows:

```
vault.exe
```

Note:
Mind the gap.

It is **wide**.

1. First step:

   ```
   turn wheel
   ```

1. Second step.

   - Nested
     item

term:
What it *means*.

Added in version 3.2:
The wheel.

See also:
The press.

### Deeper

A quotation.

A footnote.

```
>>> 1 + 1
2
```"""
GRID = """+------+----------+
| Band | From     |
+======+==========+
| Lead | 80,      |
|      | at least |
+------+----------+
| Boss | ``90``   |
+------+----------+
"""
SIMPLE = """====  ========
Band  From
====  ========
Lead  80,
      at least
Boss  90
====  ========
"""
CSV = """.. csv-table:: Bands
   :header: "Band", From

   Lead, "80, at least"
   Boss, 90
"""
LISTED = """.. list-table::
   :header-rows: 1

   * - Band
     - From
   * - Lead
     - 80,
       at least
   * - Boss
     - 90
"""


def read(text: str) -> ParsedDocument:
    return parse(text.encode(), Format.RST, name="guide.rst")


def test_a_guide_reads_as_markdown() -> None:
    document = read(GUIDE)
    assert document.text == READS
    assert document.title == "Guide"
    assert [each.path for each in document.sections] == [
        ("Guide",),
        ("Guide", "Set it up"),
        ("Guide", "Set it up", "Deeper"),
    ]
    code = [each for each in document.spans if each.kind is SpanKind.CODE]
    assert len(code) == 5


@pytest.mark.parametrize("table", [GRID, SIMPLE, CSV, LISTED])
def test_a_row_of_each_kind_of_table_has_the_names_of_its_columns(table: str) -> None:
    assert render_text(read(table).text).replace("`", "") == (
        "Band: Lead; From: 80, at least\nBand: Boss; From: 90"
    )


def test_no_mark_of_sphinx_is_read() -> None:
    shown = render_text(READS)
    assert not any(mark in shown for mark in ("::", ":ref:", "`_", ".. ", "===", "^^^", "|vault|"))


@pytest.mark.parametrize("sign", ["  ", "* ", ".. note:: ", "a\n "])
def test_what_is_nested_deep_is_read_to_some_depth(sign: str) -> None:
    text = "\n".join(f"{' ' * 3 * depth}{sign}word{depth}" for depth in range(400))
    assert "word399" in to_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        ".. csv-table::\n\n   " + "a" * 200_000,
        "+--+\n|a",
        "= =\n",
        "==  ==\n\n",
        ".. |x|\n",
        ".. x::",
    ],
)
def test_what_is_broken_is_read_as_far_as_it_can_be(text: str) -> None:
    to_markdown(text)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("See `the ``x`` page <https://e.example/a>`_.", "See [the `x` page](https://e.example/a)."),
        (":param x:\n    The text.\n:param y: goes\n    on.", "param x:\nThe text.\n\nparam y: goes\non."),
    ],
    ids=["code in a link", "what stands below the name of a field"],
)  # fmt: skip
def test_nothing_that_people_read_is_lost(text: str, reads: str) -> None:
    assert to_markdown(text) == reads


def test_a_name_that_stands_for_words_brings_no_marks_of_our_own_and_not_a_long_text_at_each_use() -> (
    None
):
    assert to_markdown(".. |x| replace:: \ue0009\ue001\n\nA |x| b\n").startswith("A 9")
    bomb = f".. |x| replace:: {'y' * 10_000}\n\n" + "|x| " * 2_500
    assert len(to_markdown(bomb)) <= len(bomb)


@pytest.mark.parametrize(
    "table",
    [
        "== " * 2_000 + "==\n" + "a\n" * 2_000 + "== ==\n",
        "+" + "--+" * 2_000 + "\n" + "|a\n" * 2_000,
        "== ==\n" + "   a\n" * 2_000 + "== ==\n",
    ],
)
def test_a_wide_table_of_short_lines_has_no_more_cells_than_its_text_has_signs(table: str) -> None:
    rows = drawn_cells(table.split("\n")[:-1])
    assert 0 < sum(map(len, rows)) <= len(table)


def test_a_head_that_is_shorter_than_its_rows_has_all_columns() -> None:
    table = "=== ===\nOne\n=== ===\na   b\n=== ===\n"
    assert "| One |  |\n| --- | --- |\n| a | b |" in to_markdown(table)


def test_a_note_whose_text_begins_below_its_number_is_read() -> None:
    assert (
        to_markdown("Pure [#water]_.\n\n.. [#water]\n   Of the\n   spring.")
        == "Pure.\n\nOf the spring."
    )


def test_a_title_of_two_characters_is_one() -> None:
    assert to_markdown("uv\n==\n\nA tool.") == "# uv\n\nA tool."
