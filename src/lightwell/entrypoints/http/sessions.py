"""Signing in and out with a browser, and who I am."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from lightwell.domain.principals import Principal
from lightwell.domain.scopes import Scope
from lightwell.domain.web_sessions import LONGEST_SESSION, Secret, name_browser
from lightwell.entrypoints.http.authentication import (
    act_for,
    address_of,
    credentials_of,
    projects_of,
)
from lightwell.entrypoints.http.cookies import (
    delete_session,
    read_session,
    require_encryption,
    require_own_page,
    set_session,
)
from lightwell.entrypoints.http.credentials import Credentials
from lightwell.entrypoints.http.openapi import SIGN_IN
from lightwell.entrypoints.http.problems import Unauthenticated
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.sessions import (
    KeySignIn,
    LinkSignIn,
    Me,
    Place,
    SignInWays,
    SignOutBody,
)
from lightwell.knowledge_base.directory import Directory

router = APIRouter(prefix="/v1", tags=[SIGN_IN])

Accepted = Annotated[Credentials, Depends(credentials_of)]


@router.get("/sign-in")
async def list_ways() -> SignInWays:
    """Say how one can sign in here."""
    return SignInWays(oidc=None, key=True, link=True)


@router.post("/sign-in/key", status_code=204)
async def sign_in_with_key(body: KeySignIn, request: Request, accepted: Accepted) -> Response:
    """Begin a session with an API key: it has what the key has, as long as the key is valid."""
    require_encryption(request)
    require_own_page(request, None)
    key = body.key.strip()
    principal = await accepted.identify_key(key, address_of(request))
    secret = await accepted.sessions.sign_in_with_key(principal, key, browser_of(request))
    return await begin_session(request, accepted, secret)


@router.post("/sign-in/link", status_code=204)
async def sign_in_with_link(body: LinkSignIn, request: Request, accepted: Accepted) -> Response:
    """Begin a session with a link, which can be used once: an invitation, or what the server printed when it started."""
    require_encryption(request)
    require_own_page(request, None)
    secret = await accepted.redeem(body.token.strip(), address_of(request), browser_of(request))
    return await begin_session(request, accepted, secret)


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
    delete_session(request, response)
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
        csrf_token=secret.csrf_token if secret else "",
    )


async def begin_session(request: Request, accepted: Credentials, secret: Secret) -> Response:
    """Return the reply that gives the browser a new session; the one that it had before ends.

    Raises `TooManyRequests` beyond a rate limit.
    """
    principal = await accepted.principals.of_session(secret)
    if principal is None:
        raise Unauthenticated
    request.state.principal = principal
    request.state.allowance = await accepted.count(principal)
    if (before := read_session(request)) is not None:
        await accepted.sessions.end(before)
    response = Response(status_code=204)
    set_session(request, response, secret, LONGEST_SESSION)
    return response


def browser_of(request: Request) -> str:
    """Return what people call the browser."""
    return name_browser(request.headers.get("user-agent", ""))
