"""Chats of other platforms, Telegram and Slack: accounts of people there, what they send, and what a press of a button does."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from lightwell.domain.directory import PersonName

LINK_CODE_LIFE = timedelta(minutes=10)
"""How long a code is valid that links an account to a person."""

BUTTON_LIFE = timedelta(days=2)
"""How long a button can be pressed."""


class Platform(StrEnum):
    """Where people chat."""

    TELEGRAM = "telegram"
    SLACK = "slack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Somebody's account of a platform. `id` is a user's number of Telegram, or workspace and user of Slack: `T012AB/U034CD`.

    `name` is what the account calls itself: shown to people, and believed nowhere.
    """

    platform: Platform
    id: str
    name: str = ""

    @property
    def person_name(self) -> PersonName:
        """By what the directory knows the person whose account this is: the external id `telegram:123`."""
        return PersonName(None, self.platform, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Where something is said: one account's chat with the bot (`is_private`), or a group. `thread` is a thread of the platform, "" for none."""

    platform: Platform
    id: str
    is_private: bool
    thread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A message or a command, as it was typed, without the mention of the bot."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that somebody sends. `handle` is by what the platform gives its bytes, of which there are `size`."""

    name: str
    size: int
    handle: str
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """A press of a button with `data`, under the message with the id `message`; `handle` is by what the platform takes an answer to it."""

    data: str
    message: str
    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A message of a kind that is not read: "voice message", "sticker"."""

    kind: str


Content = Text | File | Press | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Something that an account did in a chat. `key` is the platform's id of it, the same where the platform repeats it; `message` the id of the message, to which one may reply."""

    key: str
    account: Account
    chat: Chat
    at: datetime
    content: Content
    message: str = ""
