"""The cookie of a browser's session, and whether a request that carries it comes from this server's own page."""

from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request, Response

from lightwell.domain.errors import ForeignPage, Invalid
from lightwell.domain.web_sessions import Secret, parse_secret
from lightwell.entrypoints.http.addresses import server_address
from lightwell.entrypoints.http.browsers import LOOPBACK

CSRF_HEADER: Final = "X-CSRF-Token"

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"same-origin", "none"})
_FOREIGN = (
    f"This request is not from this server's own page: it needs its Origin, and {CSRF_HEADER} as"
    " GET /v1/me gives it"
)


def read_session(request: Request) -> Secret | None:
    """Return the secret of the session in the browser's cookie, None without one."""
    return parse_secret(read_cookie(request, "session"))


def read_cookie(request: Request, what: str) -> str:
    """Return the value of a cookie that `set_cookie` set, "" without one."""
    return request.cookies.get(_name(request, what), "")


def delete_cookie(request: Request, response: Response, what: str) -> None:
    """Have the browser forget a cookie."""
    set_cookie(request, response, what, "", timedelta())


def set_cookie(
    request: Request, response: Response, what: str, value: str, longest: timedelta
) -> None:
    """Set a cookie that no script and no other site's page reads; raise `Invalid` where it would travel unencrypted."""
    response.set_cookie(
        _name(request, what),
        value,
        max_age=round(longest.total_seconds()),
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="lax",
    )


def require_encryption(request: Request) -> None:
    """Raise `Invalid` where a cookie would travel unencrypted: beyond this machine, without TLS."""
    if not _is_secure(request) and request.url.hostname not in LOOPBACK:
        raise Invalid(
            "Signing in needs https:// beyond this machine: put a proxy with TLS in front, and name it in LIGHTWELL_HTTP_PROXIES"
        )


def require_own_page(request: Request, secret: Secret | None) -> None:
    """Raise `ForeignPage` unless the request comes from a page of this server, as the browser says.

    What may change something also needs the session's CSRF token, where there is a session.
    """
    if request.method in _SAFE:
        is_link = request.headers.get("sec-fetch-mode") == "navigate"  # somebody follows a link
        if not is_link and request.headers.get("sec-fetch-site", "none") not in _OWN_SITE:
            raise ForeignPage(_FOREIGN)
        return
    if not _is_from_own_page(request):
        raise ForeignPage(_FOREIGN)
    if secret is not None and not secret.has_csrf_token(request.headers.get(CSRF_HEADER, "")):
        raise ForeignPage(_FOREIGN)


def _is_from_own_page(request: Request) -> bool:
    """Return whether the browser says that a page of this server sent the request. Every browser says it of what may change something."""
    if (site := request.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    # A browser without that header, or one that is not on a secure connection, names the page's origin.
    origin = urlsplit(request.headers.get("origin", "")).netloc
    return bool(origin) and origin in (
        request.headers.get("host"),
        urlsplit(server_address(request)).netloc,
    )


def _is_secure(request: Request) -> bool:
    return urlsplit(server_address(request)).scheme == "https"


def _name(request: Request, what: str) -> str:
    """Return the name of a cookie. Beyond this machine no other host may set it; on it, where cookies know no ports, each server has its own."""
    if _is_secure(request):
        return f"__Host-lightwell_{what}"
    return f"lightwell_{what}_{request.url.port or 80}"
