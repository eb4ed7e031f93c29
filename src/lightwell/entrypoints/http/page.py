"""The built web page: its addresses, scripts and styles. They are public and the same for everybody; all else the page asks `/v1` for."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from lightwell.entrypoints.http.browsers import PROTECTIVE_HEADERS
from lightwell.text.regex import regex

FOLDER: Final = Path(__file__).parents[1] / "web"
"""Where `make web` writes; the wheel has it."""

ADDRESSES: Final = (
    "/",
    "/c/{conversation}",
    "/documents",
    "/d/{document}",
    "/map",
    "/map/{entity:path}",
    "/brief/{entity:path}",
    "/review",
    "/setup",
    "/setup/{part:path}",
    "/sign-in",
    "/welcome",
)
"""What the page shows; it reads itself what an address names. Every other path stays a problem document."""

_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".woff2": "font/woff2",
}
"""What a page is built of. The types that a machine knows differ from one to the next."""

_NAME: Final = regex(r"[\w-]{1,100}(\.[\w-]{1,20}){1,3}", re.ASCII)
_NOT_BUILT: Final = """\
The web page is not built. In a checkout of Lightwell, `make web` builds it.
Programs find what they need at /openapi.json.
"""


_REFERENCE_MAY: Final = {
    "Content-Security-Policy": PROTECTIVE_HEADERS["Content-Security-Policy"].replace(
        "img-src 'self'", "img-src 'self' data:"
    )
}
"""The reference of the interface is Swagger UI, whose style sheet has its icons in itself."""


def make_routes(folder: Path = FOLDER) -> list[Route]:
    """Return the routes of the page that is built in this folder; where it is not, they say so."""

    def page(_: Request) -> Response:
        return _document(folder / "index.html", {})

    def reference(_: Request) -> Response:
        return _document(folder / "docs.html", _REFERENCE_MAY)

    def licences(_: Request) -> Response:
        return _document(folder / "licences.txt", {})

    def asset(request: Request) -> Response:
        return serve_asset(folder / "assets", request)

    return [
        *(Route(address, page, include_in_schema=False) for address in ADDRESSES),
        Route("/docs", reference, include_in_schema=False),
        Route("/licences.txt", licences, include_in_schema=False),
        Route("/assets/{name}", asset, include_in_schema=False),
    ]


def _document(path: Path, headers: Mapping[str, str]) -> Response:
    """Return a file whose name stays when its content changes, or what builds it."""
    if not path.is_file():
        return PlainTextResponse(_NOT_BUILT, HTTPStatus.SERVICE_UNAVAILABLE)
    return FileResponse(
        path,
        media_type=_TYPES[path.suffix],
        headers={"Cache-Control": "no-cache", **headers},
    )


def serve_asset(folder: Path, request: Request) -> Response:
    """Return a file whose name changes with its content; compressed, where it is kept so and the client reads that.

    Raises 404 for what is not of the page.
    """
    name: str = request.path_params["name"]
    path = folder / name
    media_type = _TYPES.get(path.suffix)
    if not _NAME.fullmatch(name) or media_type is None or not path.is_file():
        raise HTTPException(HTTPStatus.NOT_FOUND)
    headers = {"Cache-Control": "max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    compressed = path.with_name(f"{name}.gz")
    if "gzip" in request.headers.get("accept-encoding", "") and compressed.is_file():
        headers["Content-Encoding"] = "gzip"
        path = compressed
    return FileResponse(path, media_type=media_type, headers=headers)
