"""GitHub's REST API over the stand-in: tokens, ETags, limits, errors and redirects, as an ASGI application."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import partial
from hashlib import sha256
from typing import cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.github_stand_in.state import (
    API,
    TOKEN,
    FakeGithub,
    FakeRepository,
    Row,
    blob_sha,
    tree_sha,
)

Answer = Callable[[FakeGithub, FakeRepository, Request], Response]
_LIMIT, _MOST_ROWS = 5_000, 100


def _repository(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    return JSONResponse(github.shown_repository(repository))


def _issues(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    state = request.query_params.get("state", "open")
    rows = [issue for issue in repository.issues.values() if state in ("all", issue["state"])]
    return _listing(rows, request)


def _issue(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    row = repository.issues.get(request.path_params["number"])
    return refuse(404) if row is None else JSONResponse(row)


def _comments(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    return _listing(repository.comments.values(), request)


def _review_comments(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    return _listing(repository.review_comments.values(), request)


def _comments_of(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    return _below(repository, repository.comments.values(), request)


def _line_comments_of(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    return _below(repository, repository.review_comments.values(), request)


def _reviews_of(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    reviews = repository.reviews.get(request.path_params["number"])
    return refuse(404) if reviews is None else JSONResponse(_page(reviews, request))


def _collaborators(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    rows = [github.shown(user) for user in sorted(repository.collaborators)]
    return JSONResponse(_page([row for row in rows if row], request))


def _branch(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    name = request.path_params["name"]
    if name != repository.row["default_branch"] or not repository.files:
        return refuse(404)
    tree: Row = {"sha": tree_sha(repository.files), "url": f"{API}/trees"}
    commit: Row = {"sha": tree["sha"], "commit": {"message": "A change", "tree": tree}}
    return JSONResponse({"name": name, "commit": commit, "protected": False})


def _tree(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    """Answer with all files below a tree; where the state says so, cut off, and whole by levels only."""
    sha = request.path_params["sha"]
    files = _subtrees(repository).get(sha)
    if files is None:
        return refuse(404)
    is_recursive = "recursive" in request.query_params
    rows: dict[str, Row] = {}
    for path, content in sorted(files.items()):
        folder, slash, _ = path.partition("/")
        if slash:
            inner = {
                path.removeprefix(f"{folder}/"): text
                for path, text in files.items()
                if path.startswith(f"{folder}/")
            }
            rows[folder] = {"path": folder, "mode": "040000", "type": "tree"}
            rows[folder] |= {"sha": tree_sha(inner)}
        if not slash or is_recursive:
            row: Row = {"path": path, "mode": "100644", "type": "blob", "size": len(content)}
            rows[path] = row | {"sha": blob_sha(content)}
    shown = list(rows.values())
    is_cut = github.is_truncating and is_recursive
    return JSONResponse(
        {"sha": sha, "tree": shown[: len(shown) // 2] if is_cut else shown, "truncated": is_cut}
    )


def _subtrees(repository: FakeRepository) -> dict[str, Mapping[str, bytes]]:
    """Return all folders by their SHA, those of former commits included."""
    trees: dict[str, Mapping[str, bytes]] = {}
    left: list[Mapping[str, bytes]] = list(repository.trees.values())
    while left:
        files = left.pop()
        trees[tree_sha(files)] = files
        folders = {path.partition("/")[0] for path in files if "/" in path}
        for folder in folders:
            start = f"{folder}/"
            inner = {p.removeprefix(start): t for p, t in files.items() if p.startswith(start)}
            left.append(inner)
    return trees


def _blob(github: FakeGithub, repository: FakeRepository, request: Request) -> Response:
    for files in repository.trees.values():
        for content in files.values():
            if blob_sha(content) == request.path_params["sha"]:
                return Response(content, media_type="application/vnd.github.raw+json")
    return refuse(404)


def _below(repository: FakeRepository, rows: Iterable[Row], request: Request) -> Response:
    number = request.path_params["number"]
    if number not in repository.issues:
        return refuse(404)
    addresses = ("issue_url", "pull_request_url")
    posts = [
        row
        for row in rows
        if any(str(row.get(field, "")).endswith(f"/{number}") for field in addresses)
    ]
    return JSONResponse(_page(posts, request))


def _listing(rows: Iterable[Row], request: Request) -> Response:
    """Answer with rows sorted and filtered as asked, as listings of issues and of comments do."""
    query = request.query_params
    since, key = query.get("since", ""), f"{query.get('sort', 'created')}_at"
    shown = [row for row in rows if str(row["updated_at"]) >= since]
    is_descending = query.get("direction", "desc") == "desc"
    shown.sort(key=lambda row: (str(row[key]), cast("int", row["id"])), reverse=is_descending)
    return JSONResponse(_page(shown, request))


def _page(rows: Sequence[Row], request: Request) -> Sequence[Row]:
    size = min(int(request.query_params.get("per_page", "30")), _MOST_ROWS)
    start = (int(request.query_params.get("page", "1")) - 1) * size
    return rows[start : start + size]


def refuse(status: int, message: str = "Not Found") -> JSONResponse:
    """Return an error in GitHub's form."""
    documentation = "https://docs.github.com/rest"
    return JSONResponse(
        {"message": message, "documentation_url": documentation, "status": str(status)}, status
    )


_API: Sequence[tuple[str, Answer]] = (
    ("", _repository),
    ("/issues", _issues),
    ("/issues/comments", _comments),
    ("/issues/{number:int}", _issue),
    ("/issues/{number:int}/comments", _comments_of),
    ("/pulls/comments", _review_comments),
    ("/pulls/{number:int}/comments", _line_comments_of),
    ("/pulls/{number:int}/reviews", _reviews_of),
    ("/collaborators", _collaborators),
    ("/branches/{name:path}", _branch),
    ("/git/trees/{sha}", _tree),
    ("/git/blobs/{sha}", _blob),
)


def make_github_app(github: FakeGithub, prefix: str = "") -> Starlette:
    """Return the API as an ASGI application; `prefix` is `/api/v3` on a server of GitHub Enterprise."""

    def guarded(
        answer: Callable[[Request], Response],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            call = f"{request.method} {request.url.path.removeprefix(prefix)}"
            github.calls.append(call)
            github.before(call)
            return _finish(github, request, _answer_guarded(github, request, answer))

        return endpoint

    start = f"{prefix}/repos/{{owner}}/{{repo}}"
    routes = [
        Route(start + path, guarded(partial(_in_repository, github, answer)))
        for path, answer in _API
    ]
    others = [
        Route(f"{prefix}/repositories/{{id:int}}", guarded(partial(_by_id, github))),
        Route(f"{prefix}/users/{{login}}", guarded(partial(_user, github))),
        Route(f"{prefix}/orgs/{{login}}/members", guarded(partial(_members, github))),
    ]
    return Starlette(routes=routes + others)


def _by_id(github: FakeGithub, request: Request) -> Response:
    repository = github.repositories.get(request.path_params["id"])
    return refuse(404) if repository is None else _repository(github, repository, request)


def _user(github: FakeGithub, request: Request) -> Response:
    login = request.path_params["login"]
    rows = [row for row in github.users.values() if row["login"] == login]
    return JSONResponse(rows[0]) if rows else refuse(404)


def _members(github: FakeGithub, request: Request) -> Response:
    ids = github.organizations.get(request.path_params["login"])
    rows = [github.shown(id_) for id_ in sorted(ids or ())]
    shown = _page([row for row in rows if row], request)
    return refuse(404) if ids is None else JSONResponse(shown)


def _in_repository(github: FakeGithub, answer: Answer, request: Request) -> Response:
    """Answer about a repository, or lead to it where it was renamed."""
    name = f"{request.path_params['owner']}/{request.path_params['repo']}"
    repository = find_repository(github, name)
    if isinstance(repository, FakeRepository):
        return answer(github, repository, request)
    if repository is None:
        return refuse(404)
    before, _, rest = str(request.url).partition(f"/repos/{name}")
    return RedirectResponse(f"{before}/repositories/{repository}{rest}", 301)


def find_repository(github: FakeGithub, name: str) -> FakeRepository | int | None:
    """Return a repository that the token sees, the id where it has another name now, or None."""
    for id_, repository in github.repositories.items():
        is_shown = github.readable_by_token is None or id_ in github.readable_by_token
        if is_shown and repository.name.lower() == name.lower():
            return repository
    return github.former_names.get(name.lower())


def _answer_guarded(
    github: FakeGithub, request: Request, answer: Callable[[Request], Response]
) -> Response:
    if github.refusals:
        status, headers = github.refusals.pop(0)
        response = refuse(status, "You have exceeded a secondary rate limit")
        response.headers.update(headers)
        return response
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        return refuse(401, "Bad credentials")
    return answer(request)


def _finish(github: FakeGithub, request: Request, response: Response) -> Response:
    """Add the ETag and the headers of the rate limit; an unchanged answer costs nothing."""
    if response.status_code == 200:
        etag = f'W/"{sha256(bytes(response.body)).hexdigest()}"'
        if request.headers.get("if-none-match") == etag:
            response = Response(status_code=304)
        response.headers["etag"] = etag
    if response.status_code != 304:
        github.charged += 1
    remaining = str(max(0, _LIMIT - github.charged))
    response.headers.setdefault("x-ratelimit-remaining", remaining)
    response.headers["date"] = format_datetime(github.now.astimezone(UTC), usegmt=True)
    reset = int((github.now - datetime.fromtimestamp(0, UTC)).total_seconds()) + 3600
    response.headers.setdefault("x-ratelimit-reset", str(reset))
    return response
