"""Buttons: what stands on one is the number of a row and a signature. The row says what it does, for whom and in which chat."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field, TypeAdapter

from lightwell.domain.access import Reader
from lightwell.domain.channels import BUTTON_LIFE, Account, Chat
from lightwell.domain.ids import ProjectId, new_id
from lightwell.entrypoints.channels.actions import Action, AddFile, DecideLink, Share
from lightwell.entrypoints.channels.messages import Message
from lightwell.entrypoints.channels.platform import Labelled
from lightwell.records import channel_buttons
from lightwell.records.database import Database

_VERSION = "v1"
_SIGNATURE_BYTES = 12
_NOBODY = UUID(int=0)
FILE_LIFE = timedelta(days=1)
"""How long a file can be added that was sent: as long as a repeated addition is recognised."""

_ACTION_JSON: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="kind")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Buttons:
    """The buttons of one bot in one project; `key` signs them."""

    database: Database
    project_id: ProjectId
    key: bytes

    async def label(
        self, message: Message, reader: Reader, account: Account, chat: Chat
    ) -> Labelled:
        """Return the message with what the platform is to give back at a press of each of its buttons by this account in this chat."""
        ids: list[list[UUID | None]] = [
            [new_id() if button.action is not None else None for button in row]
            for row in message.buttons
        ]
        actions = [
            (button_id, button.action)
            for row, row_ids in zip(message.buttons, ids, strict=True)
            for button, button_id in zip(row, row_ids, strict=True)
            if button_id is not None and button.action is not None
        ]
        await self._store(actions, reader, account, chat)
        data = tuple(tuple(self._sign(number) if number else "" for number in row) for row in ids)
        return Labelled(message=message, data=data)

    async def read(self, data: str, account: Account, chat: Chat) -> Action | None:
        """Return what a press of this account in this chat does; None for what was never on one of its buttons there, and for an expired one.

        Whatever the data is, it costs one look at the database.
        """
        button_id = self._verify(data) or _NOBODY
        stored = await channel_buttons.find(
            self.database, self.project_id, account, chat, button_id
        )
        return None if stored is None else _ACTION_JSON.validate_python(stored)

    async def use_up(self, action: Action, account: Account, chat: Chat) -> None:
        """Delete the buttons of what can be done once, where this is it."""
        subject = _subject(action)
        if subject:
            await channel_buttons.use_up(self.database, self.project_id, account, chat, subject)

    async def _store(
        self, actions: Sequence[tuple[UUID, Action]], reader: Reader, account: Account, chat: Chat
    ) -> None:
        by_life: dict[timedelta, list[tuple[UUID, dict[str, object]]]] = {}
        for button_id, action in actions:
            life = FILE_LIFE if isinstance(action, AddFile) else BUTTON_LIFE
            stored = _ACTION_JSON.dump_python(action, mode="json")
            by_life.setdefault(life, []).append((button_id, stored))
        for life, buttons in by_life.items():
            await channel_buttons.insert(self.database, reader, account, chat, buttons, life)

    def _sign(self, button_id: UUID) -> str:
        number = _encode(button_id.bytes)
        return f"{_VERSION}.{number}.{self._signature(number)}"

    def _verify(self, data: str) -> UUID | None:
        """Return the number on a button that this bot made, None for any other text."""
        version, _, rest = data.partition(".")
        number, _, signature = rest.partition(".")
        is_ours = hmac.compare_digest(
            signature.encode("utf-8", "replace"), self._signature(number).encode()
        )
        if version != _VERSION or not is_ours:
            return None
        return UUID(bytes=base64.urlsafe_b64decode(f"{number}=="))

    def _signature(self, number: str) -> str:
        signed = hmac.digest(self.key, number.encode("utf-8", "replace"), "sha256")
        return _encode(signed[:_SIGNATURE_BYTES])


def signing_key(token: str, project_id: ProjectId) -> bytes:
    """Return the key of the bot with this token in a project."""
    return hmac.digest(token.encode(), f"buttons of {project_id}".encode(), hashlib.sha256)


def _encode(number: bytes) -> str:
    return base64.urlsafe_b64encode(number).rstrip(b"=").decode()


def _subject(action: Action) -> dict[str, object]:
    """Return what the buttons have in common of which one is pressed once, {} where an action can be repeated."""
    match action:
        case DecideLink():
            return {"kind": action.kind, "link": str(action.link)}
        case AddFile():
            return {"kind": action.kind, "handle": action.handle}
        case Share():
            return {
                "kind": action.kind,
                "conversation": str(action.conversation),
                "place": action.place,
            }
        case _:
            return {}
