"""The way from a question to the place where its answer stands, and the pictures of the documentation that are taken on it.

`make pictures` writes them to docs/pictures; otherwise they go where the other screenshots go.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, PHONE

QUESTION = "What discount does Nordwind Energie receive?"
ANSWER = "Nordwind receives a discount of 18 percent on all items."
SHARP = {"device_scale_factor": 1.5}
LOOKS: dict[str, Mapping[str, Any]] = {
    "ask": SHARP,
    "ask-dark": {**SHARP, **DARK},
    "ask-phone": PHONE,
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_question_leads_to_the_sentence_and_the_sentence_to_its_place(
    page_as: PageAs, name: str
) -> None:
    page = page_as("grace", **LOOKS[name])
    page.get_by_role("textbox").first.fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("Answered, (high|medium) confidence"))).to_be_visible()
    expect(page.get_by_role("paragraph").filter(has_text=ANSWER).first).to_be_visible()
    page.get_by_role("button", name=re.compile("^Source 1: Supply contract")).first.click()
    printed = page.locator("[data-scroller] img")
    expect(printed).to_be_in_viewport()
    expect(printed).to_have_js_property("complete", value=True)
    expect(page.locator("[data-scroller] mark").filter(has_text="18 percent")).to_have_count(1)
    page.mouse.move(0, 400)  # away from the number, whose quotation would lie above the picture
    screenshot(page, name)
    axe(page)


def test_who_may_not_see_the_contract_gets_neither_the_sentence_nor_its_source(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    page = page_as("bob")
    page.get_by_role("textbox").first.fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Not in what you can see").first).to_be_visible()
    for hidden in ("18 percent", "HI-2026-014", "430,008"):
        assert hidden not in texts_received(page)
    axe(page)
    screenshot(page, "refused")


def test_a_name_leads_to_what_it_is_tied_to(page_as: PageAs) -> None:
    page = page_as("grace", "/map", **SHARP)
    page.get_by_role("combobox").fill("Nordwind Energie")
    page.get_by_role("option").first.click()
    expect(page.locator("canvas")).to_be_visible()
    expect(page.get_by_role("heading", name="Nordwind Energie", level=2)).to_be_visible()
    screenshot(page, "map")


def test_what_two_systems_say_of_one_thing_is_decided_by_a_person(page_as: PageAs) -> None:
    page = page_as("ada", "/review", **SHARP)
    expect(page.get_by_role("heading", name="Are these the same?")).to_be_visible()
    screenshot(page, "review")


def test_what_one_may_see_is_a_list(page_as: PageAs) -> None:
    page = page_as("ada", "/documents", **SHARP)
    expect(page.get_by_text("Tarn 4 product specification").first).to_be_visible()
    screenshot(page, "documents")
