"""Documents: what people add, who sees it, and what goes with it, as people with different access; and a list of 50,000."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from lightwell.stores.embedded.server import run_server
from tests.browser.conftest import PageAs
from tests.browser.demo import Demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE

LOOKS: dict[str, Mapping[str, Any]] = {
    "light": {},
    "dark": DARK,
    "phone": PHONE,
    "phone-german-dark": {**PHONE, **GERMAN, **DARK},
}
HOSTILE = [
    "<img src=x onerror=alert(1)>.md",
    "‮txt.gpj evil.md",
    "javascript:alert(1).md",
    "x" * 180 + ".md",
    "a {@html b} ${c}.md",
]
_MANY = """
INSERT INTO source_documents (document_id, project_id, tenant_id, global_ref, source_system, source_type, source_id,
    source_url, title, format, content_hash, acl_tags, class_id, status, updated_at)
SELECT gen_random_uuid(), project_id, tenant_id, 'many:' || number, 'web', 'page', 'many:' || number,
    'https://many.example/' || number, 'Many ' || lpad(number::text, 6, '0'), 'html', md5(number::text), acl_tags, class_id,
    CASE WHEN number % 1000 = 0 THEN 'failed' ELSE 'active' END, now() - number * interval '1 minute'
FROM generate_series(1, 50000) AS number,
    (SELECT * FROM source_documents WHERE acl_tags = '{team:support}' LIMIT 1) AS model
"""

# The longest that the page was busy and drew nothing, in milliseconds, and the most rows that were in it, while it scrolled.
_SCROLL = """
async (scroller) => {
  let most = 0, long = 0, last = performance.now();
  for (let step = 0; step < 240; step += 1) {
    scroller.scrollTop += 400;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, document.querySelectorAll('[role="row"]').length);
    const now = performance.now();
    long = Math.max(long, now - last);
    last = now;
  }
  return {most, long, top: scroller.scrollTop};
}
"""


def file(name: str, text: str) -> FilePayload:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def add(page: Page, *files: FilePayload) -> Locator:
    """Choose files with the button, and return the dialog that asks for whom they are."""
    page.locator("input[type=file][multiple]").set_input_files([*files])
    return page.get_by_role("dialog")


def drop(page: Page, *files: FilePayload) -> None:
    """Drop files on the page, as a person does from a folder of their system."""
    contents = [(one["name"], base64.b64encode(one["buffer"]).decode()) for one in files]
    page.evaluate(
        """(files) => {
          const data = new DataTransfer();
          for (const [name, content] of files)
            data.items.add(new File([Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0))], name));
          for (const kind of ['dragenter', 'dragover', 'drop'])
            document.body.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: data}));
        }""",
        contents,
    )


def row(page: Page, title: str) -> Locator:
    return page.get_by_role("row").filter(has_text=title)


def act(page: Page, title: str, action: str) -> Locator:
    """Open the menu of a document, choose an action, and return the dialog that opens."""
    row(page, title).get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name=action, exact=True).click()
    return page.get_by_role("dialog")


def add_alone(page: Page, one: FilePayload) -> None:
    """Add a file for oneself, and wait until it has been read."""
    add(page, one).get_by_role("button", name="Add 1 file").click()
    expect(tray(page).get_by_text("Ready: you can ask about it")).to_be_visible()


def tray(page: Page) -> Locator:
    return page.get_by_role("region", name="Files being added")


@pytest.mark.parametrize("name", LOOKS)
def test_the_list_is_seen_and_used_by_everybody(page_as: PageAs, name: str) -> None:
    page = page_as("grace", "/documents", **LOOKS[name])
    expect(row(page, "Supply contract HI-2026-014")).to_be_visible()
    axe(page)
    screenshot(page, f"documents-{name}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_person_adds_a_file_that_nobody_else_sees_and_gets_answers_from_it(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    page = page_as("grace", "/documents")
    text = "# Quokka plan\n\nThe Quokka budget for Perth is 4711 euros in March 2026."
    dialog = add(page, file("quokka-plan.md", text))
    expect(dialog.get_by_role("checkbox", name="Only me")).to_be_checked()
    assert dialog.evaluate("shown => shown.scrollWidth <= shown.clientWidth")
    assert dialog.get_by_role("checkbox", checked=True).count() == 1
    axe(page)
    screenshot(page, "documents-for-whom")
    dialog.get_by_role("button", name="Add 1 file").click()
    expect(tray(page).get_by_text("Ready: you can ask about it")).to_be_visible()
    expect(row(page, "Quokka plan")).to_contain_text("Only me")
    screenshot(page, "documents-tray")
    axe(page)

    # Elsewhere the tray is still there.
    page.get_by_role("navigation").first.locator("a[href='/']:not(.logo)").click()
    expect(tray(page)).to_be_visible()
    page.goto("/?q=What is the Quokka budget for Perth?")
    expect(page.get_by_role("main")).to_contain_text("4711 euros")

    other = page_as("bob", "/documents")
    expect(other.get_by_role("row").nth(2)).to_be_visible()
    other.get_by_role("searchbox").fill("quokka")
    expect(other.get_by_text("No document fits")).to_be_visible()
    other.goto("/?q=What is the Quokka budget for Perth?")
    expect(other.get_by_role("main")).to_contain_text("what you can see")
    received = texts_received(other)
    assert "4711" not in received
    assert "quokka-plan" not in received.lower()


def test_files_are_dropped_on_any_screen_for_a_group(page_as: PageAs) -> None:
    page = page_as("grace", "/")
    expect(page.get_by_role("heading", level=1)).to_be_attached()
    drop(
        page,
        *(file(f"Wombat note {number}.txt", f"Wombat {number} is fine.") for number in range(12)),
    )
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox", name="Only me").uncheck()
    expect(dialog.get_by_role("button", name="Add 12 files")).to_be_disabled()
    dialog.get_by_role("checkbox", name="Sales").check()
    dialog.get_by_role("button", name="Add 12 files").click()
    expect(tray(page).get_by_text("12 files added")).to_be_visible()
    page.goto("/documents?title=wombat")
    expect(page.get_by_text("12 documents")).to_be_visible()
    expect(row(page, "Wombat note 7")).to_contain_text("Sales")
    # Who may only add has no way to delete what others see.
    row(page, "Wombat note 7").get_by_role("button", name="Actions").click()
    expect(page.get_by_role("menuitem", name="Copy link")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Delete")).to_have_count(0)


def test_who_sees_a_document_changes_after_saying_who_gains_and_who_loses(page_as: PageAs) -> None:
    page = page_as("grace", "/documents")
    add(page, file("numbat.md", "# Numbat memo\n\nThe numbat costs 12 euros.")).get_by_role(
        "button", name="Add 1 file"
    ).click()
    expect(row(page, "Numbat memo")).to_contain_text("Only me")
    admin = page_as("ada", "/documents?title=numbat")
    expect(admin.get_by_text("No document fits")).to_be_visible()

    expect(row(page, "Numbat memo")).to_contain_text("Ready")
    dialog = act(page, "Numbat memo", "Change who can see it")
    dialog.get_by_role("checkbox", name="Halden Instruments").check()
    expect(dialog).to_contain_text("will see it")
    expect(dialog).to_contain_text("2 people")
    # People are named to administrators alone.
    expect(dialog).not_to_contain_text("Ada")
    axe(page)
    screenshot(page, "documents-access")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(row(page, "Numbat memo")).to_contain_text("Halden Instruments")

    admin.reload()
    dialog = act(admin, "Numbat memo", "Change who can see it")
    dialog.get_by_role("checkbox", name="Halden Instruments").uncheck()
    expect(dialog).to_contain_text("Ada Lindqvist and 1 other will no longer see it.")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(admin.get_by_role("dialog")).to_have_count(0)
    admin.reload()
    expect(admin.get_by_text("No document fits")).to_be_visible()


def test_a_deletion_says_what_goes_and_then_it_is_gone(page_as: PageAs) -> None:
    page = page_as("grace", "/documents")
    add(
        page,
        file("bilby.md", "# Bilby\n\nThe company Bilby Burrows GmbH signed BIL-77."),
        file("potoroo.md", "# Potoroo\n\nPotoroo."),
    ).get_by_role("button", name="Add 2 files").click()
    expect(tray(page).get_by_text("2 files added")).to_be_visible()
    tray(page).get_by_role("button", name="Close the list").click()
    dialog = act(page, "Bilby", "Delete")
    expect(dialog).to_contain_text("1 place that answers can cite")
    expect(dialog).to_contain_text("bilby burrows")
    axe(page)
    screenshot(page, "documents-deletion")
    dialog.get_by_role("button", name="Cancel").click()
    expect(row(page, "Bilby")).to_be_visible()

    # Several at once, by keyboard alone.
    row(page, "Potoroo").focus()
    page.keyboard.press("x")
    row(page, "Bilby").focus()
    page.keyboard.press("x")
    bar = page.get_by_role("toolbar", name="2 selected")
    bar.get_by_role("button", name="Delete").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 places")
    dialog.get_by_role("button", name="Delete for good").press("Enter")
    expect(row(page, "Bilby")).to_have_count(0)
    expect(row(page, "Potoroo")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("row").nth(2)).to_be_visible()
    expect(row(page, "Bilby")).to_have_count(0)


def test_a_file_takes_the_place_of_a_document_once_it_has_been_read(page_as: PageAs) -> None:
    page = page_as("grace", "/documents")
    add_alone(page, file("kowari.md", "# Kowari, first\n\nKowari one."))
    expect(row(page, "Kowari, first")).to_contain_text("Ready")
    row(page, "Kowari, first").get_by_role("button", name="Actions").click()
    with page.expect_file_chooser() as choosing:
        page.get_by_role("menuitem", name="Replace by a file").click()
    choosing.value.set_files([file("kowari-2.md", "# Kowari, second\n\nKowari two.")])
    expect(row(page, "Kowari, second")).to_contain_text("Only me")
    expect(row(page, "Kowari, first")).to_have_count(0)


def test_what_the_server_refuses_is_not_shown_as_done(
    page_as: PageAs, expect_fault: Callable[[Page, str], None]
) -> None:
    page = page_as("grace", "/documents")
    expect_fault(page, "ERR_FAILED|Failed to load resource")
    add_alone(page, file("numbat.md", "# Numbat, first\n\nNumbat one."))
    expect(row(page, "Numbat, first")).to_contain_text("Ready")

    def refuse(route: Route) -> None:
        if route.request.method == "DELETE":
            route.fulfill(status=403, json={"detail": "Others read it now."})
        else:
            route.continue_()

    page.route("**/v1/documents/*", refuse)
    row(page, "Numbat, first").get_by_role("button", name="Actions").click()
    with page.expect_file_chooser() as choosing:
        page.get_by_role("menuitem", name="Replace by a file").click()
    choosing.value.set_files([file("numbat-2.md", "# Numbat, second\n\nNumbat two.")])
    expect(page.get_by_text("the old one is still there, too: Others read it now.")).to_be_visible()
    expect(row(page, "Numbat, first")).to_be_visible()

    page.route(
        "**/v1/jobs?*", lambda route: route.abort()
    )  # it is open for as long as the test needs
    page.route(
        "**/v1/jobs/*/cancel",
        lambda route: route.fulfill(status=403, json={"detail": "It is not yours."}),
    )
    add(page, file("quoll.md", "# Quoll\n\nQuoll.")).get_by_role(
        "button", name="Add 1 file"
    ).click()
    expect(tray(page)).to_contain_text("Sent; waiting to be read")
    tray(page).get_by_role("button", name="Cancel quoll.md").click()
    expect(page.get_by_text("It is not yours.")).to_be_visible()
    expect(tray(page)).not_to_contain_text("Cancelled")


def test_a_file_that_cannot_be_read_says_what_to_do(page_as: PageAs) -> None:
    page = page_as("grace", "/documents")
    files: list[FilePayload] = [
        {"name": "figures.rar", "mimeType": "", "buffer": b"Rar!\x1a\x07\x01"},
        {"name": "nothing.txt", "mimeType": "", "buffer": b""},
        {"name": "torn.pdf", "mimeType": "", "buffer": b"%PDF-1.7 torn"},
        file("fine.txt", "Fine."),
    ]
    add(page, *files).get_by_role("button", name="Add 4 files").click()
    expect(tray(page)).to_contain_text("3 could not be added")
    expect(tray(page)).to_contain_text("Files of this kind are not read.")
    expect(tray(page)).to_contain_text("It is empty.")
    expect(tray(page)).to_contain_text("It is damaged")
    expect(tray(page)).to_contain_text("1 file added")
    axe(page)
    screenshot(page, "documents-failures")


def test_a_busy_server_is_waited_for_and_a_lost_connection_can_be_tried_again(
    page_as: PageAs, expect_fault: Callable[[Page, str], None]
) -> None:
    page = page_as("grace", "/documents")
    expect_fault(page, "503|ERR_FAILED|Failed to load resource")
    replies = iter(("busy", "lost"))

    def refuse(route: Route) -> None:
        reply = next(replies, "") if route.request.method == "POST" else ""
        if reply == "busy":
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"detail": "Busy"})
        elif reply == "lost":
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/documents", refuse)
    add(page, file("dunnart.md", "# Dunnart\n\nA dunnart.")).get_by_role(
        "button", name="Add 1 file"
    ).click()
    expect(tray(page)).to_contain_text("it goes on by itself")
    expect(tray(page)).to_contain_text("The connection broke.")
    tray(page).get_by_role("button", name="Try dunnart.md again").click()
    expect(tray(page)).to_contain_text("1 file added")
    expect(row(page, "Dunnart")).to_have_count(1)


def test_names_of_files_are_texts(page_as: PageAs) -> None:
    page = page_as("grace", "/documents", **PHONE)
    files = [file(name, "Nothing but a text.") for name in HOSTILE]
    add(page, *files).get_by_role("button", name="Add 5 files").click()
    expect(tray(page)).to_contain_text("5 files added")
    for name in HOSTILE:
        expect(row(page, name.removesuffix(".md").strip("\u202e")).first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("main img, [role=region] img").count() == 0
    heights = page.locator("main .row").evaluate_all(
        "(rows) => rows.map((row) => row.offsetHeight)"
    )
    assert set(heights) == {76}


def test_the_list_is_used_without_a_mouse(page_as: PageAs) -> None:
    page = page_as("grace", "/documents?order=title&way=up")
    expect(page.get_by_role("row").nth(3)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("row").nth(2)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    expect(page.get_by_role("row").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary")).to_be_visible()
    assert "#d=" in page.url
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary")).to_have_count(0)
    page.keyboard.press("f")
    page.keyboard.type("contract")
    expect(page).to_have_url(re.compile(r"title=contract"))
    expect(row(page, "Supply contract HI-2026-014")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"^(?!.*title=)"))
    first = page.locator("main .row .name").first
    expect(page.locator("main .row")).not_to_have_count(1)
    upwards = first.inner_text()
    page.get_by_role("button", name="Title").press("Enter")
    expect(page).to_have_url(re.compile(r"way=down"))
    expect(first).not_to_have_text(upwards)


def test_fifty_thousand_documents_are_scrolled_sorted_and_filtered(
    page_as: PageAs, demo: Demo
) -> None:
    with run_server(demo.home / "data" / "demo") as url, psycopg.connect(url) as database:
        database.execute(_MANY)
    page = page_as("bob", "/documents")
    expect(page.get_by_text("50,0")).to_be_visible()
    scroller = page.get_by_role("rowgroup")
    scrolled = scroller.evaluate(_SCROLL)
    assert scrolled["most"] < 60, scrolled
    assert scrolled["top"] > 30_000, scrolled
    page.get_by_role("searchbox").fill("many 0")
    # What is typed counts, even where something is pressed at once.
    page.get_by_role("button", name="Title").click()
    expect(page).to_have_url(re.compile(r"title=many\+0&order=title"))
    page.get_by_role("button", name="Title").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("Many 050000")
    page.get_by_role("searchbox").fill("many 04242")
    expect(page.get_by_text("10 documents")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="Not readable").click()
    expect(page.get_by_text("50 documents")).to_be_visible()
    screenshot(page, "documents-many")
