"""A stand-in for Chatwoot over HTTP: it keeps state, pages, limits rates and refuses, like release 4.15.

Where Chatwoot's OpenAPI document and its server differ, it does as the server; `tests/connectors/test_vendor_contracts.py`
lists these differences.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import cast
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from lightwell.testing.chatwoot import ACCOUNT, TOKEN, FakeChatwoot, Row

Answer = Callable[[FakeChatwoot, Request], Response]
_CONVERSATIONS_PER_PAGE, _CONTACTS_PER_PAGE = 25, 15


def _conversations(chatwoot: FakeChatwoot, request: Request) -> Response:
    query = request.query_params
    status = query.get("status", "open")
    conversations = [
        row for row in chatwoot.conversations.values() if status in ("all", row["status"])
    ]
    if "updated_within" in query:  # all rows in one answer
        since = chatwoot.clock - int(query["updated_within"])
        shown = [row for row in conversations if cast("float", row["updated_at"]) > since]
    else:
        ascending = query.get("sort_by") == "created_at_asc"
        key = "created_at" if ascending else "last_activity_at"
        conversations.sort(key=lambda row: cast("float", row[key]), reverse=not ascending)
        shown = _page(conversations, query, _CONVERSATIONS_PER_PAGE)
    count = len(conversations)
    meta = {"mine_count": 0, "unassigned_count": 0, "assigned_count": count, "all_count": count}
    data = {"meta": meta, "payload": [chatwoot.show(row) for row in shown]}
    return JSONResponse({"data": data})


def _conversation(chatwoot: FakeChatwoot, request: Request) -> Response:
    row = chatwoot.conversations.get(int(request.path_params["id"]))
    return refuse(404) if row is None else JSONResponse(chatwoot.show(row))


def _messages(chatwoot: FakeChatwoot, request: Request) -> Response:
    """Answer like Chatwoot's MessageFinder: the bounds decide how many messages come."""
    display_id = int(request.path_params["id"])
    if display_id not in chatwoot.conversations:
        return refuse(404)
    rows = [row for row in chatwoot.messages.values() if row["conversation_id"] == display_id]
    query = request.query_params
    after, before = int(query.get("after", "0")), int(query.get("before", "0"))
    if after and before:
        rows = [row for row in rows if after <= cast("int", row["id"]) < before][:1000]
    elif before:
        rows = [row for row in rows if cast("int", row["id"]) < before][-20:]
    elif after:
        rows = [row for row in rows if cast("int", row["id"]) > after][:100]
    else:
        rows = rows[-20:]
    conversation = chatwoot.conversations[display_id]
    meta: Row = {"labels": conversation["labels"], "additional_attributes": {}}
    return JSONResponse({"meta": meta, "payload": rows})


def _inboxes(chatwoot: FakeChatwoot, request: Request) -> Response:
    return JSONResponse({"payload": list(chatwoot.inboxes.values())})


def _inbox_members(chatwoot: FakeChatwoot, request: Request) -> Response:
    inbox = int(request.path_params["id"])
    if inbox not in chatwoot.inboxes:
        return refuse(404)
    members = chatwoot.inbox_members[inbox] & chatwoot.agents.keys()
    return JSONResponse({"payload": [chatwoot.agents[member] for member in sorted(members)]})


def _agents(chatwoot: FakeChatwoot, request: Request) -> Response:
    return JSONResponse(list(chatwoot.agents.values()))


def _contacts(chatwoot: FakeChatwoot, request: Request) -> Response:
    query = request.query_params
    contacts = list(chatwoot.contacts.values())
    if query.get("sort") == "-last_activity_at":
        contacts.sort(key=lambda row: cast("int", row["last_activity_at"] or 0), reverse=True)
    else:
        contacts.sort(key=lambda row: str(row["name"]))
    meta = {"count": len(contacts), "current_page": query.get("page", "1")}
    return JSONResponse({"meta": meta, "payload": _page(contacts, query, _CONTACTS_PER_PAGE)})


def _contact(chatwoot: FakeChatwoot, request: Request) -> Response:
    row = chatwoot.contacts.get(int(request.path_params["id"]))
    return refuse(404) if row is None else JSONResponse({"payload": row})


def _contact_notes(chatwoot: FakeChatwoot, request: Request) -> Response:
    return JSONResponse(chatwoot.contact_notes.get(int(request.path_params["id"]), []))


def _companies(chatwoot: FakeChatwoot, request: Request) -> Response:
    if chatwoot.companies is None:
        return refuse(404)
    companies = list(chatwoot.companies.values())
    shown = _page(companies, request.query_params, _CONVERSATIONS_PER_PAGE)
    return JSONResponse({"meta": {"total_count": len(companies)}, "payload": shown})


def _company(chatwoot: FakeChatwoot, request: Request) -> Response:
    row = (chatwoot.companies or {}).get(int(request.path_params["id"]))
    return refuse(404) if row is None else JSONResponse({"payload": row})


def _labels(chatwoot: FakeChatwoot, request: Request) -> Response:
    return JSONResponse({"payload": list(chatwoot.labels.values())})


def _portals(chatwoot: FakeChatwoot, request: Request) -> Response:
    return JSONResponse({"payload": list(chatwoot.portals.values())})


def _articles(chatwoot: FakeChatwoot, request: Request) -> Response:
    slug = request.path_params["slug"]
    if slug not in chatwoot.portals:
        return refuse(404)
    articles = [row for row in chatwoot.articles.values() if row["portal"] == slug]
    shown = [
        {name: value for name, value in row.items() if name != "portal"}
        for row in _page(articles, request.query_params, _CONVERSATIONS_PER_PAGE)
    ]
    meta = {"articles_count": len(articles), "current_page": request.query_params.get("page", "1")}
    return JSONResponse({"meta": meta, "payload": shown})


def _blob(chatwoot: FakeChatwoot, request: Request) -> Response:
    id_, name = request.path_params["id"], request.path_params["name"]
    return RedirectResponse(f"/rails/active_storage/disk/{id_}/{quote(name)}", 302)


def _disk(chatwoot: FakeChatwoot, request: Request) -> Response:
    file = chatwoot.files.get(int(request.path_params["id"]))
    return refuse(404) if file is None else Response(file[1])


def _page(rows: Sequence[Row], query: Mapping[str, str], size: int) -> Sequence[Row]:
    start = (int(query.get("page", "1")) - 1) * size
    return rows[start : start + size]


def refuse(status: int) -> JSONResponse:
    """Return an error in Chatwoot's form; a limit of rates has no `Retry-After`."""
    return JSONResponse({"error": "Resource could not be found" if status == 404 else "no"}, status)


_API: Sequence[tuple[str, Answer]] = (
    ("conversations", _conversations),
    ("conversations/{id:int}", _conversation),
    ("conversations/{id:int}/messages", _messages),
    ("inboxes", _inboxes),
    ("inbox_members/{id:int}", _inbox_members),
    ("agents", _agents),
    ("labels", _labels),
    ("contacts", _contacts),
    ("contacts/{id:int}", _contact),
    ("contacts/{id:int}/notes", _contact_notes),
    ("companies", _companies),
    ("companies/{id:int}", _company),
    ("portals", _portals),
    ("portals/{slug}/articles", _articles),
)


def make_chatwoot_app(chatwoot: FakeChatwoot) -> Starlette:
    """Return the account as an ASGI application; its files need no token, and must not be sent one."""

    def guarded(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            call = f"{request.method} {request.url.path}"
            chatwoot.calls.append(call)
            chatwoot.before(call)
            if chatwoot.refusals:
                return refuse(chatwoot.refusals.pop(0))
            if request.headers.get("api_access_token") != TOKEN:
                return refuse(401)
            response = answer(chatwoot, request)
            time = datetime.fromtimestamp(chatwoot.clock, UTC)
            response.headers["date"] = format_datetime(time, usegmt=True)
            return response

        return endpoint

    def open_to_all(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            chatwoot.calls.append(f"{request.method} {request.url.path}")
            return (
                refuse(400) if "api_access_token" in request.headers else answer(chatwoot, request)
            )

        return endpoint

    routes = [Route(f"/api/v1/accounts/{ACCOUNT}/{path}", guarded(answer)) for path, answer in _API]
    storage = "/rails/active_storage"
    files = [
        Route(f"{storage}/blobs/redirect/{{id}}/{{name}}", open_to_all(_blob)),
        Route(f"{storage}/disk/{{id}}/{{name}}", open_to_all(_disk)),
    ]
    return Starlette(routes=routes + files)
