"""The directory: people and groups of the administrator's project."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from lightwell.domain.access import parse_tags
from lightwell.domain.directory import parse_person_id
from lightwell.entrypoints.http.authentication import Administering, projects_of
from lightwell.entrypoints.http.projects import Projects
from lightwell.entrypoints.operations.replies import cut_page
from lightwell.entrypoints.schemas.directory import (
    GroupBody,
    GroupList,
    GroupSchema,
    PeoplePage,
    PeopleQuery,
    PersonBody,
    PersonSchema,
    group_schema,
    person_schema,
)
from lightwell.knowledge_base.directory import Directory

router = APIRouter(prefix="/v1/admin", tags=["directory"])


def _directory(
    principal: Administering, projects: Annotated[Projects, Depends(projects_of)]
) -> Directory:
    return Directory(database=projects.keys.database, project_id=principal.project_id)


Held = Annotated[Directory, Depends(_directory)]


@router.get("/people")
async def list_people(query: Annotated[PeopleQuery, Query()], held: Held) -> PeoplePage:
    """List the people of the project, or the members of a group."""
    start = parse_person_id(query.after) if query.after else None
    found = await held.list_people(group=query.group, after=start, limit=query.limit + 1)
    page, following = cut_page(found, query, lambda person: str(person.id))
    return PeoplePage(people=[person_schema(each) for each in page], next_after=following)


@router.post("/people", status_code=201)
async def create_person(body: PersonBody, held: Held) -> PersonSchema:
    """Add a person; nobody else of the project may have the e-mail address or one of the external ids."""
    return person_schema(await held.create_person(body.to_change()))


@router.get("/people/{person}")
async def get_person(person: str, held: Held) -> PersonSchema:
    """Show the person of this id, e-mail address or external id (`telegram:123`)."""
    return person_schema(await held.get_person(person))


@router.patch("/people/{person}")
async def change_person(person: str, body: PersonBody, held: Held) -> PersonSchema:
    """Change a person; changed tags hold at the next request."""
    return person_schema(await held.change_person(person, body.to_change()))


@router.delete("/people/{person}", status_code=204)
async def delete_person(person: str, held: Held) -> Response:
    """Delete a person with the person's API keys."""
    await held.delete_person(person)
    return Response(status_code=204)


@router.get("/groups")
async def list_groups(held: Held) -> GroupList:
    """List the groups of the project by name."""
    return GroupList(groups=[group_schema(each) for each in await held.list_groups()])


@router.put("/groups/{group}")
async def save_group(group: str, body: GroupBody, held: Held) -> GroupSchema:
    """Make a group, or change the tags of the existing one."""
    return group_schema(await held.save_group(group, parse_tags(body.acl_tags)))


@router.delete("/groups/{group}", status_code=204)
async def delete_group(group: str, held: Held) -> Response:
    """Delete a group; its members lose its tags at once."""
    await held.delete_group(group)
    return Response(status_code=204)


@router.put("/groups/{group}/members/{person}")
async def add_member(group: str, person: str, held: Held) -> GroupSchema:
    """Add a person to a group."""
    return group_schema(await held.add_members(group, [person]))


@router.delete("/groups/{group}/members/{person}")
async def remove_member(group: str, person: str, held: Held) -> GroupSchema:
    """Remove a person from a group; the group's tags are gone from that person at once."""
    return group_schema(await held.remove_members(group, [person]))
