"""Chats of other platforms, Telegram and Slack: accounts of people there, what they send, and what a press of a button does."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from lightwell.domain.access import Tags
from lightwell.domain.api_keys import KeyId
from lightwell.domain.directory import PersonName
from lightwell.domain.web_sessions import Secret, WebSessionId
from lightwell.text.regex import regex

LINK_CODE_LIFE = timedelta(minutes=10)
"""How long a code is valid that links an account to a person."""

BUTTON_LIFE = timedelta(days=2)
"""How long a button can be pressed."""

BOT_PAUSE = timedelta(minutes=3)
"""A bot that has not said for so long that it runs does not run."""

_CODE = regex(r"[0-9a-f]{32}")
_CODE_BYTES = 16


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
    def workspace(self) -> str:
        """The workspace of Slack that gives out the account, "" on Telegram."""
        workspace, _, user = self.id.partition("/")
        return workspace if user and self.platform is Platform.SLACK else ""

    @property
    def person_name(self) -> PersonName:
        """By what the directory knows the person whose account this is: the external id `telegram:123`."""
        return PersonName(None, self.platform, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """The bot of a platform, as people find it there. `workspace` is the name of Slack's workspace, "" on Telegram."""

    platform: Platform
    name: str
    workspace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChannel:
    """A platform as one person has it: the bot that runs there, and the account that is linked; None for what is not there."""

    platform: Platform
    bot: Bot | None
    account: Account | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeMaker:
    """What made a code, which ends with it: the session of a browser, or a key; neither for whoever holds the database."""

    session: WebSessionId | None = None
    key: KeyId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCode:
    """A code that links the account that sends it to `bot`, once, to the person for whom it was made."""

    bot: Bot
    secret: Secret
    expires_at: datetime

    @property
    def platform(self) -> Platform:
        """Where the account is."""
        return self.bot.platform

    @property
    def url(self) -> str:
        """What to open on a device with the account; "" where the platform has no such address."""
        if self.platform is Platform.TELEGRAM:
            return f"https://t.me/{self.bot.name}?start={self.secret.text}"
        return ""

    @property
    def line(self) -> str:
        """What to send to the bot instead."""
        word = "/start" if self.platform is Platform.TELEGRAM else "link"
        return f"{word} {self.secret.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundGroup:
    """A group of a platform, and the access tags of which everybody in it may see what is shared there."""

    platform: Platform
    chat: str
    acl_tags: Tags
    bound_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Where something is said: one account's chat with the bot (`is_private`), or a group. `thread` is a thread of the platform, "" for none."""

    platform: Platform
    id: str
    is_private: bool
    thread: str = ""

    def typed(self, command: str) -> str:
        """Return a command as it is typed there: Slack keeps messages that begin with a slash for its own."""
        return command.removeprefix("/") if self.platform is Platform.SLACK else command


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
    """A press of a button with `data`, under the message with the id `message`, "" where what is shown must not be written into that one; `handle` is by what the platform takes an answer to it."""

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


def new_code() -> Secret:
    """Return a new code: 128 random bits as letters and digits, which no platform takes for formatting, short enough for a deep link of Telegram."""
    return Secret(secrets.token_hex(_CODE_BYTES))


def parse_code(text: str) -> Secret | None:
    """Return the code that somebody sent, None where it is none of ours."""
    word = text.strip().lower()
    return Secret(word) if _CODE.fullmatch(word) else None
