"""The Telegram adapter sends, edits and shows: aiogram itself over real HTTP, against a stand-in that enforces Telegram's limits."""

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest

from lightwell.domain.channels import File, Press, Text
from lightwell.domain.errors import ChannelFailed, ChannelGone, Invalid, TooLarge
from lightwell.entrypoints.channels.messages import Block, Button, Message, Span, Style
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.entrypoints.telegram.opening import open_bot
from lightwell.entrypoints.telegram.receiving import Webhook
from tests.channels.telegram_world import World, account, group, opened, private, said
from tests.patience import until
from tests.telegram_server.server import Fault
from tests.telegram_server.state import TOKEN

PICTURE = b"\x89PNG a page"


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    async with opened() as world:
        yield world


async def test_a_question_is_received_and_answered_by_a_message_that_is_edited(
    world: World,
) -> None:
    ada = world.fake.person("Ada")
    async with world.running():
        message = world.fake.say(ada, "When does the warranty of the pump end?")
        [update] = await world.take(1)
        assert update.content == Text(text="When does the warranty of the pump end?")
        assert (update.account.id, update.account.name) == (str(ada), "Ada")
        assert update.chat == private(ada)
        assert update.message == str(message["message_id"])
        sent = await world.channel.send(update.chat, said("Looking"), reply_to=update.message)
        assert await world.channel.edit(update.chat, sent, said("In March.", "Source 1")) == sent
    assert world.fake.read(ada) == ["In March.\n\nSource 1"]
    assert world.fake.messages[(ada, int(sent))]["reply_to_message"]["text"].startswith("When")


async def test_a_press_is_received_and_answered(world: World) -> None:
    ada = world.fake.person("Ada")
    buttons = ((Button(label="More"), Button(label="Open", url="https://kb.example/d/1")),)
    sent = await world.channel.send(private(ada), said("One", buttons=buttons, data=(("v1.x.y", ""),)))  # fmt: skip
    async with world.running():
        world.fake.press(ada, "More")
        [update] = await world.take(1)
        assert isinstance(update.content, Press)
        assert (update.content.data, update.content.message) == ("v1.x.y", sent)
        await world.channel.acknowledge(update.content, "Done")
        await world.channel.acknowledge(update.content, "Again")
    assert world.fake.notices == [(ada, "Done")]


async def test_text_is_sent_with_entities_and_never_as_markup(world: World) -> None:
    ada = world.fake.person("Ada")
    spans = (Span("😀 <b>not bold</b> "), Span("bold 😀", Style.BOLD), Span(" *plain*"))
    await world.channel.send(private(ada), Labelled(message=Message(blocks=(Block(spans),))))
    [message] = world.fake.seen(ada)
    assert message["text"] == "😀 <b>not bold</b> bold 😀 *plain*"
    assert message["entities"] == [{"type": "bold", "offset": 19, "length": 7}]
    _, parameters = world.fake.calls[-1]
    assert "parse_mode" not in parameters
    assert parameters["link_preview_options"] == {"is_disabled": True}


async def test_buttons_have_the_data_of_the_core_and_addresses_that_are_https(world: World) -> None:
    ada = world.fake.person("Ada")
    rows = (
        (Button(label="One"), Button(label="Open", url="https://kb.example/d/1")),
        (Button(label="Local", url="http://localhost:8000/d/1"),),
        (Button(label="Local", url="https://localhost/d/1"),),
        (Button(label="No data"), Button(label="Too much")),
        (Button(label="x" * 300),),
    )
    data = (("v1.one", ""), ("",), ("",), ("", "y" * 65), ("v1.long",))
    await world.channel.send(private(ada), said("Choose", buttons=rows, data=data))
    keyboard = world.fake.seen(ada)[0]["reply_markup"]["inline_keyboard"]
    assert keyboard == [
        [
            {"text": "One", "callback_data": "v1.one"},
            {"text": "Open", "url": "https://kb.example/d/1"},
        ],
        [{"text": "x" * 63 + "…", "callback_data": "v1.long"}],
    ]


async def test_an_edit_that_changes_nothing_is_no_failure(world: World) -> None:
    ada = world.fake.person("Ada")
    sent = await world.channel.send(private(ada), said("The same"))
    assert await world.channel.edit(private(ada), sent, said("The same")) == sent
    assert world.fake.read(ada) == ["The same"]


async def test_a_message_that_somebody_deleted_is_sent_again(world: World) -> None:
    ada = world.fake.person("Ada")
    sent = await world.channel.send(private(ada), said("Looking"))
    del world.fake.messages[(ada, int(sent))]
    again = await world.channel.edit(private(ada), sent, said("The answer"))
    assert again != sent
    assert await world.channel.edit(private(ada), again, said("The whole answer")) == again
    assert world.fake.read(ada) == ["The whole answer"]


async def test_a_reply_to_a_message_that_is_gone_is_sent_all_the_same(world: World) -> None:
    ada = world.fake.person("Ada")
    await world.channel.send(private(ada), said("Answer"), reply_to="999")
    await world.channel.send(private(ada), said("Answer two"), reply_to="not a number")
    assert world.fake.read(ada) == ["Answer", "Answer two"]


async def test_a_picture_is_a_photo_with_its_text_below_or_after_it(world: World) -> None:
    ada = world.fake.person("Ada")
    buttons = ((Button(label="Next"),),)
    short = said("Page 3", picture=PICTURE, buttons=buttons, data=(("v1.n",),))
    await world.channel.send(private(ada), short)
    [photo] = world.fake.seen(ada)
    assert (photo["caption"], "photo" in photo, "reply_markup" in photo) == ("Page 3", True, True)
    long = said("w" * 1025, picture=PICTURE, buttons=buttons, data=(("v1.n",),))
    sent = await world.channel.send(private(ada), long)
    _, picture, text = world.fake.seen(ada)
    assert ("caption" in picture, "reply_markup" in picture) == (False, False)
    assert (text["text"], str(text["message_id"]), "reply_markup" in text) == ("w" * 1025, sent, True)  # fmt: skip
    # 😀 has two units of UTF-16: 512 of them fit below a picture, 513 do not.
    await world.channel.send(private(ada), said("😀" * 512, picture=PICTURE))
    await world.channel.send(private(ada), said("😀" * 513, picture=PICTURE))
    assert [message.get("caption") for message in world.fake.seen(ada)[3:]] == ["😀" * 512, None, None]  # fmt: skip


async def test_a_text_does_not_become_a_picture_nor_a_picture_a_text_but_a_new_message(
    world: World,
) -> None:
    ada = world.fake.person("Ada")
    text = await world.channel.send(private(ada), said("Text"))
    photo = await world.channel.edit(private(ada), text, said("Page", picture=PICTURE))
    assert photo != text
    assert await world.channel.edit(private(ada), photo, said("More")) not in (text, photo)
    assert world.fake.read(ada) == ["Text", "Page", "More"]


@pytest.mark.parametrize("characters", [4096, 2048])
async def test_what_is_within_the_limits_is_taken(world: World, characters: int) -> None:
    ada = world.fake.person("Ada")
    await world.channel.send(private(ada), said(("w" if characters == 4096 else "😀") * characters))
    with pytest.raises(ChannelFailed, match="too long"):
        await world.channel.send(private(ada), said("w" * 4097))
    assert len(world.fake.read(ada)) == 1


async def test_a_message_goes_to_its_topic(world: World) -> None:
    ada = world.fake.person("Ada")
    pumps = world.fake.group("Pumps", ada)
    await world.channel.send(group(pumps, thread="17"), said("In the topic"))
    assert world.fake.seen(ada, pumps)[0]["message_thread_id"] == 17


async def test_a_chat_that_takes_nothing_is_an_end_and_has_no_private_chat(world: World) -> None:
    ada, eve = world.fake.person("Ada"), world.fake.person("Eve", has_begun=False)
    pumps = world.fake.group("Pumps", ada)
    assert await world.channel.private_chat(account(ada)) == private(ada)
    world.fake.blocked.add(ada)
    world.fake.groups[pumps].bot_is_member = False
    for chat in (private(ada), private(eve), private(4_000), group(pumps), group(-5)):
        with pytest.raises(ChannelGone):
            await world.channel.send(chat, said("Hello"))
    for person in (ada, eve, 4_000):
        assert await world.channel.private_chat(account(person)) is None
    sent = [method for method, _ in world.fake.calls if method == "sendMessage"]
    assert len(sent) == 5, "an end is not tried again"


async def test_a_group_that_became_another_one_is_an_end(world: World) -> None:
    world.api.fail(
        "sendMessage",
        status=400,
        body=b'{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-100123}}',
    )
    with pytest.raises(ChannelGone, match="another one"):
        await world.channel.send(group(-5), said("Hello"))


# Pace


async def test_messages_keep_telegrams_pace(world: World) -> None:
    """The stand-in refuses what comes too fast; nothing is refused, so nothing waits for a refusal."""
    people = [world.fake.person(f"P{number}") for number in range(40)]
    pumps = world.fake.group("Pumps", *people)
    for number in range(45):
        await world.channel.send(group(pumps), said(f"Note {number}"))
    for person in people:
        sent = await world.channel.send(private(person), said("Hello"))
        await world.channel.edit(private(person), sent, said("Hello again"))
    assert (len(world.fake.read(people[0], pumps)), world.fake.refused) == (45, 0)


async def test_a_pause_that_telegram_asks_for_is_kept(world: World) -> None:
    ada = world.fake.person("Ada")
    body = b'{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 17","parameters":{"retry_after":17}}'
    world.api.fail("sendMessage", status=429, body=body, times=2)
    before = world.clock.now()
    await world.channel.send(private(ada), said("Hello"))
    assert world.clock.now() - before >= 34
    assert world.fake.read(ada) == ["Hello"]
    world.api.fail("sendMessage", status=429, body=body.replace(b"17", b"3600"))
    with pytest.raises(ChannelFailed, match="3600 s"):
        await world.channel.send(private(ada), said("Hello"))
    world.api.fail("sendMessage", status=429, body=body, times=5)
    with pytest.raises(ChannelFailed, match="again and again"):
        await world.channel.send(private(ada), said("Hello"))


async def test_an_edit_is_sent_when_its_answer_was_lost(world: World) -> None:
    """A message is not: the core knows whether it can be sent twice."""
    ada = world.fake.person("Ada")
    sent = await world.channel.send(private(ada), said("Looking"))
    world.api.fail("editMessageText", does=True)
    with pytest.raises(ChannelFailed):
        await world.channel.edit(private(ada), sent, said("Answer"))
    assert await world.channel.edit(private(ada), sent, said("Answer")) == sent
    world.api.fail("sendMessage", does=True)
    with pytest.raises(ChannelFailed):
        await world.channel.send(private(ada), said("Once"))
    assert world.fake.read(ada) == ["Answer", "Once"]


# To one account alone


@pytest.mark.parametrize("is_administrator", [True, False])
async def test_an_ephemeral_question_is_answered_to_the_asker_alone(
    world: World, *, is_administrator: bool
) -> None:
    ada, bob = world.fake.person("Ada"), world.fake.person("Bob")
    pumps = world.fake.group("Pumps", ada, bob, is_administrator=is_administrator)
    async with world.running():
        world.fake.say_alone(ada, "/ask@halden_bot what leaks?", pumps)
        [update] = await world.take(1)
        await until(lambda: not world.fake.queue)
    assert update.content == Text(text="what leaks?")
    chat, asker = update.chat, update.account
    shown = await world.channel.send_alone(chat, asker, said("Looking"), reply_to=update.message)
    assert shown
    await world.clock.sleep(60)
    buttons, data = ((Button(label="More"),),), (("v1.more",),)
    answer = said("The seal leaks", buttons=buttons, data=data)
    assert await world.channel.edit(chat, shown, answer) == shown
    assert (world.fake.read(ada, pumps), world.fake.read(bob, pumps)) == (["The seal leaks"], [])
    async with world.running():
        world.fake.press(ada, "More", pumps)
        press = (await world.take(2))[1]
    assert isinstance(press.content, Press)
    assert press.content.message == shown
    page = await world.channel.send_alone(chat, asker, said("Page", picture=PICTURE), reply_to=press.message)  # fmt: skip
    assert page
    assert (world.fake.read(ada, pumps)[1:], world.fake.read(bob, pumps)) == (["Page"], [])


async def test_where_telegram_does_not_let_it_nothing_is_shown(world: World) -> None:
    ada, bob = world.fake.person("Ada"), world.fake.person("Bob")
    pumps = world.fake.group("Pumps", ada)
    for asker in (ada, bob):
        assert await world.channel.send_alone(group(pumps), account(asker), said("Secret")) == ""
    async with world.running():
        world.fake.say_alone(ada, "/ask@halden_bot what leaks?", pumps)
        [update] = await world.take(1)
    await world.clock.sleep(16)
    shown = await world.channel.send_alone(
        update.chat, update.account, said("Secret"), reply_to=update.message
    )
    assert (shown, world.fake.read(ada, pumps)) == ("", [])


async def test_a_server_that_knows_no_ephemeral_messages_shows_nobody_anything(
    world: World,
) -> None:
    world.fake.knows_ephemeral = False
    ada, bob = world.fake.person("Ada"), world.fake.person("Bob")
    pumps = world.fake.group("Pumps", ada, bob, is_administrator=True)
    for _ in range(2):
        assert await world.channel.send_alone(group(pumps), account(ada), said("Secret")) == ""
    assert world.fake.read(bob, pumps) == []
    texts = [sent["text"] for method, sent in world.fake.calls if method == "sendMessage"]
    assert texts == ["…"]


async def test_the_first_message_to_one_account_alone_may_be_a_picture(world: World) -> None:
    ada, bob = world.fake.person("Ada"), world.fake.person("Bob")
    pumps = world.fake.group("Pumps", ada, bob, is_administrator=True)
    page = said("Page", picture=PICTURE)
    assert await world.channel.send_alone(group(pumps), account(ada), page)
    assert (world.fake.read(ada, pumps), world.fake.read(bob, pumps)) == (["Page"], [])


async def test_what_one_account_alone_saw_is_never_sent_again_to_all(world: World) -> None:
    ada, bob = world.fake.person("Ada"), world.fake.person("Bob")
    pumps = world.fake.group("Pumps", ada, bob, is_administrator=True)
    shown = await world.channel.send_alone(group(pumps), account(ada), said("Looking"))
    world.fake.alone.clear()
    again = await world.channel.edit(group(pumps), shown, said("Secret"))
    assert again not in ("", shown)
    assert (world.fake.read(ada, pumps), world.fake.read(bob, pumps)) == (["Secret"], [])
    world.fake.alone.clear()
    world.fake.groups[pumps].bot_is_administrator = False
    with pytest.raises(ChannelFailed, match="alone"):
        await world.channel.edit(group(pumps), again, said("Secret"))
    assert (world.fake.read(ada, pumps), world.fake.read(bob, pumps)) == ([], [])


# Files


async def test_a_file_is_downloaded(world: World) -> None:
    ada = world.fake.person("Ada")
    content = bytes(range(256)) * 1000
    async with world.running():
        world.fake.send_file(ada, "manual.pdf", content, caption="for the pump team")
        [update] = await world.take(1)
    file = update.content
    assert isinstance(file, File)
    assert (file.name, file.size, file.caption) == ("manual.pdf", 256_000, "for the pump team")
    assert b"".join([part async for part in world.channel.download(file)]) == content


async def test_a_file_that_telegram_does_not_give_is_said_to_be_too_large(world: World) -> None:
    ada = world.fake.person("Ada")
    message = world.fake.send_file(ada, "film.zip", b"x" * 20_000_001)
    handle = message["document"]["file_id"]
    with pytest.raises(TooLarge, match="20 MB"):
        [part async for part in world.channel.download(File(name="a", size=1, handle=handle))]
    with pytest.raises(ChannelFailed, match="wrong file_id"):
        [part async for part in world.channel.download(File(name="a", size=1, handle="none"))]


async def test_a_file_that_is_longer_than_telegram_said_has_an_end(world: World) -> None:
    ada = world.fake.person("Ada")
    message = world.fake.send_file(ada, "film.zip", b"x")
    handle = message["document"]["file_id"]
    world.api.fail(
        "getFile",
        status=200,
        body=b'{"ok":true,"result":{"file_id":"f","file_unique_id":"u","file_path":"documents/'
        + handle.encode()
        + b'"}}',
    )
    world.fake.files[handle] = b"x" * 20_000_001
    with pytest.raises(TooLarge):
        [part async for part in world.channel.download(File(name="a", size=1, handle=handle))]


async def test_what_is_no_token_is_said(world: World) -> None:
    for token in ("", "abc", "1 2:x", "12345", "x:y"):
        with pytest.raises(Invalid, match="BotFather") as raised:
            async with opened(token=token):
                pass
        assert token == "" or f" {token} " not in str(raised.value)


async def test_a_proxy_of_the_environment_is_used(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list[bytes]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(await reader.readline())
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    proxy = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    monkeypatch.setenv("http_proxy", address)
    pace = world.channel.calls.pace
    async with proxy, open_bot(TOKEN, "http://telegram.example", None, pace) as far:
        with pytest.raises(ChannelFailed):
            await far.identify()
    assert lines[0].startswith(b"POST http://telegram.example/bot")


# The webhook


async def test_a_webhook_is_set_and_takes_what_telegram_sends_alone() -> None:
    hook = Webhook(url="https://kb.example/v1/channels/telegram", secret="a_secret_of_16_signs")  # noqa: S106
    async with opened(webhook=hook) as world:
        ada = world.fake.person("Ada")
        async with world.running():
            await until(lambda: bool(world.fake.webhook))
        assert world.fake.webhook == {"url": hook.url, "secret_token": hook.secret}
        world.fake.say(ada, "What leaks?")
        body = world.fake.queue[0].raw
        update = await world.channel.read_webhook(json.dumps(body).encode())
        assert update is not None
        assert update.content == Text(text="What leaks?")
        assert world.channel.sends_webhooks(hook.secret)
        for secret in ("", "wrong", hook.secret + "x", "é" * 20):
            assert not world.channel.sends_webhooks(secret)
        for junk in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"update_id": 1}', b"null"):
            assert await world.channel.read_webhook(junk) is None
    async with opened() as polling:
        assert not polling.channel.sends_webhooks("")


async def test_a_failure_while_it_is_asked_who_it_is_is_no_loss() -> None:
    hook = Webhook(url="https://kb.example/v1/channels/telegram", secret="a_secret_of_16_signs")  # noqa: S106
    async with opened(webhook=hook) as world:
        world.api.fail("getMe", Fault())
        world.fake.say(world.fake.person("Ada"), "What leaks?")
        body = json.dumps(world.fake.queue[0].raw).encode()
        with pytest.raises(ChannelFailed):
            await world.channel.read_webhook(body)
        assert await world.channel.read_webhook(body) is not None
