"""A document as blocks to read: every span is exact, nothing is left out, and nothing becomes markup."""

import random
import re

import pytest

from lightwell.text.reading import REACH, Kind, Plain, ReadBlock, Style, Window, read_around

MARKDOWN = """# Supply contract {#top}

Nordwind *receives* a **discount of 18 percent** on `all items`, see [the list](https://x.example/?a=1).

- first item
- [x] done
  1. nested one
  2. nested two

> Quoted, and
> goes on.

| Item | Price \\| net |
|---|---|
| Tarn 4 | 412.00 |
| **Gateway** | 980.00 |

```python
# no heading
x = [1](2)
```

<!-- a comment -->

Prices &amp; terms &#8364;
***

Term
====

[ref]: https://x.example
"""
PLAIN = Plain(headings={})
PIECES = (
    "# Head\n", "## *Two* [x](y)\n", "word ", "\n", "\n\n", "- item\n", "  - nested\n", "1. one\n",
    "> quote\n", "| a | b |\n", "|---|---|\n", "| `x|y` | \\| |\n", "```\n", "~~~\n", "<!-- c", "-->", "<table>",
    "<tr><td>x<td>y", "</table>\n", "    code\n", "**b** _i_ ~~d~~ `c` ", "&amp;", "<b onclick=x>", "\\*",
    "::: info *T*\n", ":::\n", "[!NOTE]", "{#a}", "{{< b \"c\" >}}", "{r}`x`",
    "![pic](javascript:alert(1)) ", "[l](data:text/html,x) ", "===\n", "---\n", "\u202eevil\u202c ", "🙂 ", "a;b,c\n", "\t",
)  # fmt: skip


def shown(block: ReadBlock) -> str:
    """Return what a reader sees of a block, cells with a bar between them."""
    parts = [cell.runs for cell in block.cells] or [block.runs]
    return " | ".join("".join(run.text for run in runs) for runs in parts)


def read(text: str, place: int = 0, *, plain: Plain | None = None, limit: int = 1000) -> Window:
    return read_around(text, place, plain=plain, before=limit, after=limit)


def require_exact(text: str, window: Window) -> None:
    """Fail unless blocks and runs lie in order in the text, and each says what stands there."""
    end = 0
    for block in window.blocks:
        assert end <= block.start < block.end <= len(text)
        assert block.text == text[block.start : block.end]
        place = block.start
        for runs in [cell.runs for cell in block.cells] or [block.runs]:
            for run in runs:
                assert place <= run.start < run.end <= block.end
                assert run.text
                is_written = run.text.split() == text[run.start : run.end].split()
                assert (is_written and len(run.text) == run.end - run.start) or len(
                    run.text
                ) <= 2, run
                place = run.end
        end = block.end


def test_markdown_reads_as_its_blocks_without_marks() -> None:
    blocks = [(block.kind, block.level, shown(block)) for block in read(MARKDOWN).blocks]
    assert blocks == [
        (Kind.HEADING, 1, "Supply contract"),
        (
            Kind.PARAGRAPH,
            0,
            "Nordwind receives a discount of 18 percent on all items, see the list.",
        ),
        (Kind.ITEM, 0, "first item"),
        (Kind.ITEM, 0, "done"),
        (Kind.ITEM, 1, "nested one"),
        (Kind.ITEM, 1, "nested two"),
        (Kind.QUOTE, 0, "Quoted, and goes on."),
        (Kind.ROW, 0, "Item | Price | net"),
        (Kind.ROW, 0, "Tarn 4 | 412.00"),
        (Kind.ROW, 0, "Gateway | 980.00"),
        (Kind.CODE, 0, "# no heading\nx = [1](2)"),
        (Kind.NOTE, 0, "<!-- a comment -->"),
        (Kind.PARAGRAPH, 0, "Prices & terms €"),
        (Kind.RULE, 0, ""),
        (Kind.HEADING, 1, "Term"),
        (Kind.NOTE, 0, "[ref]: https://x.example"),
    ]


def test_what_markup_means_is_said_by_styles_and_signs() -> None:
    blocks = read(MARKDOWN).blocks
    styles = {run.text: run.styles for block in blocks for run in block.runs if run.styles}
    assert styles["receives"] == (Style.EMPHASIS,)
    assert styles["discount of 18 percent"] == (Style.STRONG,)
    assert styles["all items"] == (Style.CODE,)
    assert styles["the list"] == (Style.LINK,)
    assert [block.marker for block in blocks if block.kind is Kind.ITEM] == ["•", "☑", "1.", "2."]
    rows = [block for block in blocks if block.kind is Kind.ROW]
    assert [row.is_header for row in rows] == [True, False, False]
    assert {row.table for row in rows} == {rows[0].start}


def test_no_target_of_a_link_and_no_tag_is_shown() -> None:
    text = (
        "See [here](javascript:alert(1)) ![pixel](https://evil.example/p.png) <img src=x onerror=alert(1)>"
        "<script>alert(2)</script> and <https://x.example/>."
    )
    (block,) = read(text).blocks
    assert shown(block) == "See here pixel alert(2) and https://x.example/."


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("::: warning Mind the *gap*\nText.\n:::", ["Mind the gap", "Text."]),
        ("!!! note\n    Text.", ["note", "Text."]),
        ("> [!NOTE]\n> Text.", ["NOTE Text."]),
        ("{: .wide}\nText {#a} {name}.", ["Text  {name}."]),
        ('See {{< tip "The guide" >}} and {ref}`it`.', ["See The guide and it."]),
    ],
)
def test_directives_and_attributes_are_shown_as_their_words(text: str, reads: list[str]) -> None:
    window = read(text)
    require_exact(text, window)
    assert [shown(block) for block in window.blocks] == reads


def test_several_values_of_a_tag_stand_for_the_whole_of_it() -> None:
    text = 'See {{< tip "The guide" "Page 2" >}}.'
    (block,) = read(text).blocks
    assert [(run.text, text[run.start : run.end]) for run in block.runs] == [
        ("See ", "See "),
        ("The guide Page 2", text[4:-1]),
        (".", "."),
    ]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("plain", [None, PLAIN, Plain(headings={}, are_lines_apart=True)])
def test_spans_are_exact_and_every_word_is_in_a_block(seed: int, plain: Plain | None) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choices(PIECES, k=120))
    window = read(text, plain=plain)
    require_exact(text, window)
    covered = "".join(
        sign if any(block.start <= place < block.end for block in window.blocks) else " "
        for place, sign in enumerate(text)
    )
    left_out = "".join(sign for sign, kept in zip(text, covered, strict=True) if sign != kept)
    assert not any(map(str.isalnum, re.sub(r"</?\w+(?: ?onclick=x)?>|\{#a\}", "", left_out))), (
        left_out
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("plain", [None, PLAIN])
def test_parts_that_are_read_one_after_another_are_the_whole(
    seed: int, plain: Plain | None
) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choices(PIECES, k=200))
    whole = read(text, plain=plain).blocks
    onwards: list[ReadBlock] = []
    place: int | None = 0
    while place is not None:
        part = read_around(text, place, plain=plain, before=0, after=7)
        onwards += part.blocks
        place = part.after
    assert [block.start for block in onwards] == [block.start for block in whole]
    backwards: list[ReadBlock] = []
    place = len(text)
    while place is not None:
        part = read_around(text, place, plain=plain, before=7, after=0)
        backwards = [*part.blocks, *backwards]
        place = part.before
    assert [block.start for block in backwards] == [block.start for block in whole]


def test_a_place_is_in_a_block_with_what_stands_above_and_below() -> None:
    text = "\n\n".join(f"Paragraph {number}." for number in range(1000))
    place = text.index("Paragraph 500.") + 3
    window = read_around(text, place, plain=None, before=5, after=5)
    assert [block.text for block in window.blocks] == [f"Paragraph {n}." for n in range(495, 505)]
    assert (window.before, window.after) == (window.blocks[0].start, window.blocks[-1].end)


@pytest.mark.parametrize("plain", [None, PLAIN])
def test_the_rows_of_a_long_table_come_with_its_header(plain: Plain | None) -> None:
    rows = "\n".join(f"| {number} | row |" for number in range(20_000))
    text = f"Before.\n\n| Number | Name |\n| --- | --- |\n{rows}\n"
    window = read_around(text, text.index("| 5000 |"), plain=plain, before=3, after=3)
    assert [shown(block) for block in window.blocks][3] == "5000 | row"
    assert [block.is_header for block in window.blocks] == [False] * 6
    near = read_around(text, text.index("| 20 |"), plain=plain, before=3, after=3)
    assert [shown(block) for block in near.heads] == ["Number | Name"]


def test_a_picture_that_is_a_link_is_its_words() -> None:
    (block,) = read(
        "[![Build](https://x.example/b.svg)](https://x.example/) and [![a][b]][c] end"
    ).blocks
    assert shown(block) == "Build and a end"


def test_a_placeholder_in_angle_brackets_is_text() -> None:
    (block,) = read("Choose <environment>, <b>now</b>, or <rds-name>.").blocks
    assert shown(block) == "Choose <environment>, now, or <rds-name>."


def test_lines_that_name_what_they_say_are_fields() -> None:
    text = "# ENG-42\n\nStatus: In review\nAssignee: Ada Lindqvist\n\nNote: one line is a sentence."
    blocks = read(text).blocks
    assert [block.kind for block in blocks] == [
        Kind.HEADING, Kind.FIELD, Kind.FIELD, Kind.PARAGRAPH,
    ]  # fmt: skip
    assert shown(blocks[2]) == "Assignee | Ada Lindqvist"
    require_exact(text, read(text))


def test_a_section_of_a_text_without_markup_begins_with_a_heading() -> None:
    text = "Prices\n\nThey rise.\n\nTerms\n\nThirty days."
    plain = Plain(headings={0: (1, "Prices"), text.index("Terms"): (2, "Terms")})
    blocks = read(text, plain=plain).blocks
    assert [(block.kind, block.level) for block in blocks] == [
        (Kind.HEADING, 1), (Kind.PARAGRAPH, 0), (Kind.HEADING, 2), (Kind.PARAGRAPH, 0),
    ]  # fmt: skip


def test_a_heading_within_a_line_of_a_page_is_a_heading() -> None:
    text = "Resin 110 g Hearing H1. The sensor\nmust hear."
    plain = Plain(headings={text.index("Hearing"): (2, "Hearing")}, are_lines_apart=True)
    assert [(block.kind, block.text) for block in read(text, plain=plain).blocks] == [
        (Kind.PARAGRAPH, "Resin 110 g"),
        (Kind.HEADING, "Hearing"),
        (Kind.PARAGRAPH, "H1. The sensor"),
        (Kind.PARAGRAPH, "must hear."),
    ]


def test_a_text_whose_lines_are_wrapped_flows() -> None:
    long = (
        "This line is as long as the lines of this file may become, so\nit goes on here.\nAnd ends."
    )
    (block,) = read(long, plain=Plain(headings={}, is_wrapped=True)).blocks
    assert shown(block) == long.replace("\nit", " it")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "word " * 60_000,
        "```\n" + "code\n" * 60_000,
        "*a _b " * 50_000,
        "[" * 300_000,
        "<table>x\n" * 40_000,
        " \n" * 150_000 + "end",
        "> " * 150_000 + "end",
        "- a\n" * 75_000,
        "|a" * 150_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_what_is_read_at_once_is_bounded(text: str) -> None:
    for place in (0, len(text) // 2, len(text)):
        window = read_around(text, place, plain=None, before=100, after=100)
        require_exact(text, window)
        assert sum(len(block.text) for block in window.blocks) <= 2 * REACH + 20_000
        assert len(window.blocks) <= 200
        assert place == len(text) or window.blocks


def test_a_table_without_rows_is_text() -> None:
    assert [re.sub(r"\s", "", shown(block)) for block in read("<table>\nwords").blocks] == ["words"]
