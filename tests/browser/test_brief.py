"""Briefs: a page to bring to a meeting, whose every line opens its source."""

import io
from collections.abc import Callable, Mapping
from typing import Any

import pypdfium2
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE

LOOKS: Mapping[str, Mapping[str, Any]] = {
    "light": {},
    "dark": DARK,
    "phone": PHONE,
    "german": GERMAN,
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_brief_can_be_read_by_everybody(page_as: PageAs, look: str) -> None:
    page = page_as("ada", "/brief/Tarn%204", **LOOKS[look])
    expect(page.get_by_role("heading", name="Tarn 4", exact=True)).to_be_visible()
    expect(page.get_by_text("The Tarn 4 replaces the Tarn 3 of 2019.").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    axe(page)
    screenshot(page, f"brief-{look}")


def test_each_line_opens_its_source_with_the_words_marked(page_as: PageAs) -> None:
    page = page_as("ada", "/brief/Tarn%204")
    line = page.get_by_text("The decision is due on 15 May 2026").or_(
        page.get_by_text("the decision is due on 15 May 2026")
    )
    expect(line.first).to_be_visible()
    lines = page.locator("p:has(.quoted)")
    assert lines.count() == page.locator("p:has(.quoted):has(button)").count() > 3
    page.get_by_role("button", name="Source 1").first.click()
    expect(page.locator("mark").first).to_contain_text("replaces the Tarn 3")
    page.keyboard.press("Escape")
    expect(page.locator("mark")).to_have_count(0)


def test_a_name_that_several_have_leads_to_cards(page_as: PageAs) -> None:
    page = page_as("ada", "/brief/Jonas%20Weber")
    expect(page.get_by_role("heading", name="Which one do you mean?")).to_be_visible()
    axe(page)
    screenshot(page, "brief-candidates")
    page.get_by_role("link", name="jonas.weber@nordwind.example").click()
    expect(page.get_by_role("heading", name="Jonas Weber", exact=True)).to_be_visible()
    expect(page.get_by_text("purchasing manager at Nordwind Energie").first).to_be_visible()


def test_what_is_not_there_is_said_and_another_name_is_looked_for(page_as: PageAs) -> None:
    page = page_as("ada", "/brief/Nobody%20at%20all")
    expect(page.get_by_text("Nothing about this in what you can see.")).to_be_visible()
    axe(page)
    page.get_by_role("combobox").fill("osprey")
    expect(page.locator("[role=option][aria-selected=true]")).to_contain_text("Osprey")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Osprey", exact=True)).to_be_visible()
    page.get_by_role("link", name="On the map").click()
    expect(page.locator("[data-settled=true]")).to_be_visible()
    page.get_by_role("link", name="Open brief").click()
    expect(page.get_by_role("heading", name="Osprey", exact=True)).to_be_visible()


def test_a_brief_is_of_what_its_reader_sees(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    ada, bob = (page_as(who, "/brief/Tarn%204") for who in ("ada", "bob"))
    for page in (ada, bob):
        expect(page.get_by_role("heading", name="Tarn 4", exact=True)).to_be_visible()
    theirs = "Bellwether Ceramics"  # of engineering's roadmap
    expect(ada.get_by_text(theirs).first).to_be_visible()
    assert theirs in texts_received(ada)
    assert theirs not in texts_received(bob)
    assert "/engineering/" not in texts_received(bob)


def test_a_brief_prints_as_a_page_without_what_is_for_a_screen(page_as: PageAs) -> None:
    page = page_as("ada", "/brief/Tarn%204")
    expect(page.get_by_role("heading", name="Sources")).to_be_visible()
    printed = pypdfium2.PdfDocument(io.BytesIO(page.pdf(format="A4")))
    text = "".join(
        printed[number].get_textpage().get_text_range() for number in range(len(printed))
    )
    assert len(printed) <= 2
    for there in ("Tarn 4", "What is open", "Tarn 4 product specification", "As of"):
        assert there in text
    for not_there in ("Documents", "To the content", "Print", "On the map"):
        assert not_there not in text
