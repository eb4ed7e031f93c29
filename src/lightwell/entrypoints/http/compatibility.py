"""The one place that adds the APIs of other programs, those that the settings name. Only these are loaded."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from fastapi import APIRouter, FastAPI

from lightwell.domain.compatibility import Compatibility, parse_compatibility
from lightwell.settings import Settings

_MODULES: Final[Mapping[Compatibility, str]] = {
    Compatibility.DIFY: "dify",
    Compatibility.OLLAMA: "ollama",
    Compatibility.LIGHTRAG: "lightrag_api",
    Compatibility.TOOL_SERVER: "tool_server",
}
"""The module of each API, whose `router` has routes of the class that `speaking` returns. The OpenAPI document leaves them out: the other programs describe them."""


def add_compatible_routes(app: FastAPI, settings: Settings) -> None:
    """Add the routes of the APIs that the settings name; raise `Invalid` for another name."""
    spoken = parse_compatibility(settings.http.compatibility)
    for api in sorted(spoken):
        router: APIRouter = import_module(f"{__package__}.{_MODULES[api]}").router
        app.include_router(router, include_in_schema=False)
    app.state.has_lightrag_webui = settings.server.lightrag_webui is not None
    if Compatibility.LIGHTRAG in spoken and settings.server.lightrag_webui is not None:
        webui = import_module(f"{__package__}.lightrag_webui")
        app.router.routes.extend(webui.make_routes(settings.server.lightrag_webui))
