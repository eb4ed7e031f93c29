"""Webhooks of Linear: which are genuine, and what they name."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from lightwell.connectors.linear.webhooks import read_webhook
from lightwell.connectors.webhooks import sign
from lightwell.domain.errors import Invalid, Refused
from lightwell.domain.source_items import WebhookHint
from lightwell.testing.linear.server import WEBHOOK_SECRET, LinearServer
from tests.linear_world import World, build_world

SENT = datetime(2026, 11, 2, 10, tzinfo=UTC)


@pytest.fixture
def world() -> World:
    return build_world()


def read(
    headers: dict[str, str], body: bytes, *, at: datetime = SENT, secret: str = WEBHOOK_SECRET
) -> WebhookHint:
    return read_webhook(secret, headers, body, at)


def test_a_webhook_names_what_to_fetch(world: World) -> None:
    server = LinearServer(workspace=world.workspace)
    cases = {
        ("Issue", "login"): [f"linear:issue:{world['login']}"],
        ("Comment", "comment"): [f"linear:comment:{world['comment']}"],
        ("Attachment", "attachment"): [f"linear:issue:{world['login']}"],
        ("CustomerNeed", "need"): [f"linear:customer_need:{world['need']}"],
        ("Reaction", "login"): [],
    }
    for (type, name), refs in cases.items():
        headers, body = server.sign_webhook(type, world[name], sent_at=SENT)
        hint = read(headers, body)
        assert (list(hint.refs), hint.directory) == (refs, False), type
        assert hint.delivery == headers["linear-delivery"]


@pytest.mark.parametrize("type", ["PermissionChange", "User", "Team", "TeamMembership"])
def test_a_change_of_permissions_asks_for_the_directory(world: World, type: str) -> None:
    server = LinearServer(workspace=world.workspace)
    headers, body = server.sign_webhook(type, world["bob"], issueId=world["leak"], sent_at=SENT)
    hint = read(headers, body)
    assert (hint.directory, list(hint.refs)) == (True, [f"linear:issue:{world['leak']}"])


@pytest.mark.parametrize("seconds", [-61, 61, 3600])
def test_a_webhook_that_is_too_old_or_from_the_future_is_refused(
    world: World, seconds: float
) -> None:
    server = LinearServer(workspace=world.workspace)
    headers, body = server.sign_webhook("Issue", world["login"], sent_at=SENT)
    # The header is not signed, so it does not count.
    headers["linear-timestamp"] = str(round((SENT.timestamp() + seconds) * 1000))
    with pytest.raises(Refused, match="more than a minute"):
        read(headers, body, at=SENT + timedelta(seconds=seconds))
    assert read(headers, body, at=SENT + timedelta(seconds=59)).refs


@pytest.mark.parametrize(
    "change",
    [
        {"linear-signature": ""},
        {"linear-signature": "0" * 64},
        {"linear-signature": "é" * 64},
        {"linear-signature": sha256(b"").hexdigest()},
    ],
)
def test_a_wrong_signature_is_refused(world: World, change: dict[str, str]) -> None:
    server = LinearServer(workspace=world.workspace)
    headers, body = server.sign_webhook("Issue", world["login"], sent_at=SENT)
    with pytest.raises(Refused, match="signature"):
        read({**headers, **change}, body)
    with pytest.raises(Refused, match="signature"):
        read(headers, body + b" ")
    with pytest.raises(Refused, match="signature"):  # no secret is configured
        read({**headers, "linear-signature": sign(body, "")}, body, secret="")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"type": "Issue"}',
        b'{"type": "Issue", "webhookTimestamp": "NaN"}',
        b'{"type": "Issue", "webhookTimestamp": 1e999}',
        b"\xff",
    ],
)
def test_a_signed_body_of_another_form_is_invalid(body: bytes) -> None:
    with pytest.raises(Invalid, match="not a webhook of Linear"):
        read({"linear-signature": sign(body, WEBHOOK_SECRET)}, body)


def test_ids_that_are_none_are_not_fetched_and_a_delivery_without_a_name_is_known_by_its_body() -> (
    None
):
    stamp = round(SENT.timestamp() * 1000)
    body = f'{{"type": "Issue", "data": {{"id": "../x"}}, "webhookTimestamp": {stamp}}}'.encode()
    headers = {"linear-signature": sign(body, WEBHOOK_SECRET), "linear-delivery": "x" * 5000}
    assert read(headers, body) == WebhookHint(delivery=sha256(body).hexdigest())
