"""LightRAG's WebUI, from a folder that an administrator has unpacked from LightRAG's own wheel: `lightrag/api/webui`.

Its scripts run on this server's own origin, so they are held to it: nothing else is loaded, sent to or run, and no script that stands in a page.
"""

import json
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from lightwell.domain.errors import Invalid
from lightwell.entrypoints.http.lightrag_speech import PREFIX, VERSION
from lightwell.entrypoints.http.page import serve_asset
from lightwell.ownership import reason_to_distrust

PLACE: Final = f"{PREFIX}/webui/"

_PLACEHOLDER: Final = "<!-- __LIGHTRAG_RUNTIME_CONFIG__ -->"
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;"
    " font-src 'self' data:; connect-src 'self'; worker-src blob:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
}
"""It writes styles as it draws, and makes the worker that lays the graph out of its own script."""

_CONFIG: Final = {"apiPrefix": PREFIX, "webuiPrefix": PLACE, "webuiTitle": "Lightwell"}
_NOT_THERE: Final = f"""\
LIGHTWELL_LIGHTRAG_WEBUI is not the folder of LightRAG's WebUI: unpack lightrag/api/webui from the wheel of lightrag-hku {VERSION}.
"""


def make_routes(folder: Path) -> list[Route]:
    """Return the routes of the WebUI in this folder; raise `Invalid` for one that other users of this machine may change."""
    for place in (folder, folder / "assets"):
        if place.is_dir() and (reason := reason_to_distrust(place.stat(), trusts_root=True)):
            raise Invalid(
                f"LIGHTWELL_LIGHTRAG_WEBUI: {place} {reason}, who could have their scripts run as whoever opens it"
            )

    def index(_: Request) -> Response:
        return _index(folder / "index.html")

    def config(_: Request) -> Response:
        script = f"window.__LIGHTRAG_CONFIG__ = {json.dumps(_CONFIG)};"
        return Response(script, media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    def icon(_: Request) -> Response:
        path = folder / "favicon.png"
        if not path.is_file():
            return Response(status_code=HTTPStatus.NOT_FOUND)
        return FileResponse(path, media_type="image/png")

    def asset(request: Request) -> Response:
        return serve_asset(folder / "assets", request)

    def to_index(_: Request) -> Response:
        return RedirectResponse(PLACE)

    return [
        Route(PLACE.rstrip("/"), to_index, include_in_schema=False),
        Route(PLACE, index, include_in_schema=False),
        Route(f"{PLACE}config.js", config, include_in_schema=False),
        Route(f"{PLACE}favicon.png", icon, include_in_schema=False),
        Route(f"{PLACE}assets/{{name}}", asset, include_in_schema=False),
    ]


def _index(path: Path) -> Response:
    """Return the page with where its API is, in a script of its own file, since none may stand in the page."""
    text = path.read_text("utf-8") if path.is_file() else ""
    if _PLACEHOLDER not in text:
        return PlainTextResponse(_NOT_THERE, HTTPStatus.SERVICE_UNAVAILABLE)
    page = text.replace(_PLACEHOLDER, '<script src="config.js"></script>')
    return HTMLResponse(page, headers=_HEADERS)
