"""The streams of Linear: what each reads, how it becomes items, and what else must be read again when one of them changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lightwell.connectors.linear import items, queries
from lightwell.connectors.linear.api import Node
from lightwell.connectors.linear.issues import read_issue
from lightwell.connectors.linear.queries import PagedQuery
from lightwell.domain.source_items import SourceItem

Filter = Mapping[str, object]

TEAM_VISIBILITY = "team_visibility"
"""The stream of what names teams that have become private or public since, or their issues and initiatives."""

ATTACHMENTS, RELATIONS, SHARED_ISSUES = "attachments", "issue_relations", "shared_issues"
"""Streams whose items are issues: attachments and relations are parts of them, and sharing decides who sees them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream of items of one kind. `read` raises pydantic's `ValidationError`."""

    name: str
    kind: str
    query: PagedQuery
    read: Callable[[Node], SourceItem | None]


STREAMS = (
    Stream(
        name="initiatives", kind="initiative", query=queries.INITIATIVES, read=items.read_initiative
    ),
    Stream(
        name="initiative_updates",
        kind="initiative_update",
        query=queries.INITIATIVE_UPDATES,
        read=items.read_initiative_update,
    ),
    Stream(name="projects", kind="project", query=queries.PROJECTS, read=items.read_project),
    Stream(
        name="project_updates",
        kind="project_update",
        query=queries.PROJECT_UPDATES,
        read=items.read_project_update,
    ),
    Stream(name="customers", kind="customer", query=queries.CUSTOMERS, read=items.read_customer),
    Stream(name="issues", kind="issue", query=queries.ISSUES, read=read_issue),
    Stream(name="documents", kind="document", query=queries.DOCUMENTS, read=items.read_document),
    Stream(name="comments", kind="comment", query=queries.COMMENTS, read=items.read_comment),
    Stream(
        name="customer_needs",
        kind="customer_need",
        query=queries.CUSTOMER_NEEDS,
        read=items.read_customer_need,
    ),
)
BY_NAME: Mapping[str, Stream] = {stream.name: stream for stream in STREAMS}
BY_KIND: Mapping[str, Stream] = {stream.kind: stream for stream in STREAMS}

SHARED_WITH_ISSUES = ("issues", "documents", "comments", "customer_needs")
"""The streams of a shared issue and of what belongs to it."""


def list_naming(teams: Sequence[str]) -> list[tuple[Stream, Filter]]:
    """Return what names these teams, or their issues and initiatives; relations between issues are left out."""
    chosen: Filter = {"id": {"in": list(teams)}}
    led: Filter = {"some": {"leadTeam": chosen}}
    projects: Filter = {"or": [{"accessibleTeams": {"some": chosen}}, {"initiatives": led}]}
    return [
        (BY_NAME["issues"], {"parent": {"team": chosen}}),
        (BY_NAME["projects"], projects),
        (BY_NAME["initiatives"], {"ancestors": led}),
    ]


def list_dependents(kind: str, ids: Sequence[str]) -> list[tuple[Stream, Filter]]:
    """Return what to read again when items of this kind change, because who sees it follows from them.

    Linear does not touch a comment when its issue moves to another team, or into the trash.
    """
    chosen: Filter = {"id": {"in": list(ids)}}
    inside = {"documentContent": {"document": {kind: chosen}}}
    match kind:
        case "issue":
            about: list[Filter] = [
                {"issue": chosen},
                inside,
                {"documentContent": {"issue": chosen}},
            ]
            return _with_comments(
                about, {"documents": {kind: chosen}, "customer_needs": {kind: chosen}}
            )
        case "project":
            about = [
                {"project": chosen},
                {"projectUpdate": {"project": chosen}},
                inside,
                {"documentContent": {"project": chosen}},
            ]
            parts = {
                name: {kind: chosen} for name in ("project_updates", "documents", "customer_needs")
            }
            return _with_comments(about, parts)
        case "initiative":
            about = [
                {"initiative": chosen},
                {"initiativeUpdate": {"initiative": chosen}},
                inside,
                {"documentContent": {"initiative": chosen}},
            ]
            parts = {name: {kind: chosen} for name in ("initiative_updates", "documents")}
            return _with_comments(about, parts)
        case "document":
            return _with_comments([{"documentContent": {"document": chosen}}], {})
        case _:
            return []


def _with_comments(
    about: Sequence[Filter], parts: Mapping[str, Filter]
) -> list[tuple[Stream, Filter]]:
    streams = [(BY_NAME[name], condition) for name, condition in parts.items()]
    return [*streams, (BY_NAME["comments"], {"or": list(about)})]
