"""Signing in and out with a browser, and who I am."""

from datetime import timedelta
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from lightwell.domain.errors import NotFound, SourceFailed
from lightwell.domain.principals import Principal
from lightwell.domain.scopes import Scope
from lightwell.domain.web_sessions import (
    LONGEST_OF_ISSUER,
    LONGEST_SESSION,
    Secret,
    name_browser,
)
from lightwell.entrypoints.http.addresses import server_address
from lightwell.entrypoints.http.authentication import (
    act_for,
    address_of,
    credentials_of,
    projects_of,
)
from lightwell.entrypoints.http.cookies import (
    delete_cookie,
    read_cookie,
    read_session,
    require_encryption,
    require_own_page,
    set_cookie,
)
from lightwell.entrypoints.http.credentials import Credentials
from lightwell.entrypoints.http.oidc_sign_in import ATTEMPT_SECONDS, new_attempt, parse_attempt
from lightwell.entrypoints.http.openapi import SIGN_IN
from lightwell.entrypoints.http.problems import TooManyRequests, Unauthenticated
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.sessions import (
    Issuer,
    KeySignIn,
    LinkSignIn,
    Me,
    Place,
    SignInWays,
    SignOutBody,
)
from lightwell.knowledge_base.directory import Directory

router = APIRouter(prefix="/v1", tags=[SIGN_IN])

R = TypeVar("R", bound=Response)

Accepted = Annotated[Credentials, Depends(credentials_of)]


@router.get("/sign-in")
async def list_ways(accepted: Accepted) -> SignInWays:
    """Say how one can sign in here."""
    provider = accepted.provider and Issuer(name=accepted.provider.name)
    return SignInWays(oidc=provider, key=True, link=True)


@router.post("/sign-in/key", status_code=204)
async def sign_in_with_key(body: KeySignIn, request: Request, accepted: Accepted) -> Response:
    """Begin a session with an API key: it has what the key has, as long as the key is valid."""
    require_encryption(request)
    require_own_page(request, None)
    key = body.key.strip()
    principal = await accepted.identify_key(key, address_of(request))
    secret = await accepted.sessions.sign_in_with_key(principal, key, browser_of(request))
    return await begin_session(request, accepted, secret, Response(status_code=204))


@router.post("/sign-in/link", status_code=204)
async def sign_in_with_link(body: LinkSignIn, request: Request, accepted: Accepted) -> Response:
    """Begin a session with a link, which can be used once: an invitation, or what the server printed when it started."""
    require_encryption(request)
    require_own_page(request, None)
    secret = await accepted.redeem(body.token.strip(), address_of(request), browser_of(request))
    return await begin_session(request, accepted, secret, Response(status_code=204))


@router.get("/sign-in/oidc", status_code=303, response_class=RedirectResponse)
async def sign_in_with_issuer(
    request: Request,
    accepted: Accepted,
    next: Annotated[str, Query(max_length=4000, description="The page to go on to.")] = "/",
) -> RedirectResponse:
    """Send the browser to the configured OpenID Connect issuer, which sends it back to `/v1/sign-in/oidc/callback`."""
    require_encryption(request)
    if accepted.provider is None:
        raise NotFound("This server has no issuer to sign in with")
    attempt = new_attempt(next)
    try:
        address = await accepted.provider.address_of(attempt, _callback(request))
    except SourceFailed:
        return _leave(request, "provider")
    response = RedirectResponse(address, status_code=303)
    set_cookie(request, response, "oidc", attempt.text, timedelta(seconds=ATTEMPT_SECONDS))
    return response


@router.get("/sign-in/oidc/callback", status_code=303, response_class=RedirectResponse)
async def end_sign_in_with_issuer(
    request: Request,
    accepted: Accepted,
    state: str = "",
    code: Annotated[str, Query(max_length=4000)] = "",
    iss: str = "",
) -> RedirectResponse:
    """Begin a session of whom the issuer has signed in in this browser, and go on to the page that was wanted."""
    attempt = parse_attempt(read_cookie(request, "oidc"))
    if accepted.provider is None or attempt is None or not attempt.has_state(state):
        return _leave(request, "state")
    if not code or iss not in ("", accepted.provider.verifier.issuer.url):
        return _leave(request, "provider")
    try:
        identity = await accepted.identify_code(
            attempt, code, _callback(request), address_of(request)
        )
    except Unauthenticated:
        return _leave(request, "provider")
    except TooManyRequests:
        return _leave(request, "wait")
    principal = await accepted.principals.of_token(identity)
    if principal is None:
        return _leave(request, "refused")
    secret = await accepted.sessions.sign_in_with_token(principal, identity, browser_of(request))
    response = RedirectResponse(attempt.next, status_code=303)
    delete_cookie(request, response, "oidc")
    return await begin_session(request, accepted, secret, response, LONGEST_OF_ISSUER)


@router.post("/sign-out", status_code=204)
async def sign_out(
    request: Request, accepted: Accepted, body: SignOutBody | None = None
) -> Response:
    """End the session of this browser, or all sessions of this person or key; a session that has ended is no error."""
    if (secret := read_session(request)) is not None:
        require_own_page(request, secret)
        request.state.principal = await accepted.principals.of_session(secret)
        await accepted.sessions.end(secret, everywhere=body is not None and body.everywhere)
    response = Response(status_code=204)
    delete_cookie(request, response, "session")
    return response


@router.get("/me")
async def get_me(
    request: Request,
    principal: Annotated[Principal, Depends(act_for)],
    projects: Annotated[Projects, Depends(projects_of)],
) -> Me:
    """Say for whom the request speaks, what it may do, and where it may put new documents."""
    directory = Directory(database=projects.keys.database, project_id=principal.project_id)
    person_id = principal.acting_for or principal.person
    person = await directory.get_person(str(person_id)) if person_id else None
    secret = None if "authorization" in request.headers else read_session(request)
    return Me(
        person_id=person_id,
        name=(person.display_name or person.email) if person else principal.name,
        email=person.email if person else "",
        project=principal.project,
        scopes=[scope for scope in Scope if principal.allows(scope)],
        tags=list(principal.tags),
        places=[Place.model_validate(place) for place in await directory.list_places(principal)],
        can_look_twice=projects.has_chat_model,
        csrf_token=secret.csrf_token if secret else "",
    )


async def begin_session(
    request: Request,
    accepted: Credentials,
    secret: Secret,
    response: R,
    longest: timedelta = LONGEST_SESSION,
) -> R:
    """Give the browser a new session with the response, and return that; the session that it had before ends.

    Raises `TooManyRequests` beyond a rate limit.
    """
    principal = await accepted.identify_session(secret)
    request.state.principal = principal
    request.state.allowance = await accepted.count(principal)
    if (before := read_session(request)) is not None:
        await accepted.sessions.end(before)
    set_cookie(request, response, "session", secret.text, longest)
    return response


def _leave(request: Request, why: str) -> RedirectResponse:
    """Return to the form without a session; it says why. The attempt in the browser is over."""
    response = RedirectResponse(f"/sign-in?failed={why}", status_code=303)
    delete_cookie(request, response, "oidc")
    return response


def _callback(request: Request) -> str:
    """Return where the issuer sends the browser back to; it must know the address."""
    return f"{server_address(request)}{router.prefix}/sign-in/oidc/callback"


def browser_of(request: Request) -> str:
    """Return what people call the browser."""
    return name_browser(request.headers.get("user-agent", ""))
