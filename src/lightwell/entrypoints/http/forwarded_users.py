"""For whom a chat program asks that forwards the users who are signed in to it: Open WebUI names them in headers of each request.

They count with a key of the scope `impersonate` alone: its owner vouches that the program knows the addresses of its users.
"""

from typing import Final

import jwt
from starlette.datastructures import Headers

from lightwell.domain.directory import EMAIL
from lightwell.domain.errors import Forbidden, Invalid

EMAIL_HEADER: Final = "X-OpenWebUI-User-Email"
TOKEN_HEADER: Final = "X-OpenWebUI-User-Jwt"  # noqa: S105 - the name of a header
_SHORTEST_SECRET: Final = 32
_LEEWAY_SECONDS: Final = 30


def require_forwarding_secret(secret: str) -> str:
    """Return the secret with which users are signed, "" for none; raise `Invalid` for one that can be guessed."""
    if secret and len(secret) < _SHORTEST_SECRET:
        raise Invalid(
            f"LIGHTWELL_HTTP_FORWARDING_SECRET has at least {_SHORTEST_SECRET} characters: `openssl rand -hex 32` makes one"
        )
    return secret


def forwarded_person(headers: Headers, secret: str) -> str | None:
    """Return the name of the person whom the headers forward, None where they forward nobody.

    With a secret only what is signed with it counts. Raises `Forbidden` for what is not, `Invalid` for a token that cannot be checked.
    """
    token, email = headers.get(TOKEN_HEADER), headers.get(EMAIL_HEADER)
    if token is not None:
        email = _signed_email(token, secret)
    elif email is not None and secret:
        raise Forbidden(
            f"{EMAIL_HEADER} is not signed, and this server takes signed users only: set FORWARD_USER_INFO_HEADER_JWT_SECRET in Open WebUI"
        )
    if email is None:
        return None
    if not email.strip():
        raise Invalid(
            "A user is forwarded without an e-mail address, so this server knows no person"
        )
    return f"{EMAIL}:{email}"


def _signed_email(token: str, secret: str) -> str:
    if not secret:
        raise Invalid(
            f"{TOKEN_HEADER} cannot be checked: set LIGHTWELL_HTTP_FORWARDING_SECRET to Open WebUI's FORWARD_USER_INFO_HEADER_JWT_SECRET"
        )
    try:
        claims = jwt.decode(
            token,
            secret,
            algorithms=["HS256"],
            issuer="open-webui",
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "sub"]},
        )
    except jwt.InvalidTokenError:
        raise Forbidden(
            f"{TOKEN_HEADER} is not valid: it has expired, or was signed with another secret"
        ) from None
    return str(claims.get("email", ""))
