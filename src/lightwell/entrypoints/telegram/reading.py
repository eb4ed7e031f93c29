"""What Telegram sends, as an `Update`; None for what nobody says to the bot.

A person speaks to the bot in a private chat; in a group by a command with the bot's name, by a mention, by a reply to the bot, or where the
bot alone sees it. Channels, bots, edits, and whoever writes as a group or a channel (`sender_chat`) are not people.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aiogram import types
from aiogram.enums import ChatType, ContentType, MessageEntityType
from pydantic import ValidationError

from lightwell.domain.channels import (
    Account,
    Chat,
    Content,
    File,
    Platform,
    Press,
    Text,
    Unreadable,
    Update,
)
from lightwell.entrypoints.telegram.message_ids import alone_id, press_handle
from lightwell.text.printable import clean
from lightwell.text.regex import regex

ALLOWED_UPDATES = ["message", "callback_query"]
"""What the bot asks Telegram for."""

_MOST_CHARACTERS = 16_384
"""More than Telegram lets anybody type; whatever is longer is not read."""

NUMBERS_END = 2**53
"""Telegram's numbers are below this."""

_NAME_CHARACTERS, _HANDLE_CHARACTERS = 200, 512
_ASK = regex(r"\A/ask(?!\S)\s*", re.IGNORECASE)
"""How one speaks to the bot in a group, as Telegram offers it; what stands after it is the question."""

_NOT_STORED = regex("[\x00\ud800-\udfff]")
_KINDS: Mapping[str, str] = {
    ContentType.ANIMATION: "animation",
    ContentType.AUDIO: "audio file",
    ContentType.CHECKLIST: "checklist",
    ContentType.CONTACT: "contact",
    ContentType.DICE: "die",
    ContentType.GAME: "game",
    ContentType.LIVE_PHOTO: "photo",
    ContentType.LOCATION: "location",
    ContentType.PAID_MEDIA: "paid photo or video",
    ContentType.PHOTO: "photo",
    ContentType.POLL: "poll",
    ContentType.RICH_MESSAGE: "message with pictures or tables",
    ContentType.STICKER: "sticker",
    ContentType.STORY: "story",
    ContentType.VENUE: "place",
    ContentType.VIDEO: "video",
    ContentType.VIDEO_NOTE: "video message",
    ContentType.VOICE: "voice message",
}
"""What people send that is not read. Everything else that a message can be is a notice of Telegram's, not something that somebody says."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The bot itself: its number, and its name without the @."""

    id: int
    name: str


def read_update(raw: object, bot: Identity, now: datetime) -> Update | None:
    """Return what an account says to the bot or presses; None for all else, and for what has not Telegram's form."""
    try:
        update = types.Update.model_validate(raw)
    except (ValidationError, RecursionError, OverflowError):
        return None
    key = f"{bot.id}:{update.update_id}"
    if update.callback_query is not None:
        return _pressed(update.callback_query, key, now)
    if update.message is not None:
        return _said(update.message, key, bot)
    return None


def _said(message: types.Message, key: str, bot: Identity) -> Update | None:
    account, chat = _account(message.from_user), _chat(message)
    if account is None or chat is None or message.sender_chat or message.business_connection_id:
        return None
    if chat.is_private and chat.id != account.id:
        return None
    typed = _Typed.of(message)
    is_said_to_bot = chat.is_private or _is_addressed(message, typed, bot)
    if typed.is_to_another_bot(bot) or not is_said_to_bot:
        return None
    content = _content(message, typed.without_name(bot))
    if content is None:
        return None
    return Update(
        key=key,
        account=account,
        chat=chat,
        at=message.date.astimezone(UTC),
        content=content,
        message=_message_id(message, account),
    )


def _pressed(query: types.CallbackQuery, key: str, now: datetime) -> Update | None:
    account = _account(query.from_user)
    if account is None or query.message is None or query.inline_message_id or not query.data:
        return None
    chat = _chat(query.message)
    if chat is None or (chat.is_private and chat.id != account.id):
        return None
    handle = press_handle(_stored(query.id, _HANDLE_CHARACTERS))
    content = Press(
        data=_stored(query.data, _HANDLE_CHARACTERS),
        message=_own_message(query.message, chat, account),
        handle=handle,
    )
    # What is shown to one account alone answers the press, and not the message with the button.
    return Update(key=key, account=account, chat=chat, at=now, content=content, message=handle)


def _account(user: types.User | None) -> Account | None:
    if user is None or user.is_bot or not 0 < user.id < NUMBERS_END:
        return None
    name = " ".join(clean(user.full_name).split())[:_NAME_CHARACTERS]
    return Account(platform=Platform.TELEGRAM, id=str(user.id), name=name)


def _chat(message: types.MaybeInaccessibleMessageUnion) -> Chat | None:
    """Return where a message is; None for a channel."""
    kind = message.chat.type if abs(message.chat.id) < NUMBERS_END else None
    match kind:
        case ChatType.PRIVATE | ChatType.GROUP | ChatType.SUPERGROUP:
            return Chat(
                platform=Platform.TELEGRAM,
                id=str(message.chat.id),
                is_private=kind == ChatType.PRIVATE,
                thread=_thread(message),
            )
        case _:
            return None


def _thread(message: types.MaybeInaccessibleMessageUnion) -> str:
    if isinstance(message, types.Message) and message.is_topic_message:
        return str(message.message_thread_id or "")
    return ""


def _own_message(message: types.MaybeInaccessibleMessageUnion, chat: Chat, account: Account) -> str:
    """Return the id of the message with the pressed button, where this account alone sees it: what a press shows is never written where a group reads it."""
    is_alone = isinstance(message, types.Message) and message.ephemeral_message_id is not None
    return _message_id(message, account) if chat.is_private or is_alone else ""


def _message_id(message: types.MaybeInaccessibleMessageUnion, account: Account) -> str:
    if isinstance(message, types.Message) and message.ephemeral_message_id is not None:
        return alone_id(account.id, message.ephemeral_message_id)
    return str(message.message_id)


def _is_addressed(message: types.Message, typed: "_Typed", bot: Identity) -> bool:
    """Return whether somebody in a group speaks to the bot. A topic's first message is what every message in it replies to."""
    replied = message.reply_to_message
    to_bot = replied is not None and not replied.forum_topic_created and replied.from_user
    return (
        message.ephemeral_message_id is not None
        or bool(to_bot and to_bot.id == bot.id)
        or bool(typed.places_of(bot))
    )


def _content(message: types.Message, text: str) -> Content | None:
    kind = message.content_type
    if len(text) > _MOST_CHARACTERS:
        return Unreadable(kind="message of this length")
    if kind == ContentType.TEXT:
        return Text(text=_ASK.sub("", text, count=1) or "/help")
    if kind == ContentType.DOCUMENT and (document := message.document) is not None:
        return File(
            name=_stored(document.file_name or "", _NAME_CHARACTERS),
            size=max(document.file_size or 0, 0),
            handle=_stored(document.file_id, _HANDLE_CHARACTERS),
            caption=text,
        )
    return Unreadable(kind=_KINDS[kind]) if kind in _KINDS else None


def _stored(text: str, most: int) -> str:
    return _NOT_STORED.sub("", text)[:most]


def _joined(before: str, after: str) -> str:
    """Return what stood before and after a name, as one writes it without the name."""
    if not before.strip():
        return after.lstrip(" ,:;\n")
    return before + (after.lstrip(" ") if before.endswith(" ") else after)


@dataclass(frozen=True, slots=True)
class _Typed:
    """What somebody typed, and its entities, whose places count UTF-16 units."""

    text: str
    entities: Sequence[types.MessageEntity]

    @classmethod
    def of(cls, message: types.Message) -> "_Typed":
        if message.text is not None:
            return cls(message.text, message.entities or ())
        return cls(message.caption or "", message.caption_entities or ())

    def is_to_another_bot(self, bot: Identity) -> bool:
        """Return whether it begins with a command for a bot of another name."""
        _, _, name = self._command().partition("@")
        return name != "" and name.casefold() != bot.name.casefold()

    def places_of(self, bot: Identity) -> list[tuple[int, int]]:
        """Return where the bot is named, in UTF-16 units: its mentions, and its name after a command."""
        name = f"@{bot.name}".casefold()
        places = list[tuple[int, int]]()
        for entity in self.entities:
            start, end = entity.offset, entity.offset + entity.length
            match entity.type:
                case MessageEntityType.MENTION if self._cut(start, end).casefold() == name:
                    places.append((start, end))
                case MessageEntityType.TEXT_MENTION if entity.user and entity.user.id == bot.id:
                    places.append((start, end))
                case MessageEntityType.BOT_COMMAND if (
                    self._cut(start, end).casefold().endswith(name)
                ):
                    places.append((end - len(name), end))
                case _:
                    pass
        return sorted(places)

    def without_name(self, bot: Identity) -> str:
        """Return the text without the places where it names the bot."""
        places = self.places_of(bot)
        ends = [start for start, _ in places] + [2 * len(self.text)]
        text = self._cut(0, ends[0])
        for (_, start), end in zip(places, ends[1:], strict=True):
            text = _joined(text, self._cut(start, end))
        return _stored(text, _MOST_CHARACTERS + 1).strip()

    def _command(self) -> str:
        """Return the command with which it begins, "" for none."""
        commands = (
            self._cut(0, entity.length)
            for entity in self.entities
            if entity.type == MessageEntityType.BOT_COMMAND and entity.offset == 0
        )
        return next(commands, "")

    def _cut(self, start: int, end: int) -> str:
        """Return the characters between two places in UTF-16 units."""
        units = self.text.encode("utf-16-le", "surrogatepass")
        if not 0 <= start <= end:
            return ""
        return units[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")
