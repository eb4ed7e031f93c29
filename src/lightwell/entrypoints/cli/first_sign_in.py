"""The people of the example company, and the link by which whoever starts a server on this machine signs in."""

from typing import TYPE_CHECKING

from lightwell.domain.directory import PersonChange
from lightwell.domain.errors import NotFound
from lightwell.domain.scopes import Scope
from lightwell.domain.web_sessions import LINK_OF_START, Secret
from lightwell.entrypoints.cli.document_tags import login_tag
from lightwell.world import PEOPLE

if TYPE_CHECKING:
    from lightwell.knowledge_base.directory import Directory
    from lightwell.settings import Settings

ADMINISTRATOR = "ada"
"""The person of the example company who administers it."""

_GROUPS = {
    "Halden Instruments": "tenant:halden",
    "Engineering": "team:engineering",
    "Support": "team:support",
    "Finance": "team:finance",
    "Sales": "team:sales",
}


async def sign_in_owner(chosen: "Settings") -> Secret | None:
    """Return the secret of a link for the owner of the store, who administers it; the store is made where there is none.

    On a database server, which is nobody's own, that person has no access tags. None where the person is not active.
    """
    from lightwell.knowledge_base.directory import Directory
    from lightwell.knowledge_base.invitations import SignInLinks
    from lightwell.records import projects
    from lightwell.records.access_classes import get_or_create_project
    from lightwell.wiring.database import open_database

    async with open_database(chosen) as database:
        project_id = await get_or_create_project(database, chosen.tenant, chosen.project)
        if chosen.database_url is None:
            await projects.claim(database, project_id, login_tag())
        tag = await projects.get_owner_tag(database, project_id)
        links = SignInLinks(directory=Directory(database=database, project_id=project_id))
        return await links.create_for_owner(_login_name(), frozenset({tag} if tag else ()))


async def sign_in_administrator(directory: "Directory") -> Secret:
    """Return the secret of a link for the administrator of the example company."""
    from lightwell.knowledge_base.invitations import SignInLinks

    links = SignInLinks(directory=directory)
    return (await links.create(email_of(ADMINISTRATOR), LINK_OF_START))[1]


def email_of(who: str) -> str:
    """Return the e-mail address of one of the example company's people."""
    return f"{who}@halden.example"


def demo_scopes(who: str) -> frozenset[Scope]:
    """Return what one of the example company's people may do, in a browser and with the printed key."""
    return frozenset({Scope.ADMIN} if who == ADMINISTRATOR else {Scope.READ, Scope.INGEST})


async def add_demo_people(directory: "Directory") -> None:
    """Make the people of the example company and their groups; those that are there, such as by a sync of `demo`, join the groups."""
    groups = {group.name: group for group in await directory.list_groups()}
    for name, tag in _GROUPS.items():
        if name not in groups:
            await directory.save_group(name, frozenset({tag}))
    for who, person in PEOPLE.items():
        email = email_of(who)
        change = PersonChange(
            email=email,
            display_name=person.name,
            acl_tags=frozenset({f"user:{who}"}),
            scopes=demo_scopes(who),
        )
        try:
            await directory.change_person(email, change)
        except NotFound:
            await directory.create_person(change)
        for name, tag in _GROUPS.items():
            if tag in person.tags:
                await directory.add_members(name, [email])


def _login_name() -> str:
    """Return the name of the account at this machine."""
    return login_tag().partition(":")[2]
