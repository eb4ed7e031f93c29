"""Set up in a browser: what an administrator sees of the server, what somebody else would be told, and nothing for anybody else."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from lightwell.testing.server import temporary_folder
from tests.browser.conftest import PageAs
from tests.browser.demo import Demo, copy_store, serving_demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE

PARTS = (
    "people",
    "groups",
    "keys",
    "models",
    "answer-as",
    "evaluation",
    "usage",
    "health",
    "audit",
)
BURSTS = "How many pairs of bursts does a Skarn average for one reading?"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def demo(browser: Browser, store_of_the_run: Path) -> Iterator[Demo]:
    """A server that keeps an audit log."""
    with temporary_folder() as folder:
        copy_store(store_of_the_run, folder)
        settings = {"LIGHTWELL_AUDIT_LOG": str(folder / "audit.jsonl")}
        with serving_demo(folder, settings) as running:
            yield running


def is_ready(page: Page) -> None:
    """Wait until the part is there, with what it has asked the server for."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("status", name=re.compile("Loading|Lädt"))).to_have_count(
        0, timeout=60_000
    )


@pytest.mark.parametrize(
    ("name", "look"),
    [("light", {}), ("dark", DARK), ("phone", PHONE), ("german", {**GERMAN, **PHONE, **DARK})],
)
def test_everybody_can_use_each_part(page_as: PageAs, name: str, look: dict[str, Any]) -> None:
    page = page_as("ada", "/setup", **look)
    for part in PARTS:
        page.goto(f"/setup/{part}")
        is_ready(page)
        axe(page)
        screenshot(page, f"setup-{part}-{name}")
        assert page.evaluate(FITS), part


def test_one_goes_from_part_to_part_by_list_and_by_choice(page_as: PageAs) -> None:
    page = page_as("ada", "/setup")
    page.get_by_role("navigation", name="Set up").get_by_role("link", name="Health").click()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    expect(page).to_have_url(re.compile("/setup/health$"))
    expect(page.get_by_text("Everything works")).to_be_visible(timeout=60_000)
    phone = page_as("ada", "/setup/health", **PHONE)
    phone.get_by_role("combobox", name="Set up").select_option("usage")
    expect(phone.get_by_role("heading", name="Usage and cost")).to_be_visible()
    expect(phone).to_have_url(re.compile("/setup/usage$"))
    page.goto("/setup/constructor")
    expect(page.get_by_text("There is no such page.")).to_be_visible()


def test_ordinary_people_see_no_set_up(
    page_as: PageAs, requests_of: Callable[[Page], list[str]]
) -> None:
    page = page_as("grace", "/setup/audit")
    expect(page.get_by_text("This does not exist, or you may not see it.")).to_be_visible()
    expect(page.get_by_role("link", name="Set up")).to_have_count(0)
    page.goto("/welcome")
    expect(page.get_by_text("This does not exist, or you may not see it.")).to_be_visible()
    assert not [request for request in requests_of(page) if "/v1/admin" in request]
    for path in ("health", "models", "models/find", "audit"):
        assert page.context.request.get(f"/v1/admin/{path}").status == 403
    assert page.context.request.get("/v1/analytics/days").status == 403


def test_one_sees_what_somebody_else_would_be_told_and_why(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    page = page_as("ada", "/setup/answer-as")
    page.get_by_label("Person").select_option("Bob Okafor")
    page.get_by_label("Question").fill(BURSTS)
    page.keyboard.press("Enter")
    expect(page.get_by_text("This is what Bob Okafor would be told")).to_be_visible()
    expect(page.get_by_text("Not in what this person can see")).to_be_visible(timeout=60_000)
    assert "64 pairs" not in texts_received(page)
    page.get_by_label("Title of a document").fill("Tarn 4 product")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("button", name="Tarn 4 product specification").click()
    expect(
        page.get_by_text("Bob Okafor cannot see “Tarn 4 product specification”.")
    ).to_be_visible()
    expect(
        page.get_by_text("The document was given to none of this person’s groups")
    ).to_be_visible()

    page.get_by_label("Person").select_option("Ada Lindqvist")
    expect(page.get_by_text("Bob Okafor")).to_have_count(1)  # the choice
    page.get_by_label("Title of a document").fill("Tarn 4 product")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("button", name="Tarn 4 product specification").click()
    expect(page.get_by_text("Ada Lindqvist can see")).to_be_visible()
    expect(page.get_by_text(re.compile("Through the group Engineering"))).to_be_visible()

    page.goto("/setup/audit")
    row = page.get_by_role("row", name=re.compile("as Bob Okafor"))
    expect(row).to_contain_text("Asked a question")
    page.get_by_label("Person").select_option("Grace Amundsen")
    expect(page.get_by_text("as Bob Okafor")).to_have_count(0)


def test_saved_results_of_an_evaluation_are_read_and_compared_here(
    page_as: PageAs, tmp_path: Path
) -> None:
    now, before, other = (tmp_path / f"{name}.json" for name in ("now", "before", "other"))
    saved = {"version": "1", "dataset": "<b>mine</b>", "questions": 40, "answers": [{"text": "no"}]}
    now.write_text(json.dumps({**saved, "quality": {"right": 0.9, "__proto__": 1}}), "utf-8")
    before.write_text(json.dumps({**saved, "quality": {"right": 0.75}}), "utf-8")
    other.write_text('{"quality": 1}', "utf-8")
    page = page_as("ada", "/setup/evaluation")
    page.get_by_label("Results").set_input_files(other)
    expect(page.get_by_text("This file has no results of lightwell eval.")).to_be_visible()
    page.get_by_label("Results").set_input_files(now)
    page.get_by_label("Compare with").set_input_files(before)
    expect(page.get_by_text("<b>mine</b>: 40 questions")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("right"))).to_contain_text("+0.15")
