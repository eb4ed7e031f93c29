"""The one place that adds the APIs of other programs, those that the settings name."""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, FastAPI

from lightwell.domain.compatibility import Compatibility, parse_compatibility
from lightwell.entrypoints.http import dify, lightrag_api, lightrag_webui, ollama, tool_server
from lightwell.settings import Settings

_ROUTERS: Final[Mapping[Compatibility, APIRouter]] = {
    Compatibility.DIFY: dify.router,
    Compatibility.OLLAMA: ollama.router,
    Compatibility.LIGHTRAG: lightrag_api.router,
    Compatibility.TOOL_SERVER: tool_server.router,
}
"""The routes of each API, of the class that `speaking` returns. The OpenAPI document leaves them out: the other programs describe them."""


def add_compatible_routes(app: FastAPI, settings: Settings) -> None:
    """Add the routes of the APIs that the settings name; raise `Invalid` for another name."""
    spoken = parse_compatibility(settings.http.compatibility)
    for api in sorted(spoken):
        app.include_router(_ROUTERS[api], include_in_schema=False)
    app.state.has_lightrag_webui = settings.server.lightrag_webui is not None
    if Compatibility.LIGHTRAG in spoken and settings.server.lightrag_webui is not None:
        app.router.routes.extend(lightrag_webui.make_routes(settings.server.lightrag_webui))
