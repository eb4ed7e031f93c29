"""Repositories of GitHub as a source of items: see `docs/connectors/github.md`."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import httpx

from lightwell.connectors.github.api import BASE_URL, HEADERS, GithubApi, path_of, rate_limit_wait
from lightwell.connectors.github.changes import walk_changes
from lightwell.connectors.github.cursors import Cursor, FilePosition, ListPosition
from lightwell.connectors.github.directory import read_directory
from lightwell.connectors.github.files import Entries, FileReader
from lightwell.connectors.github.models import NAME_PATTERN, Repository
from lightwell.connectors.github.reading import (
    IssueReader,
    load_repositories,
    missing_ref,
    read_repositories,
    size_of,
)
from lightwell.connectors.github.structure import SYSTEM, Repositories, file_ref, repository_ref
from lightwell.connectors.github.webhooks import read_webhook
from lightwell.connectors.opening import Api, check_options, open_api, parse_flag
from lightwell.connectors.rows import Json, Result, make_page, parse_cursor
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import ItemPage, SourceDirectory, WebhookHint
from lightwell.text.regex import regex

REPOSITORY, ISSUE, COMMENT, REVIEW_COMMENT, FILE = (
    "repository",
    "issue",
    "comment",
    "review_comment",
    "file",
)
_LISTINGS = {ISSUE: "issues", COMMENT: "issues/comments", REVIEW_COMMENT: "pulls/comments"}
_OPTIONS = ("repositories", "base_url", "skip_profiles")
_NAME = regex(NAME_PATTERN)
_MAX_REPOSITORIES = 100
_PAGE_ITEMS, _PAGE_BYTES = 50, 8 * 1000**2
_BACKFILL = timedelta(days=2)
"""How far back the first listing of comments goes: the issues that were read before it have the older ones already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GithubOptions:
    """Which repositories to read, as `owner/name`, and whether to leave out people's profiles."""

    repositories: tuple[str, ...]
    skips_profiles: bool = False


@dataclass(frozen=True, slots=True)
class _Loaded:
    repositories: Repositories
    rows: list[Json]


@dataclass(slots=True, kw_only=True)
class GithubSource:
    """Repositories of GitHub as far as the token sees them; an `ItemSource`. `now` is the clock."""

    api: GithubApi
    options: GithubOptions
    webhook_secret: str
    now: Callable[[], datetime]
    _loaded: _Loaded | None = field(default=None)

    @property
    def system(self) -> str:
        return SYSTEM

    @property
    def streams(self) -> tuple[str, ...]:
        return (REPOSITORY, ISSUE, COMMENT, REVIEW_COMMENT, FILE)

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        loaded, begun = await self._open(), parse_cursor(Cursor, cursor)
        if stream == REPOSITORY:
            yield make_page(read_repositories(loaded.repositories, loaded.rows), "")
            return
        for repository in loaded.repositories.by_id.values():
            if stream == FILE:
                pages = self._pull_files(repository, begun)
            else:
                pages = self._pull_changes(stream, repository, begun)
            async for page, after in pages:
                begun = after
                yield page

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        repositories = (await self._open()).repositories
        if stream == REPOSITORY:
            yield [repository_ref(repository) for repository in repositories.by_id]
            yield [missing_ref(name) for name in repositories.missing]
        for repository in repositories.by_id.values():
            if stream == FILE:
                files = await FileReader(self.api, repository).list_files()
                yield [file_ref(repository.id, path) for path in files]
            elif stream == ISSUE:
                path = path_of(repository.full_name, "issues")
                order = {"state": "all", "sort": "created", "direction": "asc"}
                async for rows in self.api.list_all(path, order):
                    yield [
                        global_ref(SYSTEM, ISSUE, f"{repository.id}-{row.get('number')}")
                        for row in rows
                    ]

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        loaded = await self._open()
        reader = IssueReader(self.api, loaded.repositories)
        trees: dict[int, Entries] = {}
        results: list[Result] = []
        repositories = read_repositories(loaded.repositories, loaded.rows)
        for ref in refs:
            _, kind, id_ = ref.split(":", 2)
            match kind:
                case "issue":
                    results.append(await self._fetch_issue(reader, id_))
                case "file":
                    results.append(await self._fetch_file(loaded.repositories, id_, trees))
                case _:
                    items = (result for result in repositories if not isinstance(result, str))
                    results.append(next((item for item in items if item.ref == ref), ref))
        return make_page(results, "")

    async def directory(self) -> SourceDirectory:
        self._loaded = None
        return await read_directory(
            self.api,
            (await self._open()).repositories,
            reads_profiles=not self.options.skips_profiles,
        )

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        return read_webhook(self.webhook_secret, headers, body, received_at)

    async def _open(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = _Loaded(*await load_repositories(self.api, self.options.repositories))
        return self._loaded

    async def _pull_changes(
        self, stream: str, repository: Repository, cursor: Cursor
    ) -> AsyncIterator[tuple[ItemPage, Cursor]]:
        """Yield the issues that a listing of issues or comments names."""
        position = cursor.lists.get(repository.id, ListPosition())
        if position.name != repository.full_name:  # new, or renamed: all addresses differ
            since = None if stream == ISSUE else self.now() - _BACKFILL
            position = ListPosition(name=repository.full_name, since=since)
        reader = IssueReader(self.api, (await self._open()).repositories)
        path = f"{path_of(repository.full_name)}/{_LISTINGS[stream]}"
        params = {"state": "all"} if stream == ISSUE else {}
        async for rows, after in walk_changes(self.api, path, params, position):
            issues = rows if stream == ISSUE else _name_issues(rows)
            results: list[Result] = []
            for row in issues:
                results.append(await _read_row(reader, repository, row))
                if len(results) == _PAGE_ITEMS or sum(map(size_of, results)) > _PAGE_BYTES:
                    yield make_page(results, cursor.to_text()), cursor
                    results = []
            cursor = cursor.move_list(repository.id, after)
            yield make_page(results, cursor.to_text()), cursor

    async def _fetch_issue(self, reader: IssueReader, id_: str) -> Result:
        head, _, number = id_.partition("-")
        repository = reader.repositories.by_id.get(_number(head))
        if repository is None or not _number(number):
            return global_ref(SYSTEM, ISSUE, id_)
        return await reader.fetch(repository, _number(number))

    async def _fetch_file(
        self, repositories: Repositories, id_: str, trees: dict[int, Entries]
    ) -> Result:
        head, _, path = id_.partition("/")
        repository = repositories.by_id.get(_number(head))
        if repository is None:
            return global_ref(SYSTEM, FILE, id_)
        files = FileReader(self.api, repository)
        if repository.id not in trees:
            trees[repository.id] = await files.list_files()
        entry = trees[repository.id].get(path)
        return global_ref(SYSTEM, FILE, id_) if entry is None else await files.read(entry)

    async def _pull_files(
        self, repository: Repository, cursor: Cursor
    ) -> AsyncIterator[tuple[ItemPage, Cursor]]:
        position = cursor.files.get(repository.id, FilePosition())
        async for page in FileReader(self.api, repository).walk(position):
            cursor = cursor.move_files(repository.id, page.position)
            yield make_page(page.results, cursor.to_text()), cursor


def _name_issues(comments: Sequence[Json]) -> list[int]:
    """Return the numbers of the issues and pull requests that comments belong to."""
    addresses = [str(row.get("issue_url") or row.get("pull_request_url")) for row in comments]
    numbers = [_number(address.rpartition("/")[2]) for address in addresses]
    return sorted(set(numbers) - {0})


async def _read_row(reader: IssueReader, repository: Repository, row: Json | int) -> Result:
    """Return an issue from GitHub's record of it, or by its number."""
    if isinstance(row, int):
        return await reader.fetch(repository, row)
    return await reader.read(repository, row)


def _number(text: str) -> int:
    """Return the number that a text is, 0 for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


@asynccontextmanager
async def open_github(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[GithubSource]:
    """Open the repositories that the options name; raise `Invalid` for an option that is missing, not known or wrong.

    `webhook_secret` is "" where no webhooks are taken. `transport` stands for the network.
    """
    parsed = parse_options(options)
    api = Api(
        name="GitHub",
        base_url=options.get("base_url", BASE_URL),
        headers={**HEADERS, "authorization": f"Bearer {token}"},
        rate_limit_wait=rate_limit_wait,
    )
    async with open_api(api, transport) as client:
        yield GithubSource(
            api=GithubApi(client),
            options=parsed,
            webhook_secret=webhook_secret,
            now=lambda: datetime.now(UTC),
        )


def parse_options(options: Mapping[str, str]) -> GithubOptions:
    """Return the options of a source; raise `Invalid`."""
    check_options("github", options, _OPTIONS)
    names = [name.strip() for name in options.get("repositories", "").split(",") if name.strip()]
    if not names:
        raise Invalid("A source of GitHub needs the option repositories: owner/name,owner/other")
    if len(names) > _MAX_REPOSITORIES:
        raise Invalid(f"A source of GitHub has at most {_MAX_REPOSITORIES} repositories")
    for name in names:
        if not _NAME.fullmatch(name):
            raise Invalid(f"{name!r} is not a repository; write owner/name")
    return GithubOptions(
        repositories=tuple(dict.fromkeys(names)),
        skips_profiles=parse_flag(options, "skip_profiles"),
    )
