"""Signing in with LightRAG's WebUI: its form takes a key of this server as the password, and the key is the token that it then sends."""

from typing import Annotated, Final

from fastapi import APIRouter, Form, Request, Response

from lightwell.domain.api_keys import Scope
from lightwell.entrypoints.http.authentication import (
    Reading,
    address_of,
    caller_of,
    credentials_of,
)
from lightwell.entrypoints.http.cookies import require_encryption
from lightwell.entrypoints.http.lightrag_documents import count_unread
from lightwell.entrypoints.http.lightrag_schema import SignedIn
from lightwell.entrypoints.http.lightrag_speech import VERSION, make_router

router: APIRouter = make_router()

_ABOUT: Final = {
    "core_version": VERSION,
    "api_version": "Lightwell",
    "webui_title": "Lightwell",
    "webui_description": "",
    "ai_content_notice_enabled": False,
}
_HOW_TO_SIGN_IN: Final = (
    "Any name, and a key of Lightwell as the password. You see what the key may see."
)


@router.get("/auth-status")
async def get_auth_status() -> dict[str, object]:
    """Say that one has to sign in."""
    return {"auth_configured": True, "auth_mode": "enabled", **_ABOUT}


@router.get("/ui/customization")
async def get_customization() -> dict[str, object]:
    """Return what the WebUI shows beside its form."""
    login = {"format": "markdown", "content": _HOW_TO_SIGN_IN}
    brand = {"title": "Lightwell", "description": ""}
    return {"customized": True, "direction": "ltr", "brand": brand, "login": login}


@router.post("/login")
async def log_in(
    request: Request,
    response: Response,
    password: Annotated[str, Form(max_length=4000)],
    username: Annotated[str, Form(max_length=400)] = "",
) -> SignedIn:
    """Return the key as a token, whatever the name: a key says by itself whose it is."""
    del username
    require_encryption(request)
    accepted, key = credentials_of(request), password.strip()
    principal = await accepted.identify_key(key, address_of(request))
    request.state.principal = principal
    request.state.allowance = await accepted.count(principal)
    response.headers["Cache-Control"] = "no-store"
    return SignedIn.model_validate({"access_token": key, **_ABOUT})


@router.get("/auth/verify")
async def verify(caller: Reading) -> dict[str, str]:
    """Say whether the credential is good: it is checked before this is reached."""
    del caller
    return {"status": "ok"}


@router.get("/health")
async def get_health(request: Request) -> dict[str, object]:
    """Say that the server runs, to callers with a key also whether their documents are still being read."""
    unread = 0
    if "authorization" in request.headers:
        unread = await count_unread(await caller_of(request, Scope.READ))
    return {
        "status": "healthy",
        "auth_mode": "enabled",
        "webui_available": request.app.state.has_lightrag_webui,
        "workspace_available": False,
        "api_docs_available": False,
        "pipeline_busy": bool(unread),
        "pipeline_active": bool(unread),
        **_ABOUT,
    }
