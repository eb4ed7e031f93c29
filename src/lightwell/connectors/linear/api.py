"""Calls of Linear's GraphQL API: its errors, its rate limits, and all pages of a connection."""

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import cast

import httpx
from pydantic import TypeAdapter, ValidationError

from lightwell.connectors.api_client import ApiClient, retry_after, server_time
from lightwell.connectors.linear.queries import NESTED, PagedQuery
from lightwell.connectors.rows import Json, Wire
from lightwell.domain.errors import SourceFailed
from lightwell.domain.texts import keep_text
from lightwell.text.regex import regex

NAME = "Linear"
_BUDGETS = ("requests", "complexity")
_NO_LETTER = regex("[^a-z]")
_RATE_LIMITED = "ratelimited"
_NO_FEATURE = frozenset(("featurenotaccessible",))
_NO_ACCESS = frozenset(("authenticationerror",))
_BAD_INPUT = frozenset(("invalidinput", "inputerror", "graphqlvalidationfailed"))

Node = Json
"""An object as JSON, before it is checked against its model."""


class FeatureMissing(SourceFailed):
    """The workspace's plan, or the token, does not have this part of Linear."""


class InputRefused(SourceFailed):
    """Linear does not accept a variable of the query."""


class _Extensions(Wire):
    code: str = ""
    type: str = ""


class _Problem(Wire):
    """One of a response's `errors`. `path` leads to the value that is missing because of it."""

    message: str = ""
    path: tuple[str | int, ...] = ()
    extensions: _Extensions = _Extensions()

    @property
    def words(self) -> frozenset[str]:
        """Return Linear's words for the kind of problem, in one spelling."""
        names = (self.extensions.code, self.extensions.type)
        return frozenset(_NO_LETTER.sub("", word.lower()) for word in names)


class _Response(Wire):
    data: dict[str, object] | None = None
    errors: tuple[_Problem, ...] = ()


class _PageInfo(Wire):
    hasNextPage: bool  # noqa: N815 - Linear's name
    endCursor: str | None = None  # noqa: N815


class _Page(Wire):
    nodes: list[Node | None]
    pageInfo: _PageInfo  # noqa: N815


_OBJECT = TypeAdapter(dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePage:
    """A page of a connection. `after` is where the next one begins, "" after the last.

    `broken` has, by id, why nodes came without all of their fields.
    """

    nodes: tuple[Node, ...]
    after: str
    broken: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearApi:
    """Linear's API. Every method raises `SourceFailed` when Linear refuses or fails for good."""

    api: ApiClient

    async def read_page(
        self, query: PagedQuery, variables: Mapping[str, object], after: str = ""
    ) -> NodePage:
        """Return a page of the query, with the connections inside its nodes read to their ends."""
        passed = {"first": query.size, "after": after or None, **variables}
        response = await self._ask(query, passed)
        value = _descend(response.data, query.path)
        if value is None:
            raise _failure(response)
        page = _parse_page(value)
        broken = _broken_nodes(response, page, query)
        nodes = [node for node in page.nodes if node is not None]
        for node in nodes:
            await self._complete(node)
        info = page.pageInfo
        return NodePage(
            nodes=tuple(nodes),
            after=(info.endCursor or "") if info.hasNextPage else "",
            broken=broken,
        )

    async def read_all(
        self, query: PagedQuery, variables: Mapping[str, object], after: str = ""
    ) -> AsyncGenerator[NodePage]:
        """Yield all pages of the query, from `after` on."""
        while True:
            page = await self.read_page(query, variables, after)
            yield page
            if not page.after:
                return
            if page.after == after:
                raise SourceFailed(f"{NAME} sent one page twice, so the listing has no end")
            after = page.after

    async def _complete(self, value: object) -> None:
        """Read what the connections inside a value hold beyond their first pages."""
        if isinstance(value, list):
            for element in cast("list[object]", value):
                await self._complete(element)
            return
        if not isinstance(value, dict):
            return
        node = cast("Node", value)
        for field, inner in node.items():
            await self._complete(inner)
            query = NESTED.get((str(node.get("__typename")), field))
            if query and isinstance(inner, dict):
                await self._continue(cast("Node", inner), query, str(node.get("id")))

    async def _continue(self, connection: Node, query: PagedQuery, owner: str) -> None:
        page = _parse_page(connection)
        nodes = [node for node in page.nodes if node is not None]
        if page.pageInfo.hasNextPage:
            rest = self.read_all(query, {"id": owner}, page.pageInfo.endCursor or "")
            async for more in rest:
                nodes.extend(more.nodes)
        connection["nodes"] = nodes
        connection.pop("pageInfo", None)

    async def _ask(self, query: PagedQuery, variables: Mapping[str, object]) -> _Response:
        body = {"query": query.text, "operationName": query.name, "variables": variables}
        request = self.api.client.build_request("POST", "/graphql", json=body)
        response = await self.api.send(request)
        parsed = _parse_response(response)
        if parsed is None:
            raise SourceFailed(f"{NAME} answered with status {response.status_code} and no JSON")
        if parsed.data is None:
            raise _failure(parsed, response.status_code)
        return parsed


def rate_limit_wait(response: httpx.Response) -> float | None:
    """Return the seconds until the exhausted budget is full again; 0 without a readable time, None where no limit was hit.

    Linear refuses with status 400 and the code RATELIMITED, its edge with 429. Times are milliseconds since 1970.
    """
    if response.status_code not in (400, 429):
        return None
    parsed = _parse_response(response)
    named = parsed is not None and any(_RATE_LIMITED in error.words for error in parsed.errors)
    if not named and response.status_code != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    resets = [
        _reset_at(response, budget)
        for budget in _BUDGETS
        if response.headers.get(f"x-ratelimit-{budget}-remaining", "").strip() in ("", "0")
    ]
    times = [reset for reset in resets if reset is not None]
    if not times:
        return retry_after(response) or 0.0
    return max(0.0, (max(times) - server_time(response)).total_seconds())


def _reset_at(response: httpx.Response, budget: str) -> datetime | None:
    text = response.headers.get(f"x-ratelimit-{budget}-reset", "").strip()
    try:
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _parse_response(response: httpx.Response) -> _Response | None:
    try:
        return _Response.model_validate(keep_text(_OBJECT.validate_python(response.json())))
    except ValueError:  # neither JSON nor UTF-8, or not a GraphQL response
        return None


def _parse_page(value: object) -> _Page:
    try:
        return _Page.model_validate(value)
    except ValidationError as error:
        raise SourceFailed(f"{NAME} sent a page that is not understood: {error.title}") from None


def _broken_nodes(response: _Response, page: _Page, query: PagedQuery) -> dict[str, str]:
    """Return by id the nodes that errors kept from being whole; raise `SourceFailed` for an error of no node."""
    depth = len(query.path)
    broken: dict[str, str] = {}
    for problem in response.errors:
        place = problem.path[depth : depth + 2]
        node = (
            page.nodes[place[1]]
            if len(place) > 1 and isinstance(place[1], int) and place[1] < len(page.nodes)
            else None
        )
        if node is None or "id" not in node:
            raise _failure(response)
        broken[str(node["id"])] = problem.message
    return broken


def _descend(value: object, path: Iterable[str]) -> object:
    """Return the value inside a JSON value, None where nothing is there."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = cast("Node", value).get(step)
    return value


def _failure(response: _Response, status: int = 200) -> SourceFailed:
    """Return what to raise for a response without data."""
    words = frozenset[str]().union(*(error.words for error in response.errors))
    message = response.errors[0].message if response.errors else f"status {status} and no data"
    if words & _NO_ACCESS or status == HTTPStatus.UNAUTHORIZED:
        return SourceFailed(
            f"{NAME} does not accept the token; make a new one there, and set it in the environment"
        )
    if words & _NO_FEATURE:
        return FeatureMissing(f"{NAME} does not offer this: {message}")
    if words & _BAD_INPUT:
        return InputRefused(f"{NAME} refuses a query: {message}")
    return SourceFailed(f"{NAME} answered with an error: {message}")
