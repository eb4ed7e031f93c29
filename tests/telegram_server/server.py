"""The Bot API over HTTP for `FakeTelegram`: what a bot sends is held against aiogram's models, which are the official schema, and Telegram's limits."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
import uvicorn
from aiogram import methods
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.telegram_server.state import TOKEN, FakeTelegram, Raw, RefusedError, same
from tests.telegram_server.texts import units

_TEXTS = {"text", "caption", "action", "url", "secret_token", "callback_query_id", "file_id"}
_MODELS: Mapping[str, Any] = {
    model.__api_method__: model
    for name in methods.__all__
    if hasattr(model := getattr(methods, name), "__api_method__")
    and isinstance(model.__api_method__, str)
}
_MOST_BUTTONS = 100


@dataclass(slots=True)
class Fault:
    """What happens instead of an answer. `does` does what was asked, and loses the answer alone; `waits` until it is set."""

    status: int = 502
    body: bytes = b"<html>Bad Gateway</html>"
    does: bool = False
    waits: asyncio.Event | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class BotApi:
    """The server. `faults` are taken in their order, by method."""

    fake: FakeTelegram
    token: str = TOKEN
    faults: dict[str, list[Fault]] = field(default_factory=dict[str, list[Fault]])
    violations: list[str] = field(default_factory=list[str])
    _poller: asyncio.Event = field(default_factory=asyncio.Event)

    def fail(self, method: str, fault: Fault | None = None, *, times: int = 1, **more: Any) -> None:
        """Have the next calls of a method fail."""
        self.faults.setdefault(method, []).extend([fault or Fault(**more)] * times)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/bot{token}/{method}", self._call, methods=["GET", "POST"]),
                Route("/file/bot{token}/{path:path}", self._download),
            ]
        )

    async def _call(self, request: Request) -> Response:
        method = cast("str", request.path_params["method"])
        await request.body()
        if request.path_params["token"] != self.token:
            return _refusal(RefusedError(401, "Unauthorized"))
        fault = queue.pop(0) if (queue := self.faults.get(method)) else None
        if fault and fault.waits:
            await fault.waits.wait()
        if fault and not fault.does:
            return Response(fault.body, fault.status, fault.headers)
        try:
            result = await self._answer(method, await self._parameters(method, request))
        except RefusedError as refusal:
            return _refusal(refusal)
        if fault:
            return Response(fault.body, fault.status, fault.headers)
        return JSONResponse({"ok": True, "result": result})

    async def _download(self, request: Request) -> Response:
        handle = cast("str", request.path_params["path"]).removeprefix("documents/")
        if request.path_params["token"] != self.token or handle not in self.fake.files:
            return _refusal(RefusedError(404, "Not Found"))
        return Response(self.fake.files[handle])

    async def _parameters(self, method: str, request: Request) -> Raw:
        """Return what the bot sends, as the method's model understands it; refuse what the model does not have."""
        if method not in _MODELS or method not in _ANSWERS:
            raise RefusedError(404, "Not Found: method not found")
        if not self.fake.knows_ephemeral and "Ephemeral" in method:
            raise RefusedError(404, "Not Found: method not found")
        sent, uploaded = dict[str, Any](), dict[str, Any]()
        async with request.form() as form:
            for key, value in form.items():
                if isinstance(value, UploadFile):
                    uploaded[key] = await value.read()
                else:
                    sent[key] = value if key in _TEXTS else _decoded(value)
        if unknown := set(sent) - set(_MODELS[method].model_fields):
            self._violate(f"{method} has no {sorted(unknown)}")
        try:
            _MODELS[method].model_validate(sent)
        except ValidationError as error:
            self._violate(f"{method}: {error}")
        self.fake.calls.append((method, sent))
        return sent | {"uploaded": uploaded}

    def _violate(self, words: str) -> None:
        self.violations.append(words)
        raise RefusedError(400, f"Bad Request: {words}"[:200])

    async def _answer(self, method: str, sent: Raw) -> object:
        if method == "getUpdates":
            return await self._updates(sent)
        return _ANSWERS[method](self.fake, sent)

    async def _updates(self, sent: Raw) -> list[Raw]:
        if self.fake.webhook.get("url"):
            words = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            raise RefusedError(409, words)
        self.fake.confirm(sent.get("offset", 0))
        self._poller.set()
        self._poller = ousted = asyncio.Event()
        with suppress(TimeoutError):
            async with asyncio.timeout(sent.get("timeout", 0)):
                while not self._pending(sent) and not ousted.is_set():
                    self.fake.arrived.clear()
                    await _any_of(self.fake.arrived, ousted)
        if ousted.is_set():
            words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
            raise RefusedError(409, words)
        return self._pending(sent)

    def _pending(self, sent: Raw) -> list[Raw]:
        return self.fake.pending(sent.get("allowed_updates", ()))

    def stop(self) -> None:
        """End the request that waits for updates."""
        self._poller.set()

    async def deliver(self, client: httpx.AsyncClient) -> list[int]:
        """Send the webhook what is pending, as Telegram does; return the statuses. What is not answered with 2xx stays."""
        statuses = list[int]()
        for one in list(self.fake.queue):
            headers = {"X-Telegram-Bot-Api-Secret-Token": self.fake.webhook.get("secret_token", "")}
            reply = await client.post(self.fake.webhook["url"], json=one.raw, headers=headers)
            statuses.append(reply.status_code)
            if reply.is_success:
                self.fake.queue.remove(one)
                self.fake.confirmed.append(one)
        return statuses


@asynccontextmanager
async def serving(api: BotApi) -> AsyncGenerator[str]:
    """Serve the Bot API on a free port of the loopback; yield its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        config = uvicorn.Config(api.app(), log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            api.stop()
            await task


def _refusal(refusal: RefusedError) -> Response:
    body: Raw = {"ok": False, "error_code": refusal.status, "description": refusal.description}
    if refusal.parameters:
        body["parameters"] = refusal.parameters
    return JSONResponse(body, refusal.status)


def _decoded(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value


async def _any_of(*events: asyncio.Event) -> None:
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


# What each method does


def _send_message(fake: FakeTelegram, sent: Raw) -> Raw:
    _require_text(sent.get("text", ""), sent.get("entities", ()), 4096)
    return _post(fake, sent, {"text": sent["text"], **_some(sent, "entities", "reply_markup")})


def _send_photo(fake: FakeTelegram, sent: Raw) -> Raw:
    if not sent["uploaded"] and not str(sent.get("photo", "")).startswith("attach://"):
        raise RefusedError(400, "Bad Request: there is no photo in the request")
    content = next(iter(sent["uploaded"].values()))
    if not content.startswith(b"\x89PNG"):
        raise RefusedError(400, "Bad Request: IMAGE_PROCESS_FAILED")
    if sent.get("caption"):
        _require_text(sent["caption"], sent.get("caption_entities", ()), 1024)
    photo = {"file_id": "photo", "file_unique_id": "p", "width": 10, "height": 10}
    return _post(
        fake,
        sent,
        {"photo": [photo], **_some(sent, "caption", "caption_entities", "reply_markup")},
    )


def _post(fake: FakeTelegram, sent: Raw, content: Raw) -> Raw:
    chat = sent["chat_id"]
    fake.require_chat(chat)
    _require_keyboard(sent.get("reply_markup"))
    parameters = sent.get("ephemeral_message_parameters") if fake.knows_ephemeral else None
    reply = sent.get("reply_parameters", {})
    if parameters:
        receiver = parameters["receiver_user_id"]
        fake.require_alone(chat, receiver, _answered(fake, parameters, reply, chat))
        fake.require_pace(chat)
        number = fake.next("alone")
        message = fake.message_of(fake.id, chat, 0) | content
        message |= {"ephemeral_message_id": number, "receiver_user": fake.people[receiver]}
        fake.alone[(chat, number)] = {**message, "receiver": receiver, "at": fake.clock()}
        return message
    if "ephemeral_message_id" in reply:
        raise RefusedError(400, "Bad Request: a reply to an ephemeral message is ephemeral")
    replied = fake.messages.get((chat, reply.get("message_id", 0)))
    if reply and replied is None and not reply.get("allow_sending_without_reply"):
        raise RefusedError(400, "Bad Request: message to be replied not found")
    fake.require_pace(chat)
    message = fake.message_of(fake.id, chat, fake.next("message")) | content
    if sent.get("message_thread_id"):
        message |= {"message_thread_id": sent["message_thread_id"], "is_topic_message": True}
    if replied:
        message["reply_to_message"] = {k: v for k, v in replied.items() if k != "reply_to_message"}
    fake.messages[(chat, message["message_id"])] = message
    return message


def _answered(fake: FakeTelegram, parameters: Raw, reply: Raw, chat: int) -> Raw | None:
    """Return the ephemeral command or the press that an ephemeral message answers."""
    receiver = parameters["receiver_user_id"]
    press = fake.presses.get(parameters.get("callback_query_id") or "")
    if press is not None:
        return press if press["from"]["id"] == receiver else None
    command = fake.alone.get((chat, reply.get("ephemeral_message_id", 0)))
    if reply.get("ephemeral_message_id") and command is None:
        raise RefusedError(400, "Bad Request: message to be replied not found")
    return command if command and command["receiver"] == receiver else None


def _edit_text(fake: FakeTelegram, sent: Raw) -> Raw:
    message = fake.messages.get((sent["chat_id"], sent["message_id"]))
    fake.require_chat(sent["chat_id"])
    if message is None:
        raise RefusedError(400, "Bad Request: message to edit not found")
    if message["from"]["id"] != fake.id:
        raise RefusedError(400, "Bad Request: message can't be edited")
    if "text" not in message:
        raise RefusedError(400, "Bad Request: there is no text in the message to edit")
    _edit(fake, sent, message)
    return message


def _edit_alone(fake: FakeTelegram, sent: Raw) -> bool:
    message = fake.alone.get((sent["chat_id"], sent["ephemeral_message_id"]))
    fake.require_chat(sent["chat_id"])
    if message is None or message["receiver"] != sent["receiver_user_id"]:
        raise RefusedError(400, "Bad Request: message to edit not found")
    _edit(fake, sent, message)
    return True


def _edit(fake: FakeTelegram, sent: Raw, message: Raw) -> None:
    _require_text(sent.get("text", ""), sent.get("entities", ()), 4096)
    _require_keyboard(sent.get("reply_markup"))
    edited: Raw = {"text": sent["text"], **_some(sent, "entities", "reply_markup")}
    if same(edited, message):
        raise RefusedError(
            400,
            "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
            " as a current content and reply markup of the message",
        )
    fake.require_pace(sent["chat_id"])
    for key in ("entities", "reply_markup"):
        message.pop(key, None)
    message.update(edited)


def _require_text(text: str, entities: Any, most: int) -> None:
    if not text.strip():
        raise RefusedError(400, "Bad Request: message text is empty")
    if units(text) > most:
        raise RefusedError(400, "Bad Request: message is too long")
    for entity in entities or ():
        start, end = entity["offset"], entity["offset"] + entity["length"]
        if not 0 <= start < end <= units(text):
            raise RefusedError(400, "Bad Request: ENTITY_BOUNDS_INVALID")
        encoded = text.encode("utf-16-le")
        try:
            encoded[2 * start : 2 * end].decode("utf-16-le")
        except UnicodeDecodeError:
            raise RefusedError(400, "Bad Request: ENTITY_BOUNDS_INVALID") from None
        if entity["type"] == "text_link" and not entity.get("url"):
            raise RefusedError(400, "Bad Request: ENTITY_URL_INVALID")


def _require_keyboard(markup: Raw | None) -> None:
    buttons = [button for row in (markup or {}).get("inline_keyboard", ()) for button in row]
    if len(buttons) > _MOST_BUTTONS:
        raise RefusedError(400, "Bad Request: reply markup is too long")
    for button in buttons:
        data, url = button.get("callback_data"), button.get("url")
        if not button.get("text"):
            raise RefusedError(
                400, "Bad Request: text buttons are unallowed in the inline keyboard"
            )
        if (data is None) == (url is None):
            raise RefusedError(400, "Bad Request: one of the optional fields must be used")
        if data is not None and not 1 <= len(data.encode()) <= 64:
            raise RefusedError(400, "Bad Request: BUTTON_DATA_INVALID")
        if url is not None and not re.match(r"https?://[^/]+\.[^/]+", url):
            raise RefusedError(400, "Bad Request: BUTTON_URL_INVALID")


def _some(sent: Raw, *keys: str) -> Raw:
    return {key: sent[key] for key in keys if sent.get(key)}


def _delete(fake: FakeTelegram, sent: Raw) -> bool:
    if fake.messages.pop((sent["chat_id"], sent["message_id"]), None) is None:
        raise RefusedError(400, "Bad Request: message to delete not found")
    return True


def _delete_alone(fake: FakeTelegram, sent: Raw) -> bool:
    message = fake.alone.get((sent["chat_id"], sent["ephemeral_message_id"]))
    if message is None or message["receiver"] != sent["receiver_user_id"]:
        raise RefusedError(400, "Bad Request: message to delete not found")
    del fake.alone[(sent["chat_id"], sent["ephemeral_message_id"])]
    return True


def _answer_press(fake: FakeTelegram, sent: Raw) -> bool:
    press = fake.presses.get(sent["callback_query_id"])
    if press is None or press.get("is_answered"):
        raise RefusedError(
            400, "Bad Request: query is too old and response timeout expired or query ID is invalid"
        )
    if len(sent.get("text", "")) > 200:
        raise RefusedError(400, "Bad Request: MESSAGE_TOO_LONG")
    press["is_answered"] = True
    fake.notices.append((press["from"]["id"], sent.get("text", "")))
    return True


def _get_file(fake: FakeTelegram, sent: Raw) -> Raw:
    content = fake.files.get(sent["file_id"])
    if content is None:
        raise RefusedError(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
    if len(content) > 20_000_000:
        raise RefusedError(400, "Bad Request: file is too big")
    return {
        "file_id": sent["file_id"],
        "file_unique_id": "u",
        "file_size": len(content),
        "file_path": f"documents/{sent['file_id']}",
    }


def _set_webhook(fake: FakeTelegram, sent: Raw) -> bool:
    if not str(sent["url"]).startswith("https://"):
        words = "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"
        raise RefusedError(400, words)
    fake.webhook = {"url": sent["url"], "secret_token": sent.get("secret_token", "")}
    return True


def _delete_webhook(fake: FakeTelegram, sent: Raw) -> bool:
    fake.webhook = {}
    if sent.get("drop_pending_updates"):
        fake.queue.clear()
    return True


def _set_commands(fake: FakeTelegram, sent: Raw) -> bool:
    if len(sent["commands"]) > 100:
        raise RefusedError(400, "Bad Request: too many commands")
    for command in sent["commands"]:
        if not 1 <= len(command["description"]) <= 256 or not command["command"].islower():
            raise RefusedError(400, "Bad Request: BOT_COMMAND_INVALID")
    fake.commands[sent.get("scope", {}).get("type", "default")] = sent["commands"]
    return True


def _chat_action(fake: FakeTelegram, sent: Raw) -> bool:
    fake.require_chat(sent["chat_id"])
    return True


_ANSWERS: Mapping[str, Callable[[FakeTelegram, Raw], object]] = {
    "getUpdates": lambda fake, sent: [],
    "getMe": lambda fake, sent: fake.me(),
    "getWebhookInfo": lambda fake, sent: {
        "url": fake.webhook.get("url", ""),
        "has_custom_certificate": False,
        "pending_update_count": len(fake.queue),
    },
    "sendMessage": _send_message,
    "sendPhoto": _send_photo,
    "editMessageText": _edit_text,
    "editEphemeralMessageText": _edit_alone,
    "deleteMessage": _delete,
    "deleteEphemeralMessage": _delete_alone,
    "answerCallbackQuery": _answer_press,
    "getFile": _get_file,
    "setWebhook": _set_webhook,
    "deleteWebhook": _delete_webhook,
    "setMyCommands": _set_commands,
    "sendChatAction": _chat_action,
}
METHODS = frozenset(_ANSWERS)
