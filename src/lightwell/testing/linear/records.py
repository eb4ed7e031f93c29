"""Makes the objects of a workspace with all that Linear's own would have."""

from collections.abc import Sequence
from typing import cast

from lightwell.testing.linear.workspace import LinearWorkspace


def add_user(workspace: LinearWorkspace, name: str, email: str, **fields: object) -> str:
    """Add an active member; `guest`, `app` and `active` may be given."""
    first = name.split(" ", 1)[0].lower()
    defaults = {"active": True, "guest": False, "app": False, "displayName": first}
    url = f"{_base(workspace)}/profiles/{first}"
    return workspace.add("User", name=name, email=email, url=url, **{**defaults, **fields})


def add_team(
    workspace: LinearWorkspace,
    key: str,
    name: str,
    members: Sequence[str] = (),
    visibility: str = "public",
) -> str:
    """Add a team with members; return its id."""
    team = workspace.add("Team", key=key, name=name, visibility=visibility)
    for user in members:
        join_team(workspace, team, user)
    return team


def join_team(workspace: LinearWorkspace, team: str, user: str) -> str:
    return workspace.add("TeamMembership", team=team, user=user)


def add_issue(
    workspace: LinearWorkspace, team: str, title: str, description: str = "", **fields: object
) -> str:
    """Add an issue with the next number of the team."""
    defaults: dict[str, object] = {
        "description": description or None,
        "priorityLabel": "No priority",
        "previousIdentifiers": [],
        "labels": [],
        "sharedWith": [],
        "trashed": None,
        "state": fields.pop("state", None) or add_state(workspace, "Todo", "unstarted"),
    }
    named = _name_issue(workspace, team, title)
    return workspace.add("Issue", title=title, team=team, **{**defaults, **named, **fields})


def move_issue(workspace: LinearWorkspace, issue: str, team: str) -> None:
    """Move an issue to another team: it gets an identifier there, and keeps the old one as a previous one."""
    row = workspace.rows["Issue"][issue]
    named = _name_issue(workspace, team, str(row["title"]))
    former = [*cast("list[str]", row["previousIdentifiers"]), row["identifier"]]
    workspace.edit("Issue", issue, team=team, previousIdentifiers=former, **named)


def add_state(workspace: LinearWorkspace, name: str, type: str) -> str:
    """Return the workflow state with this name, which is made at the first time."""
    for id, row in workspace.rows.get("WorkflowState", {}).items():
        if row["name"] == name:
            return id
    return workspace.add("WorkflowState", name=name, type=type)


def add_label(workspace: LinearWorkspace, name: str) -> str:
    return workspace.add("IssueLabel", name=name)


def add_comment(workspace: LinearWorkspace, body: str, **fields: object) -> str:
    """Add a comment on what the fields name: `issue`, `project`, `projectUpdate`, `initiative` or `documentContent`."""
    comment = workspace.add("Comment", body=body, hideInLinear=False, **fields)
    issue = workspace.rows.get("Issue", {}).get(str(fields.get("issue")), {})
    above = str(issue.get("url") or _base(workspace))
    workspace.edit_silently("Comment", comment, url=f"{above}#comment-{comment[:8]}")
    return comment


def add_project(
    workspace: LinearWorkspace, name: str, teams: Sequence[str], **fields: object
) -> str:
    """Add a project of these teams."""
    defaults: dict[str, object] = {
        "description": "",
        "content": None,
        "priorityLabel": "No priority",
        "trashed": None,
        "labels": [],
        "initiatives": [],
        "status": fields.pop("status", None)
        or workspace.add("ProjectStatus", name="In Progress", type="started"),
    }
    project = workspace.add("Project", name=name, teams=list(teams), **{**defaults, **fields})
    workspace.edit_silently("Project", project, url=f"{_base(workspace)}/project/{project[:12]}")
    return project


def add_update(workspace: LinearWorkspace, body: str, user: str, **fields: object) -> str:
    """Add an update of the `project` or the `initiative` that the fields name."""
    kind = "ProjectUpdate" if "project" in fields else "InitiativeUpdate"
    update = workspace.add(kind, body=body, user=user, **{"health": "onTrack", **fields})
    workspace.edit_silently(kind, update, url=f"{_base(workspace)}/updates/{update[:12]}")
    return update


def add_initiative(workspace: LinearWorkspace, name: str, **fields: object) -> str:
    defaults = {"status": "Active", "visibility": "public", "trashed": None}
    initiative = workspace.add("Initiative", name=name, **{**defaults, **fields})
    url = f"{_base(workspace)}/initiative/{initiative[:12]}"
    workspace.edit_silently("Initiative", initiative, url=url)
    return initiative


def add_document(
    workspace: LinearWorkspace, title: str, content: str, **fields: object
) -> tuple[str, str]:
    """Add a document of what the fields name, and the content that its comments hang on; return both ids."""
    document = workspace.add("Document", title=title, content=content, trashed=None, **fields)
    url = f"{_base(workspace)}/document/{document[:12]}"
    workspace.edit_silently("Document", document, url=url)
    return document, workspace.add("DocumentContent", document=document)


def add_customer(
    workspace: LinearWorkspace, name: str, domains: Sequence[str], **fields: object
) -> str:
    defaults: dict[str, object] = {
        "externalIds": [],
        "status": fields.pop("status", None) or workspace.add("CustomerStatus", name="Active"),
    }
    customer = workspace.add("Customer", name=name, domains=list(domains), **{**defaults, **fields})
    url = f"{_base(workspace)}/customer/{customer[:12]}"
    workspace.edit_silently("Customer", customer, url=url)
    return customer


def add_need(workspace: LinearWorkspace, customer: str, content: str, **fields: object) -> str:
    """Add a customer's request for the `issue` or the `project` that the fields name."""
    return workspace.add(
        "CustomerNeed", customer=customer, content=content, **{"priority": 0, "url": None, **fields}
    )


def attach(workspace: LinearWorkspace, issue: str, title: str, url: str, **fields: object) -> str:
    """Attach a page elsewhere to an issue."""
    return workspace.add("Attachment", issue=issue, title=title, url=url, **fields)


def relate(workspace: LinearWorkspace, issue: str, kind: str, other: str) -> str:
    """Relate two issues: `blocks`, `duplicate`, `related` or `similar`."""
    return workspace.add("IssueRelation", type=kind, issue=issue, relatedIssue=other)


def _name_issue(workspace: LinearWorkspace, team: str, title: str) -> dict[str, object]:
    key = str(workspace.rows["Team"][team]["key"])
    number = workspace.next_number(key)
    slug = "-".join(title.lower().split())
    identifier = f"{key}-{number}"
    return {
        "number": number,
        "identifier": identifier,
        "url": f"{_base(workspace)}/issue/{identifier}/{slug}",
    }


def _base(workspace: LinearWorkspace) -> str:
    return f"https://linear.app/{workspace.url_key}"
