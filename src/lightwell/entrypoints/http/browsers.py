"""What web pages may do: none may call the server unless the settings name it, or rebind its own name to the server."""

from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from lightwell.domain.errors import Invalid
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints.http.problems import problem_response
from lightwell.settings import Settings

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_REQUEST_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Lightwell-Act-As")  # fmt: skip
_RESPONSE_HEADERS = ("Location", "Retry-After", "RateLimit", "RateLimit-Policy", "X-Request-Id")

PROTECTIVE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""What every response has that does not say it itself: a browser runs and loads only what this server sent as a script, a style,
a picture, and shows none of it within another page."""


def guard_browsers(app: FastAPI, settings: Settings) -> None:
    """Allow the pages that the settings name (CORS), and refuse other names of a server that listens on this machine only."""
    origins = split_at_commas(settings.http.origins)
    if "*" in origins:
        raise Invalid("LIGHTWELL_HTTP_ORIGINS names each page, such as https://chat.example.com")
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=_METHODS,
            allow_headers=_REQUEST_HEADERS,
            expose_headers=_RESPONSE_HEADERS,
        )
    if settings.http.host in LOOPBACK:
        public = urlsplit(settings.server.public_url).netloc
        others = [*split_at_commas(settings.http.hosts), *([public] if public else [])]
        named = {_without_port(host) for host in others}
        app.add_middleware(HostCheck, names=LOOPBACK | named)


class HostCheck:
    """Lets requests through whose `Host` is one of these names, whatever the port; others get 421."""

    def __init__(self, app: ASGIApp, *, names: frozenset[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "") if scope["type"] == "http" else "localhost"
        if _without_port(host) in self._names:
            await self._app(scope, receive, send)
            return
        detail = "The server does not have this name; LIGHTWELL_HTTP_HOSTS names more of them"
        status = HTTPStatus.MISDIRECTED_REQUEST
        reply = problem_response(Request(scope), status, "unknown_host", detail)
        await reply(scope, receive, send)


def _without_port(host: str) -> str:
    """Return the name of a `Host` header in lower case; an IPv6 address keeps its brackets."""
    end = host.find("]") + 1 if host.startswith("[") else host.find(":")
    return (host[:end] if end > 0 else host).lower()
