"""Webhooks of GitHub: whether they are genuine, and what they say has changed."""

import hmac
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256

from pydantic import ValidationError

from lightwell.connectors.github.files import is_markdown
from lightwell.connectors.github.models import Wire
from lightwell.connectors.github.structure import file_ref, issue_ref, repository_ref
from lightwell.domain.errors import Invalid, Refused
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


def sign(body: bytes, secret: str) -> str:
    """Return the signature of a webhook's body, as GitHub writes it."""
    return "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()


def read_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, received_at: datetime
) -> WebhookHint:
    """Return what the webhook says has changed.

    Raises `Refused` for a wrong signature, `Invalid` for a body that is none of GitHub's. GitHub signs the body alone, no
    time and no id of the delivery: who has captured a webhook makes Lightwell fetch once more every ten minutes, not at each
    repetition. The bodies of two changes of an item differ, as each says when the item was changed. Only who may
    read what is asked for once a minute: whoever is removed, added and removed again is named twice in the same words.
    """
    given = headers.get("x-hub-signature-256", "").strip()
    if not secret or not hmac.compare_digest(sign(body, secret).encode(), given.encode()):
        raise Refused("The signature of the webhook is wrong")
    if body.startswith(b"payload="):
        raise Invalid("Set the content type of the webhook to application/json")
    try:
        payload = _Payload.model_validate_json(body)
    except ValidationError:
        raise Invalid("This is not a webhook of GitHub") from None
    event = headers.get("x-github-event", "")
    is_directory = event in _DIRECTORY
    kind, seconds = (
        ("directory ", _DIRECTORY_REPEAT_SECONDS) if is_directory else ("", _REPEAT_SECONDS)
    )
    return WebhookHint(
        delivery=f"{kind}{sha256(body).hexdigest()} {int(received_at.timestamp()) // seconds}",
        refs=tuple(dict.fromkeys(_name_refs(event, payload))),
        directory=is_directory,
    )


def _name_refs(event: str, payload: _Payload) -> Iterator[GlobalRef]:
    repository = payload.repository
    if repository is None:
        return
    if event == "repository":
        yield repository_ref(repository.id)
    for each in (payload.issue, payload.pull_request):
        if each:
            yield issue_ref(repository.id, each.number)
    if event == "push" and payload.ref == f"refs/heads/{repository.default_branch}":
        paths = [
            path
            for commit in payload.commits
            for path in (*commit.added, *commit.modified, *commit.removed)
        ]
        for path in [each for each in paths if is_markdown(each)][:_MAX_FILES]:
            yield file_ref(repository.id, path)
