"""The first run in a browser: an empty store, and a new owner who has read no documentation."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from lightwell.testing.server import temporary_folder
from tests.browser.conftest import OpenPage
from tests.browser.demo import Demo, serving_demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import PHONE

OLLAMA = "http://127.0.0.1:11434/v1"


@pytest.fixture(scope="module")
def demo(browser: Browser) -> Iterator[Demo]:
    """A server on an empty store."""
    with temporary_folder() as folder, serving_demo(folder, options=()) as running:
        yield running


def add_note(page: Page, note: Path) -> None:
    note.write_text("# Pump\n\nThe pump in Bergen is replaced on 3 May 2027.\n", "utf-8")
    documents = page.get_by_role("region", name="Add documents")
    with page.expect_file_chooser() as chooser:
        documents.get_by_role("button", name="Choose files").click()
    chooser.value.set_files(note)
    page.get_by_role("dialog").get_by_role("button").last.click()
    expect(documents.get_by_text("Done")).to_be_visible(timeout=60_000)


def try_a_model(page: Page) -> None:
    """The server's side of it is in test_http_operating.py."""
    model = page.get_by_role("region", name="Connect a model")
    page.route("**/v1/admin/models/find", lambda route: route.fulfill(json={"servers": []}))
    model.get_by_role("button", name="Look on this machine").click()
    expect(model.get_by_text("Nothing was found.")).to_be_visible()
    page.unroute("**/v1/admin/models/find")
    found = {"server": "Ollama", "url": OLLAMA, "writing": ["qwen3:4b"], "embedding": []}
    page.route("**/v1/admin/models/find", lambda route: route.fulfill(json={"servers": [found]}))
    said = {"text": "<b>A seal</b> is worn.", "milliseconds": 1500}
    page.route("**/v1/admin/models/try", lambda route: route.fulfill(json=said))
    model.get_by_role("button", name="Look again").click()
    model.get_by_role("button", name="Try it").click()
    expect(model.get_by_text("<b>A seal</b> is worn.")).to_be_visible()
    expect(model.locator("pre")).to_have_text(
        f"LIGHTWELL_CHAT_URL={OLLAMA}\nLIGHTWELL_CHAT_MODEL=qwen3:4b"
    )


def invite(page: Page) -> str:
    """Return the link that is shown."""
    card = page.get_by_role("region", name="Invite somebody")
    card.get_by_role("button", name="Invite").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="E-mail").fill("kari@halden.example")
    dialog.get_by_role("textbox", name="Name").fill("Kari Moen")
    dialog.get_by_role("button", name="Invite").click()
    shown = dialog.locator("input[readonly]")
    expect(shown).to_have_value(re.compile("/sign-in#"))
    link = shown.input_value()
    page.keyboard.press("Escape")
    expect(card.get_by_text("Done")).to_be_visible()
    return link


def test_an_owner_of_an_empty_store_is_led_through_three_steps(
    open_page: OpenPage, demo: Demo, tmp_path: Path
) -> None:
    [address] = re.findall(r"http://\S+/sign-in#\S+", demo.printed)
    page = open_page(address.removeprefix(demo.url))
    expect(page).to_have_url(f"{demo.url}/welcome", timeout=60_000)
    expect(page.get_by_role("heading", name="Welcome to Lightwell")).to_be_visible()
    expect(page.get_by_role("region", name="Add documents")).to_be_visible()
    axe(page)
    screenshot(page, "welcome")
    add_note(page, tmp_path / "pump.md")
    try_a_model(page)
    link = invite(page)
    axe(page)

    guest = open_page(link.removeprefix(demo.url))
    expect(guest.get_by_role("link", name="Documents")).to_be_visible(timeout=60_000)
    expect(guest.get_by_role("link", name="Set up")).to_have_count(0)

    page.get_by_role("button", name="Go to Ask").click()
    expect(page).to_have_url(f"{demo.url}/")
    page.goto("/")
    expect(page.get_by_role("link", name="Set up")).to_be_visible()
    expect(page.get_by_role("heading", name="Welcome to Lightwell")).to_have_count(0)
    page.set_viewport_size(PHONE["viewport"])
    page.goto("/welcome")
    expect(page.get_by_role("region", name="Add documents").get_by_text("Done")).to_be_visible()
    axe(page)
    screenshot(page, "welcome-phone")
