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
from lightwell.domain.source_items import AttachedFile
from lightwell.ingest.parse.formats import detect_format, has_known_extension

ReadFile = Callable[[str], Awaitable[bytes]]
"""Downloads what a URL names; raises `Unreadable`."""

_MAX_CONVERSATION_BYTES = 16 * 1000**2
"""Bytes of all files of one conversation; later ones keep only their name."""

_STORED = "read"
_TRANSIENT = "unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """The attachments of a conversation: those with a text, to be downloaded, and documents that only name the others."""

    files: tuple[AttachedFile, ...]
    documents: tuple[NewDocument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    message: Message
    attachment: Attachment

    @property
    def version(self) -> str:
        """Chatwoot never changes the file of an attachment: another file is another attachment."""
        return f"{self.attachment.id}:{self.attachment.file_size or 0}"


def list_attachments(
    account: Account, thread: Thread, read_file: ReadFile, max_bytes: int
) -> Attachments:
    """Return the attachments of messages that were not deleted; a file of more than `max_bytes` is only named."""
    files: list[AttachedFile] = []
    documents: list[NewDocument] = []
    left = _MAX_CONVERSATION_BYTES
    for message, _ in thread.messages:
        for attachment in () if message.is_deleted else message.attachments:
            if not attachment.data_url:
                continue  # a place or a contact has no file
            file, size = _File(message=message, attachment=attachment), attachment.file_size or 0
            if attachment.file_type != "file" or not has_known_extension(file_name(attachment)):
                documents.append(_describe(account, thread, file, ""))
            elif size > min(left, max_bytes):
                documents.append(_describe(account, thread, file, "too_large"))
            else:
                left -= size
                files.append(_attach(account, thread, file, read_file))
    return Attachments(files=tuple(files), documents=tuple(documents))


def _attach(account: Account, thread: Thread, file: _File, read_file: ReadFile) -> AttachedFile:
    described = replace(_describe(account, thread, file, _STORED), file_version=file.version)

    async def read() -> NewDocument:
        try:
            content = await read_file(file.attachment.data_url)
            format_ = detect_format(file_name(file.attachment), content)
        except Unreadable as error:
            is_transient = error.reason == _TRANSIENT
            return _describe(account, thread, file, error.reason) if is_transient else described
        return replace(described, content=content, format=format_, is_file=True)

    return AttachedFile(document=replace(described, content=b"", has_content=False), read=read)


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
