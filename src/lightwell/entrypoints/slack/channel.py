"""Slack as a channel of the core."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import aiohttp
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from lightwell.domain.channels import Account, Bot, Chat, File, Platform, Press
from lightwell.domain.errors import ChannelFailed, ChannelGone
from lightwell.entrypoints.channels.messages import Limits
from lightwell.entrypoints.channels.platform import Labelled, Receive
from lightwell.entrypoints.slack.api import (
    SlackRefused,
    answer,
    is_of,
    slack_client,
    slack_session,
)
from lightwell.entrypoints.slack.blocks import MAX_LABEL, MAX_TEXT, to_slack
from lightwell.entrypoints.slack.pace import Pace
from lightwell.entrypoints.slack.receiving import Reply, is_signed, make_app, reply_to
from lightwell.entrypoints.slack.socket_mode import receive_by_socket
from lightwell.entrypoints.slack.wording import escaped
from lightwell.logs import logger

_NO_LONGER_EDITABLE = frozenset({"cant_update_message", "edit_window_closed", "message_not_found"})
_NOT_WRITABLE = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
"""Refusals of blocks alone: the message is written as its text then, without buttons, rather than never."""

_NO_MEMBERS = (
    "deleted",
    "is_bot",
    "is_app_user",
    "is_restricted",
    "is_ultra_restricted",
    "is_stranger",
    "is_invited_user",
)
"""Marks of users who are no members, or not yet."""

_DOWNLOAD = aiohttp.ClientTimeout(total=None, connect=20, sock_read=30)
_PIECE = 64 * 1024

_log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSecrets:
    """The tokens of an app of Slack. With `app_token` the bot connects to Slack (Socket Mode); with `signing_secret` Slack calls the server."""

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)


@asynccontextmanager
async def open_slack(secrets: SlackSecrets, api: str) -> AsyncGenerator["SlackChannel"]:
    """Open the channel of an app of Slack, whose Web API is at `api`."""
    async with slack_session() as session:
        client = slack_client(secrets.bot_token, api, session)
        yield SlackChannel(secrets, client, session)


class SlackChannel:
    """Writes to Slack as a bot, and receives what is addressed to it."""

    platform = Platform.SLACK
    limits = Limits(
        characters=MAX_TEXT, caption=MAX_TEXT, counts_utf16=False, buttons=20, label=MAX_LABEL
    )
    edits_alone = False

    def __init__(
        self, secrets: SlackSecrets, client: AsyncWebClient, session: aiohttp.ClientSession
    ) -> None:
        self._secrets = secrets
        self._client = client
        self._session = session
        self._pace = Pace()
        self._requests: AsyncApp | None = None

    async def identify(self) -> Bot:
        """Return what the bot and its workspace are called."""
        response = await answer(self._client.auth_test())
        name, workspace = _text(response, "user"), _text(response, "team")
        return Bot(platform=Platform.SLACK, name=name, workspace=workspace)

    async def run(self, receive: Receive) -> None:
        """Receive by Socket Mode until it is cancelled; without a token for it, Slack calls the server (`take_request`)."""
        if not self._secrets.app_token:
            await asyncio.Event().wait()
        app = make_app(self._client, receive, self._own_chat)
        await receive_by_socket(app, self._session, self._socket_address)

    async def take_request(
        self, body: bytes, headers: Mapping[str, str], receive: Receive
    ) -> Reply | None:
        """Take a request of Slack's, whose updates `receive` stores; return what Slack is told, None where Slack did not sign it."""
        if not is_signed(self._secrets.signing_secret, body, headers):
            return None
        if self._requests is None:
            self._requests = make_app(self._client, receive, self._own_chat)
        return await reply_to(self._requests, body, headers.get("content-type", ""))

    async def send(self, chat: Chat, message: Labelled, *, reply_to: str = "") -> str:
        """Send a message, its picture before it; in a channel into the thread of what it replies to. Return its id."""
        thread = chat.thread or ("" if chat.is_private else reply_to)
        if message.message.picture:
            await self._send_picture(chat.id, thread, message.message.picture)
        response = await self._write(
            "chat.postMessage",
            message,
            channel=chat.id,
            thread_ts=thread,
            unfurl_links=False,
            unfurl_media=False,
        )
        return _text(response, "ts")

    async def edit(self, chat: Chat, sent: str, message: Labelled) -> str:
        """Replace a message; return its id. What cannot be replaced is sent anew in the account's own chat, and nowhere else."""
        try:
            await self._write("chat.update", message, channel=chat.id, ts=sent)
        except SlackRefused as refusal:
            if refusal.word not in _NO_LONGER_EDITABLE:
                raise
            if not chat.is_private:
                raise ChannelGone(f"Slack: {refusal.word}") from None
            return await self.send(chat, message)
        return sent

    async def send_alone(
        self, chat: Chat, account: Account, message: Labelled, *, reply_to: str = ""
    ) -> str:
        """Show a message to one account, until that account's Slack is loaded again. Return "" where the bot is not in the channel, and for a picture, which Slack shows to all."""
        if message.message.picture:
            return ""
        try:
            response = await self._write(
                "chat.postEphemeral",
                message,
                channel=chat.id,
                user=_user(account),
                thread_ts=chat.thread,
            )
        except ChannelGone:
            return ""
        return _text(response, "message_ts")

    async def private_chat(self, account: Account) -> Chat | None:
        """Return the account's own chat with the bot, which the bot may begin; None for accounts that Slack does not let it write to."""
        try:
            return await self._own_chat(account)
        except ChannelGone:
            return None

    async def acknowledge(self, press: Press, notice: str = "") -> None:
        """Show a notice to whoever pressed. That the press came was acknowledged when it was stored."""
        if not notice:
            return
        if not is_of(press.handle, self._client.base_url, "hooks"):
            raise ChannelFailed("The press has no address of Slack to answer to")
        body = {"response_type": "ephemeral", "replace_original": False, "text": escaped(notice)}
        try:
            async with self._session.post(press.handle, json=body) as response:
                status = response.status
        except (aiohttp.ClientError, OSError) as error:
            raise ChannelFailed(f"Slack did not answer ({type(error).__name__})") from None
        if status != 200:
            raise ChannelFailed(f"Slack did not take the notice ({status})")

    async def download(self, file: File) -> AsyncIterator[bytes]:
        """Yield the bytes of a file, from Slack's own host of files alone."""
        response = await answer(self._client.files_info(file=file.handle))
        described = _part(response, "file")
        address = str(described.get("url_private_download") or described.get("url_private") or "")
        if not is_of(address, self._client.base_url, "files"):
            raise ChannelFailed("The file is not on Slack's host of files")
        headers = {"Authorization": f"Bearer {self._secrets.bot_token}"}
        try:
            async with self._session.get(address, headers=headers, timeout=_DOWNLOAD) as content:
                if content.status != 200 or _is_login_page(content, described):
                    raise ChannelFailed(f"Slack did not give the file ({content.status})")
                remaining = file.size
                async for piece in content.content.iter_chunked(_PIECE):
                    remaining -= len(piece)
                    if remaining < 0:
                        raise ChannelFailed("The file is larger than Slack said")
                    yield piece
        except (aiohttp.ClientError, OSError) as error:
            raise ChannelFailed(f"Slack did not give the file ({type(error).__name__})") from None

    async def verified_email(self, account: Account) -> str:
        """Return the address that Slack has verified of a member of the account's workspace; "" for guests, bots, strangers, and who has left."""
        response = await answer(self._client.users_info(user=_user(account)))
        user = _part(response, "user")
        profile = _part(user, "profile")
        team, _, name = account.id.partition("/")
        is_member = (
            user.get("id") == name
            and user.get("team_id") == team
            and user.get("is_email_confirmed") is True
            and not any(user.get(mark) for mark in _NO_MEMBERS)
        )
        return str(profile.get("email") or "") if is_member else ""

    async def _own_chat(self, account: Account) -> Chat:
        response = await answer(self._client.conversations_open(users=_user(account)))
        channel = _part(response, "channel")
        return Chat(platform=Platform.SLACK, id=str(channel.get("id", "")), is_private=True)

    async def _socket_address(self) -> str:
        token = self._secrets.app_token
        return _text(await answer(self._client.apps_connections_open(app_token=token)), "url")

    async def _write(
        self, method: str, message: Labelled, *, channel: str, **arguments: object
    ) -> AsyncSlackResponse:
        """Call a method that writes a message, of which Slack parses nothing."""
        slack_text = to_slack(message)
        written: dict[str, object] = {
            "channel": channel,
            "text": slack_text.text,
            "blocks": [block.to_dict() for block in slack_text.blocks],
            "parse": "none",
            "link_names": False,
            **{name: value for name, value in arguments.items() if value != ""},
        }
        async with self._pace.turn(channel, edits=method == "chat.update"):
            try:
                return await answer(self._client.api_call(method, json=written))
            except SlackRefused as refusal:
                if refusal.word not in _NOT_WRITABLE:
                    raise
                _log.warning("Slack does not take a message as blocks", error=refusal.word)
                written |= {"blocks": [], "mrkdwn": False}
                return await answer(self._client.api_call(method, json=written))

    async def _send_picture(self, channel: str, thread: str, picture: bytes) -> None:
        async with self._pace.turn(channel):
            await answer(
                self._client.files_upload_v2(
                    channel=channel,
                    content=picture,
                    filename="page.png",
                    title="Page",
                    thread_ts=thread or None,
                )
            )


def _user(account: Account) -> str:
    return account.id.partition("/")[2]


def _text(response: AsyncSlackResponse, name: str) -> str:
    value = response.get(name)
    if not isinstance(value, str) or not value:
        raise ChannelFailed(f"Slack's answer has no {name}")
    return value


def _part(answered: AsyncSlackResponse | Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return an object in what Slack answers, an empty one where there is none."""
    value: object = answered.get(name)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _is_login_page(response: aiohttp.ClientResponse, described: Mapping[str, object]) -> bool:
    """Return whether Slack gave its page to sign in, as it does where the token may not read the file."""
    return response.content_type == "text/html" != described.get("mimetype")
