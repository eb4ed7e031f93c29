"""Slack as a server of HTTP and websockets, with the people who write there.

What people do returns when Slack has got its acknowledgement, as Slack itself repeats an event until then.
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from aiohttp import ClientError, ClientSession, ClientTimeout, WSCloseCode, web
from aiohttp.test_utils import TestServer

from tests.slack_server.web_api import BOT_TOKEN, Refusal, WebApi
from tests.slack_server.workspace import (
    APP,
    BOT_USER,
    TEAM,
    Channel,
    Posted,
    StoredFile,
    User,
    Workspace,
)

SIGNING_SECRET = "secret-to-sign-with"  # noqa: S105 - of the stand-in
_TRIES = 4
_EDITS_A_MINUTE = 50
_KINDS = {"command": "slash_commands", "block_actions": "interactive"}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """How the next calls of a method fail: with a word, a status, a pause, a redirect, or no reply at all."""

    word: str = ""
    status: int = 200
    retry_after: int = 0
    content_type: str = "text/html"
    location: str = ""
    hangs_up: bool = False


@dataclass(kw_only=True)
class SlackServer:
    """One app in one workspace."""

    workspace: Workspace = field(default_factory=Workspace)
    url: str = ""
    request_url: str = ""
    """Where Slack sends events over HTTP; without it, by Socket Mode."""
    ack_seconds: float = 3.0
    failures: dict[str, list[Failure]] = field(default_factory=dict[str, list[Failure]])
    refused_for_pace: int = 0
    connections: int = 0
    tokens_seen: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The header Authorization of requests to what is not the Web API, by path."""
    _sockets: list[web.WebSocketResponse] = field(default_factory=list[web.WebSocketResponse])
    _connected: asyncio.Event = field(default_factory=asyncio.Event)
    _acks: dict[str, "asyncio.Future[dict[str, Any]]"] = field(
        default_factory=dict[str, "asyncio.Future[dict[str, Any]]"]
    )
    edits_at: list[float] = field(default_factory=list[float])
    _posted_at: dict[str, float] = field(default_factory=dict[str, float])
    _presses: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.api = WebApi(workspace=self.workspace)

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    @property
    def sockets(self) -> int:
        """How many connections are open."""
        return len(self._sockets)

    def fail(self, method: str, *failures: Failure) -> None:
        """Let the next calls of a method fail, one for each failure."""
        self.failures.setdefault(method, []).extend(failures)

    # What people do

    async def say(
        self, user: User, text: str, /, *, channel: Channel | None = None, **event: Any
    ) -> str:
        """Write to the bot in the user's own chat with it; return the id of the event."""
        return await self.send_event(self.message(user, text, channel=channel, **event), user)

    async def mention(self, user: User, channel: Channel, text: str, **event: Any) -> str:
        """Write in a channel to the bot, `@Lightwell` before the text; return the id of the event."""
        body = self.message(user, f"<@{BOT_USER}> {text}", channel=channel, **event)
        body["type"] = "app_mention"
        del body["channel_type"]
        return await self.send_event(body, user, shared=channel.shared)

    async def command(self, user: User, channel: Channel, text: str) -> str | None:
        """Type `/lightwell`; return what the user alone reads at once, None where the app did not answer in time."""
        payload = {
            "command": "/lightwell",
            "text": text,
            "team_id": user.team,
            "team_domain": "halden",
            "user_id": user.id,
            "user_name": user.name,
            "channel_id": channel.id,
            "channel_name": channel.name or "directmessage",
            "api_app_id": APP,
            "is_enterprise_install": "false",
            "response_url": self._response_url(user),
            "trigger_id": f"{self.workspace.number()}.trigger",
        }
        reply = await self.deliver("command", payload)
        return None if reply is None else str(reply.get("text", ""))

    async def press(self, user: User, channel: Channel, posted: Posted, label: str) -> bool:
        """Press a button by its label; return whether the app took it in time."""
        return (
            await self.deliver("block_actions", self.pressed(user, channel, posted, label))
            is not None
        )

    async def share(
        self, user: User, name: str, content: bytes, *, mimetype: str = "text/plain", **event: Any
    ) -> str:
        """Send a file to the bot, with `text` as words beside it."""
        file = StoredFile(
            id=f"F{self.workspace.number():08}", name=name, content=content, mimetype=mimetype
        )
        self.workspace.files[file.id] = file
        files = [self.api.described(file)]
        body = self.message(user, event.pop("text", ""), **event)
        return await self.send_event({**body, "subtype": "file_share", "files": files}, user)

    # What the app gets

    def message(
        self, user: User, text: str, /, *, channel: Channel | None = None, **event: Any
    ) -> dict[str, Any]:
        """Return the event of a message, which is also kept in the channel."""
        channel = channel or self.workspace.own_chat(user.id)
        posted = Posted(ts=self.workspace.ts(), user=user.id, text=text, blocks=[])
        channel.messages.append(posted)
        return {
            "type": "message",
            "channel": channel.id,
            "channel_type": "im" if channel.id.startswith("D") else "channel",
            "user": user.id,
            "team": user.team,
            "text": text,
            "ts": posted.ts,
            "event_ts": posted.ts,
            "client_msg_id": str(uuid4()),
            **({"user_team": user.team, "source_team": user.team} if user.team != TEAM else {}),
            **event,
        }

    async def send_event(
        self, event: dict[str, Any], user: User, *, shared: bool = False, event_id: str = ""
    ) -> str:
        """Send an event until it is acknowledged; return its id. Fails where it never is."""
        event_id = event_id or f"Ev{self.workspace.number():08}"
        body = {
            "token": "verification",
            "team_id": TEAM,
            "context_team_id": TEAM,
            "api_app_id": APP,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": int(time.time()),
            "is_ext_shared_channel": shared or user.team != TEAM,
            "authorizations": [
                {"enterprise_id": None, "team_id": TEAM, "user_id": BOT_USER, "is_bot": True}
            ],
            "event": event,
        }
        for attempt in range(_TRIES):
            if await self.deliver("event_callback", body, attempt=attempt) is not None:
                return event_id
        raise AssertionError(f"nobody took the event after {_TRIES} tries")

    def pressed(self, user: User, channel: Channel, posted: Posted, label: str) -> dict[str, Any]:
        """Return the payload of a press."""
        button = next(each for each in posted.buttons if each["text"]["text"] == label)
        return {
            "type": "block_actions",
            "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team},
            "api_app_id": APP,
            "token": "verification",
            "container": {
                "type": "message",
                "message_ts": posted.ts,
                "channel_id": channel.id,
                "is_ephemeral": bool(posted.alone),
                **({"thread_ts": posted.thread} if posted.thread else {}),
            },
            "trigger_id": f"{self.workspace.number()}.trigger",
            "team": {"id": user.team, "domain": "halden"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": channel.id, "name": channel.name or "directmessage"},
            **({} if posted.alone else {"message": {"type": "message", "ts": posted.ts}}),
            "response_url": self._response_url(user),
            "actions": [{**button, "block_id": "b", "action_ts": self.workspace.ts()}],
        }

    async def deliver(
        self, kind: str, payload: dict[str, Any], *, attempt: int = 0
    ) -> dict[str, Any] | None:
        """Send something to the app once; return what it answers, None where it does not acknowledge it in time."""
        if self.request_url:
            return await self._deliver_by_request(kind, payload, attempt)
        envelope_id = str(uuid4())
        ack = self._acks[envelope_id] = asyncio.get_running_loop().create_future()
        envelope = {
            "envelope_id": envelope_id,
            "type": _KINDS.get(kind, "events_api"),
            "payload": payload,
            "accepts_response_payload": kind in _KINDS,
            **({"retry_attempt": attempt, "retry_reason": "timeout"} if attempt else {}),
        }
        try:
            async with asyncio.timeout(self.ack_seconds):
                await self.send_raw(json.dumps(envelope))
                return await ack
        except (TimeoutError, ConnectionError):
            return None
        finally:
            del self._acks[envelope_id]

    async def send_raw(self, text: str) -> None:
        """Send a text over the newest connection, when there is one."""
        while not self._sockets:
            self._connected.clear()
            await self._connected.wait()
        await self._sockets[-1].send_str(text)

    async def disconnect(self, reason: str) -> None:
        """Tell the app that its connection ends, and end it unless that is a warning."""
        socket = self._sockets[-1]
        await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {}})
        if reason != "warning":
            await socket.close()

    async def cut(self) -> None:
        """End all connections without a word."""
        for socket in tuple(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY)

    def signed(
        self, body: bytes, *, secret: str = SIGNING_SECRET, moment: int | None = None
    ) -> dict[str, str]:
        """Return the headers with which Slack signs a request."""
        at = str(int(time.time()) if moment is None else moment)
        signature = hmac.new(secret.encode(), b"v0:" + at.encode() + b":" + body, hashlib.sha256)
        return {
            "X-Slack-Request-Timestamp": at,
            "X-Slack-Signature": f"v0={signature.hexdigest()}",
        }

    def _response_url(self, user: User) -> str:
        key = uuid4().hex
        self._presses[key] = user.id
        return f"{self.url}/response/{key}"

    async def _deliver_by_request(
        self, kind: str, payload: dict[str, Any], attempt: int
    ) -> dict[str, Any] | None:
        types = {"Content-Type": "application/x-www-form-urlencoded"}
        if kind == "command":
            body = urlencode(payload).encode()
        elif kind == "block_actions":
            body = urlencode({"payload": json.dumps(payload)}).encode()
        else:
            body, types = json.dumps(payload).encode(), {"Content-Type": "application/json"}
        retry = {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": "http_timeout"}
        headers = {**types, **self.signed(body), **(retry if attempt else {})}
        timeout = ClientTimeout(total=self.ack_seconds)
        try:
            async with (
                ClientSession(timeout=timeout) as session,
                session.post(self.request_url, data=body, headers=headers) as response,
            ):
                text = await response.text()
                return {"text": text} if response.status == 200 else None
        except (ClientError, TimeoutError):
            return None

    # What the app calls

    async def handle_call(self, request: web.Request) -> web.StreamResponse:
        """Answer a call of the Web API."""
        method = request.match_info["method"]
        arguments: dict[str, Any] = dict(request.query)
        if request.content_type == "application/json":
            arguments |= await request.json()
        else:
            arguments |= dict(await request.post())
        waiting = self.failures.get(method, [])
        if waiting and (failed := _failed(request, waiting.pop(0))) is not None:
            return failed
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            self._check_pace(method, arguments)
            answer = self.api.call(method, token, arguments)
        except Refusal as refusal:
            return _refused(refusal)
        granted = {"X-OAuth-Scopes": ",".join(sorted(self.api.scopes))}
        return web.json_response({"ok": True, **answer}, headers=granted)

    async def handle_socket(self, request: web.Request) -> web.StreamResponse:
        """Hold a connection of Socket Mode, whose ticket is good for once."""
        ticket = request.query.get("ticket", "")
        if ticket not in self.api.tickets:
            return web.Response(status=401)
        self.api.tickets.remove(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.connections += 1
        await socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self._sockets) + 1,
                "connection_info": {"app_id": APP},
                "debug_info": {"approximate_connection_time": 18060},
            }
        )
        self._sockets.append(socket)
        self._connected.set()
        try:
            async for message in socket:
                reply = json.loads(message.data)
                waiting = self._acks.get(reply["envelope_id"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(reply.get("payload") or {})
        finally:
            self._sockets.remove(socket)
        return socket

    async def handle_file(self, request: web.Request) -> web.StreamResponse:
        """Give a file to whoever has the token; others are sent to sign in."""
        self._see_token(request)
        file = self.workspace.files.get(request.match_info["file"].partition("-")[2])
        if request.headers.get("Authorization") != f"Bearer {BOT_TOKEN}" or file is None:
            raise web.HTTPFound(f"{self.url}/login")
        return web.Response(body=file.content, content_type=file.mimetype)

    async def handle_upload(self, request: web.Request) -> web.StreamResponse:
        """Take the bytes of a file."""
        self._see_token(request)
        content = await request.read()
        self.workspace.files[request.match_info["file"]].content = content
        return web.Response(text=f"OK - {len(content)}")

    async def handle_response(self, request: web.Request) -> web.StreamResponse:
        """Take a message for whoever pressed a button."""
        self._see_token(request)
        user = self._presses.get(request.match_info["key"])
        if user is None:
            return web.Response(status=404, text="expired_url")
        self.workspace.notices.append((user, await request.json()))
        return web.Response(text="ok")

    def _see_token(self, request: web.Request) -> None:
        seen = self.tokens_seen.setdefault(request.path.split("/")[1], [])
        seen.append(request.headers.get("Authorization", ""))

    def _check_pace(self, method: str, arguments: dict[str, Any]) -> None:
        channel, now = arguments.get("channel", ""), time.monotonic()
        if method == "chat.update":
            self.edits_at = [moment for moment in self.edits_at if now - moment < 60]
            if len(self.edits_at) >= _EDITS_A_MINUTE:
                self.refused_for_pace += 1
                raise Refusal("ratelimited", retry_after=30)
            self.edits_at.append(now)
        if method not in ("chat.postMessage", "chat.postEphemeral"):
            return
        if now - self._posted_at.get(channel, 0.0) < 0.9:  # Slack is not exact either
            self.refused_for_pace += 1
            raise Refusal("ratelimited", retry_after=1)
        self._posted_at[channel] = now


def _failed(request: web.Request, failure: Failure) -> web.StreamResponse | None:
    if failure.hangs_up:
        assert request.transport is not None
        request.transport.abort()
        return web.Response(status=500)
    if failure.location:
        return web.Response(status=307, headers={"Location": failure.location})
    if failure.word or failure.retry_after:
        return _refused(Refusal(failure.word or "ratelimited", retry_after=failure.retry_after))
    page = "<html>Slack is down</html>"
    return web.Response(status=failure.status, text=page, content_type=failure.content_type)


def _refused(refusal: Refusal) -> web.Response:
    body = {"ok": False, "error": refusal.word}
    if refusal.retry_after:
        headers = {"Retry-After": str(refusal.retry_after)}
        return web.json_response(body, status=429, headers=headers)
    return web.json_response(body)


@asynccontextmanager
async def slack_server(**settings: Any) -> AsyncGenerator[SlackServer]:
    """Run a stand-in for Slack on a free port of this machine."""
    server = SlackServer(**settings)
    app = web.Application(client_max_size=20_000_000)
    handlers: dict[str, Callable[[web.Request], Any]] = {
        "/api/{method}": server.handle_call,
        "/link/": server.handle_socket,
        "/files-pri/{file}/{name}": server.handle_file,
        "/upload/v1/{file}": server.handle_upload,
        "/response/{key}": server.handle_response,
    }
    for path, handler in handlers.items():
        app.router.add_route("*", path, handler)
    test_server = TestServer(app)
    await test_server.start_server()
    server.url = server.api.url = str(test_server.make_url("")).rstrip("/")
    try:
        yield server
    finally:
        await server.cut()
        await test_server.close()
