"""The bot as the core sees it: `Channel` over Telegram's calls."""

import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hmac import compare_digest

from aiogram.methods import (
    AnswerCallbackQuery,
    DeleteEphemeralMessage,
    DeleteMessage,
    GetFile,
    GetMe,
    SendChatAction,
)
from aiogram.types import Message as SentMessage

from lightwell.domain.channels import Account, Bot, Chat, File, Platform, Press, Update
from lightwell.domain.errors import ChannelFailed, ChannelGone, TooLarge
from lightwell.entrypoints.channels.messages import Block, Limits, Message, Span
from lightwell.entrypoints.channels.platform import Labelled, Receive
from lightwell.entrypoints.telegram.calls import Calls, RequestRefused
from lightwell.entrypoints.telegram.message_ids import MessageId, alone_id, press_id
from lightwell.entrypoints.telegram.reading import Identity, read_update
from lightwell.entrypoints.telegram.receiving import Webhook, receive_updates
from lightwell.entrypoints.telegram.writing import LIMITS, Place, Written

FILE_BYTES = 20_000_000
"""What Telegram gives a bot of one file; a Bot API server of one's own gives more."""

_NOTICE_CHARACTERS = 200
_AWAY = (
    "message to edit not found",
    "message can't be edited",
    "no text in the message",
    "message_id_invalid",
    "message not found",
)
_FIRST_ALONE = Labelled(message=Message(blocks=(Block((Span("…"),)),)))


@dataclass(slots=True)
class TelegramChannel:
    """A bot of Telegram. `webhook` is where Telegram sends updates, None for long polling."""

    calls: Calls
    webhook: Webhook | None = None
    platform: Platform = field(default=Platform.TELEGRAM, init=False)
    limits: Limits = field(default=LIMITS, init=False)
    edits_alone: bool = field(default=True, init=False)
    _identity: Identity | None = field(default=None, init=False)
    _shows_alone: bool | None = field(default=None, init=False)

    async def run(self, receive: Receive) -> None:
        """Receive updates until it is cancelled; say once what fails, and try again with longer and longer pauses."""
        await receive_updates(self.calls, self.identity, receive, self.webhook)

    async def identify(self) -> Bot:
        """Return what the bot is called, without the @."""
        return Bot(platform=Platform.TELEGRAM, name=(await self.identity()).name)

    async def identity(self) -> Identity:
        """Return who the bot is; Telegram is asked once."""
        if self._identity is None:
            me = await self.calls.ask(GetMe())
            self._identity = Identity(id=me.id, name=me.username or "")
        return self._identity

    def sends_webhooks(self, secret: str) -> bool:
        """Return whether it is Telegram that sends something with this secret."""
        expected = self.webhook.secret if self.webhook else ""
        return compare_digest(secret.encode(), expected.encode()) and expected != ""

    async def read_webhook(self, body: bytes) -> Update | None:
        """Return what Telegram sent, None for nothing that is for the bot; raise `ChannelFailed` where it has to be sent again."""
        bot = await self.identity()
        try:
            raw: object = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return read_update(raw, bot, datetime.now(UTC))

    async def send(self, chat: Chat, message: Labelled, *, reply_to: str = "") -> str:
        """Send a message, and a picture first whose text is too long to stand below it; return the id of the text."""
        sent = await self._send(chat, Written.of(message), Place.below(reply_to))
        return str(sent.message_id)

    async def edit(self, chat: Chat, sent: str, message: Labelled) -> str:
        """Replace a text that was sent; send a new message where it is not there any more, or has to have a picture."""
        target, written = MessageId.parse(sent), Written.of(message)
        if target is None or written.picture:
            return await self._send_again(chat, target, message)
        try:
            if target.receiver is None:
                await self.calls.say(chat.id, written.edit_method(chat, target))
            else:
                method = written.edit_alone_method(chat, target.receiver, target)
                await self.calls.say(chat.id, method)
        except RequestRefused as refusal:
            if "not modified" in refusal.reason:
                return sent
            if not any(words in refusal.reason for words in _AWAY):
                raise
        else:
            return sent
        return await self._send_again(chat, target, message)

    async def send_alone(
        self, chat: Chat, account: Account, message: Labelled, *, reply_to: str = ""
    ) -> str:
        """Show a message to one account alone, by Telegram's ephemeral messages; return "" where Telegram does not let the bot.

        A Bot API server older than these shows them to all. So the first message says nothing, and is edited when it has proved to be one.
        """
        if self._shows_alone is False:
            return ""
        first = message if self._shows_alone else _FIRST_ALONE
        sent = await self._try_alone(chat, Written.of(first), account, reply_to)
        if sent is None:
            return ""
        if sent.ephemeral_message_id is None:
            self._shows_alone = False
            await self.calls.ask(DeleteMessage(chat_id=int(chat.id), message_id=sent.message_id))
            return ""
        shown = alone_id(account.id, sent.ephemeral_message_id)
        if first is message:
            return shown
        self._shows_alone = True
        if not message.message.picture:
            return await self.edit(chat, shown, message)
        await self._delete_alone(chat, account, sent.ephemeral_message_id)
        return await self.send_alone(chat, account, message, reply_to=reply_to)

    async def private_chat(self, account: Account) -> Chat | None:
        """Return the account's chat with the bot, None where the account has not begun it or has blocked the bot."""
        try:
            await self.calls.ask(SendChatAction(chat_id=int(account.id), action="typing"))
        except (ChannelGone, RequestRefused):
            return None
        return Chat(platform=Platform.TELEGRAM, id=account.id, is_private=True)

    async def verified_email(self, account: Account) -> str:
        return ""  # Telegram knows telephone numbers, and tells none

    async def acknowledge(self, press: Press, notice: str = "") -> None:
        """End the waiting that Telegram shows at the button; a press that is too old for that needs none."""
        query, text = press_id(press.handle), notice[:_NOTICE_CHARACTERS] or None
        try:
            await self.calls.ask(AnswerCallbackQuery(callback_query_id=query, text=text))
        except RequestRefused:
            return

    async def download(self, file: File) -> AsyncGenerator[bytes]:
        """Yield the bytes of a file; raise `TooLarge` for one that Telegram gives no bot."""
        try:
            there = await self.calls.ask(GetFile(file_id=file.handle))
        except RequestRefused as refusal:
            if "too big" not in refusal.reason:
                raise
            raise TooLarge(
                "Telegram gives a bot no file of more than 20 MB: add it on the web page"
            ) from None
        if not there.file_path:
            raise ChannelFailed("Telegram has the file no more: send it again")
        left = max(file.size, FILE_BYTES)
        async for part in self.calls.download(there.file_path):
            left -= len(part)
            if left < 0:
                raise TooLarge("The file is longer than Telegram said: send it again")
            yield part

    async def _delete_alone(self, chat: Chat, account: Account, number: int) -> None:
        method = DeleteEphemeralMessage(
            chat_id=int(chat.id), receiver_user_id=int(account.id), ephemeral_message_id=number
        )
        with suppress(ChannelFailed):
            await self.calls.ask(method)

    async def _send(self, chat: Chat, written: Written, place: Place) -> SentMessage:
        if written.picture:
            sent = await self.calls.say(chat.id, written.photo_method(chat, place))
            if written.is_captioned:
                return sent
        return await self.calls.say(chat.id, written.text_method(chat, place))

    async def _send_again(self, chat: Chat, target: MessageId | None, message: Labelled) -> str:
        """Send what cannot be an edit, to whoever saw the message that it was to replace."""
        if target is None or target.receiver is None:
            return await self.send(chat, message)
        account = Account(platform=Platform.TELEGRAM, id=str(target.receiver))
        shown = await self.send_alone(chat, account, message)
        if not shown:
            raise ChannelFailed("Telegram does not show this to one account alone any more")
        return shown

    async def _try_alone(
        self, chat: Chat, written: Written, account: Account, reply_to: str
    ) -> SentMessage | None:
        """Show it in answer to a message or a press, which every bot may for 15 seconds; else without, which administrators may."""
        for answered in (reply_to, "") if reply_to else ("",):
            try:
                return await self._send(chat, written, Place.only_for(account, answered))
            except (RequestRefused, ChannelGone):
                continue
        return None
