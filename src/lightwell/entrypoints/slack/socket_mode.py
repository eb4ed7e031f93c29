"""Socket Mode: connections to Slack over which it sends what came, and is told what was stored.

slack-sdk's own client is not used for it: it writes addresses with tickets into its log, tries one ticket again and again without a longer
pause, and works on envelopes at the same time, which mixes up the order of a chat. Envelopes go to slack-bolt as with its own adapter.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from typing import cast

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from lightwell.domain.errors import ChannelFailed
from lightwell.entrypoints.slack.api import OTHER_FORM
from lightwell.logs import logger
from lightwell.tasks import cancel_and_wait

_log = logger(__name__)

_HEARTBEAT_SECONDS = 30.0
_STORE_SECONDS = 20.0
_OVERLAP_SECONDS = 30.0
"""How long a connection that Slack wants replaced goes on beside the new one."""

_STABLE_SECONDS = 30.0
"""A connection that lasted so long did not fail."""

_LONGEST_PAUSE = 60.0
_MAX_ENVELOPE_BYTES = 4_000_000

Address = Callable[[], Awaitable[str]]


async def receive_by_socket(
    app: AsyncApp, session: aiohttp.ClientSession, address: Address
) -> None:
    """Receive until cancelled. Where Slack announces an end, the next connection begins before it; where one fails, after longer and longer pauses."""
    failures = 0
    connections = set[asyncio.Task[None]]()
    try:
        while True:
            connection, began = _Connection(app), time.monotonic()
            task = asyncio.create_task(connection.hold(session, address))
            connections.add(task)
            task.add_done_callback(connections.discard)
            await connection.succession.wait()
            failures = 0 if time.monotonic() - began > _STABLE_SECONDS else failures + 1
            await asyncio.sleep(pause(failures))
    finally:
        await cancel_and_wait(*connections)


def pause(failures: int) -> float:
    """Return how many seconds to wait after so many failures in a row, not the same for all servers."""
    longest = min(_LONGEST_PAUSE, 0.25 * 2 ** min(failures, 10)) if failures else 0.0
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


class _Connection:
    """One connection. `succession` is set when another has to be opened."""

    def __init__(self, app: AsyncApp) -> None:
        self._app = app
        self.succession = asyncio.Event()

    async def hold(self, session: aiohttp.ClientSession, address: Address) -> None:
        """Connect, and take envelopes until it ends."""
        try:
            async with asyncio.timeout(None) as limit:
                async with session.ws_connect(
                    await address(),
                    heartbeat=_HEARTBEAT_SECONDS,
                    max_msg_size=_MAX_ENVELOPE_BYTES,
                ) as socket:
                    await self._listen(socket, limit)
        except Exception as error:  # noqa: BLE001 - whatever ends a connection, the next one is opened
            reason = str(error) if isinstance(error, ChannelFailed) else type(error).__name__
            _log.warning("a connection to Slack ended and is opened again", error=reason)
        finally:
            self.succession.set()

    async def _listen(
        self, socket: aiohttp.ClientWebSocketResponse, limit: asyncio.Timeout
    ) -> None:
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            try:
                envelope = json.loads(message.data)
                if isinstance(envelope, dict):
                    await self._take(socket, cast("dict[str, object]", envelope))
                    if envelope.get("type") == "disconnect" and not self.succession.is_set():
                        limit.reschedule(asyncio.get_running_loop().time() + _OVERLAP_SECONDS)
                        self.succession.set()
            except (*OTHER_FORM, TimeoutError) as error:
                _log.warning("what Slack sent is not understood", error=type(error).__name__)

    async def _take(
        self, socket: aiohttp.ClientWebSocketResponse, envelope: dict[str, object]
    ) -> None:
        request = SocketModeRequest.from_dict(envelope)
        if request is None:
            return
        async with asyncio.timeout(_STORE_SECONDS):
            response = await run_async_bolt_app(self._app, request)
        if response.status == 200:
            acknowledgement = SocketModeResponse(request.envelope_id, response.body or None)
            await socket.send_str(json.dumps(acknowledgement.to_dict()))
