"""Webhooks of GitHub: whether they are genuine, and what they say has changed."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from lightwell.connectors.github.files import is_read
from lightwell.connectors.github.structure import file_ref, issue_ref, repository_ref
from lightwell.connectors.rows import Wire
from lightwell.connectors.webhooks import digest, parse_body, require_signature
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import WebhookHint

_DIRECTORY = frozenset(
    ("member", "membership", "organization", "public", "repository", "team", "team_add")
)
_MAX_FILES = 500
_REPEAT_SECONDS, _DIRECTORY_REPEAT_SECONDS = 600, 60


class _Numbered(Wire):
    number: int


class _Repository(Wire):
    id: int
    default_branch: str = ""


class _Commit(Wire):
    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class _Payload(Wire):
    repository: _Repository | None = None
    issue: _Numbered | None = None
    pull_request: _Numbered | None = None
    ref: str = ""
    commits: tuple[_Commit, ...] = ()


def read_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, received_at: datetime
) -> WebhookHint:
    """Return what the webhook says has changed.

    Raises `Refused` for a wrong signature, `Invalid` for a body that is none of GitHub's. GitHub signs the body alone, no
    time and no id of the delivery: who has captured a webhook makes Lightwell fetch once more every ten minutes, not at each
    repetition. The bodies of two changes of an item differ, as each says when the item was changed. Only who may
    read what is asked for once a minute: whoever is removed, added and removed again is named twice in the same words.
    """
    signature = headers.get("x-hub-signature-256", "").strip()
    require_signature(signature, body, secret, "sha256=")
    if body.startswith(b"payload="):
        raise Invalid("Set the content type of the webhook to application/json")
    payload = parse_body("GitHub", _Payload, body)
    event = headers.get("x-github-event", "")
    is_directory = event in _DIRECTORY
    kind, seconds = (
        ("directory ", _DIRECTORY_REPEAT_SECONDS) if is_directory else ("", _REPEAT_SECONDS)
    )
    return WebhookHint(
        delivery=f"{kind}{digest(body)} {int(received_at.timestamp()) // seconds}",
        refs=tuple(dict.fromkeys(_name_refs(event, payload))),
        directory=is_directory,
    )


def _name_refs(event: str, payload: _Payload) -> Iterator[GlobalRef]:
    repository = payload.repository
    if repository is None:
        return
    if event == "repository":
        yield repository_ref(repository.id)
    for thread in (payload.issue, payload.pull_request):
        if thread:
            yield issue_ref(repository.id, thread.number)
    if event == "push" and payload.ref == f"refs/heads/{repository.default_branch}":
        paths = [
            path
            for commit in payload.commits
            for path in (*commit.added, *commit.modified, *commit.removed)
        ]
        for path in [path for path in paths if is_read(path)][:_MAX_FILES]:
            yield file_ref(repository.id, path)
