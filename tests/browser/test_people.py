"""Set up: people, groups, invitations and keys, as an administrator; and that nobody else comes near them."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, PageAs
from tests.browser.demo import Demo
from tests.browser.looking import axe, screenshot
from tests.browser.people import DARK, PHONE


def invite(page: Page, email: str, name: str, *groups: str) -> str:
    """Invite somebody; return the link's address."""
    page.get_by_role("button", name="Invite", exact=True).click()
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Name", exact=True).fill(name)
    for group in groups:
        page.get_by_role("checkbox", name=group).check()
    axe(page)
    page.get_by_role("dialog").get_by_role("button", name="Invite").click()
    link = page.get_by_role("textbox", name="Link")
    expect(link).to_have_value(re.compile(r"/sign-in#"))
    address = link.input_value()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=name)).to_be_visible()
    return address


def me(page: Page) -> dict[str, object]:
    return page.evaluate("() => fetch('/v1/me').then((reply) => reply.json())")


def test_somebody_is_invited_signs_in_and_loses_access_at_once(
    page_as: PageAs, open_page: OpenPage, demo: Demo
) -> None:
    admin = page_as("ada", "/setup/people")
    expect(admin.get_by_role("button", name="Bob Okafor")).to_be_visible()
    screenshot(admin, "people")
    axe(admin)
    address = invite(admin, "kim@halden.example", "Kim Sørensen", "Sales")
    guest = open_page(address.removeprefix(demo.url))
    guest.get_by_role("button", name="Your account").click()
    expect(guest.get_by_role("menu")).to_contain_text("Kim Sørensen")
    assert me(guest)["tags"] == ["team:sales", "user:kim@halden.example"]
    assert me(guest)["scopes"] == ["ingest", "read"]
    admin.get_by_role("button", name="Kim Sørensen").click()
    expect(admin.get_by_role("dialog")).to_contain_text("Chrome")
    admin.get_by_role("checkbox", name="Sales").uncheck()
    expect(admin.get_by_text("Kim Sørensen no longer sees what only Sales sees.")).to_be_visible()
    assert me(guest)["tags"] == ["user:kim@halden.example"]
    admin.get_by_role("button", name="Undo").click()
    expect(admin.get_by_role("checkbox", name="Sales")).to_be_checked()
    admin.get_by_role("radio", name="Ask and read").check()
    expect(admin.get_by_text("Kim Sørensen now has: Ask and read.")).to_be_visible()
    assert me(guest)["scopes"] == ["read"]
    axe(admin)
    screenshot(admin, "person")
    admin.get_by_role("button", name="Take access away").click()
    expect(admin.get_by_text("Kim Sørensen has no access:")).to_be_visible()
    guest.reload()
    expect(guest.get_by_role("textbox", name="Key")).to_be_visible()


def test_people_are_found_while_one_types(page_as: PageAs) -> None:
    page = page_as("ada", "/setup/people")
    page.get_by_role("searchbox").fill("okaf")
    expect(page.get_by_role("button", name="Grace Amundsen")).not_to_be_visible()
    expect(page.get_by_role("button", name="Bob Okafor")).to_be_visible()
    page.get_by_role("searchbox").fill("nobody at all")
    expect(page.get_by_role("heading", name="Nobody has this")).to_be_visible()


def test_a_group_says_whom_a_change_concerns(page_as: PageAs) -> None:
    page = page_as("ada", "/setup/groups", **PHONE, **DARK)
    page.get_by_role("button", name="New group").click()
    page.get_by_label("Name", exact=True).fill("Night shift")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Night shift").click()
    expect(page.get_by_label("Access tags")).to_have_value("team:night-shift")
    page.get_by_label("E-mail address of somebody").fill("bob@halden.example")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("button", name="Take Bob Okafor out")).to_be_visible()
    page.get_by_label("Access tags").fill("team:night-shift, team:day-shift")
    expect(page.get_by_text("This changes what 1 person sees, at once.")).to_be_visible()
    axe(page)
    screenshot(page, "group-phone-dark")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Night shift").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("1 person no longer sees")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Night shift was deleted.")).to_be_visible()
    assert me(page_as("bob"))["tags"] == ["team:support", "tenant:halden", "user:bob"]


def test_a_key_is_shown_once_and_ends_with_a_click(
    page_as: PageAs, open_page: OpenPage, texts_received: Callable[[Page], str]
) -> None:
    page = page_as("ada", "/setup/keys")
    page.get_by_role("button", name="Make a key").click()
    page.get_by_label("Name", exact=True).fill("Reporting")
    page.get_by_label("Access tags").fill("team:sales")
    page.get_by_role("dialog").get_by_role("button", name="Make a key").click()
    key = page.get_by_role("textbox", name="Key").input_value()
    assert key.startswith("lw_")
    page.get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("button", name="Reporting")).to_be_visible()
    guest = open_page("/")
    guest.get_by_role("textbox", name="Key").fill(key)
    guest.keyboard.press("Enter")
    expect(guest.get_by_role("button", name="Your account")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Reporting").click()
    axe(page)
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("The key Reporting does not work any more.")).to_be_visible()
    expect(page.get_by_role("button", name="Reporting")).not_to_be_visible()
    guest.reload()
    expect(guest.get_by_role("textbox", name="Key")).to_be_visible()


def test_whoever_is_no_administrator_sees_none_of_it(
    page_as: PageAs, texts_received: Callable[[Page], str]
) -> None:
    page = page_as("bob")
    expect(page.get_by_role("link", name="Ask")).to_be_visible()
    expect(page.get_by_role("link", name="Set up")).not_to_be_visible()
    for part in ("people", "groups", "keys"):
        page.goto(f"/setup/{part}")
        expect(page.get_by_role("heading")).to_have_text(
            "This does not exist, or you may not see it."
        )
    for path in ("people", "invitations", "groups", "keys", "people/grace@halden.example/sessions"):
        status = page.evaluate("path => fetch(`/v1/admin/${path}`).then((reply) => reply.status)", path)  # fmt: skip
        assert status == 403, path
    assert "grace@halden.example" not in texts_received(page)
