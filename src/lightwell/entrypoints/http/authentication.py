"""From what a client shows to the caller: which project, which scopes, whose access tags."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

import lightwell.entrypoints.operations.declaration as operations
from lightwell.domain.access import TagAuthority
from lightwell.domain.api_keys import Scope
from lightwell.domain.errors import Forbidden, Invalid, UnknownPerson
from lightwell.domain.principals import Principal
from lightwell.entrypoints.http.addresses import server_address
from lightwell.entrypoints.http.cookies import read_session, require_own_page
from lightwell.entrypoints.http.credentials import Credentials
from lightwell.entrypoints.http.forwarded_users import forwarded_person
from lightwell.entrypoints.http.projects import Projects
from lightwell.knowledge_base.directory import Directory
from lightwell.text.regex import regex

ACT_AS = "X-Lightwell-Act-As"
_LIKE_ACT_AS = regex(
    r"(?:^|-)(?:act(?:ing)?-?(?:as|for)|on-?behalf-?of|run-?as|impersonate)(?:-user)?$"
)
"""Names of headers by which clients may mean `ACT_AS`, in small letters. Ignored, they would have the key answer as itself."""

bearer_credentials = HTTPBearer(
    auto_error=False,
    description="An API key (`lw_…`), or a token of the configured OpenID Connect issuer.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller(operations.Caller):
    """Who called over HTTP: `principal` has the scopes."""

    principal: Principal

    def allows(self, scope: Scope) -> bool:
        return self.principal.allows(scope)


def projects_of(request: Request) -> Projects:
    """Return the projects that this server has open."""
    return request.app.state.projects


def credentials_of(request: Request) -> Credentials:
    """Return what this server accepts."""
    return request.app.state.credentials


def address_of(request: Request) -> str:
    """Return from where the request came."""
    return request.client.host if request.client else ""


async def authenticate(
    request: Request,
    accepted: Annotated[Credentials, Depends(credentials_of)],
    shown: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer_credentials)],
) -> Principal:
    """Return for whom the credential of the request speaks; raise `Unauthenticated`, `TooManyRequests`.

    Without one it is the session in the browser's cookie; raises `ForeignPage` where another page than this server's sends it.
    """
    if "authorization" not in request.headers and (secret := read_session(request)) is not None:
        require_own_page(request, secret)
        principal = await accepted.identify_session(secret)
    else:
        credential = shown.credentials if shown else ""
        principal = await accepted.identify(credential, address_of(request))
    request.state.principal = principal
    return principal


async def act_for(
    request: Request,
    accepted: Annotated[Credentials, Depends(credentials_of)],
    principal: Annotated[Principal, Depends(authenticate)],
    act_as: Annotated[
        str | None,
        Header(
            alias=ACT_AS,
            max_length=400,
            description="The person for whom the request acts: an id, an e-mail address, or an external id such as"
            " `telegram:123`. The key needs the scope `impersonate`; its own tags do not apply.",
        ),
    ] = None,
) -> Principal:
    """Return the principal that acts for the person whom the request names or forwards, if there is one, and count its request.

    Raises `TooManyRequests` beyond a rate limit, `Forbidden` without the scope, whoever is named, `UnknownPerson` where nobody active has this name, and
    `Invalid` for another header that looks like the one that names a person.
    """
    for name in request.headers:
        if name != ACT_AS.lower() and _LIKE_ACT_AS.search(name.replace("_", "-")):
            raise Invalid(f"The header {name} is not known here: name the person in {ACT_AS}")
    name = _named_person(request, principal, act_as)
    if name is None:
        request.state.allowance = await accepted.count(principal)
        return principal
    may_act = principal.allows(Scope.IMPERSONATE)
    person = await accepted.principals.acting_for(principal, name) if may_act else None
    request.state.allowance = await accepted.count(person or principal)
    return _acting(request, principal, person)


def _named_person(request: Request, principal: Principal, act_as: str | None) -> str | None:
    """Return the person for whom the request acts: whom it names, or whom a chat program forwards, which counts with the scope alone; None for nobody."""
    if act_as is not None or not principal.allows(Scope.IMPERSONATE):
        return act_as
    return forwarded_person(request.headers, request.app.state.forwarding_secret)


def _acting(request: Request, principal: Principal, person: Principal | None) -> Principal:
    _require(principal, Scope.IMPERSONATE)
    if person is None:
        raise UnknownPerson("Nobody active in the directory has the name that the request gives")
    request.state.principal = person
    return person


async def open_for(
    request: Request,
    projects: Annotated[Projects, Depends(projects_of)],
    principal: Annotated[Principal, Depends(act_for)],
) -> Caller:
    """Return the caller with the knowledge base of its project.

    Tags are resolved anew for each request, so that a change of access holds at once. Raises `Invalid` for a key that can only act
    for people, and names nobody.
    """
    is_bot = Scope.IMPERSONATE in principal.scopes and Scope.ADMIN not in principal.scopes
    if is_bot and not principal.tags and principal.person is None:
        raise Invalid(
            f"This key has no access tags of its own: name the person for whom it acts in the header {ACT_AS}"
        )
    kb = await projects.open(principal.project, principal.project_id)
    reader = await kb.reader(principal.tags, user=principal.user)
    # What a caller may give to documents are its own tags, or any with the scope `admin`.
    authority = TagAuthority(tags=reader.tags, is_unlimited=principal.allows(Scope.ADMIN))
    return Caller(
        principal=principal,
        knowledge_base=kb,
        reader=reader,
        authority=authority,
        server=server_address(request),
    )


def caller_with(
    scope: Scope, alone: Scope | None = None
) -> Callable[..., Coroutine[None, None, Caller]]:
    """Return a dependency that gives the caller; it raises `Forbidden` where the caller has not the scope.

    A person in a browser with the scope `alone` instead has authority over what that person alone sees. Where both are
    one, which keys have for what they bring, a person needs `curate` for more.
    """

    async def allowed(request: Request, caller: Annotated[Caller, Depends(open_for)]) -> Caller:
        principal = caller.principal
        full = Scope.CURATE if scope is alone else scope
        if alone and not principal.allows(full) and principal.is_session:
            _require(principal, alone)
            database = projects_of(request).keys.database
            directory = Directory(database=database, project_id=principal.project_id)
            places = await directory.list_places(principal)
            tags = frozenset(place.tag for place in places if place.is_own)
            return replace(caller, authority=replace(caller.authority, alone=tags))
        _require(principal, scope)
        return caller

    return allowed


async def caller_of(request: Request, scope: Scope) -> Caller:
    """Return the caller of a request that no route of FastAPI serves; raise as the dependencies do."""
    accepted = credentials_of(request)
    principal = await authenticate(request, accepted, await bearer_credentials(request))
    acting = await act_for(request, accepted, principal, request.headers.get(ACT_AS))
    return await caller_with(scope)(request, await open_for(request, projects_of(request), acting))


async def recheck_caller(request: Request, scope: Scope) -> Caller:
    """Return the caller of a request that takes long, checked again; raise as the dependencies do where it has no access any more.

    It counts against no rate limit.
    """
    accepted = credentials_of(request)
    principal = await authenticate(request, accepted, await bearer_credentials(request))
    name = _named_person(request, principal, request.headers.get(ACT_AS))
    if name is not None:
        person = await accepted.principals.acting_for(principal, name)
        principal = _acting(request, principal, person)
    return await caller_with(scope)(
        request, await open_for(request, projects_of(request), principal)
    )


async def reading_principal(principal: Annotated[Principal, Depends(act_for)]) -> Principal:
    """Return the principal of whoever may read, for what is the same for every reader: a key that acts for people need name nobody. Raises `Forbidden`."""
    _require(principal, Scope.READ)
    return principal


async def administrator(principal: Annotated[Principal, Depends(act_for)]) -> Principal:
    """Return the principal of an administrator, which needs no open project; raise `Forbidden`."""
    _require(principal, Scope.ADMIN)
    return principal


def _require(principal: Principal, scope: Scope) -> None:
    if not principal.allows(scope):
        raise Forbidden(f"This needs a key with the scope {scope.value}")


Reading = Annotated[Caller, Depends(caller_with(Scope.READ))]
Listing = Annotated[Principal, Depends(reading_principal)]
Ingesting = Annotated[Caller, Depends(caller_with(Scope.INGEST, Scope.INGEST))]
Deleting = Annotated[Caller, Depends(caller_with(Scope.DELETE))]
Curating = Annotated[Caller, Depends(caller_with(Scope.CURATE))]
Administering = Annotated[Principal, Depends(administrator)]
