"""Functions of Open WebUI's own source that ask a server of tools, from its wheel, which is too large to install with all that it needs."""

import ast
import copy
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional
from urllib.parse import quote, urlencode

import aiohttp
import jwt

from tests.entrypoints.test_wheel import uv

VERSION = "0.12.4"
_TOOLS = frozenset(
    ("resolve_schema", "convert_openapi_to_tool_payload", "execute_tool_server", "get_tool_server_url", "get_tool_server_data", "OPENAPI_HTTP_METHODS")
)  # fmt: skip
_HEADERS = frozenset(("include_user_info_headers", "_mint_forward_user_jwt"))
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class OpenWebUI:
    """Its functions, by their names."""

    functions: Mapping[str, Any]

    async def read_tools(self, url: str) -> dict[str, Any]:
        """Return the tools of a server as `get_tool_servers_data` keeps them."""
        address = self.functions["get_tool_server_url"](url, "openapi.json")
        document = await self.functions["get_tool_server_data"](address, None)
        specs = self.functions["convert_openapi_to_tool_payload"](document)
        return {"url": url, "openapi": document, "specs": specs}

    async def call(
        self, server: Mapping[str, Any], name: str, headers: Mapping[str, str], **params: object
    ) -> Any:
        """Return what a call of a tool by a model gives."""
        execute: Callable[..., Awaitable[tuple[Any, Any]]] = self.functions["execute_tool_server"]
        reply, _ = await execute(server["url"], dict(headers), {}, name, params, server)
        return reply

    def forward(self, key: str, email: str, secret: str = "") -> dict[str, str]:
        """Return the headers with which a user is forwarded, signed with the secret where there is one."""
        include = self.functions["include_user_info_headers"]
        include.__globals__["FORWARD_USER_INFO_HEADER_JWT_SECRET"] = secret
        user = SimpleNamespace(id="17", email=email, name="Ada L", role="user")
        return include({"Authorization": f"Bearer {key}"}, user)


def load(folder: Path) -> OpenWebUI:
    """Install the wheel alone into a folder, and take the functions out of its source."""
    uv("pip", "install", "--quiet", "--no-deps", "--target", folder, f"open-webui=={VERSION}")
    names: dict[str, Any] = {
        "Any": Any,
        "Optional": Optional,
        "JSONCodec": SimpleNamespace(
            loads=json.loads, dumps=json.dumps, JSONDecodeError=ValueError
        ),
        "aiohttp": aiohttp,
        "copy": copy,
        "jwt": jwt,
        "log": logging.getLogger("open_webui"),
        "quote": quote,
        "time": time,
        "urlencode": urlencode,
        "ENABLE_TOOL_SERVERS": True,
        "AIOHTTP_CLIENT_ALLOW_REDIRECTS": False,
        "AIOHTTP_CLIENT_SESSION_TOOL_SERVER_SSL": True,
        "AIOHTTP_CLIENT_TIMEOUT_TOOL_SERVER": _TIMEOUT_SECONDS,
        "AIOHTTP_CLIENT_TIMEOUT_TOOL_SERVER_DATA": _TIMEOUT_SECONDS,
        "os": os,
    }
    package = folder / "open_webui"
    _run(package / "env.py", names, lambda node: "FORWARD_USER_INFO_HEADER_" in ast.unparse(node))
    _run(package / "utils" / "tools.py", names, lambda node: _name(node) in _TOOLS)
    _run(package / "utils" / "headers.py", names, lambda node: _name(node) in _HEADERS)
    assert names.keys() >= _TOOLS | _HEADERS
    return OpenWebUI(functions=names)


def _run(path: Path, names: dict[str, Any], is_wanted: Callable[[ast.stmt], bool]) -> None:
    """Run what is wanted of a module in these names."""
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [node for node in tree.body if is_wanted(node)]
    exec(compile(tree, path, "exec"), names)  # noqa: S102 - the program under test


def _name(node: ast.stmt) -> str:
    """Return the name that a statement gives to a function or a value, "" for none."""
    if isinstance(node, ast.Assign):
        node_name = node.targets[0]
        return node_name.id if isinstance(node_name, ast.Name) else ""
    return node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ""
