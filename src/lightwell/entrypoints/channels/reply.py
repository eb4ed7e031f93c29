"""Where an update is answered, and so that a process which dies in between neither loses the answer nor gives it twice.

An answer is written into a message whose id is stored before anything is asked: who takes the update again writes into the same one.
What no message can be written into, where a platform does not edit what one account alone sees, is noted before it is said.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from lightwell.domain.channels import Chat, Press
from lightwell.domain.errors import ChannelGone
from lightwell.entrypoints.channels.messages import Message, note, plain
from lightwell.entrypoints.channels.platform import Channel, Labelled
from lightwell.records import channel_updates
from lightwell.records.channel_updates import TakenUpdate
from lightwell.records.database import Database

Label = Callable[[Message, Chat], Awaitable[Labelled]]
"""Gives the buttons of a message what they stand for, pressed in a chat."""


WAITING = Message(blocks=(note("…"),))
"""What is said until there is more to say."""

PRIVATELY = plain("I answered you in our private chat.")
"""What a group is told where the answer cannot be shown in it to one account alone."""

BEGIN_PRIVATELY = plain(
    "I answer you alone, and cannot write to you yet: send me a message in a private chat first, then ask again."
)
PERHAPS_ANSWERED = plain(
    "I was interrupted, and may have answered this already. If you see no answer, ask again."
)


class Place(StrEnum):
    """Where the message is: in the chat of the update, there for its account alone, or in the account's private chat."""

    HERE = "here"
    ALONE = "alone"
    OWN = "own"


@dataclass(slots=True, kw_only=True)
class Reply:
    """The answer to one update. `begin` shows that it is worked on, `grow` what there is so far, and `finish` all, once."""

    channel: Channel
    database: Database
    taken: TakenUpdate
    label: Label
    place: Place = Place.HERE
    sent: str = ""
    private: Chat | None = None

    async def begin(self) -> bool:
        """Send the message that the answer is written into, where there can be one, or find the one that was sent.

        Return whether there is anywhere to answer.
        """
        update = self.taken.update
        if self.taken.sent:
            place, _, self.sent = self.taken.sent.partition(" ")
            self.place = Place(place)
        elif isinstance(update.content, Press):
            if update.chat.is_private or self.channel.edits_alone:
                self.sent = update.content.message
        elif update.chat.is_private:
            await self._note(
                Place.HERE, await self.channel.send(update.chat, Labelled(message=WAITING))
            )
        elif self.channel.edits_alone:
            await self._begin_alone()
        return bool(self.sent) or self.place is not Place.OWN

    async def grow(self, message: Message) -> None:
        """Write what there is so far, where there is a message; raise `ChannelFailed`."""
        chat = await self._chat()
        if self.sent and chat is not None:
            await self._edit(chat, Labelled(message=message))

    async def finish(self, message: Message) -> None:
        """Write all, and what its buttons do."""
        chat = await self._chat()
        if chat is None:
            return
        if self.sent:
            await self._edit(chat, await self.label(message, chat))
        else:
            await self.say(message)

    async def say(self, message: Message) -> None:
        """Say something beside the message that is written into, once: after an interruption only that it may have been said."""
        update = self.taken.update
        shown = PERHAPS_ANSWERED if self.taken.is_said else message
        await channel_updates.note_said(self.database, self.taken)
        labelled = await self.label(shown, update.chat)
        if update.chat.is_private:
            await self.channel.send(update.chat, labelled)
        elif not await self.channel.send_alone(
            update.chat, update.account, labelled, reply_to=self._reply_to
        ):
            await self._begin_privately()
            if self.sent:
                await self.finish(shown)

    @property
    def _reply_to(self) -> str:
        """To what something said to one account alone is a reply: to the message, or to the press."""
        update = self.taken.update
        return update.content.handle if isinstance(update.content, Press) else update.message

    async def _begin_alone(self) -> None:
        update = self.taken.update
        sent = await self.channel.send_alone(
            update.chat, update.account, Labelled(message=WAITING), reply_to=self._reply_to
        )
        if sent:
            await self._note(Place.ALONE, sent)
        else:
            await self._begin_privately()

    async def _begin_privately(self) -> None:
        """Have the answer in the account's private chat, and say so in the group."""
        update = self.taken.update
        private = await self.channel.private_chat(update.account)
        sent = ""
        if private is not None:
            with suppress(ChannelGone):
                sent = await self.channel.send(private, Labelled(message=WAITING))
        await self._note(Place.OWN, sent)
        group_words = PRIVATELY if sent else BEGIN_PRIVATELY
        group_message = Labelled(message=group_words)
        with suppress(ChannelGone):  # a command of Slack works in channels where the bot is not
            await self.channel.send(update.chat, group_message, reply_to=update.message)

    async def _edit(self, chat: Chat, labelled: Labelled) -> None:
        sent = await self.channel.edit(chat, self.sent, labelled)
        if sent != self.sent:  # somebody has deleted it
            await self._note(self.place, sent)

    async def _chat(self) -> Chat | None:
        """Return the chat that the message is in, None where there is none and cannot be."""
        update = self.taken.update
        if self.place is not Place.OWN:
            return update.chat
        if self.sent and self.private is None:
            self.private = await self.channel.private_chat(update.account)
        return self.private if self.sent else None

    async def _note(self, place: Place, sent: str) -> None:
        self.place, self.sent = place, sent
        await channel_updates.note_sent(self.database, self.taken, f"{place} {sent}")
