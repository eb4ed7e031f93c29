"""The source beside the screen, and as a page of its own: the sentence is marked where it stands, for whoever may see it."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from lightwell.knowledge_base.page_pictures import DEFAULT_WIDTH
from tests.browser.conftest import PageAs
from tests.browser.demo import Demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import CALM, DARK, GERMAN, PHONE

QUOTE = "The gateway does not hear the first"
OTHER = "repeat no more than twice"
HOSTILE = """# <img src=x onerror=alert(1)>

<script>alert(2)</script> [press](javascript:alert(3)) ![pixel](https://foreign.example/p.png)

<svg onload=alert(4)><a href="https://foreign.example/">words in a picture</a></svg>

| <b onclick=alert(5)>cell</b> | \u202eevil\u202c |
|---|---|
| [x](data:text/html,y) | 🙂 Smiling **bold** |

The last 🙂 sentence is cited here.
"""


@pytest.fixture
def api(demo: Demo) -> Iterator[Callable[[str], httpx.Client]]:
    """Returns a client with the key of somebody."""
    opened: list[httpx.Client] = []

    def as_person(who: str) -> httpx.Client:
        shown = {"Authorization": f"Bearer {demo.keys[who]}"}
        opened.append(httpx.Client(base_url=demo.url, headers=shown, timeout=60))
        return opened[-1]

    yield as_person
    for client in opened:
        client.close()


def document_of(client: httpx.Client, title: str) -> str:
    (document,) = client.get("/v1/documents", params={"title": title}).json()["documents"]
    return document["documentId"]


def span_of(client: httpx.Client, document: str, words: str) -> tuple[int, int]:
    text = client.get(f"/v1/documents/{document}/text").json()["text"]
    return text.index(words), text.index(words) + len(words)


def address_of(client: httpx.Client, title: str, words: str) -> str:
    document = document_of(client, title)
    start, end = span_of(client, document, words)
    return f"/d/{document}#{start}-{end}"


def upload(client: httpx.Client, name: str, content: bytes, tag: str) -> str:
    """Upload a file, and return its document's id when its text can be read."""
    reply = client.post(
        "/v1/documents", files=[("files", (name, content))], data={"aclTags": tag}
    ).json()
    (job,) = reply["documents"]
    with client.stream("GET", f"/v1/jobs/{job['jobId']}/events") as events:
        events.read()
    return job["documentId"]


@pytest.mark.parametrize(
    ("name", "look"),
    [("light", {}), ("dark", DARK), ("phone", PHONE), ("calm", CALM), ("german", GERMAN)],
)
def test_a_mark_is_in_view_beside_the_screen(
    page_as: PageAs, api: Callable[[str], httpx.Client], name: str, look: dict[str, Any]
) -> None:
    document = document_of(api("ada"), "ENG-42")
    start, end = span_of(api("ada"), document, QUOTE)
    page = page_as("ada", f"/#d={document}&s={start}-{end}", **look)
    expect(page.locator("mark.pressed")).to_have_text(QUOTE)
    expect(page.locator("mark.pressed")).to_be_in_viewport()
    announced = page.locator("aside [aria-live=polite].unseen")
    expect(announced).to_contain_text(QUOTE)
    # The page itself does not scroll: what only screen readers see makes it no longer.
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    axe(page)
    screenshot(page, f"source-{name}")


def test_who_may_not_see_a_document_gets_a_page_that_says_nothing_of_it(
    page_as: PageAs, api: Callable[[str], httpx.Client], texts_received: Callable[[Page], str]
) -> None:
    address = address_of(api("ada"), "ENG-42", QUOTE)
    seeing = page_as("ada", address)
    expect(seeing.locator("mark.pressed")).to_have_text(QUOTE)
    assert QUOTE in texts_received(seeing)
    hidden, absent = (
        page_as("bob", each)
        for each in (
            address,
            re.sub(r"/d/[^#]+", "/d/019f0000-0000-7000-8000-000000000000", address),
        )
    )
    for page in (hidden, absent):
        expect(page.get_by_role("heading", name="Nothing to see here")).to_be_visible()
        received = texts_received(page)
        assert "ENG-42" not in received
        assert "battery" not in received
        assert "gateway" not in received
    assert hidden.locator("main").inner_text() == absent.locator("main").inner_text()


def test_a_source_is_used_without_a_mouse(
    page_as: PageAs, api: Callable[[str], httpx.Client]
) -> None:
    document = document_of(api("ada"), "ENG-42")
    spans = [span_of(api("ada"), document, words) for words in (QUOTE, OTHER)]
    page = page_as("ada", "/documents")
    page.locator("nav a").nth(1).focus()
    page.evaluate(
        "address => { history.pushState(null, '', address); dispatchEvent(new PopStateEvent('popstate')) }",
        f"/documents#d={document}&s={spans[0][0]}-{spans[0][1]}",
    )
    aside = page.get_by_role("complementary", name="Source")
    expect(aside).to_be_focused()
    expect(page.locator("mark.pressed")).to_have_text(QUOTE)
    width = aside.bounding_box()
    page.get_by_role("separator").focus()
    page.keyboard.press("ArrowLeft")
    wider = aside.bounding_box()
    assert width
    assert wider
    assert wider["width"] > width["width"]
    page.keyboard.press("Escape")
    expect(aside).to_have_count(0)
    expect(page.locator("nav a").nth(1)).to_be_focused()
    page.reload()
    assert "#d=" not in page.url


def test_marks_of_an_answer_are_gone_through_by_keys(page_as: PageAs) -> None:
    page = page_as("ada", "/")
    page.get_by_role("textbox").first.fill(
        "Why does the Tarn 4 drain its battery in the cold, and what is the repair?"
    )
    page.keyboard.press("Enter")
    first, second = re.compile(r"mark 1 of [2-9]"), re.compile(r"mark 2 of [2-9]")
    page.get_by_role("button", name=re.compile("Source 1: ENG-42")).first.click()
    expect(page.locator("aside mark.pressed").first).to_be_visible()
    expect(page.locator("aside footer")).to_contain_text(first)
    place = page.url
    page.keyboard.press("j")
    expect(page.locator("aside footer")).to_contain_text(second)
    expect(page.locator("aside [aria-live=polite].unseen")).to_contain_text(second)
    assert page.url != place
    expect(page.locator("aside mark.pressed").first).to_be_in_viewport()
    page.keyboard.press("k")
    expect(page.locator("aside footer")).to_contain_text(first)
    assert page.url == place
    page.keyboard.press("Escape")
    expect(page.locator("aside mark")).to_have_count(0)


def test_hostile_text_is_text(
    page_as: PageAs, api: Callable[[str], httpx.Client], requests_of: Callable[[Page], list[str]]
) -> None:
    document = upload(api("ada"), "hostile.md", HOSTILE.encode(), "user:ada")
    start, end = span_of(api("ada"), document, "The last 🙂 sentence is cited")
    page = page_as("ada", f"/d/{document}#{start}-{end}")
    expect(page.locator("mark.pressed")).to_have_text("The last 🙂 sentence is cited")
    text = page.locator("article .text")
    expect(text).to_contain_text("alert(2)")
    expect(text).to_contain_text("words in a picture")
    assert text.locator("a, img, svg, script, iframe, [onclick], [style]").count() == 0
    assert "javascript:" not in text.inner_html()
    assert not [each for each in requests_of(page) if "foreign" in each]
    axe(page)


def test_a_word_of_ten_thousand_signs_stays_within_the_page(
    page_as: PageAs, api: Callable[[str], httpx.Client]
) -> None:
    document = upload(api("ada"), "long.md", b"# Long\n\n" + b"x" * 10_000, "user:ada")
    page = page_as("ada", f"/d/{document}", **PHONE)
    expect(page.locator("article .text p").first).to_contain_text("xxxx")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#content").evaluate("node => node.scrollWidth <= node.clientWidth")


def test_a_long_document_opens_at_its_mark_and_reads_on_at_both_ends_without_jumping(
    page_as: PageAs, api: Callable[[str], httpx.Client]
) -> None:
    paragraphs = "\n\n".join(f"Paragraph {number} of a long report." for number in range(4000))
    document = upload(api("ada"), "report.md", paragraphs.encode(), "user:ada")
    start, end = span_of(api("ada"), document, "Paragraph 2000 of")
    page = page_as("ada", f"/d/{document}#{start}-{end}")
    expect(page.locator("mark.pressed")).to_have_text("Paragraph 2000 of")
    expect(page.locator("mark.pressed")).to_be_in_viewport()
    assert page.locator("article .text p").count() <= 460
    content = page.locator("#content")
    content.evaluate("node => node.scrollTo({top: 0, behavior: 'instant'})")
    shown = page.get_by_text("Paragraph 1900 of a long report.")
    expect(page.get_by_text("Paragraph 1790 of a long report.")).to_be_attached()
    expect(shown).to_be_attached()
    # What was at the top is where it was: what came stands above it.
    assert content.evaluate("node => node.scrollTop") > 1000
    content.evaluate("node => node.scrollTo({top: node.scrollHeight, behavior: 'instant'})")
    expect(page.get_by_text("Paragraph 2190 of a long report.")).to_be_attached()


def test_a_pdf_opens_at_the_picture_of_its_page_with_its_text_below(
    page_as: PageAs, api: Callable[[str], httpx.Client]
) -> None:
    words = "the sensor must detect a leak of 0.8 litres per minute"
    page = page_as("ada", address_of(api("ada"), "Tarn 4 product specification", words))
    picture = page.get_by_role("img", name=re.compile("Page 3"))
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", DEFAULT_WIDTH)
    expect(page.locator("mark.pressed")).to_have_text(words)
    axe(page)
    screenshot(page, "source-pdf")
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text("page 4 of 9")).to_be_visible()
    page.get_by_role("button", name="Text", exact=True).click()
    expect(picture).to_have_count(0)
    expect(page.locator("mark.pressed")).to_be_visible()


def test_administrators_see_who_and_others_see_how_many(
    page_as: PageAs, api: Callable[[str], httpx.Client], texts_received: Callable[[Page], str]
) -> None:
    document = document_of(api("bob"), "The Halden handbook")
    others = page_as("bob", f"/d/{document}")
    others.get_by_role("button", name="Who can see this").click()
    dialog = others.get_by_role("dialog")
    expect(dialog).to_contain_text("You see it")
    assert "Ada Lindqvist" not in texts_received(others)
    assert dialog.get_by_label("Person").count() == 0
    axe(others)
    page = page_as("ada", f"/d/{document_of(api('ada'), 'ENG-42')}")
    page.get_by_role("button", name="Who can see this").click()
    page.get_by_label("Person").fill("bob@halden.example")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("dialog")).to_contain_text("bob@halden.example cannot see")
    axe(page)
    screenshot(page, "source-audience")
