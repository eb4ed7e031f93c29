"""Under which address people reach this server."""

from fastapi import Request


def server_address(request: Request) -> str:
    """Return the address without a path: the one that the settings name (LIGHTWELL_PUBLIC_URL), else the one that the request names."""
    return request.app.state.public_url or str(request.base_url).rstrip("/")
