"""The queries that the connector sends to Linear. Sizes of pages keep each below Linear's limit of 10,000 points of complexity."""

from collections.abc import Mapping
from dataclasses import dataclass

_FRAGMENTS = """
fragment PageParts on PageInfo { hasNextPage endCursor }
fragment Person on User { id name email }
fragment Outsider on ExternalUser { id name email }
fragment Bot on ActorBot { id name type userDisplayName }
fragment Home on Team { id key name visibility }
fragment OtherIssue on Issue { id identifier trashed team { ...Home } }
fragment IssueHome on Issue { id identifier title url trashed team { ...Home } sharedAccess { isShared } }
fragment ProjectHome on Project {
  __typename id name url trashed teams(first: 3) { nodes { ...Home } pageInfo { ...PageParts } }
}
fragment InitiativeHome on Initiative { id name url trashed visibility leadTeam { ...Home } }
fragment DocumentHome on Document {
  id title url trashed
  issue { ...IssueHome } project { ...ProjectHome } initiative { ...InitiativeHome }
  team { ...Home } cycle { id team { ...Home } }
}
fragment AttachmentParts on Attachment { id title subtitle url sourceType createdAt }
fragment IssueParts on Issue {
  __typename id identifier previousIdentifiers title description url
  createdAt updatedAt archivedAt trashed completedAt canceledAt dueDate
  priorityLabel estimate
  creator { ...Person } assignee { ...Person } botActor { ...Bot } externalUserCreator { ...Outsider }
  team { ...Home } sharedAccess { isShared }
  state { id name type } project { ...ProjectHome } projectMilestone { id name } cycle { id number name }
  parent { ...OtherIssue }
  labels(first: 5) { nodes { id name } pageInfo { ...PageParts } }
  attachments(first: 5) { nodes { ...AttachmentParts } pageInfo { ...PageParts } }
  relations(first: 3) { nodes { id type relatedIssue { ...OtherIssue } } pageInfo { ...PageParts } }
  inverseRelations(first: 3) { nodes { id type issue { ...OtherIssue } } pageInfo { ...PageParts } }
}
fragment CommentParts on Comment {
  id body url createdAt updatedAt archivedAt resolvedAt quotedText hideInLinear parentId
  user { ...Person } botActor { ...Bot } externalUser { ...Outsider }
  issue { ...IssueHome } project { ...ProjectHome } initiative { ...InitiativeHome }
  projectUpdate { id url project { ...ProjectHome } }
  initiativeUpdate { id url initiative { ...InitiativeHome } }
  documentContent {
    document { ...DocumentHome } issue { ...IssueHome } project { ...ProjectHome } initiative { ...InitiativeHome }
  }
}
fragment ProjectParts on Project {
  ...ProjectHome description content createdAt updatedAt archivedAt startDate targetDate completedAt canceledAt health
  priorityLabel status { id name type } creator { ...Person } lead { ...Person }
  labels(first: 5) { nodes { id name } pageInfo { ...PageParts } }
  initiatives(first: 3) { nodes { ...InitiativeHome } pageInfo { ...PageParts } }
}
fragment ProjectUpdateParts on ProjectUpdate {
  id body health url createdAt updatedAt archivedAt user { ...Person } project { ...ProjectHome }
}
fragment InitiativeParts on Initiative {
  ...InitiativeHome description content status targetDate createdAt updatedAt archivedAt
  owner { ...Person } creator { ...Person } parentInitiative { ...InitiativeHome }
}
fragment InitiativeUpdateParts on InitiativeUpdate {
  id body health url createdAt updatedAt archivedAt user { ...Person } initiative { ...InitiativeHome }
}
fragment DocumentParts on Document {
  ...DocumentHome content createdAt updatedAt archivedAt creator { ...Person } updatedBy { ...Person }
}
fragment CustomerParts on Customer {
  id name domains externalIds url revenue size createdAt updatedAt archivedAt
  owner { ...Person } status { id name } tier { id name }
}
fragment CustomerNeedParts on CustomerNeed {
  id content url priority createdAt updatedAt archivedAt creator { ...Person }
  customer { ...CustomerParts } issue { ...IssueHome } project { ...ProjectHome }
}
"""


_BY_NAME = {
    part.split(" ", 1)[0]: f"fragment {part.strip()}"
    for part in _FRAGMENTS.split("\nfragment ")[1:]
}


def _with_fragments(query: str) -> str:
    """Return the query followed by the fragments that it uses, also through others, and no more."""
    used: dict[str, str] = {}
    waiting = [query]
    while waiting:
        text = waiting.pop()
        for name, fragment in _BY_NAME.items():
            if f"...{name} " in f"{text} " and name not in used:
                used[name] = fragment
                waiting.append(fragment)
    return "\n".join([query, *used.values()])


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedQuery:
    """A query for the pages of a connection: `path` leads to it from the data. `size` is the number of nodes of a page."""

    name: str
    path: tuple[str, ...]
    text: str
    size: int


def _listing(
    root: str, fields: str, size: int, *, name: str = "", filter_type: str = "", options: str = ""
) -> PagedQuery:
    """Return the query for all nodes of a root field; `options` are further arguments of the field."""
    name = name or root[0].upper() + root[1:]
    declared, passed = (
        (f", $filter: {filter_type}", ", filter: $filter") if filter_type else ("", "")
    )
    text = (
        f"query {name}($first: Int!, $after: String{declared}) {{\n"
        f"  {root}(first: $first, after: $after{passed}{options}) {{\n"
        f"    nodes {{ {fields} }} pageInfo {{ ...PageParts }}\n  }}\n}}"
    )
    return PagedQuery(name=name, path=(root,), text=_with_fragments(text), size=size)


def _changes(root: str, filter_type: str, fields: str) -> PagedQuery:
    """Return the query for all nodes of a root field, archived ones too, the latest change first."""
    options = ", orderBy: updatedAt, includeArchived: true"
    return _listing(root, fields, 50, filter_type=filter_type, options=options)


def _nested(owner: str, field: str, fields: str) -> PagedQuery:
    """Return the query for more nodes of a connection of one object."""
    name = f"{owner.capitalize()}{field[0].upper()}{field[1:]}"
    text = (
        f"query {name}($id: String!, $first: Int!, $after: String) {{\n"
        f"  {owner}(id: $id) {{ {field}(first: $first, after: $after) {{\n"
        f"    nodes {{ {fields} }} pageInfo {{ ...PageParts }}\n  }} }}\n}}"
    )
    return PagedQuery(name=name, path=(owner, field), text=_with_fragments(text), size=100)


ISSUES = _changes("issues", "IssueFilter", "...IssueParts")
COMMENTS = _changes("comments", "CommentFilter", "...CommentParts")
PROJECTS = _changes("projects", "ProjectFilter", "...ProjectParts")
PROJECT_UPDATES = _changes("projectUpdates", "ProjectUpdateFilter", "...ProjectUpdateParts")
INITIATIVES = _changes("initiatives", "InitiativeFilter", "...InitiativeParts")
INITIATIVE_UPDATES = _changes(
    "initiativeUpdates", "InitiativeUpdateFilter", "...InitiativeUpdateParts"
)
DOCUMENTS = _changes("documents", "DocumentFilter", "...DocumentParts")
CUSTOMERS = _changes("customers", "CustomerFilter", "...CustomerParts")
CUSTOMER_NEEDS = _changes("customerNeeds", "CustomerNeedFilter", "...CustomerNeedParts")
ATTACHMENTS = _changes("attachments", "AttachmentFilter", "id updatedAt issue { id }")
RELATIONS = _changes(
    "issueRelations", "", "id updatedAt issue { id team { id } } relatedIssue { id team { id } }"
)
_ARCHIVED = ", includeArchived: true"
USERS = _listing("users", "id name email active guest app", 100, options=", includeDisabled: true")
TEAMS = _listing("teams", "...Home", 100, options=_ARCHIVED)
MEMBERSHIPS = _listing("teamMemberships", "id team { id } user { id }", 250)
SHARED_ISSUES = _listing(
    "issues",
    "id identifier sharedAccess { isShared sharedWithUsers { id } }",
    50,
    name="SharedIssues",
    filter_type="IssueFilter",
    options=_ARCHIVED,
)


def list_ids(query: PagedQuery) -> PagedQuery:
    """Return the query for the ids alone of what a query reads."""
    (root,) = query.path
    return _listing(root, "id", 250, name=f"{query.name}Ids", options=_ARCHIVED)


NESTED: Mapping[tuple[str, str], PagedQuery] = {
    ("Issue", "labels"): _nested("issue", "labels", "id name"),
    ("Issue", "attachments"): _nested("issue", "attachments", "...AttachmentParts"),
    ("Issue", "relations"): _nested("issue", "relations", "id type relatedIssue { ...OtherIssue }"),
    ("Issue", "inverseRelations"): _nested(
        "issue", "inverseRelations", "id type issue { ...OtherIssue }"
    ),
    ("Project", "teams"): _nested("project", "teams", "...Home"),
    ("Project", "labels"): _nested("project", "labels", "id name"),
    ("Project", "initiatives"): _nested("project", "initiatives", "...InitiativeHome"),
}
"""What continues a connection inside an object, by the object's type and the connection's field."""
