"""A real server with the example company for each file of tests, and a real Chromium.

A test gets pages from `page_as` (somebody of the example company, signed in) or `open_page` (nobody), as many as it needs. It fails,
whatever else it asserts, when a page logs an error, breaks the Content-Security-Policy, raises, gets a part that is not there or a reply
of 500, or asks a foreign host: there is no way to one.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from lightwell.entrypoints.http import page as built_page
from lightwell.testing.server import temporary_folder
from tests.browser.demo import Demo, copy_store, prepared_store, serving_demo
from tests.browser.people import Watch, watch

_NO_OTHER_HOST: Final = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
_PATIENCE_MS: Final = 60_000
expect.set_options(timeout=_PATIENCE_MS)


class OpenPage(Protocol):
    def __call__(self, address: str = "/", **look: Any) -> Page: ...


class PageAs(Protocol):
    def __call__(self, who: str, address: str = "/", **look: Any) -> Page: ...


def chromium() -> str:
    """Return the program; skip the tests where there is none, but never in CI."""
    program = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if program is None:
        message = "the tests of the page need Chromium: apt-get install chromium, or CHROMIUM=path"
        assert not os.environ.get("CI"), message
        pytest.skip(message)
    return program


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the built page; without it the tests are skipped, but never in CI."""
    if not (built_page.FOLDER / "index.html").is_file():
        message = "the tests of the page need the page: make web"
        assert not os.environ.get("CI"), message
        pytest.skip(message)
    return built_page.FOLDER


@pytest.fixture(scope="module")
def browser(built: Path) -> Iterator[Browser]:
    """One for each file: a running Playwright leaves no place for the event loops of other tests."""
    del built
    program = chromium()
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=[_NO_OTHER_HOST])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def store_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the example company, which all workers of a run copy."""
    own = tmp_path_factory.getbasetemp()
    return prepared_store(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="module")
def demo(browser: Browser, store_of_the_run: Path) -> Iterator[Demo]:
    """The server of this file, with a store of its own. What a test changes there the later ones see."""
    with temporary_folder() as folder:
        copy_store(store_of_the_run, folder)
        with serving_demo(folder) as running:
            yield running


@pytest.fixture
def watches(browser: Browser) -> Iterator[dict[BrowserContext, Watch]]:
    opened = dict[BrowserContext, Watch]()
    yield opened
    faults = [fault for watched in opened.values() for fault in watched.unexpected()]
    for context in opened:
        context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def open_page(browser: Browser, demo: Demo, watches: dict[BrowserContext, Watch]) -> OpenPage:
    """Opens an address as nobody, in a browser of its own: `open_page("/sign-in", **PHONE, **DARK)`."""

    def open_as_nobody(address: str = "/", **look: Any) -> Page:
        page = _new_page(browser, demo, watches, look)
        page.goto(address)
        return page

    return open_as_nobody


@pytest.fixture
def page_as(browser: Browser, demo: Demo, watches: dict[BrowserContext, Watch]) -> PageAs:
    """Opens an address as somebody of `PEOPLE`, signed in with their key: `page_as("ada", "/documents", **PHONE)`."""

    def open_as(who: str, address: str = "/", **look: Any) -> Page:
        page = _new_page(browser, demo, watches, look)
        signed_in = page.context.request.post(
            "/v1/sign-in/key", data={"key": demo.keys[who]}, headers={"Origin": demo.url}
        )
        assert signed_in.status == 204, signed_in.text()
        page.goto(address)
        return page

    return open_as


def _new_page(
    browser: Browser, demo: Demo, watches: dict[BrowserContext, Watch], look: dict[str, Any]
) -> Page:
    watched = watch(browser, demo.url, look)
    watches[watched.context] = watched
    watched.context.set_default_timeout(_PATIENCE_MS)
    return watched.context.new_page()


@pytest.fixture
def texts_received(watches: dict[BrowserContext, Watch]) -> Callable[[Page], str]:
    """Returns all that the scripts of this person's pages have received until now: `assert "18 percent" not in texts_received(page)`."""

    def received(page: Page) -> str:
        page.evaluate("() => new Promise(resolve => setTimeout(resolve))")
        return "".join(watches[page.context].received)

    return received


@pytest.fixture
def requests_of(watches: dict[BrowserContext, Watch]) -> Callable[[Page], list[str]]:
    """Returns what the pages of this person have asked for, as `GET http://…`, until now."""
    return lambda page: [*watches[page.context].requests]


@pytest.fixture
def expect_fault(watches: dict[BrowserContext, Watch]) -> Callable[[Page, str], None]:
    """Says that a fault with this pattern is what the test is about, such as `reply 503`."""
    return lambda page, pattern: watches[page.context].expected.append(pattern)
