"""LightRAG's own WebUI, unchanged from its wheel, on this server: two people sign in, and each sees documents, a graph and answers of their own.

It is held to what a page of ours is: it breaks no policy, and asks no foreign host.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from lightwell.testing.server import temporary_folder
from tests.browser.conftest import OpenPage, chromium
from tests.browser.demo import Demo, copy_store, serving_demo
from tests.browser.looking import screenshot
from tests.lightrag_package import install_lightrag
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

QUESTION = "What discount does Nordwind Energie receive?"
HIDDEN = "18 percent"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One that draws the graph, for which it needs WebGL, without a graphics card."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium(),
            args=[
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--enable-unsafe-swiftshader",
            ],
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def demo(store_of_the_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    package = install_lightrag(tmp_path_factory.mktemp("lightrag"))
    settings = {
        "LIGHTWELL_HTTP_COMPATIBILITY": "lightrag",
        "LIGHTWELL_LIGHTRAG_WEBUI": str(package / "api" / "webui"),
    }
    with temporary_folder() as folder:
        copy_store(store_of_the_run, folder)
        with serving_demo(folder, settings) as running:
            yield running


def sign_in(open_page: OpenPage, key: str) -> Page:
    page = open_page("/lightrag/webui/")
    expect(page.get_by_text("a key of Lightwell as the password")).to_be_visible()
    page.get_by_role("textbox").first.fill("anybody")
    page.locator("input[type=password]").fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Documents")).to_be_visible()
    return page


def test_two_people_see_different_things_in_lightrags_webui(
    demo: Demo, open_page: OpenPage
) -> None:
    grace, bob = (sign_in(open_page, demo.keys[who]) for who in ("grace", "bob"))
    expect(grace.get_by_text("Salary bands 2026")).to_be_visible()
    expect(bob.get_by_text("Completed (18)")).to_be_visible()
    expect(bob.get_by_text("Salary bands 2026")).to_have_count(0)
    screenshot(grace, "lightrag-documents")
    for page, nodes in ((grace, "node: 135"), (bob, "node: 102")):
        page.get_by_role("tab", name="Knowledge Graph").click()
        expect(page.get_by_text(nodes)).to_be_visible()
    screenshot(grace, "lightrag-graph")
    for page, answer in ((grace, HIDDEN), (bob, "Insufficient evidence")):
        page.get_by_role("tab", name="Retrieval").click()
        page.locator("form textarea:visible, form input:visible").last.fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.get_by_text(answer)).to_be_visible()
    expect(grace.get_by_text("References")).to_be_visible()
    cited = grace.get_by_role("link", name="1").first
    assert "/d/" in str(cited.get_attribute("href"))
    expect(bob.get_by_text(HIDDEN)).to_have_count(0)
    screenshot(grace, "lightrag-answer")


def test_a_file_that_is_uploaded_there_is_read(demo: Demo, open_page: OpenPage) -> None:
    page = sign_in(open_page, demo.keys["grace"])
    page.get_by_role("button", name="Upload").click()
    # A click waits until the dialog stands still: while it opens it forgets a file.
    with page.expect_file_chooser() as chooser:
        page.get_by_text("Drag and drop files here").click()
    chooser.value.set_files(
        {"name": "pumps.md", "mimeType": "text/markdown", "buffer": b"# Pumps\n\nOsprey has pumps."}
    )
    # The page looks every half a minute, after the file has been read.
    expect(page.get_by_text("Completed (26)")).to_be_visible(timeout=PATIENCE * 1000)
    expect(page.get_by_text("Pumps", exact=True)).to_be_visible()
    screenshot(page, "lightrag-upload")
