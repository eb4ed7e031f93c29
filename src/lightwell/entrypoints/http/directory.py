"""The directory: people and groups of the administrator's project."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from lightwell.domain.access import parse_tags
from lightwell.domain.directory import parse_person_id
from lightwell.entrypoints.http.authentication import Administering, projects_of
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.directory import (
    Group,
    GroupBody,
    Groups,
    PeoplePage,
    PeopleQuery,
    Person,
    PersonBody,
)
from lightwell.entrypoints.operations.replies import page_of
from lightwell.knowledge_base.directory import Directory

router = APIRouter(prefix="/v1/admin", tags=["directory"])


def _directory(
    principal: Administering, projects: Annotated[Projects, Depends(projects_of)]
) -> Directory:
    return Directory(database=projects.keys.database, project_id=principal.project_id)


Opened = Annotated[Directory, Depends(_directory)]


@router.get("/people")
async def list_people(query: Annotated[PeopleQuery, Query()], directory: Opened) -> PeoplePage:
    """List the people of the project, or the members of a group."""
    start = parse_person_id(query.after) if query.after else None
    following = await directory.list_people(
        group=query.group, text=query.query, after=start, limit=query.limit + 1
    )
    page, next_after = page_of(following, query.limit, lambda person: str(person.id))
    return PeoplePage(
        people=[Person.model_validate(person) for person in page], next_after=next_after
    )


@router.post("/people", status_code=201)
async def create_person(body: PersonBody, directory: Opened) -> Person:
    """Add a person; nobody else of the project may have the e-mail address or one of the external ids."""
    return Person.model_validate(await directory.create_person(body.to_change()))


@router.get("/people/{person}")
async def get_person(person: str, directory: Opened) -> Person:
    """Show the person of this id, e-mail address or external id (`telegram:123`)."""
    return Person.model_validate(await directory.get_person(person))


@router.patch("/people/{person}")
async def change_person(person: str, body: PersonBody, directory: Opened) -> Person:
    """Change a person; changed tags hold at the next request."""
    return Person.model_validate(await directory.change_person(person, body.to_change()))


@router.delete("/people/{person}", status_code=204)
async def delete_person(person: str, directory: Opened) -> Response:
    """Delete a person with the person's API keys."""
    await directory.delete_person(person)
    return Response(status_code=204)


@router.get("/groups")
async def list_groups(directory: Opened) -> Groups:
    """List the groups of the project by name."""
    return Groups(groups=[Group.model_validate(group) for group in await directory.list_groups()])


@router.put("/groups/{group}")
async def save_group(group: str, body: GroupBody, directory: Opened) -> Group:
    """Make a group, or change the tags of the existing one."""
    return Group.model_validate(await directory.save_group(group, parse_tags(body.acl_tags)))


@router.delete("/groups/{group}", status_code=204)
async def delete_group(group: str, directory: Opened) -> Response:
    """Delete a group; its members lose its tags at once."""
    await directory.delete_group(group)
    return Response(status_code=204)


@router.put("/groups/{group}/members/{person}")
async def add_member(group: str, person: str, directory: Opened) -> Group:
    """Add a person to a group."""
    return Group.model_validate(await directory.add_members(group, [person]))


@router.delete("/groups/{group}/members/{person}")
async def remove_member(group: str, person: str, directory: Opened) -> Group:
    """Remove a person from a group; the group's tags are gone from that person at once."""
    return Group.model_validate(await directory.remove_members(group, [person]))
