"""Reads issues and repositories of GitHub into items; what does not fit is unreadable."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from lightwell.connectors.api_client import ResponseTooLarge
from lightwell.connectors.github.api import GithubApi, parse, path_of
from lightwell.connectors.github.documents import (
    Post,
    Thread,
    make_comment,
    make_repository,
    make_review,
    make_thread,
)
from lightwell.connectors.github.models import Comment, Issue, Repository, Review
from lightwell.connectors.github.structure import SYSTEM, Repositories, issue_ref
from lightwell.connectors.rows import Json, Result, Wire, make_too_large, make_unreadable
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import SourceItem, UnreadableItem

_MAX_POSTS = 2_000
"""The rest of a longer thread is not read: an item is held in memory as a whole."""

T = TypeVar("T", bound=Wire)


@dataclass(frozen=True, slots=True)
class IssueReader:
    """Reads the issues of the source's repositories."""

    api: GithubApi
    repositories: Repositories

    async def fetch(self, repository: Repository, number: int) -> Result:
        """Return an issue by its number; what was transferred to another repository is gone here."""
        answer = await self.api.get(path_of(repository.full_name, "issues", str(number)))
        if answer is None:
            return issue_ref(repository.id, number)
        return await self.read(repository, answer.object)

    async def read(self, repository: Repository, row: Json) -> Result:
        """Return an issue or pull request with all that was written below it."""
        ref = global_ref(SYSTEM, "issue", f"{repository.id}-{row.get('number')}")
        try:
            issue = Issue.model_validate(row)
            posts = await self._posts(repository, issue)
        except ValidationError as error:
            return make_unreadable("GitHub", ref, error)
        except ResponseTooLarge as error:
            return make_too_large(ref, error)
        thread = Thread(repository=repository, issue=issue, raw=row, posts=posts)
        return make_thread(thread, self.repositories)

    async def _posts(self, repository: Repository, issue: Issue) -> list[Post]:
        number = str(issue.number)
        comments: list[Comment] = []
        reviews: list[Review] = []
        if issue.comments:
            path = path_of(repository.full_name, "issues", number, "comments")
            comments += await self._list(Comment, path)
        if issue.pull_request is not None:
            path = path_of(repository.full_name, "pulls", number)
            comments += await self._list(Comment, f"{path}/comments")
            reviews += await self._list(Review, f"{path}/reviews")
        posts = [make_comment(comment) for comment in comments]
        posts += [made for review in reviews if (made := make_review(review))]
        return sorted(posts, key=lambda post: (post.at, post.entity.ref))[:_MAX_POSTS]

    async def _list(self, model: type[T], path: str) -> list[T]:
        by_id: dict[object, T] = {}
        async for rows in self.api.list_all(path):
            by_id |= {row.get("id"): model.model_validate(row) for row in rows}
            if len(by_id) >= _MAX_POSTS:
                break
        return list(by_id.values())


async def load_repositories(
    api: GithubApi, names: Sequence[str]
) -> tuple[Repositories, list[Json]]:
    """Return the repositories of these names, and GitHub's records of them."""
    by_id: dict[int, Repository] = {}
    rows: dict[int, Json] = {}
    missing: list[str] = []
    for name in names:
        answer = await api.find_moved(path_of(name))
        if answer is None:
            missing.append(name)
            continue
        row = answer.object
        repository = parse(Repository, row)
        by_id[repository.id] = repository
        rows[repository.id] = row
    return Repositories(by_id, tuple(missing)), list(rows.values())


def read_repositories(repositories: Repositories, rows: Sequence[Json]) -> list[Result]:
    """Return the repositories as items; one that GitHub does not show is unreadable, by its name."""
    read: list[Result] = [make_repository(parse(Repository, row), row) for row in rows]
    for name in repositories.missing:
        message = f"GitHub has no repository {name}, or the token does not see it"
        read.append(UnreadableItem(ref=missing_ref(name), reason="not_found", message=message))
    return read


def missing_ref(name: str) -> GlobalRef:
    return global_ref(SYSTEM, "repository", name)


def size_of(result: Result) -> int:
    """Return the bytes of an item's texts."""
    if not isinstance(result, SourceItem):
        return 0
    return sum(len(document.content) for document in result.documents)
