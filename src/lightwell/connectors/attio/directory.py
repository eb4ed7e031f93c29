"""Who may see what in an Attio workspace."""

from collections import Counter
from enum import StrEnum

from lightwell.connectors.attio.documents import CALL_TAGS, WORKSPACE_TAGS, list_tags
from lightwell.connectors.attio.workspace import Workspace
from lightwell.domain.source_items import SourceDirectory, SourceGroup, SourcePerson


class CallReaders(StrEnum):
    """Who sees meetings and transcripts of calls: Attio's API does not say who does there."""

    ADMINISTRATORS = "administrators"
    EVERYBODY = "everybody"


def make_directory(workspace: Workspace, call_readers: CallReaders) -> SourceDirectory:
    """Return the members and groups: the workspace, list_type list, and those who may read calls.

    A list that the whole workspace may open has all active members, any other the members that it names.
    """
    members = workspace.members
    active = frozenset(id_ for id_, member in members.items() if member.is_active)
    administrators = frozenset(id_ for id_ in active if members[id_].access_level == "admin")
    everybody = call_readers is CallReaders.EVERYBODY
    groups = [
        SourceGroup(name="Workspace", tags=WORKSPACE_TAGS, members=active),
        SourceGroup(name="Calls", tags=CALL_TAGS, members=active if everybody else administrators),
    ]
    names = Counter(list_type.list.name for list_type in workspace.lists)
    for list_type in workspace.lists:
        named = frozenset(
            access.workspace_member_id for access in list_type.list.workspace_member_access
        )
        name = f"List {list_type.list.name}"
        groups.append(
            SourceGroup(
                name=name if names[list_type.list.name] == 1 else f"{name} ({list_type.id})",
                tags=list_tags(list_type.id),
                members=active if list_type.list.workspace_access else named & active,
            )
        )
    people = tuple(
        SourcePerson(
            external_id=id_,
            email=member.email_address,
            name=member.name,
            is_active=member.is_active,
        )
        for id_, member in members.items()
    )
    return SourceDirectory(people=people, groups=tuple(groups))
