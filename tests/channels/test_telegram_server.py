"""The stand-in for Telegram is one: its methods are the Bot API's, and what Telegram refuses it refuses."""

import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from lightwell.entrypoints.channels.messages import Button
from lightwell.entrypoints.telegram.reading import ALLOWED_UPDATES
from tests.channels.telegram_world import World, account, group, opened, private, said
from tests.clocks import InstantClock
from tests.telegram_server.server import METHODS, BotApi, serving
from tests.telegram_server.state import TOKEN, FakeTelegram

SHARED = Path(os.environ.get("LIGHTWELL_TEST_SHARED", Path(__file__).parents[3] / "shared"))
API = SHARED / "contracts" / "telegram" / "api.json"

NEWER = {
    # Bot API 10.2 and 10.3, which the document (10.1) lacks; aiogram 3.31 has them.
    "editEphemeralMessageText",
    "deleteEphemeralMessage",
    "sendMessage ephemeral_message_parameters",
    "sendPhoto ephemeral_message_parameters",
    "BotCommand is_ephemeral",
    "Message ephemeral_message_id",
    "Message receiver_user",
}


@pytest.fixture
async def url() -> AsyncGenerator[tuple[BotApi, str]]:
    fake = FakeTelegram(clock=InstantClock().now)
    api = BotApi(fake)
    async with serving(api) as url:
        yield api, f"{url}/bot{TOKEN}"


@pytest.mark.shared
async def test_what_the_bot_calls_and_what_it_is_sent_are_the_bot_apis() -> None:
    if not API.exists():
        pytest.skip("no contracts beside the project")
    document: dict[str, Any] = json.loads(API.read_text("utf-8"))
    lacking = {method for method in METHODS if method not in document["methods"]}
    async with opened() as world:
        await everything(world)
        for method, sent in world.fake.calls:
            if method in document["methods"]:
                fields = {field["name"] for field in document["methods"][method].get("fields", ())}
                lacking |= {f"{method} {name}" for name in sent if name not in fields}
        for update in (*world.fake.queue, *world.fake.confirmed):
            lacking |= lacking_fields(document, "Update", update.raw)
        for commands in world.fake.commands.values():
            lacking |= lacking_fields(document, "BotCommand", commands[0])
    assert lacking - {"Message order"} <= NEWER
    assert {field["name"] for field in document["types"]["Update"]["fields"]} >= set(ALLOWED_UPDATES)  # fmt: skip


async def everything(world: World) -> None:
    """Have the bot do all that it can."""
    ada = world.fake.person("Ada", username="ada_l")
    pumps = world.fake.group("Pumps", ada, is_administrator=True)
    buttons = ((Button(label="More"), Button(label="Open", url="https://kb.example/1")),)
    async with world.running():
        world.fake.say(ada, "@halden_bot what leaks?", pumps)
        world.fake.say_alone(ada, "/ask@halden_bot what leaks?", pumps)
        world.fake.send_file(ada, "a.pdf", b"x")
        await world.take(3)
        labelled = said("Answer", buttons=buttons, data=(("v1.x", ""),))
        sent = await world.channel.send(private(ada), labelled, reply_to="1")
        await world.channel.edit(private(ada), sent, said("More", buttons=buttons, data=(("v1.x", ""),)))  # fmt: skip
        await world.channel.send(private(ada), said("Page", picture=b"\x89PNG"))
        await world.channel.send_alone(group(pumps), account(ada), said("Alone"))
        await world.channel.private_chat(account(ada))
        world.fake.press(ada, "More")
        await world.take(4)


def lacking_fields(document: dict[str, Any], kind: str, value: dict[str, Any]) -> set[str]:
    """Return the fields of a value that the document's type has not."""
    fields = {field["name"]: field for field in document["types"][kind]["fields"]}
    lacking = {f"{kind} {name}" for name in value if name not in fields}
    for name, inner in value.items():
        kinds = [
            kind for kind in fields.get(name, {}).get("types", ()) if kind in document["types"]
        ]
        if kinds and isinstance(inner, dict) and document["types"][kinds[0]].get("fields"):
            lacking |= lacking_fields(document, kinds[0], cast("dict[str, Any]", inner))
    return lacking


async def call(url: str, method: str, /, **sent: Any) -> tuple[int, str]:
    """Return the status and the description, or the result, of a call."""
    data = {key: value if isinstance(value, str) else json.dumps(value) for key, value in sent.items()}  # fmt: skip
    async with httpx.AsyncClient() as client:
        reply = await client.post(f"{url}/{method}", data=data)
    return reply.status_code, str(reply.json().get("description", reply.json().get("result")))


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        ({"text": ""}, "text is empty"),
        ({"text": "w" * 4097}, "too long"),
        ({"text": "😀" * 2049}, "too long"),
        ({"text": "hi", "entities": [{"type": "bold", "offset": 1, "length": 2}]}, "ENTITY_BOUNDS"),
        ({"text": "😀", "entities": [{"type": "bold", "offset": 0, "length": 1}]}, "ENTITY_BOUNDS"),
        ({"text": "hi", "reply_parameters": {"message_id": 9}}, "to be replied not found"),
        ({"text": "hi", "chat_id": 9}, "chat not found"),
        ({"text": "hi", "no_such_field": 1}, "no_such_field"),
        ({"text": "hi", "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "x" * 65}]]}}, "BUTTON_DATA"),
        ({"text": "hi", "reply_markup": {"inline_keyboard": [[{"text": "a", "url": "http://localhost/"}]]}}, "BUTTON_URL"),
        ({"text": "hi", "reply_markup": {"inline_keyboard": [[{"text": "a"}]]}}, "optional fields"),
        ({"text": "hi", "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "x"}]] * 101}}, "too long"),
    ],
    ids=range(12),
)  # fmt: skip
async def test_what_telegram_refuses_is_refused(
    url: tuple[BotApi, str], sent: dict[str, Any], refusal: str
) -> None:
    api, address = url
    ada = api.fake.person("Ada")
    status, words = await call(address, "sendMessage", **{"chat_id": ada, **sent})
    assert (status, refusal in words) == (400, True), words
    assert api.fake.read(ada) == []


async def test_a_message_a_second_is_taken_and_an_edit_that_changes_nothing_is_not(
    url: tuple[BotApi, str],
) -> None:
    api, address = url
    ada = api.fake.person("Ada")
    assert (await call(address, "sendMessage", chat_id=ada, text="one"))[0] == 200
    assert await call(address, "sendMessage", chat_id=ada, text="two") == (429, "Too Many Requests: retry after 1")  # fmt: skip
    number = api.fake.seen(ada)[0]["message_id"]
    edit = {"chat_id": ada, "message_id": number}
    status, words = await call(address, "editMessageText", **edit, text="one")
    assert (status, "message is not modified" in words) == (400, True)
    assert (await call(address, "editMessageText", **edit, text="two"))[0] == 429


async def test_updates_are_confirmed_by_the_offset_alone_and_kept_for_a_day() -> None:
    clock = InstantClock()
    fake = FakeTelegram(clock=clock.now)
    api = BotApi(fake)
    ada = fake.person("Ada")
    async with serving(api) as address:
        url = f"{address}/bot{TOKEN}"
        first, second = fake.say(ada, "one"), fake.say(ada, "two")
        for _ in range(2):
            _, words = await call(url, "getUpdates")
            assert (first["text"] in words, second["text"] in words) == (True, True)
        _, words = await call(url, "getUpdates", offset=fake.queue[1].raw["update_id"])
        assert (first["text"] in words, second["text"] in words) == (False, True)
        await clock.sleep(24 * 3600 + 1)
        assert await call(url, "getUpdates") == (200, "[]")
        assert (await call(url, "setWebhook", url="http://x.example"))[0] == 400
        assert (await call(url, "setWebhook", url="https://x.example"))[0] == 200
        assert (await call(url, "getUpdates"))[0] == 409
        assert (await call(f"{address}/botwrong", "getMe"))[0] == 401
