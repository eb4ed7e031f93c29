"""Slack's methods, on what a workspace holds. Each returns what Slack answers, `ok` left out, or raises the word of a refusal."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.slack_server import limits
from tests.slack_server.workspace import BOT, BOT_USER, TEAM, Channel, Posted, StoredFile, Workspace

BOT_TOKEN, APP_TOKEN = "xoxb-1-secret-of-the-bot", "xapp-1-secret-of-the-app"

_OTHER_SCOPES = {"app_mentions:read", "commands", "im:history", "users:read.email"}

Arguments = dict[str, Any]

SCOPES = {
    "apps.connections.open": "",
    "auth.test": "",
    "chat.postEphemeral": "chat:write",
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "conversations.open": "im:write",
    "files.completeUploadExternal": "files:write",
    "files.getUploadURLExternal": "files:write",
    "files.info": "files:read",
    "users.info": "users:read",
}
"""The methods that there are, each with the scope that it needs; `apps.connections.open` needs one of the other token."""


class Refusal(Exception):
    """`{"ok": false, "error": word}`, or 429 with a pause."""

    def __init__(self, word: str, *, retry_after: int = 0) -> None:
        super().__init__(word)
        self.word = word
        self.retry_after = retry_after


@dataclass(kw_only=True)
class WebApi:
    """The methods that the app may call with its scopes."""

    workspace: Workspace
    url: str = ""
    calls: list[tuple[str, Arguments]] = field(default_factory=list[tuple[str, Arguments]])
    tickets: set[str] = field(default_factory=set[str])
    socket_mode: bool = True
    scopes_refused: set[str] = field(default_factory=set[str])

    def call(self, method: str, token: str, arguments: Arguments) -> Arguments:
        """Call a method by its name."""
        self.calls.append((method, arguments))
        expected = APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN
        if not token:
            raise Refusal("not_authed")
        if token != expected:
            raise Refusal("invalid_auth")
        methods: dict[str, Callable[[Arguments], Arguments]] = {
            "apps.connections.open": self._open_connection,
            "auth.test": self._test,
            "chat.postMessage": self._post,
            "chat.postEphemeral": self._post_alone,
            "chat.update": self._update,
            "conversations.open": self._open_chat,
            "files.completeUploadExternal": self._complete_upload,
            "files.getUploadURLExternal": self._upload_address,
            "files.info": self._file,
            "users.info": self._user,
        }
        if method not in methods:
            raise Refusal("unknown_method")
        if SCOPES[method] in self.scopes_refused:
            raise Refusal("missing_scope")
        return methods[method](arguments)

    @property
    def scopes(self) -> set[str]:
        """What the bot's token may: what its methods need, and the events that it gets."""
        granted = {scope for scope in SCOPES.values() if scope} | _OTHER_SCOPES
        return granted - self.scopes_refused

    def _test(self, _: Arguments) -> Arguments:
        return {
            "url": "https://halden.slack.com/",
            "team": "Halden",
            "user": "lightwell",
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT,
            "is_enterprise_install": False,
        }

    def _open_connection(self, _: Arguments) -> Arguments:
        if not self.socket_mode:
            raise Refusal("socket_mode_not_enabled")
        ticket = f"ticket-{self.workspace.number()}"
        self.tickets.add(ticket)
        return {"url": f"{self.url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id=1"}

    def _post(self, arguments: Arguments) -> Arguments:
        channel = self._channel(arguments.get("channel", ""))
        self._check(arguments)
        posted = self._posted(arguments)
        channel.messages.append(posted)
        return {"channel": channel.id, "ts": posted.ts, "message": _described(posted)}

    def _post_alone(self, arguments: Arguments) -> Arguments:
        channel = self._channel(arguments.get("channel", ""))
        if arguments.get("user") not in channel.members:
            raise Refusal("user_not_in_channel")
        self._check(arguments)
        posted = self._posted(arguments)
        posted.alone = arguments["user"]
        channel.messages.append(posted)
        return {"message_ts": posted.ts}

    def _update(self, arguments: Arguments) -> Arguments:
        channel = self._channel(arguments.get("channel", ""))
        posted = channel.message(arguments.get("ts", ""))
        if posted is None or posted.alone:
            raise Refusal("message_not_found")
        if posted.user != BOT_USER:
            raise Refusal("cant_update_message")
        self._check(arguments)
        posted.text = arguments.get("text", "")
        posted.blocks = arguments.get("blocks") or []
        posted.edits += 1
        return {"channel": channel.id, "ts": posted.ts, "text": posted.text}

    def _open_chat(self, arguments: Arguments) -> Arguments:
        user = self.workspace.users.get(arguments.get("users", ""))
        if user is None:
            raise Refusal("user_not_found")
        if user.marks.get("deleted"):
            raise Refusal("user_disabled")
        return {"channel": {"id": self.workspace.own_chat(user.id).id}}

    def _user(self, arguments: Arguments) -> Arguments:
        user = self.workspace.users.get(arguments.get("user", ""))
        if user is None:
            raise Refusal("user_not_found")
        return {"user": user.described()}

    def _file(self, arguments: Arguments) -> Arguments:
        file = self.workspace.files.get(arguments.get("file", ""))
        if file is None:
            raise Refusal("file_not_found")
        return {"file": self.described(file)}

    def described(self, file: StoredFile) -> dict[str, Any]:
        """Return a file as Slack describes it."""
        address = file.address or f"{self.url}/files-pri/{TEAM}-{file.id}/{file.name}"
        return {
            "id": file.id,
            "name": file.name,
            "title": file.name,
            "size": len(file.content),
            "mimetype": file.mimetype,
            "mode": "hosted",
            "url_private": address,
            "url_private_download": address,
            **file.extra,
        }

    def _upload_address(self, arguments: Arguments) -> Arguments:
        number = self.workspace.number()
        file = StoredFile(
            id=f"F{number:08}", name=arguments["filename"], content=b"", mimetype="image/png"
        )
        self.workspace.files[file.id] = file
        return {"file_id": file.id, "upload_url": f"{self.url}/upload/v1/{file.id}"}

    def _complete_upload(self, arguments: Arguments) -> Arguments:
        files = json.loads(arguments["files"])
        channel = self._channel(arguments["channel_id"]) if "channel_id" in arguments else None
        for described in files:
            if not self.workspace.files[described["id"]].content:
                raise Refusal("file_not_found")
            if channel is not None:
                self.workspace.files[described["id"]].channel = channel.id
        return {"files": [{"id": described["id"], "title": ""} for described in files]}

    def _channel(self, channel_id: str) -> Channel:
        channel = self.workspace.channels.get(channel_id)
        if channel is None or (channel_id.startswith("D") and BOT_USER not in channel.members):
            raise Refusal("channel_not_found")
        if BOT_USER not in channel.members:
            raise Refusal("not_in_channel")
        return channel

    def _posted(self, arguments: Arguments) -> Posted:
        return Posted(
            ts=self.workspace.ts(),
            user=BOT_USER,
            text=arguments.get("text", ""),
            blocks=arguments.get("blocks") or [],
            thread=arguments.get("thread_ts") or "",
            arguments=arguments,
        )

    def _check(self, arguments: Arguments) -> None:
        if word := limits.refusal(arguments.get("text"), arguments.get("blocks")):
            raise Refusal(word)


def _described(posted: Posted) -> dict[str, Any]:
    return {
        "type": "message",
        "subtype": "bot_message",
        "text": posted.text,
        "ts": posted.ts,
        "bot_id": BOT,
        "user": posted.user,
        "blocks": posted.blocks,
        **({"thread_ts": posted.thread} if posted.thread else {}),
    }
