"""The people of GitHub, and who may see which repository."""

from lightwell.connectors.github.api import GithubApi, parse, path_of
from lightwell.connectors.github.models import Profile, User
from lightwell.connectors.github.structure import Repositories, repository_tags
from lightwell.connectors.item_documents import one_line
from lightwell.domain.access import Tags
from lightwell.domain.errors import SourceFailed
from lightwell.domain.source_items import SourceDirectory, SourceGroup, SourcePerson

_PUBLIC = "Public repositories"
_ORGANIZATION = "Organization"


async def read_directory(
    api: GithubApi, repositories: Repositories, *, reads_profiles: bool
) -> SourceDirectory:
    """Return everybody who works in the repositories or in their organizations, and a group for each private repository.

    Everybody sees the public ones. A repository that GitHub does not show any more has no group, so nobody sees it.
    """
    people: dict[int, User] = {}
    groups: list[SourceGroup] = []
    public: Tags = frozenset()
    for repository in repositories.by_id.values():
        users = await _list_users(api, path_of(repository.full_name, "collaborators"))
        if users is None and repository.private:
            raise SourceFailed(
                f"GitHub does not say who may see {repository.full_name}: the token's owner needs to have write access to it"
            )
        members = users or {}
        people |= members
        if repository.private:
            groups.append(
                SourceGroup(
                    name=f"Repository {repository.full_name} ({repository.id})",
                    tags=repository_tags(repository.id),
                    members=frozenset(map(str, members)),
                )
            )
        else:
            public |= repository_tags(repository.id)
    owners = {
        repository.owner.login: repository.owner for repository in repositories.by_id.values()
    }
    for login, owner in owners.items():
        if owner.type == _ORGANIZATION:
            people |= await _list_users(api, f"/orgs/{login}/members") or {}
    if public:
        everybody = frozenset(map(str, people))
        groups.append(SourceGroup(name=_PUBLIC, tags=public, members=everybody))
    if reads_profiles:
        read = [await _read_person(api, user) for user in people.values()]
    else:
        read = [
            SourcePerson(external_id=str(user.id), email="", name=user.login, is_active=True)
            for user in people.values()
        ]
    return SourceDirectory(people=tuple(read), groups=tuple(groups))


async def _list_users(api: GithubApi, path: str) -> dict[int, User] | None:
    """Return the people of a listing, None where the token may not ask for it."""
    rows = await api.list_allowed(path)
    if rows is None:
        return None
    users = [parse(User, row) for row in rows]
    return {user.id: user for user in users if user.type == "User"}


async def _read_person(api: GithubApi, user: User) -> SourcePerson:
    """Return a person with the e-mail address of the public profile, which GitHub has verified; as a rule there is none."""
    answer = await api.get(f"/users/{user.login}")
    profile = parse(Profile, answer.object) if answer else Profile(id=user.id, login=user.login)
    return SourcePerson(
        external_id=str(user.id),
        email=(profile.email or "") if profile.id == user.id else "",
        name=one_line(profile.name or "") or user.login,
        is_active=profile.suspended_at is None,
    )
