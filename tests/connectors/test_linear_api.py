"""Calls of Linear: its limits, its errors, the token, and cursors that it forgets."""

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
import stamina
from starlette.responses import JSONResponse, Response

from lightwell.connectors.linear.api import rate_limit_wait
from lightwell.connectors.linear.cursors import Position
from lightwell.connectors.linear.source import open_linear
from lightwell.connectors.rows import parse_cursor
from lightwell.domain.errors import Invalid, SourceFailed
from lightwell.testing.linear.server import LinearServer
from tests.connectors.pulling import in_parts
from tests.linear_world import Received, World, build_world, connected

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.fixture(autouse=True)
def without_waiting() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3):
        yield


@pytest.fixture
def world() -> World:
    return build_world()


def refused(status: int, headers: dict[str, str] | None = None, **extensions: str) -> Response:
    content = {"errors": [{"message": "no", "extensions": extensions}]}
    return JSONResponse(content, status, headers)


@pytest.mark.parametrize(
    ("status", "extensions", "headers", "seconds"),
    [
        (
            400,
            {"code": "RATELIMITED"},
            {"requests-remaining": "0", "requests-reset": "30500"},
            30.5,
        ),
        (
            400,
            {"type": "ratelimited"},
            {"complexity-remaining": "0", "complexity-reset": "9000"},
            9,
        ),
        (
            400,
            {"code": "RATELIMITED"},
            {
                "requests-remaining": "7",
                "requests-reset": "99000",
                "complexity-remaining": "0",
                "complexity-reset": "5000",
            },
            5,
        ),
        (400, {"code": "RATELIMITED"}, {"requests-remaining": "0", "requests-reset": "soon"}, 0),
        (429, {}, {}, 0),
        (
            400,
            {"code": "INPUT_ERROR"},
            {"requests-remaining": "0", "requests-reset": "30500"},
            None,
        ),
        (200, {"code": "RATELIMITED"}, {}, None),
    ],
)
def test_a_limit_is_recognised_by_its_code_and_waits_until_the_reset_in_milliseconds(
    status: int, extensions: dict[str, str], headers: dict[str, str], seconds: float | None
) -> None:
    start = round(NOW.timestamp() * 1000)
    given = {
        f"x-ratelimit-{name}": str(start + int(text))
        if name.endswith("reset") and text.isdecimal()
        else text
        for name, text in headers.items()
    }
    answer = httpx.Response(
        status,
        headers={**given, "date": "Mon, 02 Nov 2026 09:00:00 GMT"},
        json={"errors": [{"message": "no", "extensions": extensions}]},
    )
    assert rate_limit_wait(answer) == seconds


async def test_a_short_limit_is_waited_for_and_a_long_one_ends_the_sync_where_it_is(
    world: World,
) -> None:
    server = LinearServer(workspace=world.workspace)
    async with connected(server) as source:
        received = Received()
        await received.sync(source, last_page=4)
        server.exhaust(3000)
        with pytest.raises(SourceFailed, match="asks to wait 3,000 seconds; the next sync goes on"):
            await received.sync(source)
        server.workspace.now = server.reset_at or NOW
        server.responses.append(refused(400, code="RATELIMITED"))
        await received.sync(source)
        clean = Received()
        await clean.sync(source)
    assert received.documents == clean.documents


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (refused(401, code="AUTHENTICATION_ERROR"), "does not accept the token"),
        (refused(200, type="forbidden"), "answered with an error: no"),
        (Response("<html>", 502), "failed with status 502"),
        (Response("<html>", 403), "answered with status 403 and no JSON"),
        (Response(b"\xff{", 200), "no JSON"),
        (JSONResponse({"data": {"teams": None}}), "status 200 and no data"),
        (JSONResponse({"data": {"teams": {"nodes": 1}}}), "a page that is not understood"),
        (JSONResponse([1]), "no JSON"),
    ],
)
async def test_a_failure_says_what_it_is_and_never_the_token(
    world: World, response: Response, message: str
) -> None:
    server = LinearServer(workspace=world.workspace, responses=[response] * 3)
    async with connected(server) as source:
        with pytest.raises(SourceFailed, match=message) as raised:
            await Received().sync(source)
    assert "lin_api" not in str(raised.value)


async def test_an_error_of_one_object_keeps_the_others(world: World) -> None:
    server = LinearServer(workspace=world.workspace)
    async with connected(server) as source:
        whole = Received()
        await whole.sync(source)
        export = world["export"]
        server.responses.append(
            JSONResponse(
                {
                    "data": {
                        "issues": {
                            "nodes": [{"id": export, "title": None}, {"id": world["login"]}],
                            "pageInfo": {"hasNextPage": False},
                        }
                    },
                    "errors": [{"message": "timeout", "path": ["issues", "nodes", 0, "title"]}],
                }
            )
        )
        (page,) = [page async for page in source.pull("issues", "")]
    assert [(each.ref, each.reason) for each in page.unreadable] == [
        (f"linear:issue:{export}", "incomplete"),
        (f"linear:issue:{world['login']}", "format"),
    ]


async def test_a_part_that_the_plan_does_not_have_is_an_empty_stream(world: World) -> None:
    missing = refused(400, code="FEATURE_NOT_ACCESSIBLE", type="feature not accessible")
    server = LinearServer(workspace=world.workspace, responses=[missing, missing])
    async with connected(server) as source:
        assert [page async for page in source.pull("customers", "")] == []
        assert [refs async for refs in source.list_present("customers")] == []


async def test_a_page_that_linear_forgot_begins_the_listing_anew(world: World) -> None:
    server = LinearServer(workspace=world.workspace)
    async with connected(server) as source:
        begun = Position(after="forgotten").to_text()
        pages = [page async for page in source.pull("issues", begun)]
    assert len(pages[0].items) == 3


async def test_a_listing_that_repeats_a_page_ends_with_an_error(world: World) -> None:
    page: dict[str, object] = {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "same"}}
    answers: list[Response] = [JSONResponse({"data": {"issues": page}}) for _ in range(2)]
    server = LinearServer(workspace=world.workspace, responses=answers)
    async with connected(server) as source:
        with pytest.raises(SourceFailed, match="one page twice"):
            async for _ in source.list_present("issues"):
                pass


async def test_people_that_are_not_understood_change_no_access(world: World) -> None:
    world.workspace.edit("User", world["bob"], active=None)
    async with connected(LinearServer(workspace=world.workspace)) as source:
        with pytest.raises(SourceFailed, match="Users that are not understood"):
            await source.directory()


async def test_no_query_exceeds_what_linear_allows_for_one(world: World) -> None:
    """The fake refuses a query with more than 10,000 points, as Linear counts them."""
    server = LinearServer(workspace=world.workspace)
    async with connected(server) as source:
        await Received().sync(source)
        await source.directory()
    assert server.points / len(server.requests) < 3000


def test_a_damaged_cursor_is_refused() -> None:
    with pytest.raises(SourceFailed, match="damaged"):
        parse_cursor(Position, '{"since": 1, "drop": "table"}')


def test_the_watermark_moves_only_behind_the_last_page() -> None:
    first = datetime(2026, 11, 2, tzinfo=UTC)
    later = datetime(2026, 11, 3, tzinfo=UTC)
    under_way = Position(since=first).advance([later], "next")
    assert parse_cursor(Position, under_way.to_text()) == Position(
        since=first, newest=later, after="next"
    )
    assert under_way.advance([first], "") == Position(since=later)
    assert Position(since=later).advance([], "") == Position(since=later)


@pytest.mark.parametrize(
    ("token", "header"),
    [("lin_api_abc", "lin_api_abc"), ("lin_oauth_abc", "Bearer lin_oauth_abc")],
)
async def test_the_token_is_sent_as_linear_wants_it_and_along_no_redirect(
    token: str, header: str
) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        elsewhere = httpx.Response(307, headers={"location": "https://evil.example/graphql"})
        return in_parts(elsewhere)

    async with open_linear({}, token, "", httpx.MockTransport(answer)) as source:
        with pytest.raises(SourceFailed, match="status 307"):
            await source.directory()
    (request,) = sent
    assert (str(request.url), request.headers["authorization"]) == (
        "https://api.linear.app/graphql",
        header,
    )


@pytest.mark.parametrize(
    ("options", "token", "message"),
    [
        ({"team": "x"}, "t", "has no option 'team'"),
        ({"base_url": "ftp://x"}, "t", "base_url is"),
        ({"base_url": "https://u:p@x"}, "t", "base_url is"),
        ({}, "a\nb", "characters that no token has"),
    ],
)
async def test_a_wrong_option_or_token_is_refused(
    options: dict[str, str], token: str, message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        async with open_linear(options, token, ""):
            pass
