"""Signing in: by the address that the server prints, and with a key; and signing out."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, PageAs
from tests.browser.demo import Demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE


def is_inside(page: Page, name: str) -> None:
    """Wait for the page of somebody who is signed in."""
    page.get_by_role("button", name="Your account").click()
    expect(page.get_by_role("menu")).to_contain_text(name)


def test_the_printed_address_signs_the_administrator_in_once(
    open_page: OpenPage, demo: Demo
) -> None:
    (address,) = re.findall(r"http://\S+(/sign-in#\S+)", demo.printed)
    page = open_page(address)
    is_inside(page, "Ada Lindqvist")
    assert page.url == f"{demo.url}/"
    page.go_back()
    assert address.partition("#")[2] not in page.url
    other = open_page(address)
    expect(other.get_by_role("alert")).to_contain_text("used already")
    assert other.url == f"{demo.url}/sign-in"
    expect(other.get_by_role("textbox", name="Key")).to_be_visible()
    axe(other)
    screenshot(other, "sign-in-used-link")


def test_a_link_asks_before_it_changes_who_somebody_is(page_as: PageAs, demo: Demo) -> None:
    """Otherwise a link from a stranger would have one go on as that stranger."""
    page = page_as("bob", "/sign-in#" + "A" * 43)
    expect(page.get_by_role("heading")).to_have_text("You are signed in as Bob Okafor")
    expect(page.get_by_text("perhaps as another person")).to_be_visible()
    assert page.url == f"{demo.url}/sign-in"
    axe(page)
    page.get_by_role("button", name="Go on").click()
    is_inside(page, "Bob Okafor")


def test_a_key_signs_in_by_keyboard_alone_and_leads_where_one_wanted_to_go(
    open_page: OpenPage, demo: Demo
) -> None:
    page = open_page("/documents")
    key = page.get_by_role("textbox", name="Key")
    expect(key).to_be_visible()
    axe(page)
    while not key.evaluate("field => field === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.type("lw_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(demo.keys["bob"])
    page.keyboard.press("Enter")
    is_inside(page, "Bob Okafor")
    assert page.url == f"{demo.url}/documents"
    stored = page.evaluate(
        "() => JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie"
    )
    assert demo.keys["bob"] not in stored
    assert "lightwell_session" not in stored


def test_signing_out_everywhere_ends_the_session_in_another_browser(page_as: PageAs) -> None:
    page, other = page_as("grace", "/sign-in"), page_as("grace", "/sign-in")
    expect(page.get_by_role("heading")).to_have_text("You are signed in as Grace Amundsen")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Your account").click()
    page.get_by_role("menuitem", name="Sign out everywhere").click()
    expect(page.get_by_role("textbox", name="Key")).to_be_visible()
    other.reload()
    expect(other.get_by_role("textbox", name="Key")).to_be_visible()


def test_whoever_signs_in_next_finds_nothing_of_the_person_before(
    page_as: PageAs, demo: Demo
) -> None:
    page = page_as("ada")
    asked = page.get_by_role("textbox", name="Question")
    asked.fill("What is on the roadmap for 2026?")
    asked.press("Enter")
    expect(page).to_have_url(re.compile("/c/"))
    conversation = page.url
    page.get_by_role("textbox", name="Question").fill("A draft of Ada")
    page.get_by_role("button", name="Your account").click()
    page.get_by_role("menuitem", name="Sign out", exact=True).click()
    page.get_by_role("textbox", name="Key").fill(demo.keys["bob"])
    page.keyboard.press("Enter")
    is_inside(page, "Bob Okafor")
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Question")).to_have_value("")
    page.evaluate("address => history.pushState(null, '', address)", conversation)
    page.evaluate("() => dispatchEvent(new PopStateEvent('popstate'))")
    expect(page.get_by_text("There is no conversation")).to_be_visible()
    expect(page.get_by_text("roadmap for 2026")).to_have_count(0)


def test_a_page_of_somebody_begins_anew_when_another_person_has_signed_in(
    page_as: PageAs, demo: Demo
) -> None:
    page = page_as("ada")
    page.get_by_role("textbox", name="Question").fill("A draft of Ada")
    signed_in = page.context.request.post(
        "/v1/sign-in/key", data={"key": demo.keys["bob"]}, headers={"Origin": demo.url}
    )
    assert signed_in.status == 204
    page.get_by_role("button", name="Your account").click()
    page.get_by_role("menuitem", name="Sign out", exact=True).click()
    # Ada's page could not end Bob's session, and does not say that it did: it begins anew.
    expect(page.get_by_role("textbox", name="Question")).to_have_value("")
    is_inside(page, "Bob Okafor")


def test_the_form_in_german_on_a_phone_in_the_dark(open_page: OpenPage) -> None:
    page = open_page("/sign-in?failed=refused", **PHONE, **DARK, **GERMAN)
    expect(page.get_by_role("alert")).to_contain_text("keinen Zugang mehr")
    expect(page.get_by_role("button", name="Anmelden")).to_be_visible()
    axe(page)
    screenshot(page, "sign-in-phone-dark-german")
