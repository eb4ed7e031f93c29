"""A stand-in for Attio over HTTP: it keeps state, pages, limits rates and refuses, like the real one.

It answers in the form of Attio's OpenAPI description; `tests/connectors/test_vendor_contracts.py` checks that.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lightwell.testing.attio import TOKEN, WORKSPACE_SLUG, FakeAttio, Row

Answer = Callable[[FakeAttio, Request, Row], Response]


def _self(attio: FakeAttio, request: Request, body: Row) -> Response:
    return JSONResponse(
        {
            "active": True,
            "scope": "record_permission:read",
            "client_id": attio.workspace_id,
            "token_type": "Bearer",
            "exp": None,
            "iat": 1767225600,
            "sub": attio.workspace_id,
            "aud": attio.workspace_id,
            "iss": "attio.com",
            "authorized_by_workspace_member_id": attio.workspace_id,
            "workspace_id": attio.workspace_id,
            "workspace_name": "Halden",
            "workspace_slug": WORKSPACE_SLUG,
            "workspace_logo_url": None,
            "token_level": "workspace",
        }
    )


def _objects(attio: FakeAttio, request: Request, body: Row) -> Response:
    return _data(list(attio.objects.values()))


def _attributes(attio: FakeAttio, request: Request, body: Row) -> Response:
    owner = request.path_params["owner"]
    if owner not in attio.attributes:
        return refuse(404)
    return _data(_slice(attio.attributes[owner], request.query_params, (100, 100)))


def _query_records(attio: FakeAttio, request: Request, body: Row) -> Response:
    slug = request.path_params["slug"]
    if slug not in attio.objects:
        return refuse(404)
    rows = [record for record in attio.records.values() if attio.slug_of(record) == slug]
    return _query(rows, body)


def _query_entries(attio: FakeAttio, request: Request, body: Row) -> Response:
    list_id = request.path_params["list"]
    if list_id not in attio.lists:
        return refuse(404)
    return _query(
        [entry for entry in attio.entries.values() if _id(entry, "list_id") == list_id], body
    )


def _query(rows: Iterable[Row], body: Row) -> Response:
    """Answer with the rows that match; only the filters that connectors use are understood."""
    ordered = sorted(rows, key=lambda row: str(row["created_at"]))
    for attribute, condition in cast(
        "Mapping[str, Mapping[str, object]]", body.get("filter", {})
    ).items():
        if attribute == "created_at" and "$gte" in condition:
            since = _comparable(str(condition["$gte"]))
            ordered = [row for row in ordered if _comparable(str(row["created_at"])) >= since]
        elif attribute == "record_id" and "$in" in condition:
            wanted = cast("Sequence[str]", condition["$in"])
            ordered = [row for row in ordered if _id(row, "record_id") in wanted]
        else:
            return refuse(400, "filter_error")
    start, limit = cast("int", body.get("offset", 0)), cast("int", body.get("limit", 500))
    return _data(ordered[start : start + min(limit, 500)])


def _comparable(time: str) -> str:
    return time.replace("+00:00", "").rstrip("Z").ljust(29, "0")[:19]


def _lists(attio: FakeAttio, request: Request, body: Row) -> Response:
    return _data(list(attio.lists.values()))


def _members(attio: FakeAttio, request: Request, body: Row) -> Response:
    return _data(list(attio.members.values()))


def _one(name: str, parameter: str) -> Answer:
    """Return what answers with one row of a table."""

    def answer(attio: FakeAttio, request: Request, body: Row) -> Response:
        row = cast("dict[str, Row]", getattr(attio, name)).get(request.path_params[parameter])
        return refuse(404) if row is None else _data(row)

    return answer


def _notes(attio: FakeAttio, request: Request, body: Row) -> Response:
    newest_first = list(attio.notes.values())[::-1]
    return _data(_slice(newest_first, request.query_params, (10, 50)))


def _tasks(attio: FakeAttio, request: Request, body: Row) -> Response:
    return _data(_slice(list(attio.tasks.values()), request.query_params, (500, 500)))


def _threads(attio: FakeAttio, request: Request, body: Row) -> Response:
    query = request.query_params
    if {"object", "record_id"} <= query.keys():
        comments = [
            comment
            for comment in attio.comments.values()
            if comment["entry"] is None
            and _id(comment, "record_id", "record") == query["record_id"]
        ]
    elif {"list", "entry_id"} <= query.keys():
        comments = [
            comment
            for comment in attio.comments.values()
            if comment["entry"] and _id(comment, "entry_id", "entry") == query["entry_id"]
        ]
    else:
        return refuse(400, "validation_type")
    threads: list[Row] = [
        {
            "id": {"workspace_id": attio.workspace_id, "thread_id": comment["thread_id"]},
            "comments": [comment],
            "created_at": comment["created_at"],
        }
        for comment in comments
    ]
    return _data(_slice(threads, query, (10, 50)))


def _meetings(attio: FakeAttio, request: Request, body: Row) -> Response:
    since = _comparable(request.query_params.get("ends_from", ""))
    meetings = [
        meeting
        for meeting in attio.meetings.values()
        if not since.strip("0")
        or _comparable(str(cast("Row", meeting["end"])["datetime"])) >= since
    ]
    return _paged(meetings, request, 50)


def _recordings(attio: FakeAttio, request: Request, body: Row) -> Response:
    meeting_id = request.path_params["meeting"]
    if meeting_id not in attio.meetings:
        return refuse(404)
    recordings = [
        recording
        for recording in attio.recordings.values()
        if _id(recording, "meeting_id") == meeting_id
    ]
    return _paged(recordings, request, 50)


def _transcript(attio: FakeAttio, request: Request, body: Row) -> Response:
    call = attio.recordings.get(request.path_params["call"])
    if call is None:
        return refuse(404)
    segments = attio.transcripts[request.path_params["call"]]
    start = int(request.query_params.get("cursor", "0"))
    more = start + 2 < len(segments)
    data = {
        "id": call["id"],
        "transcript": segments[start : start + 2],
        "raw_transcript": " ".join(str(segment["speech"]) for segment in segments),
        "web_url": f"{call['web_url']}/transcript",
    }
    return JSONResponse(
        {"data": data, "pagination": {"next_cursor": str(start + 2) if more else None}}
    )


def _paged(rows: Sequence[Row], request: Request, default: int) -> Response:
    start = int(request.query_params.get("cursor", "0"))
    end = start + int(request.query_params.get("limit", default))
    following = str(end) if end < len(rows) else None
    return JSONResponse({"data": rows[start:end], "pagination": {"next_cursor": following}})


def _slice(rows: Sequence[Row], query: Mapping[str, str], limits: tuple[int, int]) -> Sequence[Row]:
    """Return the page that a query asks for; `limits` are the default and the highest number of rows."""
    start = int(query.get("offset", "0"))
    return rows[start : start + min(int(query.get("limit", limits[0])), limits[1])]


def _id(row: Row, name: str, below: str = "id") -> object:
    return cast("Row", row[below])[name]


def _data(data: object) -> Response:
    return JSONResponse({"data": data})


ROUTES: Sequence[tuple[str, str, Answer]] = (
    ("GET", "/v2/self", _self),
    ("GET", "/v2/objects", _objects),
    ("GET", "/v2/objects/{owner}/attributes", _attributes),
    ("POST", "/v2/objects/{slug}/records/query", _query_records),
    ("GET", "/v2/objects/{slug}/records/{record}", _one("records", "record")),
    ("GET", "/v2/lists", _lists),
    ("GET", "/v2/lists/{owner}/attributes", _attributes),
    ("POST", "/v2/lists/{list}/entries/query", _query_entries),
    ("GET", "/v2/lists/{list}/entries/{entry}", _one("entries", "entry")),
    ("GET", "/v2/workspace_members", _members),
    ("GET", "/v2/notes", _notes),
    ("GET", "/v2/notes/{note}", _one("notes", "note")),
    ("GET", "/v2/tasks", _tasks),
    ("GET", "/v2/tasks/{task}", _one("tasks", "task")),
    ("GET", "/v2/threads", _threads),
    ("GET", "/v2/comments/{comment}", _one("comments", "comment")),
    ("GET", "/v2/meetings", _meetings),
    ("GET", "/v2/meetings/{meeting}", _one("meetings", "meeting")),
    ("GET", "/v2/meetings/{meeting}/call_recordings", _recordings),
    ("GET", "/v2/meetings/{meeting}/call_recordings/{call}/transcript", _transcript),
)


def make_attio_app(attio: FakeAttio) -> Starlette:
    """Return the workspace as an ASGI application."""

    def guarded(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            call = f"{request.method} {request.url.path}"
            attio.calls.append(call)
            attio.before(call)
            if attio.refusals:
                return refuse(attio.refusals.pop(0))
            if request.headers.get("authorization") != f"Bearer {TOKEN}":
                return refuse(401)
            body = json.loads(await request.body() or b"{}")
            return answer(attio, request, body)

        return endpoint

    routes = [Route(path, guarded(answer), methods=[method]) for method, path, answer in ROUTES]
    return Starlette(routes=routes)


def refuse(status: int, code: str = "") -> JSONResponse:
    """Return an error in Attio's form; 429 asks to wait until the next second."""
    headers: dict[str, str] = {}
    if status == 429:
        code = "rate_limit_exceeded"
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
        headers["retry-after"] = format_datetime(until, usegmt=True)
    kind = "invalid_request_error" if status < 500 else "api_error"
    body = {"status_code": status, "type": kind, "code": code or "not_found", "message": "no"}
    return JSONResponse(body, status, headers)
