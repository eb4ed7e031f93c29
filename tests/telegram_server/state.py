"""What Telegram knows: people, groups, messages, who sees what, and the updates that the bot has not confirmed.

The forms are the Bot API's (aiogram has its official schema), the limits those that Telegram enforces. Words of refusals are Telegram's where
they are known; those about ephemeral messages are ours.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.telegram_server.texts import entities_of

TOKEN = "7000000001:AAFakeTokenOfTheBotThatNobodyMaySee_x"  # noqa: S105
BEGAN = 1_795_000_000
"""The date of the first message; the clock counts from it."""

ANSWER_SECONDS = 15
"""How long a bot that is no administrator may answer an ephemeral command or a press by an ephemeral message."""

KEPT_SECONDS = 24 * 3600
Raw = dict[str, Any]


class RefusedError(Exception):
    """Telegram does not do what was asked."""

    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.status, self.description, self.parameters = status, description, parameters


@dataclass(slots=True)
class Group:
    title: str
    members: set[int]
    bot_is_administrator: bool = False
    bot_is_member: bool = True


@dataclass(slots=True)
class Queued:
    raw: Raw
    at: float


@dataclass(slots=True)
class FakeTelegram:
    """One bot's Telegram. Times in seconds of `clock`."""

    clock: Callable[[], float]
    username: str = "halden_bot"
    knows_ephemeral: bool = True
    id: int = 7_000_000_001
    people: dict[int, Raw] = field(default_factory=dict[int, Raw])
    began: set[int] = field(default_factory=set[int])
    blocked: set[int] = field(default_factory=set[int])
    groups: dict[int, Group] = field(default_factory=dict[int, Group])
    messages: dict[tuple[int, int], Raw] = field(default_factory=dict[tuple[int, int], Raw])
    alone: dict[tuple[int, int], Raw] = field(default_factory=dict[tuple[int, int], Raw])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    presses: dict[str, Raw] = field(default_factory=dict[str, Raw])
    notices: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    commands: dict[str, list[Raw]] = field(default_factory=dict[str, list[Raw]])
    webhook: Raw = field(default_factory=dict[str, Any])
    queue: list[Queued] = field(default_factory=list[Queued])
    confirmed: list[Queued] = field(default_factory=list[Queued])
    calls: list[tuple[str, Raw]] = field(default_factory=list[tuple[str, Raw]])
    is_reordered: bool = False
    refused: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _sent: dict[int, deque[float]] = field(default_factory=dict[int, deque[float]])
    _sent_at_all: deque[float] = field(default_factory=lambda: deque[float](maxlen=30))

    # People

    def person(self, name: str, *, username: str = "", has_begun: bool = True) -> int:
        """Return a new person's number."""
        number = 1000 + self.next("person")
        self.people[number] = {"id": number, "is_bot": False, "first_name": name}
        if username:
            self.people[number]["username"] = username
        if has_begun:
            self.began.add(number)
        return number

    def group(self, title: str, *people: int, is_administrator: bool = False) -> int:
        """Return a new group's number, with the bot in it."""
        number = -100_000 - self.next("group")
        self.groups[number] = Group(title, set(people), is_administrator)
        return number

    def say(self, person: int, text: str, chat: int = 0, *, reply_to: int = 0, **more: Any) -> Raw:
        """Have a person say something to the bot, or in a group; return the message."""
        said: Raw = {"text": text, "entities": entities_of(text), **more}
        return self.put(person, said, chat, reply_to=reply_to)

    def say_alone(self, person: int, text: str, chat: int) -> Raw:
        """Have a person use an ephemeral command in a group."""
        number = self.next("alone")
        message = self.message_of(person, chat, 0) | {
            "text": text,
            "entities": entities_of(text),
            "ephemeral_message_id": number,
            "receiver_user": self.me(),
        }
        self.alone[(chat, number)] = {**message, "receiver": person, "at": self.clock()}
        self.enqueue({"message": message})
        return message

    def put(self, person: int, content: Raw, chat: int = 0, *, reply_to: int = 0) -> Raw:
        """Have a person send something: `content` are fields of a message."""
        self.began.add(person) if not chat else None
        chat = chat or person
        message = self.message_of(person, chat, self.next("message")) | content
        if reply_to:
            message["reply_to_message"] = {
                key: value
                for key, value in self.messages[(chat, reply_to)].items()
                if key != "reply_to_message"
            }
        self.messages[(chat, message["message_id"])] = message
        if self._bot_sees(message):
            self.enqueue({"message": message})
        return message

    def send_file(self, person: int, name: str, content: bytes, **more: Any) -> Raw:
        """Have a person send a document to the bot."""
        handle = f"BQACAgFile{len(self.files)}"
        self.files[handle] = content
        document = {
            "file_id": handle,
            "file_unique_id": f"u{handle}",
            "file_name": name,
            "file_size": len(content),
        }
        return self.put(person, {"document": document, **more})

    def press(self, person: int, label: str, chat: int = 0, *, data: str = "") -> Raw:
        """Have a person press the newest button with this label that the person sees, or forge a press with `data`."""
        chat = chat or person
        message, found = self.button(person, label, chat)
        query: Raw = {
            "id": str(4_294_967_296_000 + self.next("press")),
            "from": self.people[person],
            "chat_instance": "-1",
            "message": {
                key: value for key, value in message.items() if key not in ("receiver", "at")
            },
            "data": data or found,
        }
        self.presses[query["id"]] = {**query, "at": self.clock()}
        self.enqueue({"callback_query": query})
        return query

    def button(self, person: int, label: str, chat: int = 0) -> tuple[Raw, str]:
        """Return the newest message with this button, and the button's data."""
        for message in reversed(self.seen(person, chat)):
            for row in message.get("reply_markup", {}).get("inline_keyboard", ()):
                for button in row:
                    if button["text"] == label:
                        return message, button.get("callback_data", "")
        raise AssertionError(f"{person} sees no button {label!r}")

    def seen(self, person: int, chat: int = 0) -> list[Raw]:
        """Return the messages that a person sees in a chat, in their order."""
        chat = chat or person
        assert chat == person or person in self.groups[chat].members
        shown = [message for (where, _), message in self.messages.items() if where == chat]
        alone = [
            message
            for (where, _), message in self.alone.items()
            if where == chat and message["receiver"] == person
        ]
        return sorted((*shown, *alone), key=lambda message: message["order"])

    def read(self, person: int, chat: int = 0) -> list[str]:
        """Return what the bot says to a person, or in a group as this person sees it."""
        return [
            message.get("text", message.get("caption", ""))
            for message in self.seen(person, chat)
            if message["from"]["id"] == self.id
        ]

    # Updates

    def enqueue(self, update: Raw) -> None:
        """Add an update for the bot."""
        number = 500_000 + self.next("update")
        self.queue.append(Queued({"update_id": number, **update}, self.clock()))
        self.arrived.set()

    def repeat(self) -> None:
        """Send again what was confirmed, as if the confirmation was lost."""
        self.queue[:0] = self.confirmed
        self.confirmed.clear()
        self.arrived.set()

    def confirm(self, offset: int) -> None:
        """Forget the updates below the offset, and those that are older than a day."""
        end = self.clock() - KEPT_SECONDS
        self.confirmed += [one for one in self.queue if one.raw["update_id"] < offset]
        self.queue = [one for one in self.queue if one.raw["update_id"] >= offset and one.at >= end]

    def pending(self, allowed: Sequence[str]) -> list[Raw]:
        """Return what is not confirmed."""
        raws = [one.raw for one in self.queue if not allowed or set(one.raw) & set(allowed)]
        return (raws[::-1] if self.is_reordered else raws)[:100]

    # The bot

    def me(self) -> Raw:
        return {
            "id": self.id,
            "is_bot": True,
            "first_name": "Lightwell",
            "username": self.username,
            "can_join_groups": True,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }

    def message_of(self, sender: int, chat: int, number: int) -> Raw:
        """Return the fields that each message has; `order` is ours."""
        return {
            "message_id": number,
            "date": BEGAN + int(self.clock()),
            "chat": self.chat(chat),
            "from": self.me() if sender == self.id else self.people[sender],
            "order": self.next("order"),
        }

    def chat(self, number: int) -> Raw:
        if group := self.groups.get(number):
            return {"id": number, "type": "supergroup", "title": group.title}
        return {"id": number, "type": "private", "first_name": self.people[number]["first_name"]}

    def next(self, kind: str) -> int:
        self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return self._numbers[kind]

    def require_chat(self, chat: int) -> None:
        """Refuse a chat where the bot cannot write."""
        if group := self.groups.get(chat):
            if not group.bot_is_member:
                raise RefusedError(403, "Forbidden: bot was kicked from the supergroup chat")
        elif chat not in self.people:
            raise RefusedError(400, "Bad Request: chat not found")
        elif chat in self.blocked:
            raise RefusedError(403, "Forbidden: bot was blocked by the user")
        elif chat not in self.began:
            raise RefusedError(403, "Forbidden: bot can't initiate conversation with a user")

    def require_pace(self, chat: int) -> None:
        """Refuse what comes too fast, and count what does not."""
        now, own = self.clock(), self._sent.setdefault(chat, deque(maxlen=20))
        waits = [0.0]
        if own:
            waits.append(own[-1] + 1 - now)
        if chat < 0 and len(own) == 20:
            waits.append(own[0] + 60 - now)
        if len(self._sent_at_all) == 30:
            waits.append(self._sent_at_all[0] + 1 - now)
        if (seconds := max(waits)) > 1e-6:
            self.refused += 1
            after = math.ceil(seconds)
            words = f"Too Many Requests: retry after {after}"
            raise RefusedError(429, words, retry_after=after)
        own.append(now)
        self._sent_at_all.append(now)

    def require_alone(self, chat: int, receiver: int, answered: Raw | None) -> None:
        """Refuse an ephemeral message that the bot may not send: it is an administrator, or answers within 15 seconds."""
        group = self.groups.get(chat)
        if group is None or receiver not in group.members:
            raise RefusedError(400, "Bad Request: ephemeral messages are for members of groups")
        if group.bot_is_administrator:
            return
        if answered is None or self.clock() - answered["at"] > ANSWER_SECONDS:
            raise RefusedError(400, "Bad Request: the bot can't send ephemeral messages here now")

    def _bot_sees(self, message: Raw) -> bool:
        """Return whether the bot is sent a message: all of private chats, in groups what names it or replies to it."""
        group = self.groups.get(message["chat"]["id"])
        if group is None:
            return True
        text = message.get("text", message.get("caption", ""))
        replied = message.get("reply_to_message", {}).get("from", {})
        names = f"@{self.username}".casefold() in text.casefold() or any(
            entity["type"] == "text_mention" for entity in message.get("entities", ())
        )
        return group.bot_is_member and (
            names or text.startswith("/") or replied.get("id") == self.id
        )


def same(one: Raw, other: Raw) -> bool:
    """Return whether two messages show the same."""
    shown = ("text", "entities", "reply_markup")
    return all(one.get(key) == other.get(key) for key in shown)
