"""Where clients get a token for this server: the metadata of a protected resource (RFC 9728), which clients of MCP look for."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel

from lightwell.domain.errors import NotFound
from lightwell.entrypoints.http.authentication import credentials_of
from lightwell.entrypoints.http.credentials import Credentials
from lightwell.entrypoints.http.problems import RESOURCE_METADATA

router = APIRouter(tags=["health"])


class ProtectedResource(BaseModel):
    """Which issuer's tokens this server accepts."""

    resource: str
    authorization_servers: list[str]
    bearer_methods_supported: list[str] = ["header"]
    scopes_supported: list[str] = ["openid"]


@router.get(f"{RESOURCE_METADATA}/mcp")
async def describe_mcp(
    request: Request, accepted: Annotated[Credentials, Depends(credentials_of)]
) -> ProtectedResource:
    """Say which issuer gives tokens for `/mcp`; 404 where the server accepts API keys only."""
    return _describe(request, accepted, "mcp")


@router.get(RESOURCE_METADATA)
async def describe_server(
    request: Request, accepted: Annotated[Credentials, Depends(credentials_of)]
) -> ProtectedResource:
    """Say which issuer gives tokens for this server; 404 where it accepts API keys only."""
    return _describe(request, accepted, "")


def _describe(request: Request, accepted: Credentials, path: str) -> ProtectedResource:
    if accepted.oidc is None:
        raise NotFound("This server accepts API keys only")
    return ProtectedResource(
        resource=f"{request.base_url}{path}",
        authorization_servers=[accepted.oidc.verifier.issuer.url],
    )
