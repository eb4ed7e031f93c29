"""What all screens have in common: what the page loads, from where, and how much; its keys, its narrowest view, its motion."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Page, expect

from tests.browser.conftest import OpenPage, PageAs
from tests.browser.looking import axe, screenshot
from tests.browser.people import CALM, DARK, GERMAN, PHONE
from tests.shape.test_dependencies import COPYLEFT

FIRST_VIEW_BYTES = 150_000


LOOKS: dict[str, Mapping[str, Any]] = {
    "light": {},
    "phone-dark": {**PHONE, **DARK},
    "german-calm": {**GERMAN, **CALM},
}


SET_UP = (
    *(f"/setup/{part}" for part in ("people", "groups", "keys", "sources", "models", "usage")),
    *(f"/setup/{part}" for part in ("evaluation", "health", "audit", "answer-as")),
)
_WIDER = """() => [document.documentElement, document.querySelector('main')]
  .filter(box => box.scrollWidth > box.clientWidth).map(box => `${box.tagName}: ${box.scrollWidth}`)"""
_MOVING = """() => [...document.querySelectorAll('*')].map(element => getComputedStyle(element)).filter(
  style => style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0).length"""


@pytest.mark.parametrize("name", LOOKS)
def test_who_is_not_signed_in_gets_the_form_from_every_address(
    open_page: OpenPage, name: str
) -> None:
    page = open_page("/documents", **LOOKS[name])
    expect(page.get_by_role("button").first).to_be_visible()
    expect(page.locator("input").first).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == ("de" if "german" in name else "en")
    axe(page)
    screenshot(page, f"sign-in-{name}")


@pytest.mark.parametrize("name", LOOKS)
def test_who_is_signed_in_finds_the_screens_in_the_rail(page_as: PageAs, name: str) -> None:
    page = page_as("ada", **LOOKS[name])
    rail = page.get_by_role("navigation").first
    for address in ("/documents", "/map", "/review", "/"):
        rail.locator(f"a[href='{address}']:not(.logo)").click()
        expect(rail.locator("[aria-current=page]")).to_have_attribute("href", address)
        expect(page.get_by_role("heading", level=1)).to_be_attached()
        axe(page)


@pytest.mark.parametrize(
    "address",
    ["/d/%E0%A4%A", "/map/%FF", "/c/nothing", "/brief/nothing", "/setup/nothing", "/#d=%E0&s=1-x"],
)
def test_an_address_that_names_nothing_says_so(page_as: PageAs, address: str) -> None:
    page = page_as("ada", address)
    expect(page.get_by_role("navigation").first).to_be_visible()
    expect(page.get_by_role("main")).not_to_be_empty()
    axe(page)


@pytest.mark.parametrize(("width", "height"), [(320, 640), (640, 400)])
def test_each_screen_fits_the_narrowest_view_and_twice_the_size(
    page_as: PageAs, width: int, height: int
) -> None:
    """A view of 640 by 400 is what is left of 1280 by 800 at 200 percent."""
    page = page_as("ada", viewport={"width": width, "height": height})
    for address in ("/", "/documents", "/map", "/review", *SET_UP):
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_attached()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0, timeout=60_000)
        assert page.evaluate(_WIDER) == [], address


def test_keys_lead_from_screen_to_screen_as_far_as_one_may_go(page_as: PageAs) -> None:
    page = page_as("ada", "/documents")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for key, address in (("r", "/review"), ("s", "/setup"), ("d", "/documents")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.locator("nav [aria-current=page]").first).to_have_attribute("href", address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("?")
    listed = page.get_by_role("dialog")
    expect(listed).to_contain_text("Go to Review")
    keys = listed.locator("dd").all_inner_texts()
    assert len(keys) == len(set(keys)) > 8
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()

    reader = page_as("bob", "/documents")
    expect(reader.get_by_role("heading", level=1)).to_be_visible()
    reader.keyboard.press("?")
    expect(reader.get_by_role("dialog")).to_contain_text("Go to Map")
    expect(reader.get_by_role("dialog")).not_to_contain_text("Go to Review")


def test_nothing_moves_for_whom_motion_disturbs(page_as: PageAs) -> None:
    moving, calm = page_as("ada", "/documents"), page_as("ada", "/documents", **CALM)
    for page in (moving, calm):
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert moving.evaluate(_MOVING) > 0
    assert calm.evaluate(_MOVING) == 0


def test_a_page_that_breaks_a_rule_fails_its_test(
    open_page: OpenPage, watches: dict[Any, Any]
) -> None:
    """The guards of `conftest.py` see what they are for; the faults are taken away again."""
    page = open_page("/sign-in")
    page.evaluate("""async () => {
        console.error("an error is logged");
        setTimeout(() => { throw new Error("an error is raised") });
        document.body.append(Object.assign(document.createElement("script"), {textContent: "document.title = 'inline'"}));
        document.body.append(Object.assign(document.createElement("img"), {src: "https://foreign.example/pixel.png"}));
        await fetch("https://foreign.example/").catch(() => undefined);
        await fetch("/assets/none.js");
    }""")
    title = page.title()
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        page.goto("https://foreign.example/left")
    (watched,) = watches.values()
    faults = "\n".join(watched.faults)
    watched.faults.clear()
    for fault in (
        "console: an error is logged",
        "an error is raised",
        "script-src",
        "img-src",
        "connect-src",
        "reply 404: ",
        "foreign host: https://foreign.example/left",
    ):
        assert fault in faults
    assert title != "inline"


def test_what_a_page_is_sent_is_recorded_while_it_comes(
    open_page: OpenPage, texts_received: Callable[[Page], str]
) -> None:
    page = open_page("/sign-in")
    page.evaluate("fetch('/health/ready').then(reply => reply.text())")
    assert '"components"' in texts_received(page)


def test_the_first_view_is_small(built: Path) -> None:
    """What is loaded before anything can be asked: the start, the frame, and the screens that open first, with their words."""
    manifest = json.loads((built / ".vite" / "manifest.json").read_text("utf-8"))
    entries = [
        "index.html",
        "src/screens/ask/Ask.svelte",
        "src/screens/signin/SignIn.svelte",
        "src/screens/source/SourcePane.svelte",
        "src/words/de.ts",
    ]
    parts = {"index.html", *(part for entry in entries for part in _parts(manifest, entry))}
    sizes = {part: len(gzip.compress((built / part).read_bytes())) for part in parts}
    assert sum(sizes.values()) <= FIRST_VIEW_BYTES, sizes
    assert sum(sizes.values()) > FIRST_VIEW_BYTES / 20


def _parts(manifest: dict[str, Any], entry: str) -> Iterator[str]:
    """Yield the files that an entry of the manifest loads with it."""
    described = manifest[entry]
    yield described["file"]
    yield from described.get("css", ())
    for imported in described.get("imports", ()):
        yield from _parts(manifest, imported)


def test_the_built_page_holds_nothing_inline_and_names_no_foreign_host(built: Path) -> None:
    document = (built / "index.html").read_text("utf-8")
    assert "<style" not in document
    assert "style=" not in document
    assert all(" src=" in tag for tag in document.split("<script")[1:])
    assert "//" not in document.replace("<!doctype html>", "")
    assert not [*(built / "assets").glob("*.map")]


def test_no_package_in_the_page_binds_its_users(built: Path) -> None:
    packages = json.loads((built / "packages.cdx.json").read_text("utf-8"))["components"]
    assert {"svelte", "sigma"} <= {package["name"] for package in packages}
    licences = {package["licenses"][0]["license"]["id"] for package in packages}
    assert not {licence for licence in licences if COPYLEFT.search(licence)}
    texts = (built / "licences.txt").read_text("utf-8")
    for package in packages:
        assert f"{package['name']} {package['version']} (" in texts
