"""Attachments of conversations as documents: with their text where their format has any, else with their name."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from lightwell.connectors.chatwoot.account import Account, inbox_tags, internal_tags
from lightwell.connectors.chatwoot.conversations import (
    Thread,
    base_text,
    file_name,
    message_url,
    own_entity,
)
from lightwell.connectors.chatwoot.models import Attachment, Message, read_time, time_text
from lightwell.connectors.item_documents import field_lines, make_item_document, one_line
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import Unreadable
from lightwell.domain.item_structure import ItemStructure
from lightwell.ingest.parse.formats import detect_format, has_known_extension

ReadFile = Callable[[str], Awaitable[bytes]]
"""Downloads what a URL names; raises `Unreadable`."""

_MAX_CONVERSATION_BYTES = 16 * 1000**2
"""Bytes of all files of one conversation; later ones keep only their name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    message: Message
    attachment: Attachment


async def attachment_documents(
    account: Account, thread: Thread, read_file: ReadFile
) -> list[NewDocument]:
    """Return a document for each attachment of a message that was not deleted."""
    documents: list[NewDocument] = []
    left = _MAX_CONVERSATION_BYTES
    for message, _ in thread.messages:
        for attachment in () if message.is_deleted else message.attachments:
            if not attachment.data_url:
                continue  # a place or a contact has no file
            file = _File(message=message, attachment=attachment)
            document = await _document(account, thread, file, read_file, left)
            left -= len(document.content)
            documents.append(document)
    return documents


async def _document(
    account: Account, thread: Thread, file: _File, read_file: ReadFile, left: int
) -> NewDocument:
    name = file_name(file.attachment)
    if file.attachment.file_type != "file" or not has_known_extension(name):
        return _describe(account, thread, file, "")
    if (file.attachment.file_size or 0) > left:
        return _describe(account, thread, file, "too_large")
    try:
        content = await read_file(file.attachment.data_url)
        format_ = detect_format(name, content)
    except Unreadable as error:
        return _describe(account, thread, file, error.reason)
    document = _describe(account, thread, file, "read")
    return replace(document, content=content, format=format_)


def _describe(account: Account, thread: Thread, file: _File, state: str) -> NewDocument:
    """Return the document that only names the file; `state` says what became of its content."""
    conversation, attachment, message = thread.conversation, file.attachment, file.message
    name = file_name(attachment)
    base = base_text(account, conversation)
    sender = message.sender
    author = one_line(sender.shown_name) if sender else ""
    page = message_url(account, conversation, message.id)
    tags = internal_tags if message.private else inbox_tags
    head = field_lines(
        [
            ("Attachment", name),
            ("Kind", attachment.file_type),
            ("In", base.title),
            ("Author", author),
            ("Date", time_text(message.created_at)),
            ("Transcript", attachment.transcribed_text),
        ]
    )
    return make_item_document(
        replace(
            base,
            kind="attachment",
            source_id=str(attachment.id),
            url=f"{page}#attachment-{attachment.id}",
            title=f"{name} in {base.title}",
            text=head,
            tags=tags(conversation.inbox_id),
            structure=ItemStructure(entities=(own_entity(account, conversation),)),
            author=author,
            author_ref=f"chatwoot:{sender.type}:{sender.id}" if sender and sender.type else "",
            created_at=read_time(message.created_at),
            updated_at=read_time(message.created_at),
            metadata={"file_url": attachment.data_url, "file_type": attachment.file_type},
            payload=attachment.model_dump(mode="json"),
            fingerprint=f"{attachment.file_size}:{state}",
        )
    )
