"""From an API key to the caller: which project, which scopes, whose access tags."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from lightwell.domain.access import Reader
from lightwell.domain.api_keys import ApiKey, Scope
from lightwell.entrypoints.http.problems import Forbidden, Unauthenticated
from lightwell.entrypoints.http.projects import Projects
from lightwell.knowledge_base import KnowledgeBase

bearer_credentials = HTTPBearer(auto_error=False, description="An API key: `lw_…`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who called: the key, its project's knowledge base, and the reader that its tags make."""

    key: ApiKey
    knowledge_base: KnowledgeBase
    reader: Reader


def projects_of(request: Request) -> Projects:
    """Return the projects that this server has open."""
    return request.app.state.projects


async def authenticate(
    projects: Annotated[Projects, Depends(projects_of)],
    shown: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer_credentials)],
) -> Caller:
    """Return the caller whose key came with the request; raise `Unauthenticated`.

    Tags are resolved anew for each request, so that a change of access holds at once.
    """
    found = await projects.keys.authenticate(shown.credentials) if shown else None
    if found is None:
        raise Unauthenticated
    key, name = found
    kb = await projects.open(name)
    reader = await kb.reader(key.acl_tags, user=key.user)
    return Caller(key=key, knowledge_base=kb, reader=reader)


def caller_with(scope: Scope) -> Callable[..., Coroutine[None, None, Caller]]:
    """Return a dependency that gives the caller; it raises `Forbidden` where the key has not the scope."""

    async def allowed(caller: Annotated[Caller, Depends(authenticate)]) -> Caller:
        if not caller.key.allows(scope):
            raise Forbidden(f"This needs a key with the scope {scope.value}")
        return caller

    return allowed


Reading = Annotated[Caller, Depends(caller_with(Scope.READ))]
