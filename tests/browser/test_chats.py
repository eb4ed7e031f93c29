"""Linking an account of Telegram in the menu of one's own account: a real bot, against a stand-in for Telegram."""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from lightwell.testing.server import temporary_folder
from tests.browser.conftest import PageAs
from tests.browser.demo import Demo, copy_store, serving_demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, GERMAN, PHONE
from tests.patience import PATIENCE
from tests.telegram_server.server import BotApi, serving
from tests.telegram_server.state import TOKEN, FakeTelegram


@dataclass(frozen=True, kw_only=True)
class Telegram:
    """Telegram in a thread of its own: the test has Playwright's."""

    fake: FakeTelegram
    url: str
    loop: asyncio.AbstractEventLoop

    def do(self, what: Callable[[], object]) -> object:
        """Do something in Telegram, and return what comes of it."""

        async def done() -> object:
            return what()

        return asyncio.run_coroutine_threadsafe(done(), self.loop).result(PATIENCE)


@contextmanager
def telegram_in_thread() -> Generator[Telegram]:
    started = threading.Event()
    opened: list[Telegram] = []
    stop = asyncio.Event()

    async def serve() -> None:
        fake = FakeTelegram(clock=time.monotonic)
        async with serving(BotApi(fake)) as url:
            opened.append(Telegram(fake=fake, url=url, loop=asyncio.get_running_loop()))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield opened[0]
    finally:
        opened[0].loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def telegram() -> Iterator[Telegram]:
    with telegram_in_thread() as opened:
        yield opened


@pytest.fixture(scope="module")
def demo(browser: Browser, store_of_the_run: Path, telegram: Telegram) -> Iterator[Demo]:
    del browser
    settings = {"LIGHTWELL_TELEGRAM_TOKEN": TOKEN, "LIGHTWELL_TELEGRAM_API": telegram.url}
    with temporary_folder() as folder:
        copy_store(store_of_the_run, folder)
        with serving_demo(folder, settings) as running:
            yield running


def open_chats(page: Page) -> Locator:
    """Open the dialog, as soon as the bot has said that it runs."""
    wait_for_bot(page)
    page.reload()
    page.get_by_role("button", name=re.compile("Your account|Ihr Konto")).click()
    page.get_by_role("menuitem", name="Chats").click()
    dialog = page.get_by_role("dialog", name="Chats")
    expect(dialog).to_be_visible()
    return dialog


def wait_for_bot(page: Page) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        reply = page.context.request.get("/v1/me/channels")
        assert reply.status == 200, reply.text()
        if reply.json()["channels"]:
            return
        page.wait_for_timeout(200)
    raise AssertionError("the bot has not said that it runs")


def test_an_account_is_linked_from_the_page_and_unlinked(
    page_as: PageAs, telegram: Telegram
) -> None:
    page = page_as("bob")
    dialog = open_chats(page)
    expect(dialog).not_to_contain_text("Slack")
    axe(page)
    screenshot(page, "chats")
    dialog.get_by_role("button", name="Link Telegram").click()
    link = dialog.get_by_role("link", name="Open Telegram")
    address = link.get_attribute("href") or ""
    bot = telegram.fake.me()["username"]
    matched = re.fullmatch(rf"https://t\.me/{bot}\?start=([0-9a-f]{{32}})", address)
    assert matched, address
    assert (link.get_attribute("rel"), link.get_attribute("target")) == (
        "noopener noreferrer",
        "_blank",
    )
    expect(dialog.get_by_role("textbox")).to_have_value(f"/start {matched[1]}")
    expect(dialog).to_contain_text("within ten minutes")
    axe(page)
    screenshot(page, "chats-code")
    bob = telegram.do(lambda: telegram.fake.person("<b>Bob</b>"))
    assert isinstance(bob, int)
    telegram.do(lambda: telegram.fake.say(bob, f"/start {matched[1]}"))
    expect(dialog).to_contain_text("Linked as <b>Bob</b>")
    expect(page.get_by_text("Telegram is linked")).to_be_visible()
    expect(dialog.get_by_role("link", name="Open Telegram")).to_have_count(0)
    axe(page)
    screenshot(page, "chats-linked")
    dialog.get_by_role("button", name="Unlink Telegram").click()
    expect(dialog.get_by_role("button", name="Link Telegram")).to_be_visible()


@pytest.mark.parametrize("look", [DARK, {**PHONE, **GERMAN}], ids=["dark", "phone"])
def test_it_looks_right_in_the_dark_and_on_a_phone(
    page_as: PageAs, look: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    page = page_as("grace", **look)
    dialog = open_chats(page)
    dialog.get_by_role("button", name=re.compile("Link Telegram|Telegram verbinden")).click()
    expect(dialog.get_by_role("textbox")).to_have_value(re.compile("/start [0-9a-f]{32}"))
    axe(page)
    width, inside = dialog.evaluate("dialog => [dialog.clientWidth, dialog.scrollWidth]")
    right = dialog.get_by_role("link", name="Telegram").bounding_box()
    whole = dialog.bounding_box()
    assert inside <= width
    assert right
    assert whole
    assert right["x"] + right["width"] <= whole["x"] + whole["width"] - 16
    screenshot(page, f"chats-{request.node.callspec.id}")


def test_whoever_is_signed_in_with_less_than_they_may_is_told(page_as: PageAs, demo: Demo) -> None:
    page = page_as("ada")
    shown = {"Authorization": f"Bearer {demo.keys['ada']}"}
    made = page.context.request.post(
        "/v1/admin/keys",
        headers=shown,
        data={"name": "reads", "scopes": ["read"], "aclTags": ["team:sales"]},
    )
    assert made.status == 201, made.text()
    narrow = page.context.request.post(
        "/v1/sign-in/key", data={"key": made.json()["key"]}, headers={"Origin": demo.url}
    )
    assert narrow.status == 204
    dialog = open_chats(page)
    expect(dialog).to_contain_text("sign in as yourself")
    expect(dialog.get_by_role("button", name="Link Telegram")).to_have_count(0)
