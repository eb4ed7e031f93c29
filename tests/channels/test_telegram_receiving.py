"""Receiving from Telegram: what is stored is confirmed and nothing else, and whatever Telegram does harms nothing."""

import asyncio
import io
import json
import logging
import traceback
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import asdict

import pytest

from lightwell.domain.channels import Text, Update
from lightwell.domain.errors import ChannelFailed, StoreFailed
from lightwell.entrypoints.telegram.pace import Pace
from lightwell.entrypoints.telegram.session import REPLY_BYTES
from tests.channels.telegram_world import World, opened, private, said
from tests.patience import until
from tests.telegram_server.server import Fault
from tests.telegram_server.state import TOKEN


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    async with opened() as world:
        yield world


def texts(world: World) -> list[str]:
    return [update.content.text for update in world.received if isinstance(update.content, Text)]


async def test_an_update_is_confirmed_when_it_is_stored_and_not_before(world: World) -> None:
    ada = world.fake.person("Ada")
    for text in ("one", "two", "three"):
        world.fake.say(ada, text)
    stored, is_down = list[str](), True

    async def receive(update: Update) -> None:
        assert isinstance(update.content, Text)
        if update.content.text == "two" and is_down:
            raise StoreFailed("The database is away")
        stored.append(update.content.text)

    task = asyncio.create_task(world.channel.run(receive))
    await until(lambda: len(world.clock.waits) > 3)
    assert stored == ["one"]
    assert [one.raw["message"]["text"] for one in world.fake.queue] == ["two", "three"]
    is_down = False
    await until(lambda: not world.fake.queue)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert stored == ["one", "two", "three"]


async def test_a_receiver_that_ends_in_the_middle_loses_nothing(world: World) -> None:
    ada = world.fake.person("Ada")
    async with world.running():
        for number in range(5):
            world.fake.say(ada, f"first {number}")
        await world.take(2)
    for number in range(5):
        world.fake.say(ada, f"second {number}")
    async with world.running():
        await until(lambda: not world.fake.queue)
    first = list(dict.fromkeys(update.key for update in world.received))
    assert len(first) == 10
    assert first == sorted(first)


async def test_what_is_repeated_has_its_key_and_what_is_out_of_order_is_put_in_order(
    world: World,
) -> None:
    ada = world.fake.person("Ada")
    world.fake.is_reordered = True
    for text in ("one", "two", "three"):
        world.fake.say(ada, text)
    async with world.running():
        await world.take(3)
        assert texts(world) == ["one", "two", "three"]
        await until(lambda: not world.fake.queue)
    world.fake.repeat()
    async with world.running():
        await world.take(6)
    assert [update.key for update in world.received[:3]] == [u.key for u in world.received[3:]]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(),
        Fault(500, b'{"ok":false}'),
        Fault(500, b'{"ok":false,"error_code":500,"description":"Internal Server Error: restart"}'),
        Fault(200, b""),
        Fault(200, b"null"),
        Fault(200, b'"ok"'),
        Fault(200, b"\xff\xfe"),
        Fault(200, b"[" * 200_000),
        Fault(200, b'{"ok":true,"result":{"update_id":1}}'),
        Fault(200, b'{"ok":true,"result":[1,2]}'),
        Fault(200, b'{"ok":true,"result":[{"update_id":"x"},{}]}'),
        Fault(200, b'{"ok":true}'),
        Fault(200, b" " * (REPLY_BYTES + 1)),
        Fault(302, b"", headers={"Location": "http://127.0.0.1:1/away"}),
        Fault(
            429, b'{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":5}}'
        ),
        Fault(200, b"{}", headers={"Content-Encoding": "gzip"}),
    ],
    ids=range(16),
)
async def test_a_reply_that_is_none_is_asked_for_again(world: World, fault: Fault) -> None:
    ada = world.fake.person("Ada")
    for method in ("getMe", "setMyCommands", "deleteWebhook", "getUpdates"):
        world.api.fail(method, fault, times=2)
    world.fake.say(ada, "What leaks?")
    async with world.running():
        await world.take(1)
    assert texts(world) == ["What leaks?"]


async def test_an_update_that_is_malformed_hides_no_other(world: World) -> None:
    ada = world.fake.person("Ada")
    world.fake.say(ada, "one")
    world.fake.enqueue({"message": {"message_id": "no number", "text": 5}})
    world.fake.enqueue({"callback_query": []})
    world.fake.say(ada, "two", photo="none", entities="none")
    world.fake.say(ada, "three")
    async with world.running():
        await world.take(2)
        await until(lambda: not world.fake.queue)
    assert texts(world) == ["one", "three"]


async def test_a_wrong_token_is_said_once_with_what_to_do_and_tried_rarely(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong = "7000000001:AAwrong_token_that_nobody_may_see"
    async with opened(token=wrong) as world, world.running():
        await until(lambda: len(world.clock.waits) >= 4)
    assert min(world.clock.waits) >= 600
    [record] = [record for record in caplog.records if "telegram" in record.getMessage()]
    assert "LIGHTWELL_TELEGRAM_TOKEN" in record.getMessage()
    assert "wrong_token" not in caplog.text


async def test_another_receiver_is_said_once_and_this_one_waits_longer_and_longer(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    body = json.dumps(
        {
            "ok": False,
            "error_code": 409,
            "description": "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        }
    ).encode()
    world.api.fail("getUpdates", status=409, body=body, times=8)
    world.fake.say(world.fake.person("Ada"), "What leaks?")
    caplog.set_level(logging.INFO)
    async with world.running():
        await world.take(1)
        await until(lambda: "received again" in caplog.text)
    assert world.clock.waits[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert caplog.text.count("another program receives") == 1


async def test_two_receivers_of_one_bot_take_turns_and_lose_nothing(world: World) -> None:
    ada = world.fake.person("Ada")
    async with world.running(), world.running():
        for number in range(20):
            world.fake.say(ada, f"question {number}")
            await asyncio.sleep(0)
        await until(lambda: len({update.key for update in world.received}) == 20)


async def test_a_webhook_that_was_set_before_does_not_keep_the_bot_from_polling(
    world: World,
) -> None:
    world.fake.webhook = {"url": "https://old.example/hook", "secret_token": "s"}
    world.fake.say(world.fake.person("Ada"), "What leaks?")
    async with world.running():
        await world.take(1)
    assert world.fake.webhook == {}


async def test_commands_are_offered_and_in_groups_the_bot_alone_sees_them(world: World) -> None:
    world.fake.say(world.fake.person("Ada"), "hello")
    async with world.running():
        await world.take(1)
    menus = world.fake.commands
    assert {"brief", "promises", "search", "status", "help", "new"} <= {
        command["command"] for command in menus["all_private_chats"]
    }
    assert all(command["is_ephemeral"] for command in menus["all_group_chats"])
    assert "ask" in {command["command"] for command in menus["all_group_chats"]}


# The token


async def test_the_token_is_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """aiogram's and aiohttp's errors quote addresses, of which the token is a part; none of them is in ours, nor is the one before them."""
    caplog.set_level(logging.DEBUG)
    async with opened() as world:
        ada = world.fake.person("Ada")
        quoting = json.dumps(
            {"ok": False, "error_code": 400, "description": f"Bad: /bot{TOKEN}/sendMessage é\n"}
        ).encode()
        faults = [
            Fault(400, quoting),
            Fault(403, quoting),
            Fault(404, quoting),
            Fault(409, quoting),
            Fault(500, quoting),
            Fault(200, TOKEN.encode()),
            Fault(302, b"", headers={"Location": f"http://x/bot{TOKEN}"}),
            Fault(200, b"{}", headers={"Content-Encoding": "gzip"}),
        ]
        failures = list[Exception]()
        for fault in faults:
            world.api.fail("sendMessage", fault)
            with pytest.raises(ChannelFailed) as raised:
                await world.channel.send(private(ada), said("Hello"))
            failures.append(raised.value)
        world.api.fail("getUpdates", Fault(400, quoting), times=2)
        world.api.fail("getMe", Fault(200, TOKEN.encode()))
        world.fake.say(ada, "hello")
        async with world.running():
            await world.take(1)
        with pytest.raises(ChannelFailed) as raised:
            [part async for part in world.channel.calls.download("documents/none")]
        failures.append(raised.value)
        channel = world.channel
    with pytest.raises(ChannelFailed) as raised:
        await channel.send(private(ada), said("Hello"))  # nothing listens there any more
    await channel.calls.session.close()
    failures.append(raised.value)
    secret = TOKEN.partition(":")[2]
    for failure in failures:
        assert failure.__cause__ is None
        assert failure.__context__ is None
        assert secret not in "".join(traceback.format_exception(failure))
        assert secret not in f"{failure!r}"
    assert secret not in caplog.text
    assert secret not in repr(channel)
    assert "\n" not in "".join(str(failure) for failure in failures)


async def test_a_library_that_logs_everything_does_not_log_the_token() -> None:
    """Whoever turns every logger on, with tracebacks, sees no token."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(1)
    asyncio.get_running_loop().set_debug(True)
    async with opened() as world:
        world.api.fail("getUpdates", Fault(), times=2)
        world.fake.say(world.fake.person("Ada"), "hello")
        async with world.running():
            await world.take(1)
    assert TOKEN.partition(":")[2] not in lines.getvalue()


async def test_a_platform_that_answers_nothing_stops_no_one_else(world: World) -> None:
    ada, bob = world.fake.person("Ada"), world.fake.person("Bob")
    late = asyncio.Event()
    world.api.fail("sendMessage", waits=late, does=False)
    waiting = asyncio.create_task(world.channel.send(private(ada), said("to Ada")))
    await until(lambda: not world.api.faults["sendMessage"])
    await world.channel.send(private(bob), said("to Bob"))
    assert world.fake.read(bob) == ["to Bob"]
    late.set()
    with suppress(ChannelFailed):
        await waiting


async def test_chats_that_are_quiet_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightwell.entrypoints.telegram.pace._MOST_CHATS", 10)
    now = 0.0
    pace = Pace(clock=lambda: now)
    for number in range(100):
        now += 30
        await pace.turn(str(number))
        pace.hold(str(number), 1)
    assert len(asdict(pace)["_not_before"]) < 15
