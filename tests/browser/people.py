"""Pages as people see them: what they look like, what went wrong in them, and what they were sent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, Response

DESKTOP: Final[Mapping[str, Any]] = {"viewport": {"width": 1280, "height": 800}}
PHONE: Final[Mapping[str, Any]] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
DARK: Final[Mapping[str, Any]] = {"color_scheme": "dark"}
CALM: Final[Mapping[str, Any]] = {"reduced_motion": "reduce"}
GERMAN: Final[Mapping[str, Any]] = {"locale": "de-DE"}
"""How somebody looks at a page: arguments of `open_page` and `page_as`, which can be joined: `{**PHONE, **DARK}`."""

_OF_A_REPLY: Final = re.compile(r"Failed to load resource: the server responded with a status of 4")
"""Chromium's note of a reply such as 404. Whether a page deals with it is what tests are about; of scripts and styles it is a fault."""

# The streams of answers are read as they come, so that a stream that never ends is recorded, too.
_RECORD_REPLIES: Final = """
const fetched = window.fetch;
window.fetch = async (...request) => {
  const reply = await fetched(...request);
  const reader = reply.clone().body?.pipeThrough(new TextDecoderStream()).getReader();
  const read = async () => {
    for (let part = await reader?.read(); part && !part.done; part = await reader.read()) recordReply(part.value);
  };
  read().catch(() => undefined);
  return reply;
};
"""


@dataclass(kw_only=True, eq=False)
class Watch:
    """What happened in the pages of one person. Not frozen: Playwright marks whose methods it calls."""

    origin: str
    context: BrowserContext
    faults: list[str] = field(default_factory=list[str])
    received: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])
    expected: list[str] = field(default_factory=list[str])

    def unexpected(self) -> list[str]:
        """Return the faults without those that the test is about."""
        return [
            fault
            for fault in self.faults
            if not any(re.search(pattern, fault) for pattern in self.expected)
        ]

    def on_reply(self, part: str) -> None:
        self.received.append(part)

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _OF_A_REPLY.match(message.text):
            self.faults.append(f"console: {message.text}")

    def on_request(self, request: Request) -> None:
        self.requests.append(f"{request.method} {request.url}")
        if not request.url.startswith((f"{self.origin}/", f"blob:{self.origin}/")):
            self.faults.append(f"foreign host: {request.url}")

    def on_response(self, response: Response) -> None:
        is_part = not urlsplit(response.url).path.startswith("/v1/")
        if response.status >= (400 if is_part else 500):
            self.faults.append(f"reply {response.status}: {response.url}")


def watch(browser: Browser, origin: str, look: Mapping[str, Any]) -> Watch:
    """Open a context of its own, with no cookies, whose pages are watched."""
    options: Mapping[str, Any] = {**DESKTOP, "locale": "en-GB", **look}
    context = browser.new_context(base_url=origin, **options)
    watched = Watch(origin=origin, context=context)
    context.on("console", watched.on_console)
    context.on("request", watched.on_request)
    context.on("response", watched.on_response)
    context.on("weberror", lambda fault: watched.faults.append(f"error: {fault.error}"))
    context.expose_function("recordReply", watched.on_reply)
    context.add_init_script(_RECORD_REPLIES)
    return watched
