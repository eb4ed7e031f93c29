"""`/docs`: the interface described and tried, with scripts of this server."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.demo import Demo


def test_the_reference_describes_the_interface_and_sends_a_request_without_any_foreign_host(
    open_page: OpenPage, demo: Demo, requests_of: Callable[[Page], list[str]]
) -> None:
    page = open_page("/docs")
    ready = page.locator("#operations-health-ready_health_ready_get")
    ready.get_by_role("button").first.click()
    ready.get_by_role("button", name="Try it out").click()
    ready.get_by_role("button", name="Execute").click()
    expect(ready.locator(".live-responses-table").get_by_text('"status": "ok"')).to_be_visible()
    expect(page.get_by_text("OAS 3.1")).to_be_visible()
    assert f"GET {demo.url}/openapi.json" in requests_of(page)
    assert f"GET {demo.url}/health/ready" in requests_of(page)
