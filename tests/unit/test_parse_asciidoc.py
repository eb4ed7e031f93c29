"""AsciiDoc becomes Markdown: what people read of it stays, and no mark of Asciidoctor does."""

import random

import pytest

from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse
from lightwell.ingest.parse.asciidoc import to_markdown

GUIDE = """\
// of Osprey
= Pump Guide
Ann Lee <ann@x.example>; Bob
v1.2, 2026-03-04: second
:product: Osprey Pump
:toc:

Preamble of the {product} with `code` and <<install,the setup>>, see https://x.example/a[the site^] or
link:/b.html[page b] and xref:other.adoc#_some_part[]. Press kbd:[Ctrl+C]. H~2~O.footnote:[Pure.]

// a comment
[[install]]
== Install [.path]_it_

.A listing
[source,ruby,linenums]
----
puts "x" # <1>
== no heading
----
<1> It prints.

NOTE: Mind the gap
on two lines.

[WARNING]
.Hot surface
====
It is *hot*.

* one
** two
+
....
deep code
....
* three
goes on
====

. First step
+
Attached.

. Second step
.. sub

[horizontal]
Port:: The port is 9100.
Host::
  The host is
  osprey.

[cols="1,2",options="header"]
|===
|Name |Value

|Speed
|40 rpm with `a \\| b`

.2+|Both |x
|y
2+|wide
|===

[quote, Ann Lee, Book]
____
To be.
____

ifdef::env-github[]
Only on GitHub.
endif::[]
ifndef::x[Else where.]

include::other.adoc[]

image::a.png[Alt]

////
hidden
////

 literal
   text

=== Deeper

Text with {unknown-thing} and ((indexed))(((a,b))) word.

Old style
~~~~~~~~~

End.
"""

EXPECTED = """\
# Pump Guide

Preamble of the Osprey Pump with `code` and the setup, see [the site](https://x.example/a) or
page b and some part. Press `Ctrl+C`. H2O. (Pure.)

## Install _it_

A listing:

```
puts "x" # <1>
== no heading
```

1. It prints.

Note: Mind the gap
on two lines.

Hot surface:

It is *hot*.

- one
    - two

        ```
        deep code
        ```

- three
    goes on

1. First step

    Attached.

2. Second step
    1. sub

- Port: The port is 9100.
- Host: The host is
    osprey.

| Name | Value |
| --- | --- |
| Speed | 40 rpm with `a \\| b` |
| Both | x |
| Both | y |
| wide |

> To be.

— Ann Lee, Book

Only on GitHub.
Else where.

```
literal
  text
```

### Deeper

Text with unknown-thing and indexed word.

### Old style

End."""


def read(source: str) -> ParsedDocument:
    return parse(source.encode(), Format.ASCIIDOC, name="a.adoc")


def test_a_guide_reads_as_markdown() -> None:
    assert to_markdown(GUIDE) == EXPECTED


def test_title_author_day_sections_code_and_tables_are_known() -> None:
    document = read(GUIDE)
    assert (document.title, document.author) == ("Pump Guide", "Ann Lee")
    assert str(document.updated_at) == "2026-03-04 00:00:00+00:00"
    assert [section.path for section in document.sections] == [
        ("Pump Guide",),
        ("Pump Guide", "Install it"),
        ("Pump Guide", "Install it", "Deeper"),
        ("Pump Guide", "Install it", "Old style"),
    ]
    kinds = [span.kind for span in document.spans]
    assert (kinds.count(SpanKind.CODE), kinds.count(SpanKind.TABLE)) == (3, 1)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("|===\n|A |B\n|1 |2\n|===", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
        ('[format=csv]\n|===\na,"b, c"\n|===', "| a | b, c |\n| --- | --- |"),
        ("3*|x", "3*|x"),
        ("|===\n3*|x\n|a\n|b c\n|d\n|===", "| x | x | x |\n| --- | --- | --- |\n| a | b c | d |"),
        ("[NOTE]\nWords.", "Note: Words."),
        (":name: a\n\n{name} \\{name} {set:x}`{name}` +{name}+", "a {name} `a` +a+"),
        ('"`So`" he said `+{raw}+`.', "“So” he said `{raw}`."),
        ("menu:File[Save > All] btn:[OK] icon:x[] image:a.png[b]", "File > Save > All OK"),
        ("== A\n\n====\n== B\n====", "## A\n\n## B"),
        ("[discrete]\n== A", "###### A"),
        ("* [x] done\n* [ ] open", "- done\n- open"),
        ("a +\nb", "a\nb"),
        ("[source]\nx = 1", "```\nx = 1\n```"),
        ("[verse, Ann]\nA line", "> A line\n\n— Ann"),
        ("pass:[<b>] and ++a*b++", "<b> and a*b"),
        ("https://x.example/a_b and mailto:a@b.example[Ann]", "https://x.example/a_b and Ann"),
        ("A:: b\nC::\n\nD", "- A: b\n- C: D"),
    ],
)
def test_single_forms(source: str, expected: str) -> None:
    assert to_markdown(source).strip() == expected


@pytest.mark.parametrize(
    "source",
    [
        "====\n" * 5000,
        "".join(f"{'=' * (4 + level)}\n" for level in range(300)),
        "* a\n+\n" * 20_000,
        "".join(f"{'*' * (level % 7)} a\n" for level in range(20_000)),
        ":a: "
        + "x" * 200
        + "\n"
        + "".join(f":a{n}: {{a{n - 1}}}{{a{n - 1}}}\n" for n in range(200))
        + "\n{a199}",
        "|===\n" + "999.999+|a\n" * 3000,
        "|===\n" + "100*|a " * 300,
        '[cols="100*"]\n|===\n' + "|a\n" * 20_000,
        "[" * 50_000,
        "[a" + ",b" * 200_000 + "]",
        "`" * 50_000 + " <<" * 50_000,
        "link:" * 40_000 + "[[" * 40_000,
        "a::" * 60_000,
        "(((" * 60_000 + "{" * 60_000,
        "ifdef::a[" * 20_000,
        "https://" * 40_000,
        "#a" * 60_000 + "~a" * 60_000,
        ".a\n" * 50_000,
        "\n\n[x]\n" * 30_000,
    ],
)
def test_a_hostile_file_takes_no_longer_than_its_size(source: str) -> None:
    assert len(to_markdown(source)) < 12 * len(source) + 10_000


def test_mutated_guides_are_documents_or_unreadable() -> None:
    choices = random.Random(7)
    lines = GUIDE.split("\n")
    for _ in range(150):
        mixed = lines[:]
        for _ in range(choices.randint(1, 15)):
            place = choices.randrange(len(mixed))
            match choices.randint(0, 2):
                case 0:
                    mixed[place : place + choices.randint(0, 4)] = choices.sample(lines, 2)
                case 1:
                    cut = choices.randint(0, len(mixed[place]))
                    mixed[place] = mixed[place][cut:] + mixed[place][:cut]
                case _:
                    mixed.insert(
                        place,
                        choices.choice(("+", "====", "|===", "----", "[NOTE]", "a::", "****")),
                    )
        try:
            document = read("\n".join(mixed))
        except Unreadable:
            continue
        assert document.sections[-1].end == len(document.text)
