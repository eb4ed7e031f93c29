"""What tests of Slack share: a running adapter on a stand-in for Slack, and what it received."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from lightwell.domain.channels import Account, Chat, Platform, Update
from lightwell.entrypoints.channels.actions import ShowAnswer
from lightwell.entrypoints.channels.messages import Block, Button, Message, Span
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.entrypoints.slack.channel import SlackChannel, SlackSecrets, open_slack
from tests.patience import until
from tests.slack_server.server import SIGNING_SECRET, SlackServer
from tests.slack_server.web_api import APP_TOKEN, BOT_TOKEN
from tests.slack_server.workspace import User

SOCKET = SlackSecrets(bot_token=BOT_TOKEN, app_token=APP_TOKEN)
HTTP = SlackSecrets(bot_token=BOT_TOKEN, signing_secret=SIGNING_SECRET)


@dataclass(kw_only=True)
class Inbox:
    """Stands for the table of updates: keeps each key once, and fails where it is told to."""

    updates: list[Update] = field(default_factory=list[Update])
    offered: int = 0
    failures: int = 0
    slow: asyncio.Event | None = None

    async def receive(self, update: Update) -> None:
        self.offered += 1
        if self.slow is not None:
            await self.slow.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the database is away")
        if update.key not in {other.key for other in self.updates}:
            self.updates.append(update)


@asynccontextmanager
async def running(
    slack: SlackServer, inbox: Inbox, secrets: SlackSecrets = SOCKET
) -> AsyncGenerator[SlackChannel]:
    """Run the adapter until the block ends."""
    async with open_slack(secrets, slack.api_url) as channel:
        task = asyncio.create_task(channel.run(inbox.receive))
        try:
            if secrets.app_token and slack.api.socket_mode:
                await until(lambda: slack.sockets > 0 or task.done())
            yield channel
        finally:
            assert not task.done(), "the adapter stopped receiving"
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def message(text: str, *labels: str) -> Labelled:
    """Return a message with a row of buttons, whose data are `data of LABEL`."""
    action = ShowAnswer(conversation=UUID(int=1), place=0)
    row = tuple(Button(label=label, action=action) for label in labels)
    return Labelled(
        message=Message(blocks=(Block((Span(text),)),), buttons=(row,) if row else ()),
        data=(tuple(f"data of {label}" for label in labels),) if row else (),
    )


def account_of(user: User) -> Account:
    return Account(platform=Platform.SLACK, id=f"{user.team}/{user.id}")


def own_chat(slack: SlackServer, user: User) -> Chat:
    """Return the user's own chat with the bot."""
    chat = slack.workspace.own_chat(user.id)
    return Chat(platform=Platform.SLACK, id=chat.id, is_private=True)
