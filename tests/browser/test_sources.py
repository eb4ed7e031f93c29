"""Set up > Sources: an administrator adds a system step by step, sees how it goes, pauses and removes it; nobody else sees it."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect

from lightwell.testing.example_company import ExampleCompany
from lightwell.testing.linear import server
from lightwell.testing.server import temporary_folder
from tests.browser.conftest import PageAs
from tests.browser.demo import Demo, copy_store, serving_demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE

LOOKS = {"light": {}, "dark": DARK, "phone": PHONE, "german": {**GERMAN, **PHONE, **DARK}}


@pytest.fixture(scope="module")
def tracker() -> Iterator[str]:
    """The example company's Linear on a socket; its address."""
    serving = uvicorn.Server(uvicorn.Config(ExampleCompany().linear.app, log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        serving.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def demo(browser: Browser, store_of_the_run: Path, tracker: str) -> Iterator[Demo]:
    """A server whose environment has a token for the source `tracker`, and for no other."""
    secrets = {
        "LIGHTWELL_SOURCE_TRACKER_TOKEN": server.TOKEN,
        "LIGHTWELL_SOURCE_TRACKER_BASE_URL": tracker,
    }
    with temporary_folder() as folder:
        copy_store(store_of_the_run, folder)
        with serving_demo(folder, secrets) as running:
            yield running


def test_nobody_but_an_administrator_sees_sources(
    page_as: PageAs,
    texts_received: Callable[[Page], str],
    requests_of: Callable[[Page], list[str]],
) -> None:
    page = page_as("bob", "/setup/sources")
    expect(page.get_by_text("This does not exist, or you may not see it.")).to_be_visible()
    assert not [asked for asked in requests_of(page) if "/v1/sources" in asked]
    reply = page.evaluate("fetch('/v1/sources').then(reply => reply.status)")
    assert reply == 403
    assert "everySeconds" not in texts_received(page)


@pytest.mark.parametrize("look", LOOKS)
def test_an_empty_list_says_how_to_begin(page_as: PageAs, look: str) -> None:
    page = page_as("ada", "/setup", **LOOKS[look])
    page.route(
        "**/v1/sources", lambda route: route.fulfill(json={"sources": [], "systems": ["linear"]})
    )
    page.goto("/setup/sources")
    expect(page.locator("a[href='/setup/sources?add']")).to_be_visible()
    axe(page)
    screenshot(page, f"sources-empty-{look}")


def test_a_source_is_tried_before_it_is_added_and_then_read(page_as: PageAs) -> None:
    page = page_as("ada", "/setup/sources")
    page.get_by_role("link", name="Add a source").click()
    page.get_by_role("radio", name=re.compile("Linear")).check(force=True)
    name = page.get_by_label("Its name here")
    expect(name).to_have_value("linear-2")
    add = page.get_by_role("button", name="Add this source")
    expect(add).to_be_disabled()
    page.get_by_role("button", name="Test it").click()
    expect(
        page.get_by_role("status").get_by_text("LIGHTWELL_SOURCE_LINEAR_2_TOKEN")
    ).to_be_visible()
    expect(add).to_be_disabled()
    name.fill("No name")
    expect(page.get_by_role("button", name="Test it")).to_have_count(0)
    name.fill("tracker")
    expect(page.get_by_text("LIGHTWELL_SOURCE_TRACKER_TOKEN=")).to_be_visible()
    page.get_by_role("button", name="Test it").click()
    expect(page.get_by_text(re.compile(r"It answers: \d+ people"))).to_be_visible()
    axe(page)
    screenshot(page, "sources-add-light")
    page.get_by_label("How often it is read").select_option("every hour")
    expect(add).to_be_disabled()
    page.get_by_role("button", name="Test it").click()
    expect(add).to_be_enabled()
    add.click()
    expect(page.get_by_role("heading", level=1, name="tracker")).to_be_visible()
    expect(page.get_by_text("Up to date")).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d+ × issue"))).to_be_visible()
    assert page.url.endswith("/setup/sources/tracker")


def test_a_site_asks_for_addresses_and_tags_and_for_no_token(page_as: PageAs) -> None:
    page = page_as("ada", "/setup/sources?add")
    page.get_by_role("radio", name=re.compile("Web site")).check(force=True)
    expect(page.get_by_label("Add people")).to_have_count(0)
    page.get_by_label("Where to start").fill("http://127.0.0.1:1/")
    expect(page.get_by_role("button", name="Test it")).to_have_count(0)
    page.get_by_label("Who sees it").fill("team:sales")
    expect(page.get_by_text("A web site needs no token.")).to_be_visible()
    expect(page.get_by_text("_TOKEN=")).to_have_count(0)
    page.get_by_role("button", name="Test it").click()
    expect(page.get_by_role("status").get_by_text("has no public address")).to_be_visible()
    axe(page)


@pytest.mark.parametrize("look", LOOKS)
def test_the_list_and_a_source_in_every_look(page_as: PageAs, look: str) -> None:
    page = page_as("ada", "/setup/sources", **LOOKS[look])
    expect(page.get_by_role("link", name=re.compile("tracker"))).to_be_visible()
    axe(page)
    screenshot(page, f"sources-{look}")
    page.get_by_role("link", name=re.compile("tracker")).click()
    expect(page.get_by_role("heading", level=1, name="tracker")).to_be_visible()
    expect(page.locator("time").first).to_be_visible()
    axe(page)
    screenshot(page, f"source-{look}")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.goto("/setup/sources?add")
    page.get_by_role("radio", name=re.compile("Chatwoot")).check(force=True)
    axe(page)
    screenshot(page, f"sources-choose-{look}")


def test_it_is_paused_changed_and_read_again(page_as: PageAs) -> None:
    page = page_as("ada", "/setup/sources/tracker")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Read now")).to_be_disabled()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    often = page.get_by_label("How often it is read")
    often.select_option("every 10 minutes")
    expect(page.get_by_text("Changed")).to_be_visible()
    page.reload()
    expect(often).to_have_value("600")
    runs = page.get_by_role("list", name="Last readings").get_by_role("listitem")
    expect(runs.first).to_be_visible()
    before = runs.count()
    page.get_by_role("button", name="Read now").click()
    expect(page.get_by_text("It will be read in a moment")).to_be_visible()
    expect(runs.nth(before)).to_be_visible()


def test_removing_it_says_first_what_goes(page_as: PageAs) -> None:
    page = page_as("ada", "/setup/sources/tracker")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Remove this source").click()
    dialog = page.get_by_role("dialog")
    expect(
        dialog.get_by_text(re.compile(r"Its (\d+ documents go|document goes) for everybody"))
    ).to_be_visible()
    axe(page)
    screenshot(page, "source-remove-light")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Remove this source").click()
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("link", name="chatwoot")).to_be_visible()
    expect(page.get_by_role("link", name="tracker")).to_have_count(0)
