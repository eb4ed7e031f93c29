"""Who belongs to the workspace, and who sees which teams and shared issues."""

from collections.abc import Collection, Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from lightwell.connectors.linear.api import LinearApi
from lightwell.connectors.linear.entities import WORKSPACE_TAG, issue_tag, requests_tag, team_tag
from lightwell.connectors.linear.queries import MEMBERSHIPS, SHARED_ISSUES, TEAMS, USERS, PagedQuery
from lightwell.connectors.linear.values import PUBLIC, Team, Value
from lightwell.domain.errors import SourceFailed
from lightwell.domain.source_items import SourceDirectory, SourceGroup, SourcePerson

SHARED = {"hasSharedUsers": {"eq": True}}
"""Linear's filter for issues that are shared with people outside of their teams."""


class _User(Value):
    id: str
    name: str
    email: str
    active: bool
    guest: bool
    app: bool


class _Id(Value):
    id: str


class _Membership(Value):
    team: _Id
    user: _Id


class _Sharing(Value):
    shared_with_users: tuple[_Id, ...]


class _SharedIssue(Value):
    id: str
    identifier: str
    shared_access: _Sharing


V = TypeVar("V", bound=BaseModel)


async def read_directory(api: LinearApi) -> SourceDirectory:
    """Return the people and groups; raise `SourceFailed` rather than leave somebody out.

    Every member who is no guest sees the public teams; a team's members see their team, whatever its visibility.
    """
    users = [user for user in await _read(api, USERS, _User) if not user.app]
    teams = await read_teams(api)
    members: dict[str, set[str]] = {}
    for membership in await _read(api, MEMBERSHIPS, _Membership):
        members.setdefault(membership.team.id, set()).add(membership.user.id)
    shared = await _read(api, SHARED_ISSUES, _SharedIssue, {"filter": SHARED})
    active = {user.id for user in users if user.active}
    guests = {user.id for user in users if user.guest}
    public = [team.id for team in teams if team.visibility == PUBLIC]
    tags = {WORKSPACE_TAG, *map(team_tag, public), *map(requests_tag, public)}
    groups = [
        SourceGroup(name="Members", tags=frozenset(tags), members=frozenset(active - guests)),
        *_team_groups(teams, {team: inside & active for team, inside in members.items()}, guests),
        *(_shared_group(issue, active) for issue in shared),
    ]
    return SourceDirectory(
        people=tuple(
            SourcePerson(
                external_id=user.id, email=user.email, name=user.name, is_active=user.active
            )
            for user in users
        ),
        groups=tuple(groups),
    )


async def read_teams(api: LinearApi) -> list[Team]:
    """Return all teams that the token sees; raise `SourceFailed` rather than leave one out."""
    return await _read(api, TEAMS, Team)


def _team_groups(
    teams: Collection[Team], members: Mapping[str, Collection[str]], guests: Collection[str]
) -> list[SourceGroup]:
    """Return two groups of each team: all its members, and those who are no guests, who see customers' requests."""
    groups: list[SourceGroup] = []
    for team in teams:
        inside = frozenset(members.get(team.id, ()))
        name = f"Team {team.key}"
        groups += [
            SourceGroup(name=name, tags=frozenset((team_tag(team.id),)), members=inside),
            SourceGroup(
                name=f"{name}, requests",
                tags=frozenset((requests_tag(team.id),)),
                members=inside.difference(guests),
            ),
        ]
    return groups


def _shared_group(issue: _SharedIssue, active: Collection[str]) -> SourceGroup:
    people = {person.id for person in issue.shared_access.shared_with_users}
    return SourceGroup(
        name=f"Issue {issue.identifier}",
        tags=frozenset((issue_tag(issue.id),)),
        members=frozenset(people.intersection(active)),
    )


async def _read(
    api: LinearApi, query: PagedQuery, model: type[V], variables: Mapping[str, object] | None = None
) -> list[V]:
    values: list[V] = []
    async for page in api.read_all(query, variables or {}):
        if page.broken:
            raise SourceFailed(f"Linear sent only a part of {query.name}, so no access changes")
        try:
            values += [model.model_validate(node) for node in page.nodes]
        except ValidationError as error:
            raise SourceFailed(
                f"Linear sent {query.name} that are not understood: {error.error_count()} errors"
            ) from None
    return values
