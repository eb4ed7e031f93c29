"""What a workspace holds, and what its people have seen."""

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

from tests.slack_server import limits

BOT_USER, BOT, APP = "U0LIGHTWELL", "B0LIGHTWELL", "A0LIGHTWELL"
TEAM = "T0HALDEN"


@dataclass(kw_only=True)
class User:
    """A user; `team` is another one for people of Slack Connect."""

    id: str
    name: str
    email: str = ""
    team: str = TEAM
    marks: dict[str, Any] = field(default_factory=dict[str, Any])

    def described(self) -> dict[str, Any]:
        """Return it as `users.info` does."""
        return {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "deleted": False,
            "is_bot": False,
            "is_app_user": False,
            "is_restricted": False,
            "is_ultra_restricted": False,
            "is_email_confirmed": True,
            "profile": {"real_name": self.name, "email": self.email},
            **self.marks,
        }


@dataclass(kw_only=True)
class Posted:
    """A message, whoever wrote it; `alone` is the user who sees it where only one does."""

    ts: str
    user: str
    text: str
    blocks: list[dict[str, Any]]
    thread: str = ""
    alone: str = ""
    edits: int = 0
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def words(self) -> str:
        """What is read: the blocks where there are some."""
        return limits.words(self.blocks) if self.blocks else self.text

    @property
    def buttons(self) -> list[dict[str, Any]]:
        return limits.buttons(self.blocks)


@dataclass(kw_only=True)
class Channel:
    """A channel, or a chat of two people (its id begins with D)."""

    id: str
    members: set[str]
    name: str = ""
    shared: bool = False
    messages: list[Posted] = field(default_factory=list[Posted])

    def message(self, ts: str) -> Posted | None:
        return next((posted for posted in self.messages if posted.ts == ts), None)


@dataclass(kw_only=True)
class StoredFile:
    id: str
    name: str
    content: bytes
    mimetype: str
    address: str = ""
    channel: str = ""
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(kw_only=True)
class Workspace:
    """One workspace with an app installed in it."""

    users: dict[str, User] = field(default_factory=dict[str, User])
    channels: dict[str, Channel] = field(default_factory=dict[str, Channel])
    files: dict[str, StoredFile] = field(default_factory=dict[str, StoredFile])
    notices: list[tuple[str, dict[str, Any]]] = field(
        default_factory=list[tuple[str, dict[str, Any]]]
    )
    """What was sent to a `response_url`, with the user whose it is."""
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def add_user(self, name: str, **more: Any) -> User:
        """Add somebody, whose id is made of the name."""
        user = User(id=f"U0{name.upper()}", name=name, **more)
        self.users[user.id] = user
        return user

    def add_channel(
        self, name: str, *members: User, bot: bool = True, shared: bool = False
    ) -> Channel:
        """Add a channel; the bot is in it unless told otherwise."""
        users = {member.id for member in members}
        if bot:
            users.add(BOT_USER)
        channel = Channel(id=f"C0{name.upper()}", name=name, members=users, shared=shared)
        self.channels[channel.id] = channel
        return channel

    def own_chat(self, user: str, other: str = BOT_USER) -> Channel:
        """Return the chat of two users."""
        members = {user, other}
        for channel in self.channels.values():
            if channel.id.startswith("D") and channel.members == members:
                return channel
        channel = Channel(id=f"D{self.number():08}", members=members)
        self.channels[channel.id] = channel
        return channel

    def number(self) -> int:
        return next(self._numbers)

    def ts(self) -> str:
        """Return a new id of a message: seconds, and a number of its own."""
        return f"{int(time.time())}.{self.number():06}"

    def seen_by(self, user: User) -> list[Posted]:
        """Return what the bot wrote that this user can read."""
        return [
            posted
            for channel in self.channels.values()
            for posted in channel.messages
            if posted.user == BOT_USER
            and user.id in channel.members
            and posted.alone in ("", user.id)
        ]
