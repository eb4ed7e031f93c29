"""The entities and links that Linear's objects state, and the access tags of the places where they live."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lightwell.connectors.linear.values import (
    PUBLIC,
    Attachment,
    Bot,
    Comment,
    Customer,
    DocumentHome,
    InitiativeHome,
    IssueHome,
    OtherIssue,
    Person,
    ProjectHome,
    Team,
)
from lightwell.domain.access import Tags
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink

SYSTEM = "linear"
WORKSPACE_TAG = f"{SYSTEM}:workspace"
"""What every member of the workspace sees, and no guest."""


@dataclass(frozen=True, slots=True)
class Stated:
    """An entity that an item names, and how the item is linked to it."""

    entity: StatedEntity
    type: LinkType
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where an item lives: who sees it, and what it belongs to. `teams` are the ids of its teams.

    What is in a home that is trashed is gone, too. `label` and `title` name it in texts; `request_tags` are for
    customers' requests, which guests do not see.
    """

    label: str
    title: str
    tags: Tags
    teams: frozenset[str]
    is_trashed: bool
    entity: StatedEntity
    request_tags: Tags = field(default=frozenset())


def ref(kind: str, id: str) -> GlobalRef:
    """Return the reference of one of Linear's objects."""
    return global_ref(SYSTEM, kind, id)


def team_tag(team_id: str) -> str:
    return f"{SYSTEM}:team:{team_id}"


def requests_tag(team_id: str) -> str:
    """Return the tag of customers' requests to a team: its members have it, and its guests do not."""
    return f"{SYSTEM}:team:{team_id}:requests"


def issue_tag(issue_id: str) -> str:
    """Return the tag of an issue that is shared with people outside of its team."""
    return f"{SYSTEM}:issue:{issue_id}"


def cut_slug(url: str, identifier: str) -> str:
    """Return the URL of an issue, or of a place in it, without the words of the title, which change; Linear shows the same page."""
    head, separator, rest = url.partition(f"/issue/{identifier}/")
    place = rest.partition("#")[2]
    if not separator:
        return url
    return f"{head}/issue/{identifier}" + (f"#{place}" if place else "")


def describe_issue(
    issue: OtherIssue, *, aliases: Iterable[str] = (), url: str = ""
) -> StatedEntity:
    """Return an issue's entity. It is named by its identifier: who may see a link to it may not see its title."""
    return StatedEntity(
        ref=ref("issue", issue.id),
        kind="issue",
        name=issue.identifier,
        url=url,
        aliases=tuple(aliases),
    )


def describe_person(person: Person, kind: str = "user") -> StatedEntity:
    """Return the entity of a user, or of an `external_user`."""
    email = (person.email or "").strip().lower()
    return StatedEntity(
        ref=ref(kind, person.id),
        kind="person",
        name=person.name,
        attributes={"email": email} if email else {},
    )


def describe_team(team: Team) -> StatedEntity:
    return StatedEntity(ref=ref("team", team.id), kind="team", name=team.name, aliases=(team.key,))


def describe_project(project: ProjectHome) -> StatedEntity:
    return StatedEntity(
        ref=ref("project", project.id), kind="project", name=project.name, url=project.url
    )


def describe_initiative(initiative: InitiativeHome) -> StatedEntity:
    return StatedEntity(
        ref=ref("initiative", initiative.id),
        kind="initiative",
        name=initiative.name,
        url=initiative.url,
    )


def describe_customer(customer: Customer) -> StatedEntity:
    """Return the customer's entity with its domains, and with its ids in other systems."""
    domains = [domain.strip().lower() for domain in customer.domains if domain.strip()]
    attributes = {
        "domain": domains[0] if domains else "",
        "domains": ", ".join(domains) if len(domains) > 1 else "",
        "external_ids": ", ".join(customer.external_ids),
    }
    return StatedEntity(
        ref=ref("customer", customer.id),
        kind="company",
        name=customer.name,
        url=customer.url,
        attributes={name: value for name, value in attributes.items() if value},
    )


def describe_attachment(attachment: Attachment) -> StatedEntity:
    """Return the entity of a page elsewhere; its URL is what other systems call that page."""
    return StatedEntity(
        ref=ref("attachment", attachment.id),
        kind="link",
        name=attachment.title.strip() or attachment.url,
        url=attachment.url,
    )


def build_structure(
    entity: StatedEntity, stated: Iterable[Stated], extra: Iterable[StatedLink] = ()
) -> ItemStructure:
    """Return what an item states: itself first, each entity once, and its links. Ends of `extra` are among them."""
    targets = list(stated)
    entities = {entity.ref: entity}
    for target in targets:
        entities.setdefault(target.entity.ref, target.entity)
    links = [
        StatedLink(
            source=entity.ref, target=target.entity.ref, type=target.type, relation=target.relation
        )
        for target in targets
        if target.entity.ref != entity.ref
    ]
    return ItemStructure(
        entities=tuple(entities.values()), links=tuple(dict.fromkeys([*links, *extra]))
    )


def issue_home(issue: IssueHome) -> Home:
    shared = [issue_tag(issue.id)] if issue.shared_access.is_shared else []
    return Home(
        label="Issue",
        title=f"{issue.identifier}: {issue.title}",
        tags=frozenset((team_tag(issue.team.id), *shared)),
        request_tags=frozenset((requests_tag(issue.team.id),)),
        teams=frozenset((issue.team.id,)),
        is_trashed=bool(issue.trashed),
        entity=describe_issue(issue, url=cut_slug(issue.url, issue.identifier)),
    )


def project_home(project: ProjectHome) -> Home:
    teams = project.teams.nodes
    return Home(
        label="Project",
        title=project.name,
        tags=frozenset(team_tag(team.id) for team in teams),
        request_tags=frozenset(requests_tag(team.id) for team in teams),
        teams=frozenset(team.id for team in teams),
        is_trashed=bool(project.trashed),
        entity=describe_project(project),
    )


def known_teams(project: ProjectHome) -> tuple[Team, ...]:
    """Return the project's teams that everybody who sees the project may know: the public ones, or its only one."""
    teams = project.teams.nodes
    return teams if len(teams) == 1 else tuple(team for team in teams if team.visibility == PUBLIC)


def initiative_home(initiative: InitiativeHome) -> Home:
    """Return the workspace as the initiative's home, or the team that leads it, whose visibility it has."""
    team = initiative.lead_team
    tag = team_tag(team.id) if team else WORKSPACE_TAG
    hidden = team is None and initiative.visibility != PUBLIC
    return Home(
        label="Initiative",
        title=initiative.name,
        tags=frozenset() if hidden else frozenset((tag,)),
        teams=frozenset((team.id,)) if team else frozenset(),
        is_trashed=bool(initiative.trashed),
        entity=describe_initiative(initiative),
    )


def team_home(team: Team) -> Home:
    return Home(
        label="Team",
        title=team.name,
        tags=frozenset((team_tag(team.id),)),
        teams=frozenset((team.id,)),
        is_trashed=False,
        entity=describe_team(team),
    )


def document_home(document: DocumentHome) -> Home | None:
    """Return what the document is part of; None for a document of a part of Linear that the connector does not read."""
    if document.issue:
        return issue_home(document.issue)
    if document.project:
        return project_home(document.project)
    if document.initiative:
        return initiative_home(document.initiative)
    team = document.team or (document.cycle.team if document.cycle else None)
    return team_home(team) if team else None


def comment_home(comment: Comment) -> Home | None:
    """Return what the comment is about; None for something that the connector does not read."""
    content = comment.document_content
    if content and content.document:
        return _inside_document(content.document)
    issue = comment.issue or (content.issue if content else None)
    if issue:
        return issue_home(issue)
    project = (
        comment.project
        or (comment.project_update.project if comment.project_update else None)
        or (content.project if content else None)
    )
    if project:
        return project_home(project)
    initiative = (
        comment.initiative
        or (comment.initiative_update.initiative if comment.initiative_update else None)
        or (content.initiative if content else None)
    )
    return initiative_home(initiative) if initiative else None


def _inside_document(document: DocumentHome) -> Home | None:
    outer = document_home(document)
    if outer is None:
        return None
    return Home(
        label="Document",
        title=document.title,
        tags=outer.tags,
        teams=outer.teams,
        is_trashed=outer.is_trashed or bool(document.trashed),
        entity=StatedEntity(
            ref=ref("document", document.id),
            kind="document",
            name=document.title or "Untitled document",
            url=document.url,
        ),
    )


def author_of(
    person: Person | None, outsider: Person | None = None, bot: Bot | None = None
) -> tuple[str, str]:
    """Return the name and the reference of who made something, "" where Linear does not tell."""
    if person:
        return person.name, ref("user", person.id)
    if outsider:
        return outsider.name, ref("external_user", outsider.id)
    if bot:
        return bot.user_display_name or bot.name or bot.type, ref("bot", bot.id or bot.type)
    return "", ""


def state_people(**people: Person | None) -> list[Stated]:
    """Return the users by their relations to the item."""
    return [
        Stated(describe_person(person), LinkType.RELATED_TO, relation)
        for relation, person in people.items()
        if person
    ]


def state_outsider(person: Person | None, relation: str) -> list[Stated]:
    """Return somebody outside of Linear by the relation to the item."""
    if person is None:
        return []
    return [Stated(describe_person(person, "external_user"), LinkType.RELATED_TO, relation)]
