from datetime import UTC, datetime

import pytest

from lightwell.answer.quotes import render_text
from lightwell.domain.documents import Format, ParsedDocument, SpanKind
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import parse
from lightwell.text.reading import Kind, Plain, read_around

PAGE = """<!doctype html><html><head><title>Pumps &amp; Co</title>
<meta name="author" content="Ada Byron"><meta property="article:modified_time" content="2026-02-03T04:05:06Z">
<style>p {color: red}</style></head>
<body><nav>Home | About</nav><h1>Pumps</h1><p>Five&nbsp;bar,
 <b>not</b> six.<br>Next line.</p><script>alert("x")</script>
<ul><li>one</li><li><p>two</p></li></ul>
<p hidden>secret</p><p style="display: none">secret</p><div aria-hidden="true">secret</div>
<h2>Table</h2><table><caption>Sizes</caption><tr><th>a</th><th>b|c</th></tr><tr><td>1</td></tr></table>
<pre>  x = 1

  y = 2</pre><aside>Advert</aside><p>End \\(x^2\\).</p><footer>Imprint</footer></body></html>"""


def read(source: str) -> ParsedDocument:
    return parse(source.encode(), Format.HTML, name="a.html")


def test_a_page_becomes_what_its_reader_sees() -> None:
    document = read(PAGE)
    assert document.text == (
        "Pumps\n\nFive bar, not six.\nNext line.\n\n- one\n- two\n\nTable\n\nSizes\n\n"
        "| a | b\\|c |\n| --- | --- |\n| 1 |  |\n\n          x = 1\n\n          y = 2\n\nEnd \\(x^2\\)."
    )
    assert [each.path for each in document.sections] == [("Pumps",), ("Pumps", "Table")]
    assert [each.kind for each in document.spans] == [
        SpanKind.TABLE,
        SpanKind.CODE,
        SpanKind.FORMULA,
    ]
    assert (document.title, document.author) == ("Pumps & Co", "Ada Byron")
    assert document.updated_at == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_code_is_quoted_and_shown_as_it_was_written() -> None:
    pages = "<p>Run this:</p><pre>if x:\n    y()\n\nz()</pre><ul><li>Then:</li></ul><pre>go\nstop</pre><p>End.</p>"
    text = read(pages).text
    assert render_text(text) == "Run this:\nif x:\n    y()\n\nz()\n- Then:\ngo\nstop\nEnd."
    shown = read_around(text, 0, plain=Plain(headings={}), before=0, after=99).blocks
    assert [
        ("".join(run.text for run in block.runs), block.kind is Kind.CODE) for block in shown
    ] == [
        ("Run this:", False),
        ("if x:\n    y()", True),
        ("z()", False),
        ("Then:", False),
        ("go\nstop", True),
        ("End.", False),
    ]


def test_a_table_that_only_lays_out_the_page_is_read_as_text() -> None:
    inner = "<table><tr><td>1</td><td>2</td></tr></table>"
    document = read(f"<table><tr><td>Left</td><td><p>Right</p>{inner}</td></tr></table>")
    assert document.text == "Left\n\nRight\n\n| 1 | 2 |\n| --- | --- |"


def test_footnotes_belong_to_the_text_and_other_asides_do_not() -> None:
    footnotes = """<p>Open a bug.[1]</p><aside class="footnote-list"><aside class="footnote" role="note">
        <span>[1]</span><p>Titled ITS.</p></aside></aside><aside><h2>Related</h2><p>Links</p></aside>"""
    assert read(footnotes).text == "Open a bug.[1]\n\n[1]\n\nTitled ITS."


def test_navigation_is_left_out_however_a_generator_marks_it() -> None:
    navigation = """<div role="navigation"><ul><li>next</li></ul></div><div class="left sphinxsidebar"><ul><li>FAQ</li></ul></div>
        <div class="toc"><dl><dt>1. Config</dt></dl></div><section><h2>Config</h2><p>Gets and sets.</p></section><div role="contentinfo">Copyright</div>
        <div class="footer-relations"><a href="c.html">borg compact</a></div><div class="footer">&copy; 2023. Created using Sphinx.</div>"""
    assert read(navigation).text == "Config\n\nGets and sets."


def test_the_sign_that_links_a_heading_to_itself_is_no_text() -> None:
    document = read(
        """<h2>Is it full?<a class="headerlink" href="#full" title="Permalink">¶</a></h2><p>See <a href="#7">#7</a>, § 2.</p>"""
    )
    assert document.text == "Is it full?\n\nSee #7, § 2."
    assert document.sections[0].path == ("Is it full?",)


def test_a_declared_encoding_is_used() -> None:
    source = '<meta charset="iso-8859-5"><p>Привет</p>'.encode("iso-8859-5")
    assert parse(source, Format.HTML, name="a.html").text == "Привет"


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 500_000 + "x",
        "<!--><div>-->" * 1000 + "x",
        "<div></p>" * 1000,
        "<x-y/>" * 1000 + "x",
        "".join(f"<b a={n}>" for n in range(400)) + "<p>x" * 50_000,
    ],
)
def test_what_would_choke_the_parser_is_refused(source: str) -> None:
    with pytest.raises(Unreadable, match="nested") as caught:
        read(source)
    assert caught.value.reason == "broken"


def test_unclosed_paragraphs_pictures_and_scripts_are_no_nesting() -> None:
    circles = "<svg>" + "<circle r=1 />" * 900 + "</svg>"
    script = "<script>" + "f('<div>');" * 900 + "</script>"
    document = read("<p>word <br><li>" * 2000 + circles + script)
    assert document.text.count("word") == 2000


def test_a_page_of_scripts_alone_is_empty() -> None:
    with pytest.raises(Unreadable) as caught:
        read("<html><script>render()</script></html>")
    assert caught.value.reason == "empty"
