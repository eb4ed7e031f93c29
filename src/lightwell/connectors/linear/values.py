"""Linear's objects as its API delivers them; fields that the connector does not read are left out."""

from datetime import datetime
from typing import Generic, TypeVar

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from lightwell.connectors.rows import Wire

T = TypeVar("T")

PUBLIC = "public"


class Value(Wire):
    """Part of a response; Linear writes its names in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


class Connection(Value, Generic[T]):
    """The nodes of a connection, all of them: pages beyond the first were read before."""

    nodes: tuple[T, ...]


class Named(Value):
    """A label, a status, a milestone or the like."""

    id: str
    name: str


class Status(Named):
    """A status that says itself, by its type, whether work in it is over; teams name their statuses as they like."""

    type: str


class Person(Value):
    """A user, or somebody outside of Linear whom an integration knows."""

    id: str
    name: str
    email: str | None = None


class Bot(Value):
    """An integration that wrote something, maybe in the name of a person outside of Linear."""

    id: str | None = None
    name: str | None = None
    type: str
    user_display_name: str | None = None


class Team(Value):
    """A team. `visibility` is `public`, `private`, or `restricted` for one inside a private team."""

    id: str
    key: str
    name: str
    visibility: str


class Sharing(Value):
    is_shared: bool


class OtherIssue(Value):
    """An issue that another one names."""

    id: str
    identifier: str
    trashed: bool | None = None
    team: Team


class IssueHome(OtherIssue):
    """An issue as the place of comments, documents and customers' requests."""

    title: str
    url: str
    shared_access: Sharing


class InitiativeHome(Value):
    id: str
    name: str
    url: str
    trashed: bool | None = None
    visibility: str
    lead_team: Team | None = None


class ProjectHome(Value):
    id: str
    name: str
    url: str
    trashed: bool | None = None
    teams: Connection[Team]


class Cycle(Value):
    id: str
    team: Team


class DocumentHome(Value):
    id: str
    title: str
    url: str
    trashed: bool | None = None
    issue: IssueHome | None = None
    project: ProjectHome | None = None
    initiative: InitiativeHome | None = None
    team: Team | None = None
    cycle: Cycle | None = None


class Dated(Value):
    """What all objects that become documents have."""

    id: str
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None


class Attachment(Value):
    """A link to a page elsewhere: a pull request, a conversation, a design."""

    id: str
    title: str
    subtitle: str | None = None
    url: str
    source_type: str | None = None
    created_at: datetime


class Relation(Value):
    """A relation that the issue itself has to another one."""

    type: str
    related_issue: OtherIssue


class InverseRelation(Value):
    """A relation that another issue has to this one."""

    type: str
    issue: OtherIssue


class IssueCycle(Value):
    id: str
    number: float
    name: str | None = None


class Issue(Dated, IssueHome):
    previous_identifiers: tuple[str, ...]
    description: str | None = None
    completed_at: datetime | None = None
    canceled_at: datetime | None = None
    due_date: str | None = None
    priority_label: str
    estimate: float | None = None
    creator: Person | None = None
    assignee: Person | None = None
    bot_actor: Bot | None = None
    external_user_creator: Person | None = None
    state: Status
    project: ProjectHome | None = None
    project_milestone: Named | None = None
    cycle: IssueCycle | None = None
    parent: OtherIssue | None = None
    labels: Connection[Named]
    attachments: Connection[Attachment]
    relations: Connection[Relation]
    inverse_relations: Connection[InverseRelation]


class ProjectUpdateHome(Value):
    id: str
    url: str
    project: ProjectHome


class InitiativeUpdateHome(Value):
    id: str
    url: str
    initiative: InitiativeHome


class Content(Value):
    """The text that an inline comment is about."""

    document: DocumentHome | None = None
    issue: IssueHome | None = None
    project: ProjectHome | None = None
    initiative: InitiativeHome | None = None


class Comment(Dated):
    body: str
    url: str
    resolved_at: datetime | None = None
    quoted_text: str | None = None
    hide_in_linear: bool
    parent_id: str | None = None
    user: Person | None = None
    bot_actor: Bot | None = None
    external_user: Person | None = None
    issue: IssueHome | None = None
    project: ProjectHome | None = None
    initiative: InitiativeHome | None = None
    project_update: ProjectUpdateHome | None = None
    initiative_update: InitiativeUpdateHome | None = None
    document_content: Content | None = None


class Project(Dated, ProjectHome):
    description: str
    content: str | None = None
    start_date: str | None = None
    target_date: str | None = None
    completed_at: datetime | None = None
    canceled_at: datetime | None = None
    health: str | None = None
    priority_label: str
    status: Status
    creator: Person | None = None
    lead: Person | None = None
    labels: Connection[Named]
    initiatives: Connection[InitiativeHome]


class ProjectUpdate(Dated):
    body: str
    health: str
    url: str
    user: Person | None = None
    project: ProjectHome


class Initiative(Dated, InitiativeHome):
    description: str | None = None
    content: str | None = None
    status: str
    target_date: str | None = None
    owner: Person | None = None
    creator: Person | None = None
    parent_initiative: InitiativeHome | None = None


class InitiativeUpdate(Dated):
    body: str
    health: str
    url: str
    user: Person | None = None
    initiative: InitiativeHome


class Document(Dated, DocumentHome):
    content: str | None = None
    creator: Person | None = None
    updated_by: Person | None = None


class Customer(Dated):
    name: str
    domains: tuple[str, ...]
    external_ids: tuple[str, ...]
    url: str
    revenue: int | None = None
    size: float | None = None
    owner: Person | None = None
    status: Named
    tier: Named | None = None


class CustomerNeed(Dated):
    content: str | None = None
    url: str | None = None
    priority: float
    creator: Person | None = None
    customer: Customer | None = None
    issue: IssueHome | None = None
    project: ProjectHome | None = None
