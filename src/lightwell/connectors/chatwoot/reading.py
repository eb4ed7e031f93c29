"""Reads rows of Chatwoot's into items; what does not fit, or cannot be completed, is unreadable."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from lightwell.connectors.api_client import ResponseTooLarge
from lightwell.connectors.chatwoot.account import SYSTEM, Account
from lightwell.connectors.chatwoot.api import parse
from lightwell.connectors.chatwoot.conversations import Thread, thread_documents
from lightwell.connectors.chatwoot.files import ReadFile, list_attachments
from lightwell.connectors.chatwoot.models import (
    Article,
    Company,
    Contact,
    ContactNote,
    Conversation,
    Message,
    Portal,
)
from lightwell.connectors.chatwoot.records import make_article, make_company, make_contact
from lightwell.connectors.rows import Json, Result, make_too_large, make_unreadable, read_at_once
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import SourceItem

_AT_ONCE = 4

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the rows of one account."""

    account: Account
    read_file: ReadFile
    max_file_bytes: int
    reads_bots: bool
    _limit: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def conversation(self, row: Json) -> Result:
        ref = self._ref("conversation", f"{self.account.number}-{row.get('id')}")
        try:
            conversation = Conversation.model_validate(row)
            rows = await self.account.api.messages(conversation.id)
            messages = tuple((Message.model_validate(message), message) for message in rows or ())
        except ValidationError as error:
            return make_unreadable("Chatwoot", ref, error)
        except ResponseTooLarge as error:
            return make_too_large(ref, error)
        if rows is None:
            return ref
        thread = Thread(
            conversation=conversation, raw=row, messages=messages, reads_bots=self.reads_bots
        )
        texts = thread_documents(self.account, thread)
        attached = list_attachments(self.account, thread, self.read_file, self.max_file_bytes)
        return SourceItem(ref=ref, documents=(*texts, *attached.documents), files=attached.files)

    async def contact(self, row: Json) -> Result:
        ref = self._ref("contact", str(row.get("id")))
        try:
            contact = Contact.model_validate(row)
        except ValidationError as error:
            return make_unreadable("Chatwoot", ref, error)
        answer = await self.account.api.get_optional(f"contacts/{contact.id}/notes")
        notes = [parse(ContactNote, note) for note in answer.rows] if answer else []
        return make_contact(self.account, contact, row, notes)

    async def company(self, row: Json) -> Result:
        try:
            return make_company(self.account, Company.model_validate(row), row)
        except ValidationError as error:
            return make_unreadable("Chatwoot", self._ref("company", str(row.get("id"))), error)

    async def article(self, portal: Portal, row: Json) -> Result:
        """Return a published article; one that is not published is gone."""
        ref = self._ref("article", str(row.get("id")))
        try:
            article = Article.model_validate(row)
        except ValidationError as error:
            return make_unreadable("Chatwoot", ref, error)
        return make_article(self.account, portal, article, row) if article.is_published else ref

    async def at_once(
        self, read: Callable[[T], Awaitable[Result]], arguments: Sequence[T]
    ) -> list[Result]:
        """Return the results of a call for each argument; a few run at the same time."""
        return await read_at_once(self._limit, read, arguments)

    def _ref(self, kind: str, source_id: str) -> GlobalRef:
        return global_ref(SYSTEM, kind, source_id)
