"""What an adapter does for the core."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from lightwell.domain.channels import Account, Bot, Chat, File, Platform, Press, Update
from lightwell.entrypoints.channels.messages import Limits, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A message whose buttons have what the platform gives back at a press: `data` of each button, in the order of the rows."""

    message: Message
    data: tuple[tuple[str, ...], ...] = ()


Receive = Callable[[Update], Awaitable[None]]
"""Stores an update; the platform is told that it came after this returns. The same update twice is stored once."""


class Channel(Protocol):
    """A platform, as the core sees it. Calls wait for the platform's pace, and raise `ChannelFailed` where it does not take them,
    `ChannelGone` where it will not take them later either.

    What is sent is within `limits`: the core pages what is longer. `edits_alone`: what is shown to one account alone can be edited, by its id.
    """

    platform: Platform
    limits: Limits
    edits_alone: bool

    async def identify(self) -> Bot:
        """Return what the bot is called: people link their accounts by that. Told the database when it begins to receive, and every minute."""
        ...

    async def run(self, receive: Receive) -> None:
        """Receive updates until it is cancelled; connect again, with longer and longer pauses, where the platform is away."""
        ...

    async def send(self, chat: Chat, message: Labelled, *, reply_to: str = "") -> str:
        """Send a message; return its id."""
        ...

    async def edit(self, chat: Chat, sent: str, message: Labelled) -> str:
        """Replace a message that was sent, unless it says the same already; return its id, a new one where somebody has deleted it."""
        ...

    async def send_alone(
        self, chat: Chat, account: Account, message: Labelled, *, reply_to: str = ""
    ) -> str:
        """Show a message in a group to one account alone; return its id, "" where the platform cannot."""
        ...

    async def private_chat(self, account: Account) -> Chat | None:
        """Return the account's own chat with the bot, None where the account has to begin it."""
        ...

    async def verified_email(self, account: Account) -> str:
        """Return the account's e-mail address that its workspace has verified, "" for none; by it somebody of a trusted workspace is linked."""
        ...

    async def acknowledge(self, press: Press, notice: str = "") -> None:
        """Tell the platform that a press was understood, with a short notice for whoever pressed."""
        ...

    def download(self, file: File) -> AsyncIterator[bytes]:
        """Yield the bytes of a file."""
        ...
