"""HTTP to Telegram: aiogram's session with a limit on what it reads, and without redirects, since each address has the token in it."""

from collections.abc import AsyncGenerator
from typing import cast

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.exceptions import TelegramNetworkError
from aiogram.methods import TelegramMethod
from aiogram.methods.base import TelegramType
from aiohttp import ClientResponse, ClientSession, ClientTimeout, TCPConnector

REPLY_BYTES = 32_000_000
"""More than a hundred updates have; a reply beyond this is no reply."""

CALL_SECONDS = 30
"""How long a call may take that waits for nothing."""

_CONNECT_SECONDS = 10
_READ_SECONDS = 60


class GetRawUpdates(TelegramMethod[list[dict[str, object]]]):
    """`getUpdates` with its updates unread, so that one of them that aiogram does not understand does not hide the others."""

    __returning__ = list[dict[str, object]]
    __api_method__ = "getUpdates"

    offset: int
    timeout: int
    allowed_updates: list[str]


class BoundedSession(AiohttpSession):
    """A session whose replies have an end."""

    async def create_session(self) -> ClientSession:
        """Return the session, which uses the proxy that the environment names."""
        if self._session is None or self._session.closed:
            connector = TCPConnector(**self._connector_init)
            self._session = ClientSession(connector=connector, trust_env=True)
        return self._session

    async def make_request(
        self,
        bot: Bot,
        method: TelegramMethod[TelegramType],
        timeout: int | None = None,  # noqa: ASYNC109 (aiogram's own parameter)
    ) -> TelegramType:
        session = await self.create_session()
        async with session.post(
            self.api.api_url(token=bot.token, method=method.__api_method__),
            data=self.build_form_data(bot=bot, method=method),
            timeout=ClientTimeout(total=timeout or CALL_SECONDS, sock_connect=_CONNECT_SECONDS),
            allow_redirects=False,
        ) as reply:
            content = (await _read_whole(reply, method)).decode("utf-8", "replace")
        response = self.check_response(
            bot=bot, method=method, status_code=reply.status, content=content
        )
        if response.result is None:
            raise TelegramNetworkError(method=method, message="the reply has no result")
        return cast("TelegramType", response.result)

    async def download(self, bot: Bot, path: str) -> AsyncGenerator[bytes]:
        """Yield the bytes of a file that the bot may read."""
        session = await self.create_session()
        async with session.get(
            self.api.file_url(bot.token, path),
            timeout=ClientTimeout(
                total=None, sock_connect=_CONNECT_SECONDS, sock_read=_READ_SECONDS
            ),
            raise_for_status=True,
            allow_redirects=False,
        ) as reply:
            async for part in reply.content.iter_chunked(65_536):
                yield part


async def _read_whole(reply: ClientResponse, method: TelegramMethod[TelegramType]) -> bytes:
    content = bytearray()
    async for part in reply.content.iter_chunked(65_536):
        content += part
        if len(content) > REPLY_BYTES:
            raise TelegramNetworkError(method=method, message="the reply is too long")
    return bytes(content)
