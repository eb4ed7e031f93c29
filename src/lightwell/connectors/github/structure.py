"""The entities and links that GitHub states, and the access tags of repositories."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lightwell.connectors.github.models import Issue, Repository, User
from lightwell.connectors.item_documents import one_line
from lightwell.domain.access import Tags
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink
from lightwell.text.regex import regex

SYSTEM = "github"
_REFERENCE = regex(
    r"(?<![\w/.#&-])(?:(?P<name>[A-Za-z0-9-]{1,39}/[A-Za-z0-9_.-]{1,100}))?#(?P<number>[0-9]{1,9})\b"
)
_ADDRESS = regex(
    r"https?://(?P<host>[^\s/]{1,255})/(?P<name>[A-Za-z0-9-]{1,39}/[A-Za-z0-9_.-]{1,100})"
    r"/(?:issues|pull)/(?P<number>[0-9]{1,9})\b"
)
_CLOSING = regex(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]{1,3}$", re.IGNORECASE)
_CLOSING_LENGTH = 20
_MAX_REFERENCES = 100


@dataclass(frozen=True, slots=True)
class Stated:
    """An entity that an item names, and how the item is linked to it."""

    entity: StatedEntity
    type: LinkType
    relation: str


@dataclass(frozen=True, slots=True)
class Repositories:
    """The repositories of a source as of one moment, and the names of those that GitHub does not show."""

    by_id: Mapping[int, Repository]
    missing: tuple[str, ...] = ()

    def find(self, name: str) -> Repository | None:
        """Return the repository of a name, in which case does not count."""
        wanted = name.lower()
        return next(
            (
                repository
                for repository in self.by_id.values()
                if repository.full_name.lower() == wanted
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """An issue or pull request that a text names; `closes` where GitHub will close it with the pull request."""

    repository: Repository
    number: int
    closes: bool


@dataclass(slots=True)
class StructureBuilder:
    """Collects what an item states; its own entity comes first."""

    own: StatedEntity
    entities: dict[GlobalRef, StatedEntity] = field(default_factory=dict[GlobalRef, StatedEntity])
    links: dict[tuple[str, ...], StatedLink] = field(
        default_factory=dict[tuple[str, ...], StatedLink]
    )

    def add(self, stated: Iterable[Stated], source: GlobalRef | None = None) -> None:
        """Link the item, or the entity `source` in it, with these."""
        begin = source or self.own.ref
        for target_stated in stated:
            target = target_stated.entity.ref
            if target == begin:
                continue
            if target != self.own.ref:
                self.entities.setdefault(target, target_stated.entity)
            link = StatedLink(
                source=begin,
                target=target,
                type=target_stated.type,
                relation=target_stated.relation,
            )
            self.links[begin, target, target_stated.relation] = link

    def add_part(self, entity: StatedEntity, relation: str) -> None:
        """Add a part of the item's thread, such as a comment."""
        self.entities[entity.ref] = entity
        link = StatedLink(
            source=entity.ref, target=self.own.ref, type=LinkType.THREAD_OF, relation=relation
        )
        self.links[entity.ref, self.own.ref, relation] = link

    def build(self) -> ItemStructure:
        return ItemStructure(
            entities=(self.own, *self.entities.values()), links=tuple(self.links.values())
        )


def repository_tags(repository: int) -> Tags:
    return frozenset((f"{SYSTEM}:repo:{repository}",))


def repository_ref(repository: int) -> GlobalRef:
    return global_ref(SYSTEM, "repository", str(repository))


def issue_ref(repository: int, number: int) -> GlobalRef:
    """Return the reference of an issue or a pull request: both are counted together."""
    return global_ref(SYSTEM, "issue", f"{repository}-{number}")


def file_ref(repository: int, path: str) -> GlobalRef:
    return global_ref(SYSTEM, "file", f"{repository}/{path}")


def describe_repository(repository: Repository) -> StatedEntity:
    return StatedEntity(
        ref=repository_ref(repository.id),
        kind="repository",
        name=repository.full_name,
        url=repository.html_url,
    )


def describe_issue(repository: Repository, issue: Issue) -> StatedEntity:
    kind = "issue" if issue.pull_request is None else "pull request"
    name = issue_name(repository, issue.number)
    return StatedEntity(
        ref=issue_ref(repository.id, issue.number),
        kind=kind,
        name=name,
        url=issue.html_url,
        aliases=(one_line(issue.title),) if issue.title.strip() else (),
    )


def issue_name(repository: Repository, number: int) -> str:
    return f"{repository.full_name}#{number}"


def describe_user(user: User) -> StatedEntity:
    kind = "person" if user.type == "User" else user.type.lower()
    return StatedEntity(ref=global_ref(SYSTEM, "user", str(user.id)), kind=kind, name=user.login)


def state_user(user: User | None, relation: str) -> list[Stated]:
    return [Stated(describe_user(user), LinkType.RELATED_TO, relation)] if user else []


def state_places(repository: Repository, issue: Issue) -> list[Stated]:
    """Return what an issue belongs to, and the people and labels on it."""
    home = Stated(describe_repository(repository), LinkType.BELONGS_TO, "repository")
    stated = [home, *state_user(issue.user, "author")]
    for assignee in sorted(issue.assignees, key=lambda user: user.id):
        stated += state_user(assignee, "assignee")
    for label in sorted(issue.labels, key=lambda label: label.id):
        ref = global_ref(SYSTEM, "label", str(label.id))
        entity = StatedEntity(ref=ref, kind="label", name=one_line(label.name) or str(label.id))
        stated.append(Stated(entity, LinkType.RELATED_TO, "label"))
    if issue.milestone:
        ref = global_ref(SYSTEM, "milestone", str(issue.milestone.id))
        entity = StatedEntity(
            ref=ref,
            kind="milestone",
            name=one_line(issue.milestone.title) or ref,
            url=issue.milestone.html_url,
        )
        stated.append(Stated(entity, LinkType.BELONGS_TO, "milestone"))
    return stated


def find_references(
    text: str, repository: Repository, repositories: Repositories
) -> list[Reference]:
    """Return the issues and pull requests that a text names, as `#12`, `owner/name#12` or by address.

    Those of another private repository are left out: who reads the text may not know that it is read here.
    """
    host = repository.html_url.split("/")[2].lower()
    references: dict[tuple[int, int], Reference] = {}
    matches = [*_REFERENCE.finditer(text), *_ADDRESS.finditer(text)]
    for match in matches[:_MAX_REFERENCES]:
        parts = match.groupdict()
        if parts.get("host", host).lower() != host:
            continue
        target = repositories.find(parts["name"]) if parts["name"] else repository
        if target is None or (target.private and target.id != repository.id):
            continue
        before = text[max(0, match.start() - _CLOSING_LENGTH) : match.start()]
        key = (target.id, int(parts["number"]))
        closes = bool(_CLOSING.search(before)) or (key in references and references[key].closes)
        references[key] = Reference(target, key[1], closes)
    return list(references.values())


def state_references(references: Iterable[Reference], *, is_pull: bool) -> list[Stated]:
    """Return the links to what a text names; only a pull request closes issues."""
    stated: list[Stated] = []
    for reference in references:
        name = issue_name(reference.repository, reference.number)
        entity = StatedEntity(
            ref=issue_ref(reference.repository.id, reference.number),
            kind="issue",
            name=name,
            url=f"{reference.repository.html_url}/issues/{reference.number}",
        )
        closes = reference.closes and is_pull
        stated.append(
            Stated(
                entity,
                LinkType.RELATED_TO if closes else LinkType.MENTIONS,
                "closes" if closes else "mentions",
            )
        )
    return stated
