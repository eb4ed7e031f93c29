"""GitHub's objects, as far as they are read."""

from datetime import datetime

from pydantic import Field

from lightwell.connectors.rows import Wire

NAME_PATTERN = r"^[A-Za-z0-9_.-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$"
"""A repository with its owner, as it stands in addresses."""


class User(Wire):
    """An account; `type` is `User`, `Bot` or `Organization`."""

    id: int
    login: str
    type: str = "User"


class Profile(User):
    name: str | None = None
    email: str | None = None
    suspended_at: datetime | None = None


class Repository(Wire):
    id: int
    full_name: str = Field(pattern=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$")
    html_url: str
    owner: User
    private: bool
    description: str | None = None
    homepage: str | None = None
    default_branch: str = "main"
    topics: tuple[str, ...] = ()
    archived: bool = False
    language: str | None = None


class Label(Wire):
    id: int
    name: str


class Milestone(Wire):
    id: int
    title: str
    html_url: str = ""


class PullLink(Wire):
    merged_at: datetime | None = None


class Issue(Wire):
    """An issue, or a pull request where `pull_request` is present."""

    number: int
    title: str
    html_url: str
    state: str
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    state_reason: str | None = None
    body: str | None = None
    user: User | None = None
    assignees: tuple[User, ...] = ()
    labels: tuple[Label, ...] = ()
    milestone: Milestone | None = None
    comments: int = 0
    pull_request: PullLink | None = None


class Comment(Wire):
    """A comment on an issue, or on a line of a pull request, which has a `path`."""

    id: int
    html_url: str
    created_at: datetime
    body: str | None = None
    user: User | None = None
    path: str = ""


class Review(Wire):
    """A review of a pull request; it is not submitted while it is pending."""

    id: int
    html_url: str
    state: str
    body: str | None = None
    user: User | None = None
    submitted_at: datetime | None = None


class _CommitBody(Wire):
    tree: "_Sha"


class _Commit(Wire):
    commit: _CommitBody


class _Sha(Wire):
    sha: str


class Branch(Wire):
    commit: _Commit

    @property
    def tree(self) -> str:
        """Return the SHA of the root folder."""
        return self.commit.commit.tree.sha


class TreeEntry(Wire):
    path: str
    mode: str
    type: str
    sha: str
    size: int = 0


class Tree(Wire):
    tree: tuple[TreeEntry, ...]
    truncated: bool = False
