"""From Linear's issues to items: a readable text, what it states, and who sees it."""

from collections.abc import Iterator
from dataclasses import dataclass

from lightwell.connectors.linear import entities
from lightwell.connectors.linear.api import Node
from lightwell.connectors.linear.entities import Stated, build_structure
from lightwell.connectors.linear.texts import (
    Fact,
    Written,
    join_names,
    make_item,
    one_line,
    read_work_state,
    render,
    render_attachments,
)
from lightwell.connectors.linear.values import PUBLIC, Attachment, Connection, Issue, OtherIssue
from lightwell.domain.item_structure import LinkType, StatedEntity
from lightwell.domain.source_items import SourceItem

_NO_PRIORITY = "No priority"
_RELATIONS = {
    "blocks": ("Blocks", "Blocked by"),
    "duplicate": ("Duplicate of", "Duplicated by"),
    "related": ("Related to", "Related to"),
    "similar": ("Similar to", "Similar to"),
}
"""What a kind of relation is called on the issue that has it, and on the other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relation:
    """A relation to another issue; `is_own` where this issue has it, and not the other one."""

    kind: str
    is_own: bool
    other: OtherIssue

    @property
    def label(self) -> str:
        label, inverse = _RELATIONS.get(self.kind, ("Related to", "Related to"))
        return label if self.is_own else inverse


def read_issue(raw: Node) -> SourceItem | None:
    """Return the issue's item, None for one in the trash."""
    issue = Issue.model_validate(raw)
    home = entities.issue_home(issue)
    if home.is_trashed:
        return None
    author = entities.author_of(issue.creator, issue.external_user_creator, issue.bot_actor)
    relations = list(_visible_relations(issue))
    attachments = sorted(
        issue.attachments.nodes, key=lambda attachment: (attachment.created_at, attachment.id)
    )
    entity = StatedEntity(
        ref=home.entity.ref,
        kind="issue",
        name=issue.identifier,
        url=home.entity.url,
        aliases=issue.previous_identifiers,
        attributes={"title": one_line(issue.title)},
    )
    metadata = {
        "identifier": issue.identifier,
        "status": issue.state.name,
        "priority": "" if issue.priority_label == _NO_PRIORITY else issue.priority_label,
        "labels": join_names(issue.labels.nodes),
    }
    structure = build_structure(entity, _state(issue, relations, attachments))
    return make_item(
        "issue",
        issue,
        Written(
            title=home.title,
            url=entity.url,
            content=render(
                home.title,
                _list_facts(issue, author[0], relations),
                issue.description,
                render_attachments(attachments),
            ),
            tags=home.tags,
            structure=structure,
            metadata=metadata,
            work_state=read_work_state(issue.state.type),
            due=issue.due_date,
            raw=_without_hidden(raw, issue),
            author=author,
        ),
    )


def _list_facts(issue: Issue, author: str, relations: list[_Relation]) -> list[Fact]:
    """Return what the header says, with a line for each kind of relation that has the other issues' identifiers."""
    cycle, parent, milestone = issue.cycle, _visible_parent(issue), issue.project_milestone
    by_label: dict[str, set[str]] = {}
    for relation in relations:
        by_label.setdefault(relation.label, set()).add(relation.other.identifier)
    return [
        ("Team", issue.team.name),
        ("Status", issue.state.name),
        ("Priority", "" if issue.priority_label == _NO_PRIORITY else issue.priority_label),
        ("Assignee", issue.assignee.name if issue.assignee else ""),
        ("Created by", author),
        ("Created", issue.created_at),
        ("Due", issue.due_date),
        ("Completed", issue.completed_at),
        ("Canceled", issue.canceled_at),
        ("Archived", issue.archived_at),
        ("Project", issue.project.name if issue.project else ""),
        ("Milestone", milestone.name if milestone else ""),
        ("Cycle", (cycle.name or f"{cycle.number:g}") if cycle else ""),
        ("Estimate", f"{issue.estimate:g}" if issue.estimate else ""),
        ("Labels", join_names(issue.labels.nodes)),
        ("Formerly", ", ".join(issue.previous_identifiers)),
        ("Parent", parent.identifier if parent else ""),
        *((label, ", ".join(sorted(names))) for label, names in sorted(by_label.items())),
    ]


def _state(
    issue: Issue, relations: list[_Relation], attachments: list[Attachment]
) -> Iterator[Stated]:
    related, belongs = LinkType.RELATED_TO, LinkType.BELONGS_TO
    yield from entities.state_people(assignee=issue.assignee, creator=issue.creator)
    yield from entities.state_outsider(issue.external_user_creator, "creator")
    yield Stated(entities.describe_team(issue.team), belongs, "team")
    if issue.project and not issue.project.trashed:
        yield Stated(entities.describe_project(issue.project), belongs, "project")
    if parent := _visible_parent(issue):
        yield Stated(entities.describe_issue(parent), belongs, "parent")
    for relation in sorted(relations, key=lambda named: (named.kind, named.other.identifier)):
        if relation.is_own:
            yield Stated(entities.describe_issue(relation.other), related, relation.kind)
    for attachment in attachments:
        yield Stated(entities.describe_attachment(attachment), related, "attachment")


def _visible_parent(issue: Issue) -> OtherIssue | None:
    return issue.parent if issue.parent and _may_name(issue, issue.parent) else None


def _visible_relations(issue: Issue) -> Iterator[_Relation]:
    for relation in issue.relations.nodes:
        if _may_name(issue, relation.related_issue):
            yield _Relation(kind=relation.type, is_own=True, other=relation.related_issue)
    for inverse in issue.inverse_relations.nodes:
        if _may_name(issue, inverse.issue):
            yield _Relation(kind=inverse.type, is_own=False, other=inverse.issue)


def _may_name(issue: Issue, other: OtherIssue) -> bool:
    """Return whether everybody who sees the issue may know the other one's identifier."""
    is_near = other.team.id == issue.team.id or other.team.visibility == PUBLIC
    return is_near and not other.trashed


def _without_hidden(raw: Node, issue: Issue) -> Node:
    """Return Linear's own record without the other issues that the issue's readers may not know."""
    kept = dict(raw)
    if _visible_parent(issue) is None:
        kept["parent"] = None
    for field, others in (
        ("relations", [relation.related_issue for relation in issue.relations.nodes]),
        ("inverseRelations", [relation.issue for relation in issue.inverse_relations.nodes]),
    ):
        pairs = zip(Connection[Node].model_validate(raw[field]).nodes, others, strict=True)
        kept[field] = {"nodes": [node for node, other in pairs if _may_name(issue, other)]}
    return kept
