"""Review in a browser: all is decided by keyboard, each decision taken back, and nothing for whoever may not decide or may not see."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import OpenPage, PageAs
from tests.browser.demo import Demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE

WRONG = "Leak survey pilot"
HOSTILE = '<img src=x onerror="document.title=1"> \u202egnp.exe ' + "W" * 120


@pytest.fixture
def as_ada(demo: Demo) -> Iterator[httpx.Client]:
    """Asks the server without the page, to put things there and to see what is stored."""
    headers = {"Authorization": f"Bearer {demo.keys['ada']}"}
    with httpx.Client(base_url=demo.url, headers=headers, timeout=60) as client:
        yield client


def left(page: Page) -> int:
    """Return how many decisions are left, as the page says."""
    [number] = re.findall(r"\d+", page.get_by_test_id("left").inner_text())
    return int(number)


def open_proposals(client: httpx.Client) -> int:
    links = client.get("/v1/links", params={"status": "proposed"}).raise_for_status()
    merges = client.get("/v1/graph/proposals", params={"limit": 200}).raise_for_status()
    return len(links.json()["links"]) + len(merges.json()["proposals"])


def wait_for_server(page: Page) -> None:
    """Wait until all decisions have reached the server: the list of the last ones waits for that."""
    page.get_by_role("button", name="Last decisions").click()
    expect(page.get_by_role("dialog").get_by_role("listitem").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def sides(page: Page) -> list[str]:
    return page.locator("article h3 bdi").all_inner_texts()


def test_all_is_decided_by_keyboard_and_each_decision_taken_back(
    page_as: PageAs, as_ada: httpx.Client
) -> None:
    page = page_as("ada", "/review")
    expect(page.get_by_role("article")).to_be_visible()
    before, first = left(page), sides(page)
    assert before == open_proposals(as_ada) >= 15
    for _ in range(before - 1):
        page.keyboard.press("n")
    expect(page.get_by_test_id("left")).to_contain_text("1 left")
    wait_for_server(page)
    assert len(as_ada.get("/v1/graph/decisions").json()["decisions"]) == before - 1
    for _ in range(before - 1):
        page.keyboard.press("u")
    expect(page.get_by_test_id("left")).to_contain_text(f"{before} left")
    assert sides(page) == first
    page.keyboard.press("j")
    assert page.locator("article").inner_text() != ""
    page.keyboard.press("k")
    assert sides(page) == first
    page.get_by_role("button", name="Last decisions").click()
    expect(page.get_by_text("Nobody has decided anything yet.")).to_be_visible()
    assert open_proposals(as_ada) == before


def test_a_wrong_link_is_rejected_and_can_be_taken_back_on_another_day(
    page_as: PageAs, as_ada: httpx.Client
) -> None:
    page = page_as("ada", "/review")
    page.get_by_label("Kind").select_option("deal")
    wrong = page.get_by_text("different internet addresses")
    while not wrong.is_visible():
        page.keyboard.press("j")
    assert sides(page) == [WRONG, WRONG]
    expect(page.get_by_text("ravensbrook.example")).to_be_visible()
    expect(page.get_by_title(re.compile("at this place")).first).to_be_visible()
    page.get_by_title(re.compile("at this place")).last.click()
    expect(page).to_have_url(re.compile(r"/review#d=[0-9a-f-]{36}&s=\d+-\d+$"))
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    wait_for_server(page)
    rejected = as_ada.get("/v1/links", params={"status": "rejected"}).json()["links"]
    assert [link["source"]["entityName"] for link in rejected] == [WRONG]

    later = page_as("ada", "/review")
    expect(later.get_by_role("article")).to_be_visible()
    count = left(later)
    later.keyboard.press("u")
    expect(later.get_by_text("Nothing of this visit is left to undo")).to_be_visible()
    later.get_by_role("button", name="Last decisions").click()
    entry = later.get_by_role("dialog").get_by_role("listitem")
    expect(entry).to_contain_text("not linked")
    expect(entry).to_contain_text("by you")
    entry.get_by_role("button", name="Undo").click()
    expect(later.get_by_text("Nobody has decided anything yet.")).to_be_visible()
    later.keyboard.press("Escape")
    expect(later.get_by_test_id("left")).to_contain_text(f"{count + 1} left")
    assert as_ada.get("/v1/links", params={"status": "rejected"}).json()["links"] == []


def test_a_session_that_ends_in_the_middle_decides_nothing(
    page_as: PageAs, as_ada: httpx.Client
) -> None:
    page = page_as("ada", "/review")
    expect(page.get_by_role("article")).to_be_visible()
    before = open_proposals(as_ada)
    page.context.clear_cookies()
    page.keyboard.press("n")
    ended = page.get_by_role("dialog", name="You are signed out")
    expect(ended).to_be_visible()
    ended.get_by_role("button", name="Close").click()
    expect(page.get_by_test_id("left")).to_contain_text(f"{before} left")
    assert open_proposals(as_ada) == before


def test_two_names_become_one_and_two_again(page_as: PageAs, as_ada: httpx.Client) -> None:
    page = page_as("ada", "/review")
    page.get_by_label("Show").select_option("merges")
    expect(page.get_by_role("article")).to_be_visible()
    count = left(page)
    page.keyboard.press("y")
    wait_for_server(page)
    assert len(as_ada.get("/v1/graph/merges").json()["merges"]) == 1
    page.keyboard.press("u")
    expect(page.get_by_test_id("left")).to_contain_text(f"{count} left")
    page.get_by_role("button", name="Last decisions").click()
    expect(page.get_by_text("Nobody has decided anything yet.")).to_be_visible()
    assert as_ada.get("/v1/graph/merges").json()["merges"] == []


def test_who_may_not_decide_sees_no_review(
    page_as: PageAs, texts_received: Callable[[Page], str], demo: Demo, as_ada: httpx.Client
) -> None:
    page = page_as("bob", "/review")
    expect(page.get_by_text("This does not exist, or you may not see it.")).to_be_visible()
    expect(page.get_by_role("link", name="Review")).to_have_count(0)
    expect(page.get_by_role("link", name="Documents")).to_be_visible()
    assert '"proposals"' not in texts_received(page)
    link = as_ada.get("/v1/links", params={"status": "proposed"}).json()["links"][0]["linkId"]
    token = page.evaluate("fetch('/v1/me').then(reply => reply.json())")["csrfToken"]
    headers = {"Origin": demo.url, "X-CSRF-Token": token}
    refused = page.context.request.post(f"/v1/links/{link}/confirm", headers=headers)
    assert refused.status == 403


def test_what_somebody_may_not_see_is_no_evidence(
    open_page: OpenPage,
    page_as: PageAs,
    demo: Demo,
    as_ada: httpx.Client,
    texts_received: Callable[[Page], str],
) -> None:
    body = {"name": "curator", "scopes": ["read", "curate"], "aclTags": ["tenant:halden"]}
    key = as_ada.post("/v1/admin/keys", json=body).raise_for_status().json()["key"]
    page = open_page("/sign-in")
    origin = {"Origin": demo.url}
    page.context.request.post("/v1/sign-in/key", data={"key": key}, headers=origin)
    page.goto("/review")
    expect(page.get_by_role("article")).to_be_visible()
    expect(page.get_by_title(re.compile("at this place")).first).to_be_visible()
    mine = texts_received(page)
    assert "jonas.weber@nordwind.example" in mine
    for hidden in (WRONG, "ravensbrook.example", "attio:", "priya.shah"):
        assert hidden not in mine
    both = page_as("ada", "/review")
    expect(both.get_by_role("article")).to_be_visible()
    assert WRONG in texts_received(both)


@pytest.mark.parametrize(
    ("name", "look"),
    [("light", {}), ("dark", DARK), ("phone-dark", {**PHONE, **DARK}), ("german", GERMAN)],
)
def test_everybody_can_use_it(page_as: PageAs, name: str, look: dict[str, Any]) -> None:
    page = page_as("ada", "/review", **look)
    expect(page.get_by_role("article")).to_be_visible()
    expect(page.locator("article .quoted").first).to_be_visible()
    axe(page)
    screenshot(page, f"review-{name}")
    width = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(width)


def test_names_that_try_to_be_markup_are_text(page_as: PageAs) -> None:
    def rename(route: Route) -> None:
        reply = route.fetch()
        replies = reply.json()
        for proposal in replies["proposals"]:
            proposal["sharedNeighbours"] = [HOSTILE]
            for entity, attributes in zip(
                proposal["entities"], proposal["attributes"], strict=True
            ):
                entity.update(
                    entityName=HOSTILE, entityType=HOSTILE, primaryUrl="javascript:alert(1)"
                )
                entity["entityRef"] = "crm:person:1"
                attributes["__proto__"] = attributes[HOSTILE] = HOSTILE
            proposal["evidence"]["constructor"] = HOSTILE
        route.fulfill(response=reply, json=replies)

    page = page_as("ada", "/sign-in", **PHONE)
    page.route("**/v1/graph/proposals*", rename)
    page.goto("/review")
    page.get_by_label("Show").select_option("merges")
    expect(page.locator("article h3 bdi", has_text="<img src=x")).to_have_count(2)
    assert page.locator("main img, article a").count() == 0
    assert page.title() == "Review · Lightwell"
    width = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(width)
    axe(page)
