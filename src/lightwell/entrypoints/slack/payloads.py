"""What Slack sends, as updates. What is malformed, of a bot, or about a message that was there before is none."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import BaseModel, Field

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
from lightwell.entrypoints.slack.wording import as_typed, plain

_SPOKEN = {None, "file_share", "me_message", "thread_broadcast"}
"""Kinds of messages that somebody writes; the others tell of edits, joins, topics and bots."""

_UNREADABLE = {"audio": "voice message", "video": "video"}


class SharedFile(BaseModel):
    """A file of a message."""

    id: str
    name: str | None = None
    size: int = Field(default=0, ge=0)
    mimetype: str | None = None
    subtype: str | None = None
    mode: str | None = None

    def content(self, caption: str) -> Content:
        """Return the file, or of which kind it is where it cannot be read."""
        kind = (self.subtype or "").removeprefix("slack_") or (self.mimetype or "").split("/")[0]
        if unreadable := _UNREADABLE.get(kind):
            return Unreadable(kind=unreadable)
        if self.mode in ("external", "tombstone", "hidden_by_limit"):
            return Unreadable(kind="file that Slack does not hold")
        return File(name=self.name or self.id, size=self.size, handle=self.id, caption=caption)


class Event(BaseModel):
    """A message, or a mention of the bot."""

    type: str
    channel: str
    ts: str
    user: str | None = None
    subtype: str | None = None
    bot_id: str | None = None
    channel_type: str | None = None
    text: str | None = None
    thread_ts: str | None = None
    team: str | None = None
    user_team: str | None = None
    edited: object = None
    files: Sequence[SharedFile] = ()


class EventBody(BaseModel):
    """An event as it comes. In a channel that is shared with another company, the workspace of who writes is told beside the event."""

    event_id: str
    event: Event
    team_id: str | None = None
    is_ext_shared_channel: bool | None = None

    def updates(self, bot: str, actor_team: str | None) -> tuple[Update, ...]:
        """Return an update for each file, or one for the text. `bot` is the user that this bot is, `actor_team` who slack-bolt holds the writer's workspace to be."""
        event = self.event
        is_private = event.type == "message" and event.channel_type == "im"
        is_spoken = event.subtype in _SPOKEN and event.bot_id is None and event.edited is None
        if not event.user or event.user == bot or not is_spoken:
            return ()
        if not is_private and event.type != "app_mention":
            return ()
        account = Account(platform=Platform.SLACK, id=f"{self._team(actor_team)}/{event.user}")
        chat = Chat(
            platform=Platform.SLACK,
            id=event.channel,
            is_private=is_private,
            thread=event.thread_ts or "",
        )
        return tuple(
            Update(
                key=f"{self.event_id}.{place}" if place else self.event_id,
                account=account,
                chat=chat,
                at=moment(event.ts),
                content=content,
                message=event.ts,
            )
            for place, content in enumerate(self._contents(bot))
        )

    def _contents(self, bot: str) -> list[Content]:
        words = plain(self.event.text or "", bot)
        if not self.event.files:
            return [Text(text=as_typed(words))]
        return [file.content("" if place else words) for place, file in enumerate(self.event.files)]

    def _team(self, actor_team: str | None) -> str:
        """Return the workspace of who writes, never that of the channel where they may differ."""
        event = self.event
        if self.is_ext_shared_channel:
            return actor_team or event.user_team or "unknown"
        teams = (event.user_team, event.team, self.team_id)
        return next((team for team in teams if team and team.startswith("T")), "unknown")


class Command(BaseModel):
    """The command `/lightwell` with its words."""

    team_id: str
    user_id: str
    channel_id: str
    trigger_id: str
    user_name: str = ""
    text: str = ""

    @property
    def account(self) -> Account:
        return Account(
            platform=Platform.SLACK, id=f"{self.team_id}/{self.user_id}", name=self.user_name
        )

    @property
    def is_direct(self) -> bool:
        """Whether it was typed between two people, who may be others than the bot."""
        return self.channel_id.startswith("D")

    def update(self, chat: Chat) -> Update:
        """Return the update, which is answered in this chat."""
        return Update(
            key=f"command.{self.trigger_id}",
            account=self.account,
            chat=chat,
            at=datetime.now(UTC),
            content=Text(text=as_typed(plain(self.text))),
        )

    def channel(self) -> Chat:
        """Return the channel where it was typed."""
        return Chat(platform=Platform.SLACK, id=self.channel_id, is_private=False)


class _Team(BaseModel):
    id: str


class _User(BaseModel):
    id: str
    team_id: str | None = None
    username: str | None = None
    name: str | None = None


class _Container(BaseModel):
    channel_id: str
    message_ts: str
    thread_ts: str | None = None
    is_ephemeral: bool = False


class _Message(BaseModel):
    thread_ts: str | None = None


class _Pressed(BaseModel):
    value: str | None = None


class Actions(BaseModel):
    """A press of a button of the bot's."""

    user: _User
    container: _Container
    trigger_id: str
    actions: Sequence[_Pressed]
    team: _Team | None = None
    message: _Message | None = None
    response_url: str = ""

    def updates(self) -> tuple[Update, ...]:
        """Return the press; none for a button that opens an address. A message that only one account sees cannot be edited, so it has no id."""
        team = self.user.team_id or (self.team.id if self.team else "unknown")
        place, pressed = self.container, self.actions[0].value if self.actions else None
        if not pressed:
            return ()
        thread = place.thread_ts or (self.message.thread_ts if self.message else "") or ""
        if thread == place.message_ts:  # others answered to it: it is no answer itself
            thread = ""
        account = Account(
            platform=Platform.SLACK,
            id=f"{team}/{self.user.id}",
            name=self.user.username or self.user.name or "",
        )
        chat = Chat(
            platform=Platform.SLACK,
            id=place.channel_id,
            is_private=place.channel_id.startswith("D"),
            thread=thread,
        )
        message = "" if place.is_ephemeral else place.message_ts
        press = Press(data=pressed, message=message, handle=self.response_url)
        return (
            Update(
                key=f"press.{self.trigger_id}",
                account=account,
                chat=chat,
                at=datetime.now(UTC),
                content=press,
                message=message,
            ),
        )


def moment(ts: str) -> datetime:
    """Return when a message was written, by its id: seconds with six decimals."""
    try:
        return datetime.fromtimestamp(float(ts), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.now(UTC)
