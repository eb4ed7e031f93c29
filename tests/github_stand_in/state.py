"""The state of a stand-in for GitHub, and its webhooks; `server.py` serves it over HTTP."""

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha1, sha256
from typing import cast
from uuid import NAMESPACE_URL, uuid5

Row = dict[str, object]
TOKEN, SECRET = "github_pat_test", "github-webhook-secret"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WEB, API = "https://github.test", "https://api.github.test"


@dataclass(slots=True, kw_only=True)
class FakeRepository:
    """A repository. Files are by path, blobs and trees by SHA; old trees stay, as in git."""

    row: Row
    collaborators: set[int] = field(default_factory=set[int])
    issues: dict[int, Row] = field(default_factory=dict[int, Row])
    comments: dict[int, Row] = field(default_factory=dict[int, Row])
    reviews: dict[int, list[Row]] = field(default_factory=dict[int, list[Row]])
    review_comments: dict[int, Row] = field(default_factory=dict[int, Row])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    trees: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])

    @property
    def name(self) -> str:
        return str(self.row["full_name"])


@dataclass(slots=True, kw_only=True)
class FakeGithub:
    """Users and repositories. `before` is called with each request's method and path, and may change rows.

    `refusals` are what to answer instead of the truth, the next first: a status with headers. A minute passes with each
    change. `readable_by_token` are the repositories' ids that the token sees, None for all.
    """

    secret: str = SECRET
    now: datetime = START
    before: Callable[[str], None] = lambda call: None
    refusals: list[tuple[int, Mapping[str, str]]] = field(
        default_factory=list[tuple[int, Mapping[str, str]]]
    )
    calls: list[str] = field(default_factory=list[str])
    charged: int = 0
    users: dict[int, Row] = field(default_factory=dict[int, Row])
    organizations: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    repositories: dict[int, FakeRepository] = field(default_factory=dict[int, FakeRepository])
    former_names: dict[str, int] = field(default_factory=dict[str, int])
    readable_by_token: set[int] | None = None
    is_truncating: bool = False
    _ids: int = 1000

    def new_id(self) -> int:
        self._ids += 1
        return self._ids

    def tick(self) -> str:
        self.now += timedelta(minutes=1)
        return self.stamp()

    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def add_user(self, login: str, *, email: str | None = None, name: str | None = None) -> int:
        id_ = self.new_id()
        self.users[id_] = {
            **_account(id_, login, "User"),
            "name": name,
            "email": email,
        }
        return id_

    def add_organization(self, login: str, members: set[int]) -> None:
        self.organizations[login] = members

    def add_repository(
        self, full_name: str, *, private: bool = True, collaborators: set[int] | None = None
    ) -> FakeRepository:
        id_ = self.new_id()
        owner, _, name = full_name.partition("/")
        kind = "Organization" if owner in self.organizations else "User"
        row: Row = {
            "id": id_,
            "name": name,
            "full_name": full_name,
            "owner": _account(7, owner, kind),
            "private": private,
            "html_url": f"{WEB}/{full_name}",
            "description": f"All about {name}.",
            "fork": False,
            "homepage": None,
            "default_branch": "main",
            "topics": [],
            "archived": False,
            "language": "Python",
            "temp_clone_token": "never-store-this",
        }
        made = FakeRepository(row=row, collaborators=collaborators or set())
        self.repositories[id_] = made
        self.write_files(made, {})
        return made

    def rename(self, repository: FakeRepository, full_name: str) -> None:
        """Rename a repository; GitHub redirects from the old name."""
        self.former_names[repository.name.lower()] = cast("int", repository.row["id"])
        before = repository.name
        repository.row |= {"full_name": full_name, "html_url": f"{WEB}/{full_name}"}
        rows = [*repository.issues.values(), *repository.comments.values()]
        for row in [*rows, *repository.review_comments.values()]:
            for key in ("html_url", "url", "issue_url", "pull_request_url"):
                if key in row:
                    row[key] = str(row[key]).replace(f"/{before}/", f"/{full_name}/")

    def write_files(self, repository: FakeRepository, changes: Mapping[str, bytes | None]) -> None:
        """Commit files to the default branch; None deletes one."""
        kept = {**repository.files, **changes}
        repository.files = {path: text for path, text in kept.items() if text is not None}
        repository.trees[tree_sha(repository.files)] = dict(repository.files)
        self.tick()

    def add_issue(
        self,
        repository: FakeRepository,
        title: str,
        body: str | None = None,
        *,
        author: int,
        is_pull: bool = False,
    ) -> int:
        """Open an issue or a pull request; return its number."""
        number, now = max(repository.issues, default=0) + 1, self.tick()
        place = f"{repository.name}/{'pull' if is_pull else 'issues'}/{number}"
        row: Row = {
            "id": self.new_id(),
            "number": number,
            "title": title,
            "body": body,
            "state": "open",
            "state_reason": None,
            "locked": False,
            "user": self.shown(author),
            "assignee": None,
            "assignees": [],
            "labels": [],
            "milestone": None,
            "comments": 0,
            "created_at": now,
            "updated_at": now,
            "closed_at": None,
            "author_association": "MEMBER",
            "html_url": f"{WEB}/{place}",
            "url": f"{API}/repos/{repository.name}/issues/{number}",
        }
        if is_pull:
            row["pull_request"] = {"merged_at": None, "html_url": f"{WEB}/{place}"}
            repository.reviews[number] = []
        repository.issues[number] = row
        return number

    def change_issue(self, repository: FakeRepository, number: int, **changes: object) -> None:
        repository.issues[number] |= {**changes, "updated_at": self.tick()}

    def assign(self, repository: FakeRepository, number: int, *users: int) -> None:
        self.change_issue(repository, number, assignees=[self.shown(user) for user in users])

    def label(self, repository: FakeRepository, number: int, *names: str) -> None:
        labels = [self._label(repository, name) for name in names]
        self.change_issue(repository, number, labels=labels)

    def merge(self, repository: FakeRepository, number: int) -> None:
        now = self.tick()
        link = {**cast("Row", repository.issues[number]["pull_request"]), "merged_at": now}
        self.change_issue(repository, number, state="closed", closed_at=now, pull_request=link)

    def delete_issue(self, repository: FakeRepository, number: int) -> None:
        """Delete an issue, or transfer it to a repository that is not read."""
        del repository.issues[number]

    def comment(
        self, repository: FakeRepository, number: int, body: str, *, author: int | None
    ) -> int:
        id_ = self.new_id()
        count = cast("int", repository.issues[number]["comments"]) + 1
        self.change_issue(repository, number, comments=count)
        repository.comments[id_] = self._comment(repository, number, id_, body, author) | {
            "issue_url": f"{API}/repos/{repository.name}/issues/{number}",
        }
        return id_

    def edit_comment(self, repository: FakeRepository, id_: int, body: str) -> None:
        """Edit a comment; the issue's own time stays."""
        repository.comments[id_] |= {"body": body, "updated_at": self.tick()}

    def delete_comment(self, repository: FakeRepository, id_: int) -> None:
        row = repository.comments.pop(id_)
        number = int(str(row["issue_url"]).rpartition("/")[2])
        count = cast("int", repository.issues[number]["comments"]) - 1
        self.change_issue(repository, number, comments=count)

    def review(
        self, repository: FakeRepository, number: int, state: str, body: str, *, author: int
    ) -> int:
        id_ = self.new_id()
        self.change_issue(repository, number)
        repository.reviews[number].append(
            {
                "id": id_,
                "user": self.shown(author),
                "body": body,
                "state": state,
                "submitted_at": self.stamp(),
                "html_url": f"{repository.issues[number]['html_url']}#pullrequestreview-{id_}",
                "pull_request_url": f"{API}/repos/{repository.name}/pulls/{number}",
            }
        )
        return id_

    def comment_on_line(
        self, repository: FakeRepository, number: int, path: str, body: str, *, author: int
    ) -> int:
        id_ = self.new_id()
        self.change_issue(repository, number)
        row = self._comment(repository, number, id_, body, author)
        repository.review_comments[id_] = row | {
            "path": path,
            "diff_hunk": "@@ -1 +1 @@",
            "commit_id": "0" * 40,
            "pull_request_url": f"{API}/repos/{repository.name}/pulls/{number}",
            "html_url": f"{repository.issues[number]['html_url']}#discussion_r{id_}",
        }
        return id_

    def webhook(
        self, event: str, repository: FakeRepository, **payload: object
    ) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of a genuine webhook."""
        content = {"action": "edited", "repository": self.shown_repository(repository), **payload}
        body = json.dumps(content).encode()
        delivery = uuid5(NAMESPACE_URL, f"{event} {self.new_id()}")
        return {
            "content-type": "application/json",
            "x-github-event": event,
            "x-github-delivery": str(delivery),
            "x-hub-signature-256": "sha256="
            + hmac.new(self.secret.encode(), body, sha256).hexdigest(),
        }, body

    def shown(self, user: int | None) -> Row | None:
        """Return a user as other objects show it; None for a deleted account."""
        if user is None or user not in self.users:
            return None
        hidden = ("name", "email")
        return {key: value for key, value in self.users[user].items() if key not in hidden}

    def shown_repository(self, repository: FakeRepository) -> Row:
        return {**repository.row, "owner": dict(cast("Row", repository.row["owner"]))}

    def _comment(
        self,
        repository: FakeRepository,
        number: int,
        id_: int,
        body: str,
        author: int | None,
    ) -> Row:
        now = self.stamp()
        return {
            "id": id_,
            "body": body,
            "user": self.shown(author),
            "created_at": now,
            "updated_at": now,
            "author_association": "MEMBER",
            "html_url": f"{repository.issues[number]['html_url']}#issuecomment-{id_}",
            "url": f"{API}/repos/{repository.name}/issues/comments/{id_}",
        }

    def _label(self, repository: FakeRepository, name: str) -> Row:
        number = int.from_bytes(
            sha1(f"{repository.row['id']} {name}".encode(), usedforsecurity=False).digest()[:4]
        )
        return {"id": number, "name": name, "color": "ff0000", "default": False}


def blob_sha(content: bytes) -> str:
    """Return the SHA that git gives a file."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def tree_sha(files: Mapping[str, bytes]) -> str:
    """Return a SHA that stands for these files; "" in front of none, as in an empty repository."""
    listed = "\n".join(f"{path} {blob_sha(text)}" for path, text in sorted(files.items()))
    return sha1(listed.encode(), usedforsecurity=False).hexdigest()


def _account(id_: int, login: str, kind: str) -> Row:
    return {
        "id": id_,
        "login": login,
        "type": kind,
        "site_admin": False,
        "url": f"{API}/users/{login}",
        "html_url": f"{WEB}/{login}",
    }
