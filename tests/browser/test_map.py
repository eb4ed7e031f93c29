"""The map: names are found, shown with what is around them, corrected and saved; nobody sees a name of others."""

import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import PageAs
from tests.browser.demo import Demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE

Received = Callable[[Page], str]

LOOKS: Mapping[str, Mapping[str, Any]] = {
    "light": {},
    "dark": DARK,
    "phone": PHONE,
    "german": GERMAN,
}
THEIRS = "Bellwether Ceramics"  # what engineering alone writes about


def settled(page: Page) -> None:
    """Wait until the map is drawn and its names stand still."""
    expect(page.locator("[data-settled=true]")).to_be_visible()
    expect(page.locator("aside h2")).to_be_visible()


def selected(page: Page) -> Locator:
    """The name that Enter chooses."""
    return page.locator("[role=option][aria-selected=true]")


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="About this name")


def ask(demo: Demo, page: Page, who: str, method: str, path: str, body: object = None) -> Any:
    """Return what the server replies to the key of this person."""
    reply = page.context.request.fetch(
        f"{demo.url}/v1/graph/{path}",
        method=method,
        headers={
            "Authorization": f"Bearer {demo.keys[who]}",
            "Content-Type": "application/json",
        },
        data=None if body is None else json.dumps(body),
    )
    assert reply.ok, reply.text()
    return reply.json()


def identify(demo: Demo, page: Page, name: str) -> str:
    """Return the id of a name that Ada sees."""
    listed = ask(demo, page, "ada", "GET", f"names?query={name}&limit=1")
    return listed["names"][0]["entityId"]


def correct(page: Page, verb: str) -> Locator:
    """Choose a correction of the name that is shown; return its dialog."""
    panel(page).get_by_role("button", name="Correct").click()
    page.get_by_role("menuitem", name=verb).click()
    return page.get_by_role("dialog")


@pytest.mark.parametrize("look", LOOKS)
def test_the_start_and_a_map_can_be_used_by_everybody(page_as: PageAs, look: str) -> None:
    page = page_as("ada", "/map", **LOOKS[look])
    expect(page.get_by_role("combobox")).to_be_focused()
    expect(page.get_by_role("link", name="Priya Raman")).to_be_visible()
    axe(page)
    screenshot(page, f"map-start-{look}")
    page.get_by_role("link", name="Tarn 4").click()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    axe(page)
    screenshot(page, f"map-{look}")


def test_a_name_is_found_and_gone_through_by_keyboard_alone(page_as: PageAs) -> None:
    page = page_as("ada", "/map")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("nordwind e")
    option = selected(page)
    expect(option).to_contain_text("Nordwind Energie")
    field = page.get_by_role("combobox")
    expect(field).to_have_attribute("aria-activedescendant", option.get_attribute("id") or "")
    page.keyboard.press("ArrowDown")
    expect(selected(page)).to_contain_text("Nordwind Energie GmbH")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    settled(page)
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("Nordwind Energie")
    page.get_by_role("button", name="List").focus()
    page.keyboard.press("Enter")
    row = page.get_by_role("row", name="Jonas Weber").get_by_role("button")
    row.focus()
    page.keyboard.press("Enter")
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("Jonas Weber")
    assert "?on=" in page.url
    axe(page)
    page.reload()
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("Jonas Weber")


def test_enter_finds_what_was_typed_before_a_list_is_there(page_as: PageAs) -> None:
    page = page_as("ada", "/map")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.insert_text("priya raman")
    page.keyboard.press("Enter")
    settled(page)
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("Priya Raman")


def test_a_fact_opens_its_source_with_the_sentence_marked(page_as: PageAs) -> None:
    page = page_as("ada", "/map/Nordwind%20Energie")
    settled(page)
    quote = panel(page).get_by_role("button", name="All-hands").first
    quote.click()
    expect(page.locator("mark").first).to_contain_text("Nordwind Energie in Lübeck ordered")
    assert "#d=" in page.url
    page.keyboard.press("Escape")
    expect(page.locator("mark")).to_have_count(0)
    settled(page)


def test_a_kind_goes_and_comes_back_by_the_legend(page_as: PageAs) -> None:
    page = page_as("ada", "/map/Nordwind%20Energie")
    settled(page)
    page.get_by_role("button", name="List").click()
    expect(page.get_by_role("row", name="Jonas Weber")).to_be_visible()
    people = page.get_by_role("button", name="People")
    people.click()
    expect(people).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("row", name="Jonas Weber")).to_have_count(0)
    people.click()
    expect(page.get_by_role("row", name="Jonas Weber")).to_be_visible()


def test_nobody_sees_a_name_of_others(
    page_as: PageAs, demo: Demo, texts_received: Received
) -> None:
    page = page_as("bob", "/map")
    secret = identify(demo, page, THEIRS)
    expect(page.get_by_role("link").nth(8)).to_be_visible()
    page.get_by_role("combobox").fill("bellw")
    expect(page.get_by_text("No name in what you can see")).to_be_visible()
    for screen in ("map", "brief"):
        page.goto(f"/{screen}/{secret}")
        expect(page.get_by_text("in what you can see")).to_be_visible()
    tarn = identify(demo, page, "Tarn 4")
    page.goto(f"/map/{tarn}?to={secret}")
    expect(page.get_by_role("alert")).to_be_visible()
    page.goto(f"/map/{tarn}")
    settled(page)
    page.get_by_role("combobox", name="How far").select_option("3")
    page.get_by_role("button", name="List").click()
    expect(page.get_by_role("row").nth(5)).to_be_visible()
    expect(panel(page).get_by_role("button", name="Correct")).to_have_count(0)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("menuitem", name="CSV")).to_have_count(0)
    assert "Bellwether" not in texts_received(page)
    ada = page_as("ada", f"/map/{secret}")
    expect(panel(ada).get_by_role("heading", level=2)).to_have_text(THEIRS)
    assert "Bellwether" in texts_received(ada), "the record is not blind"


def test_a_way_between_two_names_says_each_step_with_its_place(page_as: PageAs) -> None:
    page = page_as("ada", "/map/Nordwind%20Energie")
    settled(page)
    panel(page).get_by_role("button", name="Find a way to").click()
    page.keyboard.type("priya ram")
    expect(selected(page)).to_contain_text("Priya Raman")
    page.keyboard.press("Enter")
    way = page.get_by_role("region", name="How they are tied")
    expect(way.get_by_role("listitem")).to_have_count(3)
    expect(way.get_by_role("listitem").nth(1)).to_contain_text("Jonas Weber")
    expect(way.locator("q")).to_have_count(2)
    assert "?to=" in page.url
    screenshot(page, "map-way")
    axe(page)
    page.reload()
    expect(way.get_by_role("listitem")).to_have_count(3)
    way.get_by_role("button", name="Close").click()
    expect(panel(page)).to_be_visible()


def test_a_merge_says_what_it_does_and_is_undone(page_as: PageAs) -> None:
    page = page_as("ada", "/map/Nordwind%20Energie")
    settled(page)
    dialog = correct(page, "Merge")
    expect(dialog.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("nordwind energie g")
    expect(selected(page)).to_contain_text("Nordwind Energie GmbH")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("becomes another name of “Nordwind Energie”")
    axe(page)
    screenshot(page, "map-merge")
    dialog.get_by_role("button", name="Merge").click()
    expect(panel(page)).to_contain_text("Also: Nordwind Energie GmbH")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("Undone")).to_be_visible()
    expect(panel(page)).not_to_contain_text("Also:")


def test_a_split_says_what_moves_and_is_undone(page_as: PageAs) -> None:
    page = page_as("ada", "/map/Nordwind%20Energie")
    settled(page)
    dialog = correct(page, "Split")
    verb = dialog.get_by_role("button", name="Split")
    expect(verb).to_be_disabled()
    dialog.get_by_role("textbox").fill("Nordwind Kiel")
    dialog.get_by_role("checkbox", name="Names we confuse").check()
    expect(dialog).to_contain_text("1 place moves to “Nordwind Kiel”")
    axe(page)
    verb.click()
    expect(panel(page)).to_contain_text("Mentioned in 1 place")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(panel(page)).to_contain_text("Mentioned in 2 places")


def test_a_hidden_name_goes_and_comes_back(page_as: PageAs) -> None:
    page = page_as("ada", "/map/Nordwind%20Logistik")
    settled(page)
    dialog = correct(page, "Hide")
    expect(dialog).to_contain_text("The documents stay as they are")
    dialog.get_by_role("button", name="Hide").click()
    expect(page.get_by_role("heading", name="Map")).to_be_visible()
    page.get_by_role("combobox").fill("nordwind log")
    expect(page.get_by_role("option", name="Nordwind Logistik AG")).to_be_visible()
    expect(page.get_by_role("option")).to_have_count(1)
    page.get_by_role("button", name="Undo", exact=True).click()
    settled(page)
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("Nordwind Logistik")


def test_a_map_is_saved_as_a_picture_and_all_as_tables(page_as: PageAs) -> None:
    page = page_as("ada", "/map/Tarn%204")
    settled(page)
    save = page.get_by_role("button", name="Save")
    save.click()
    with page.expect_download() as picture:
        page.get_by_role("menuitem", name="picture").click()
    content = picture.value.path().read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 5000, "an empty picture is smaller"
    save.click()
    with page.expect_download() as tables:
        page.get_by_role("menuitem", name="CSV").click()
    with zipfile.ZipFile(tables.value.path()) as archive:
        assert any(b"Tarn 4" in archive.read(name) for name in archive.namelist())


def test_who_cannot_draw_gets_the_list(page_as: PageAs) -> None:
    page = page_as("ada", "/documents")
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto("/map/Tarn%204")
    expect(page.get_by_text("cannot draw the map")).to_be_visible()
    expect(page.get_by_role("row", name="Fjell G1")).to_be_visible()
    expect(panel(page).get_by_role("heading", level=2)).to_have_text("Tarn 4")


HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\">",
    "javascript:document.title='owned'",
    "\u202eexe.gnp\u202d invoice",
    "{{constructor.constructor('document.title=1')()}}",
    "x" * 200,
)


def test_names_that_try_to_be_more_are_text(page_as: PageAs, demo: Demo) -> None:
    page = page_as("ada", "/map")
    tags = ["team:engineering"]
    made = [
        ask(
            demo,
            page,
            "ada",
            "POST",
            "entities",
            {"name": name, "description": f"<b>{'y' * 7_900}</b>", "aclTags": tags},
        )
        for name in HOSTILE
    ]
    for entity in made:
        body = {"source": "Tarn 4", "target": entity["entityId"], "aclTags": tags}
        ask(demo, page, "ada", "PUT", "relations", body | {"description": "<svg onload=alert(1)>"})
    page.goto("/map/Tarn%204")
    settled(page)
    screenshot(page, "map-hostile")
    page.get_by_role("button", name="List").click()
    expect(page.get_by_role("row", name="onerror")).to_be_visible()
    for look in ("map", "brief"):
        for entity in made:
            page.goto(f"/{look}/{entity['entityId']}")
            heading = page.get_by_role("heading", level=2 if look == "map" else 1)
            expect(heading.filter(has_text=entity["entityName"]).first).to_be_visible()
            assert page.locator("main img, main b, main a[href^='javascript']").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "owned" not in page.title().replace(HOSTILE[0], "").replace(HOSTILE[1], "")


def test_two_thousand_names_are_drawn_and_listed(page_as: PageAs) -> None:
    ids = [f"00000000-0000-4000-8000-{number:012}" for number in range(2000)]
    names = [
        {
            "entityId": each,
            "entityRef": f"kg:term:{number}",
            "entityName": f"Name {number}",
            "entityType": ("person", "organization", "term")[number % 3],
            "chunkCount": 1 + number % 40,
            "depth": min(number, 2),
        }
        for number, each in enumerate(ids)
    ]
    ties = [
        {
            "sourceEntityId": ids[number],
            "targetEntityId": ids[number // step],
            "predicate": "RELATED_TO",
            "weight": 1.0,
            "isLink": False,
        }
        for number in range(1, 2000)
        for step in (2, 3, 7)
    ]
    page = page_as("ada", "/map")

    def reply(route: Route) -> None:
        route.fulfill(json={"names": names, "ties": ties, "isCut": True})

    page.route("**/v1/graph/map*", reply)
    page.goto(f"/map/{ids[0]}")
    expect(page.locator("[data-settled=true]")).to_be_visible()
    expect(page.get_by_text("there are more")).to_be_visible()
    page.get_by_role("button", name="List").click()
    expect(page.locator("tbody tr")).to_have_count(2000)
