"""Who speaks to the bot, and what: of what Telegram sends, only what a person says to the bot is read."""

import copy
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.domain.channels import File, Press, Text, Unreadable, Update
from lightwell.entrypoints.telegram.message_ids import MessageId
from lightwell.entrypoints.telegram.reading import Identity, read_update
from tests.clocks import ManualClock
from tests.telegram_server.state import FakeTelegram, Raw
from tests.telegram_server.texts import entities_of, units

BOT = Identity(id=7_000_000_001, name="halden_bot")
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


@pytest.fixture
def fake() -> FakeTelegram:
    return FakeTelegram(clock=ManualClock().now)


def read(raw: object) -> Update | None:
    return read_update(raw, BOT, NOW)


def last(fake: FakeTelegram) -> Raw:
    return fake.queue[-1].raw


def asked(fake: FakeTelegram, person: int, text: str, chat: int = 0, **more: Any) -> str | None:
    """Return what the bot understands, None for nothing."""
    message = fake.say(person, text, chat, **more)
    update = read({"update_id": 1, "message": message})
    if update is None:
        return None
    assert isinstance(update.content, Text)
    return update.content.text


def test_everything_in_a_private_chat_is_said_to_the_bot(fake: FakeTelegram) -> None:
    ada = fake.person("Ada")
    for text in ("What leaks?", "/start c0de-_x", "/help", "zwei\nZeilen", "hello @halden_bot "):
        fake.say(ada, text)
        update = read(last(fake))
        assert update is not None
        assert update.chat.is_private
        assert update.content == Text(text=text.replace("@halden_bot", "").strip())
        assert update.key == f"{BOT.id}:{last(fake)['update_id']}"


@pytest.mark.parametrize(
    ("said", "understood"),
    [
        ("What leaks?", None),
        ("/ask what leaks?", None),
        ("/ask@halden_bot what leaks?", "what leaks?"),
        ("/ask@Halden_Bot\nwhat leaks?", "what leaks?"),
        ("/asking@halden_bot what?", "/asking what?"),
        ("/brief@halden_bot Halden Pumps", "/brief Halden Pumps"),
        ("/ask@halden_bot", "/help"),
        ("/ask@other_bot what leaks?", None),
        ("/ask@other_bot what does @halden_bot know?", None),
        ("@halden_bot what leaks?", "what leaks?"),
        ("@HALDEN_BOT: what leaks?", "what leaks?"),
        ("what leaks, @halden_bot?", "what leaks, ?"),
        ("😀 @halden_bot was ist 😀?", "😀 was ist 😀?"),
        ("@halden_bot_2 what leaks?", None),
        ("mail me at ada@halden_bot.example", None),
        ("@ada @halden_bot what leaks?", "@ada what leaks?"),
        ("@halden_bot", "/help"),
    ],
)
def test_in_a_group_the_bot_is_named(fake: FakeTelegram, said: str, understood: str | None) -> None:
    ada = fake.person("Ada")
    assert asked(fake, ada, said, fake.group("Pumps", ada)) == understood


def test_in_a_group_a_reply_to_the_bot_is_for_it(fake: FakeTelegram) -> None:
    ada, bob = fake.person("Ada"), fake.person("Bob")
    pumps = fake.group("Pumps", ada, bob)
    answer: Raw = fake.message_of(fake.id, pumps, fake.next("message")) | {"text": "The seal"}
    number = answer["message_id"]
    fake.messages[(pumps, number)] = answer
    notes = fake.say(bob, "a note", pumps)
    assert asked(fake, ada, "since when?", pumps, reply_to=number) == "since when?"
    assert asked(fake, ada, "since when?", pumps, reply_to=notes["message_id"]) is None
    # What is written into a topic replies to the message with which the topic began.
    answer["forum_topic_created"] = {"name": "Seals", "icon_color": 1}
    assert asked(fake, ada, "since when?", pumps, reply_to=number) is None


def test_a_mention_of_a_bot_without_its_name_is_one(fake: FakeTelegram) -> None:
    ada = fake.person("Ada")
    pumps = fake.group("Pumps", ada)
    mention = {"type": "text_mention", "offset": 3, "length": 9, "user": fake.me()}
    assert (
        asked(fake, ada, "😀 Lightwell what leaks?", pumps, entities=[mention]) == "😀 what leaks?"
    )
    mention["user"] = fake.people[ada]
    assert asked(fake, ada, "😀 Lightwell what leaks?", pumps, entities=[mention]) is None


def test_who_is_no_person_says_nothing(fake: FakeTelegram) -> None:
    ada = fake.person("Ada")
    pumps = fake.group("Pumps", ada)
    message = fake.say(ada, "@halden_bot what leaks?", pumps)
    update = {"update_id": 1, "message": message}
    assert read(update) is not None
    channel = {"id": -100_7, "type": "channel", "title": "News"}
    anonymous = {"id": pumps, "type": "supergroup", "title": "Pumps"}
    changes: list[Raw] = [
        {"from": {**message["from"], "is_bot": True}},
        {"sender_chat": anonymous},
        {"sender_chat": channel, "is_automatic_forward": True},
        {"chat": channel},
        {"business_connection_id": "b"},
    ]
    for change in changes:
        assert read({"update_id": 1, "message": {**message, **change}}) is None, change
    without = {key: value for key, value in message.items() if key != "from"}
    assert read({"update_id": 1, "message": without}) is None
    for kind in ("edited_message", "channel_post", "edited_channel_post", "business_message"):
        assert read({"update_id": 1, kind: message}) is None, kind
    private = fake.say(ada, "What leaks?")
    other = {**private, "chat": {"id": 5, "type": "private", "first_name": "X"}}
    assert read({"update_id": 1, "message": other}) is None


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("voice", "voice message"),
        ("sticker", "sticker"),
        ("photo", "photo"),
        ("video", "video"),
        ("video_note", "video message"),
        ("audio", "audio file"),
        ("animation", "animation"),
        ("location", "location"),
        ("contact", "contact"),
        ("dice", "die"),
        ("poll", "poll"),
    ],
)
def test_what_is_not_read_is_named(fake: FakeTelegram, field: str, kind: str) -> None:
    thing: Raw = {"file_id": "f", "file_unique_id": "u", "duration": 1, "width": 1, "height": 1}
    more: dict[str, Raw] = {
        "sticker": {"type": "regular", "is_animated": False, "is_video": False},
        "video_note": {"length": 1},
        "location": {"latitude": 1.0, "longitude": 1.0},
        "contact": {"phone_number": "1", "first_name": "X"},
        "dice": {"emoji": "🎲", "value": 3},
        "poll": {
            "id": "1",
            "question": "?",
            "options": [],
            "total_voter_count": 0,
            "is_closed": False,
            "is_anonymous": True,
            "type": "regular",
            "allows_multiple_answers": False,
            "allows_revoting": False,
            "members_only": False,
        },
    }
    value = {**thing, **more.get(field, {})}
    content: Raw = {field: [value] if field == "photo" else value}
    if field == "animation":  # Telegram sends it as a document, too
        content["document"] = thing
    fake.put(fake.person("Ada"), {**content, "caption": "see this"})
    update = read(last(fake))
    assert update is not None
    assert update.content == Unreadable(kind=kind)


def test_what_telegram_says_itself_is_nothing_that_somebody_says(fake: FakeTelegram) -> None:
    ada = fake.person("Ada")
    for content in ({"new_chat_title": "X"}, {"pinned_message": fake.say(ada, "x")}, {}):
        message = fake.put(ada, content)
        assert read({"update_id": 1, "message": message}) is None, content


def test_a_file_is_read_with_its_caption_without_the_name_of_the_bot(fake: FakeTelegram) -> None:
    ada = fake.person("Ada")
    pumps = fake.group("Pumps", ada)
    document = {"file_id": "f1", "file_unique_id": "u", "file_name": "a.pdf", "file_size": 7}
    caption = "@halden_bot for the team"
    content = {"document": document, "caption": caption, "caption_entities": entities_of(caption)}
    update = read({"update_id": 1, "message": fake.put(ada, content, pumps)})
    assert update is not None
    assert update.content == File(name="a.pdf", size=7, handle="f1", caption="for the team")
    unaddressed = fake.put(ada, {"document": document}, pumps)
    assert read({"update_id": 1, "message": unaddressed}) is None


def test_a_press_is_read_also_under_a_message_that_is_too_old(fake: FakeTelegram) -> None:
    ada = fake.person("Ada")
    query: Raw = {
        "id": "77",
        "from": fake.people[ada],
        "chat_instance": "1",
        "data": "v1.x",
        "message": {"chat": fake.chat(ada), "message_id": 9, "date": 0},
    }
    update = read({"update_id": 1, "callback_query": query})
    assert update is not None
    assert update.content == Press(data="v1.x", message="9", handle="press.77")
    assert update.at == NOW
    changes: list[Raw] = [
        {"message": None, "inline_message_id": "AAA"},
        {"inline_message_id": "AAA"},
        {"data": None, "game_short_name": "g"},
        {"from": {**query["from"], "is_bot": True}},
        {"message": {**query["message"], "chat": {"id": 5, "type": "private"}}},
        {"message": {**query["message"], "chat": {"id": -5, "type": "channel"}}},
    ]
    for change in changes:
        assert read({"update_id": 1, "callback_query": {**query, **change}}) is None, change


def test_a_press_under_a_message_that_a_group_sees_is_not_answered_in_that_message(
    fake: FakeTelegram,
) -> None:
    ada = fake.person("Ada")
    pumps = fake.group("Pumps", ada)
    shared = fake.message_of(fake.id, pumps, 9) | {"text": "The seal leaks"}
    alone = {
        **shared,
        "message_id": 0,
        "ephemeral_message_id": 4,
        "receiver_user": fake.people[ada],
    }
    old = {"chat": fake.chat(pumps), "message_id": 9, "date": 0}
    for message, written in ((shared, ""), (old, ""), (alone, f"alone.{ada}.4")):
        query = {"id": "7", "from": fake.people[ada], "chat_instance": "1", "data": "v1.x", "message": message}  # fmt: skip
        update = read({"update_id": 1, "callback_query": query})
        assert update is not None
        assert update.content == Press(data="v1.x", message=written, handle="press.7")


def test_a_topic_is_a_thread_and_a_chain_of_replies_is_none(fake: FakeTelegram) -> None:
    ada = fake.person("Ada")
    pumps = fake.group("Pumps", ada)
    cases: list[tuple[Raw, str]] = [({"is_topic_message": True}, "17"), ({}, "")]
    for more, thread in cases:
        message = fake.say(ada, "@halden_bot hm?", pumps, message_thread_id=17, **more)
        update = read({"update_id": 1, "message": message})
        assert update is not None
        assert update.chat.thread == thread


def test_what_no_database_stores_is_left_out(fake: FakeTelegram) -> None:
    ada = fake.person("A\ud800d\u202ea\n\x00Lovelace")
    fake.say(ada, "What\x00 lea\udfffks?", entities=[])
    update = read(last(fake))
    assert update is not None
    assert (update.account.name, update.content) == ("Ada Lovelace", Text(text="What leaks?"))
    fake.say(ada, "x" * 20_000, entities=[])
    update = read(last(fake))
    assert update is not None
    assert update.content == Unreadable(kind="message of this length")


@given(
    before=st.text(st.characters(exclude_categories=("Cs", "Cc"))),
    after=st.text(st.characters(exclude_categories=("Cs", "Cc"))),
)
def test_the_mention_alone_is_taken_out(before: str, after: str) -> None:
    text = f"{before}@halden_bot{after}"
    fake = FakeTelegram(clock=ManualClock().now)
    ada = fake.person("Ada")
    mention = {"type": "mention", "offset": units(before), "length": 11}
    understood = asked(fake, ada, text, fake.group("Pumps", ada), entities=[mention])
    assert understood is not None
    rest = after.lstrip(" ") if before.endswith(" ") else after
    whole = before + rest if before.strip() else after.lstrip(" ,:;\n")
    assert understood == (whole.strip() or "/help")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(raw=JSON)
def test_what_has_not_telegrams_form_is_nothing(raw: object) -> None:
    assert read(raw) is None


def places(part: Any) -> list[tuple[Any, Any]]:
    """Return all that is in a value: what holds it, and its key there."""
    keys: list[Any] = []
    if isinstance(part, dict):
        keys += cast("Raw", part)
    elif isinstance(part, list):
        keys += range(len(cast("list[Any]", part)))
    inner = [place for key in keys for place in places(part[key])]
    return [*((part, key) for key in keys), *inner]


@given(data=st.data(), junk=JSON | st.integers(-(2**70), 2**70))
def test_an_update_with_a_wrong_part_is_nothing_or_an_update(data: st.DataObject, junk: object) -> None:  # fmt: skip
    fake = FakeTelegram(clock=ManualClock().now)
    ada = fake.person("Ada")
    pumps = fake.group("Pumps", ada)
    fake.say(ada, "@halden_bot what leaks?", pumps)
    raw = copy.deepcopy(last(fake))
    holder, key = data.draw(st.sampled_from(places(raw)))
    holder[key] = junk
    update = read(raw)
    assert update is None or update.account.id.isdigit()


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("17", MessageId(17)),
        ("alone.5.17", MessageId(17, 5)),
        ("", None),
        ("-1", None),
        ("alone.5", None),
        ("alone.5.x", None),
        ("press.5", None),
        ("9" * 30, None),
        ("١٧", None),
    ],
)
def test_ids_of_messages_are_read(text: str, parsed: MessageId | None) -> None:
    assert MessageId.parse(text) == parsed
