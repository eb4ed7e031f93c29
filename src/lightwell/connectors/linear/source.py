"""Linear as a source of items: see `docs/connectors/linear.md`."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import httpx
from pydantic import ValidationError

from lightwell.connectors.linear import directory, queries, webhooks
from lightwell.connectors.linear.api import (
    NAME,
    FeatureMissing,
    InputRefused,
    LinearApi,
    NodePage,
    rate_limit_wait,
)
from lightwell.connectors.linear.cursors import HiddenTeams, Position
from lightwell.connectors.linear.entities import SYSTEM, ref
from lightwell.connectors.linear.streams import (
    ATTACHMENTS,
    BY_KIND,
    BY_NAME,
    RELATIONS,
    SHARED_ISSUES,
    SHARED_WITH_ISSUES,
    STREAMS,
    TEAM_VISIBILITY,
    Filter,
    Stream,
    list_dependents,
    list_naming,
)
from lightwell.connectors.linear.values import PUBLIC
from lightwell.connectors.linear.webhooks import is_id
from lightwell.connectors.opening import Api, check_options, open_api
from lightwell.connectors.rows import Wire, parse_cursor
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import (
    ItemPage,
    SourceDirectory,
    SourceItem,
    UnreadableItem,
    WebhookHint,
)

BASE_URL = "https://api.linear.app"
_OPTIONS = ("base_url",)
_OAUTH_PREFIX = "lin_oauth_"
_BACKFILL = timedelta(days=2)
"""How far back the first pulls of attachments and relations go: the issues that were read before already have the older ones."""

_MAX_DEPENDENTS = 500
"""How many items a fetch adds to those it was asked for; the next pull reads the rest."""


class _Stamp(Wire):
    updatedAt: datetime  # noqa: N815 - Linear's name


class _Id(Wire):
    id: str


class _Owner(_Id):
    """An issue; attachments do not tell its team."""

    team: _Id | None = None


class _Part(_Stamp):
    """An attachment, or a relation between two issues."""

    issue: _Owner
    relatedIssue: _Owner | None = None  # noqa: N815

    @property
    def owners(self) -> tuple[str, ...]:
        other = self.relatedIssue
        return (self.issue.id, other.id) if other else (self.issue.id,)

    def neighbours_of(self, teams: Collection[str]) -> list[str]:
        """Return the ends of a relation whose other end is in one of these teams."""
        ends = (self.issue, self.relatedIssue)
        pairs = [(end, other) for end, other in (ends, ends[::-1]) if end and other]
        return [end.id for end, other in pairs if other.team and other.team.id in teams]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSource:
    """A workspace of Linear as far as the token sees it; an `ItemSource`. Without `webhook_secret` no webhook is genuine."""

    api: LinearApi
    webhook_secret: str = ""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def system(self) -> str:
        return SYSTEM

    @property
    def streams(self) -> tuple[str, ...]:
        names = tuple(stream.name for stream in STREAMS)
        return (TEAM_VISIBILITY, *names, ATTACHMENTS, RELATIONS, SHARED_ISSUES)

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        if stream == TEAM_VISIBILITY:
            async for page in self._pull_naming(parse_cursor(HiddenTeams, cursor)):
                yield page
            return
        position = parse_cursor(Position, cursor)
        try:
            async for page in self._pull(stream, position):
                yield page
        except FeatureMissing:
            return
        except InputRefused:
            if not position.after:
                raise
            # Linear forgets where a page began; the listing begins anew.
            async for page in self._pull(stream, position.restart()):
                yield page

    def _pull(self, stream: str, position: Position) -> AsyncIterator[ItemPage]:
        match stream:
            case "attachments":
                return self._pull_parts(queries.ATTACHMENTS, position)
            case "issue_relations":
                return self._pull_parts(queries.RELATIONS, position)
            case "shared_issues":
                return self._pull_shared()
            case _:
                return self._pull_items(BY_NAME[stream], position)

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        read_stream = BY_NAME.get(stream)
        if read_stream is None:  # parts of issues, which have no items of their own
            return
        try:
            async for page in self.api.read_all(queries.list_ids(read_stream.query), {}):
                yield [ref(read_stream.kind, str(node["id"])) for node in page.nodes]
        except FeatureMissing:
            return

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        wanted: dict[str, list[str]] = {}
        for ref_ in refs:
            _, kind, id = ref_.split(":", 2)
            if kind in BY_KIND and is_id(id):
                wanted.setdefault(kind, []).append(id)
        pages: list[ItemPage] = []
        for kind, ids in wanted.items():
            pages += await self._fetch_kind(BY_KIND[kind], ids)
        answered = {
            ref
            for page in pages
            for ref in (
                *(item.ref for item in page.items),
                *page.removed,
                *(item.ref for item in page.unreadable),
            )
        }
        gone = tuple(ref_ for ref_ in refs if ref_ not in answered)
        return _join([*pages, ItemPage(items=(), cursor="", removed=gone)])

    async def directory(self) -> SourceDirectory:
        return await directory.read_directory(self.api)

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        return webhooks.read_webhook(self.webhook_secret, headers, body, received_at)

    async def _pull_items(self, stream: Stream, position: Position) -> AsyncIterator[ItemPage]:
        variables = {"filter": position.filter_changes()}
        async for nodes in self.api.read_all(stream.query, variables, position.after):
            stamps: dict[str, datetime] = {}
            for node in nodes.nodes:
                try:
                    stamps[str(node.get("id"))] = _Stamp.model_validate(node).updatedAt
                except ValidationError:
                    continue
            if not position.lists_all:
                changed = [id for id, moment in stamps.items() if position.is_new(moment)]
                async for page in self._read_dependents(stream.kind, changed):
                    yield replace(page, cursor=position.to_text())
            position = position.advance(stamps.values(), nodes.after)
            yield replace(_read_nodes(stream, nodes), cursor=position.to_text())

    async def _pull_parts(
        self, query: queries.PagedQuery, position: Position
    ) -> AsyncIterator[ItemPage]:
        """Yield the issues whose attachments or relations have changed."""
        start = position if position.since else Position(since=self.clock() - _BACKFILL)
        variables = {"filter": start.filter_changes()} if query is queries.ATTACHMENTS else {}
        position = start if position.since is None else position
        async for nodes in self.api.read_all(query, variables, position.after):
            parts = [_Part.model_validate(node) for node in nodes.nodes]
            new = [part for part in parts if position.is_new(part.updatedAt)]
            owners = list(dict.fromkeys(id for part in new for id in part.owners))
            is_last = not nodes.after or _is_behind(position, parts)
            for page in await self._read_issues(owners):
                yield replace(page, cursor=position.to_text())
            position = position.advance(
                [part.updatedAt for part in parts], "" if is_last else nodes.after
            )
            yield ItemPage(items=(), cursor=position.to_text())
            if is_last:
                return

    async def _read_issues(self, ids: Sequence[str]) -> list[ItemPage]:
        """Return pages with the issues, none for no ids."""
        stream = BY_KIND["issue"]
        return [
            _read_nodes(stream, nodes)
            for start in range(0, len(ids), stream.query.size)
            async for nodes in self.api.read_all(
                stream.query,
                {"filter": {"id": {"in": list(ids[start : start + stream.query.size])}}},
            )
        ]

    async def _pull_naming(self, before: HiddenTeams) -> AsyncIterator[ItemPage]:
        """Yield what names a team whose visibility has changed, or its issues: others may know these now, or no longer."""
        teams = await directory.read_teams(self.api)
        now = HiddenTeams(
            hidden=tuple(sorted(team.id for team in teams if team.visibility != PUBLIC))
        )
        changed = before.changes_to(now)
        if changed:
            for stream, condition in list_naming(changed):
                async for page in self._read_matching(stream, condition):
                    yield replace(page, cursor=before.to_text())
            async for nodes in self.api.read_all(queries.RELATIONS, {}):
                parts = [_Part.model_validate(node) for node in nodes.nodes]
                owners = {id for part in parts for id in part.neighbours_of(changed)}
                for page in await self._read_issues(sorted(owners)):
                    yield replace(page, cursor=before.to_text())
        yield ItemPage(items=(), cursor=now.to_text())

    async def _pull_shared(self) -> AsyncIterator[ItemPage]:
        """Yield all shared issues and what belongs to them: Linear does not tell when sharing changes."""
        for name in SHARED_WITH_ISSUES:
            condition = directory.SHARED if name == "issues" else {"issue": directory.SHARED}
            async for page in self._read_matching(BY_NAME[name], condition):
                yield page

    async def _fetch_kind(self, stream: Stream, ids: Sequence[str]) -> list[ItemPage]:
        try:
            pages = [page async for page in self._read_matching(stream, {"id": {"in": list(ids)}})]
        except FeatureMissing:
            return []
        added = 0
        async with aclosing(self._read_dependents(stream.kind, ids)) as dependents:
            async for page in dependents:
                pages.append(page)
                added += len(page.items)
                if added >= _MAX_DEPENDENTS:
                    break
        return pages

    async def _read_dependents(self, kind: str, ids: Sequence[str]) -> AsyncGenerator[ItemPage]:
        """Yield what follows the access of these items."""
        if not ids:
            return
        for stream, condition in list_dependents(kind, ids):
            try:
                async for page in self._read_matching(stream, condition):
                    yield page
            except FeatureMissing:
                continue

    async def _read_matching(self, stream: Stream, condition: Filter) -> AsyncIterator[ItemPage]:
        async for nodes in self.api.read_all(stream.query, {"filter": condition}):
            yield _read_nodes(stream, nodes)


def _read_nodes(stream: Stream, page: NodePage) -> ItemPage:
    """Return the nodes as items, without a cursor."""
    items: list[SourceItem] = []
    removed: list[GlobalRef] = []
    unreadable: list[UnreadableItem] = []
    for node in page.nodes:
        item_ref = ref(stream.kind, str(node.get("id")))
        if message := page.broken.get(str(node.get("id"))):
            unreadable.append(UnreadableItem(ref=item_ref, reason="incomplete", message=message))
            continue
        try:
            item = stream.read(node)
        except ValidationError as error:
            fields = sorted({".".join(map(str, problem["loc"])) for problem in error.errors()})
            message = f"Linear sent it in a form that is not understood: {', '.join(fields)}"
            unreadable.append(UnreadableItem(ref=item_ref, reason="format", message=message))
            continue
        if item:
            items.append(item)
        else:
            removed.append(item_ref)
    return ItemPage(
        items=tuple(items), cursor="", removed=tuple(removed), unreadable=tuple(unreadable)
    )


def _is_behind(position: Position, parts: Sequence[_Part]) -> bool:
    """Return whether a listing with the latest change first has passed all that is new."""
    times = [part.updatedAt for part in parts]
    is_ordered = times == sorted(times, reverse=True)
    return is_ordered and bool(times) and not position.is_new(times[-1])


def _join(pages: Sequence[ItemPage]) -> ItemPage:
    return ItemPage(
        items=tuple({item.ref: item for page in pages for item in page.items}.values()),
        cursor="",
        removed=tuple(dict.fromkeys(removed_ref for page in pages for removed_ref in page.removed)),
        unreadable=tuple({item.ref: item for page in pages for item in page.unreadable}.values()),
    )


@asynccontextmanager
async def open_linear(
    options: Mapping[str, str],
    token: str,
    webhook_secret: str,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncGenerator[LinearSource]:
    """Open the workspace of an API key or an OAuth token; raise `Invalid` for an option that is not known or wrong.

    `webhook_secret` is "" where no webhooks are taken. `transport` stands for the network. A redirect is not followed,
    so the token goes to Linear alone.
    """
    check_options("linear", options, _OPTIONS)
    # Linear takes API keys as they are, and OAuth tokens as bearer tokens.
    credentials = f"Bearer {token}" if token.startswith(_OAUTH_PREFIX) else token
    api = Api(
        name=NAME,
        base_url=options.get("base_url", BASE_URL),
        headers={"authorization": credentials},
        rate_limit_wait=rate_limit_wait,
    )
    async with open_api(api, transport) as client:
        yield LinearSource(api=LinearApi(api=client), webhook_secret=webhook_secret)
