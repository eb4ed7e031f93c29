"""A conversation as an item: its public messages, its private notes, and its attachments, each with their own readers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from lightwell.connectors.chatwoot.account import SYSTEM, Account, inbox_tags, internal_tags
from lightwell.connectors.chatwoot.models import (
    Attachment,
    Conversation,
    Message,
    read_time,
    time_text,
)
from lightwell.connectors.item_documents import (
    ItemText,
    field_lines,
    make_item_document,
    one_line,
    plain_paragraphs,
)
from lightwell.connectors.rows import Json
from lightwell.domain.documents import NewDocument, WorkState
from lightwell.domain.ids import global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink

PART_MESSAGES = 300
"""Messages per document: in a long conversation a new message changes the last document only."""

_ACTIVITY, _TEMPLATE = 2, 3
_BOTS = frozenset(("agent_bot", "captain_assistant"))
_CHURNING = frozenset(
    """messages last_non_activity_message updated_at timestamp last_activity_at unread_count
    agent_last_seen_at assignee_last_seen_at contact_last_seen_at waiting_since""".split()
)
"""Fields of a conversation that a private note changes or quotes, or that change by reading: no document shows them."""
_SHOWN_ACTIVITIES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation with all its messages, the oldest first, each beside what Chatwoot sent."""

    conversation: Conversation
    raw: Json
    messages: tuple[tuple[Message, Json], ...]
    reads_bots: bool

    def select(self, *, private: bool) -> list[tuple[Message, Json]]:
        """Return the public messages or the private notes, with deleted ones, and without those that machines wrote."""
        return [
            (message, raw)
            for message, raw in self.messages
            if message.private is private and self._is_human(message)
        ]

    def _is_human(self, message: Message) -> bool:
        if message.message_type in (_ACTIVITY, _TEMPLATE):
            return False
        is_bot = message.sender is not None and message.sender.type in _BOTS
        return self.reads_bots or not is_bot


def thread_documents(account: Account, thread: Thread) -> list[NewDocument]:
    """Return the documents of messages and of private notes."""
    public = thread.select(private=False)
    notes = thread.select(private=True)
    parts = _split(public) or [[]]
    texts = [
        _public_part(account, thread, part, number) for number, part in enumerate(parts, start=1)
    ]
    texts += [
        _note_part(account, thread, part, number)
        for number, part in enumerate(_split(notes), start=1)
    ]
    return [make_item_document(text) for text in texts]


def conversation_title(account: Account, conversation: Conversation) -> str:
    """Return the conversation's number, contact and subject."""
    sender = conversation.meta.sender
    contact = f" with {account.contact_entity(sender).name}" if sender and sender.id else ""
    subject = one_line(str(conversation.additional_attributes.get("mail_subject") or ""))
    return f"Conversation {conversation.id}{contact}" + (f": {subject}" if subject else "")


def own_entity(account: Account, conversation: Conversation) -> StatedEntity:
    return StatedEntity(
        ref=account.conversation_ref(conversation.id),
        kind="conversation",
        name=conversation_title(account, conversation),
        url=account.conversation_url(conversation.id),
    )


def message_url(account: Account, conversation: Conversation, message_id: int) -> str:
    return f"{account.conversation_url(conversation.id)}?messageId={message_id}"


def file_name(attachment: Attachment) -> str:
    """Return the name of an attachment's file, or what it is."""
    path = unquote(urlsplit(attachment.data_url).path)
    return one_line(path.rpartition("/")[2] or attachment.fallback_title or attachment.file_type)


def base_text(account: Account, conversation: Conversation) -> ItemText:
    """Return what all documents of a conversation have in common; its own contact is the author."""
    entity = own_entity(account, conversation)
    sender = conversation.meta.sender
    contact = account.contact_entity(sender) if sender and sender.id else None
    return ItemText(
        system=SYSTEM,
        kind="conversation",
        source_id=f"{account.number}-{conversation.id}",
        item_ref=entity.ref,
        url=entity.url,
        title=entity.name,
        text="",
        tags=inbox_tags(conversation.inbox_id),
        structure=ItemStructure(entities=(entity,)),
        author=contact.name if contact else "",
        author_ref=contact.ref if contact else "",
        created_at=read_time(conversation.created_at),
        updated_at=read_time(conversation.created_at),
        work_state=_work_state(conversation.status),
    )


def _split(messages: Sequence[tuple[Message, Json]]) -> list[Sequence[tuple[Message, Json]]]:
    return [
        messages[start : start + PART_MESSAGES] for start in range(0, len(messages), PART_MESSAGES)
    ]


def _public_part(
    account: Account, thread: Thread, part: Sequence[tuple[Message, Json]], number: int
) -> ItemText:
    conversation = thread.conversation
    base = base_text(account, conversation)
    structure = _structure(account, thread, part, with_people=number == 1)
    payload: Json = {"messages": [raw for _, raw in part]}
    if number == 1:
        head = _head(account, conversation)
        payload["conversation"] = {
            name: value for name, value in thread.raw.items() if name not in _CHURNING
        }
        metadata = _metadata(account, thread)
    else:
        head = field_lines([("Conversation", f"{base.title}, part {number}")])
        metadata = dict[str, str]()
        base = replace(
            base,
            source_id=f"{base.source_id}.{number}",
            url=message_url(account, conversation, part[0][0].id),
            title=f"{base.title}, part {number}",
            created_at=read_time(part[0][0].created_at),
        )
    return replace(
        _with_messages(account, base, head, part),
        structure=structure,
        payload=payload,
        metadata=metadata,
    )


def _note_part(
    account: Account, thread: Thread, part: Sequence[tuple[Message, Json]], number: int
) -> ItemText:
    conversation = thread.conversation
    base = base_text(account, conversation)
    suffix = "" if number == 1 else f"-{number}"
    title = f"Private notes on conversation {base.title.removeprefix('Conversation ')}"
    noted = replace(
        base,
        kind="private-notes",
        source_id=f"{base.source_id}{suffix}",
        url=f"{base.url}#notes{suffix}",
        title=title,
        tags=internal_tags(conversation.inbox_id),
        created_at=read_time(part[0][0].created_at),
        author="",
        author_ref="",
    )
    head = field_lines([("Private notes on", base.title)])
    return replace(
        _with_messages(account, noted, head, part),
        own_authors=(),  # what is noted among us is said to nobody else
        structure=_structure(account, thread, part, with_people=False),
        payload={"messages": [raw for _, raw in part]},
    )


def _with_messages(
    account: Account, base: ItemText, head: str, part: Iterable[tuple[Message, Json]]
) -> ItemText:
    shown = [message for message, _ in part if not message.is_deleted]
    texts = [_message_text(account, message) for message in shown]
    last = max((message.created_at for message in shown), default=0)
    return replace(
        base,
        text="\n\n".join([head, *texts]),
        updated_at=read_time(last) or base.updated_at,
        own_authors=_own_authors(account, shown),
    )


def _own_authors(account: Account, messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the names above messages of agents, without those that stand above others' messages, too."""
    agents = {_author(account, message) for message in messages if _is_by_agent(message)}
    others = {_author(account, message) for message in messages if not _is_by_agent(message)}
    return tuple(sorted(agents - others))


def _is_by_agent(message: Message) -> bool:
    return message.sender is not None and message.sender.type == "user"


def _message_text(account: Account, message: Message) -> str:
    """Return a message under a heading with its author and date."""
    heading = f"## {_author(account, message)}, {time_text(message.created_at)}"
    body = plain_paragraphs(_content(message))
    files = "\n".join(_attachment_line(attachment) for attachment in message.attachments)
    return "\n\n".join(part for part in (heading, body, files) if part)


def _content(message: Message) -> str:
    """Return what was written; of an e-mail the new text, with its subject, and not what it quotes."""
    email = message.content_attributes.get("email")
    if not isinstance(email, dict):
        return message.content
    subject = _text_in(email, "subject")  # pyright: ignore[reportUnknownArgumentType]
    body = message.content.strip() or _email_text(email)  # pyright: ignore[reportUnknownArgumentType]
    return f"Subject: {one_line(subject)}\n\n{body}" if subject else body


def _email_text(email: Mapping[str, object]) -> str:
    parts = email.get("text_content")
    if not isinstance(parts, dict):
        return ""
    return _text_in(parts, "reply") or _text_in(parts, "full")  # pyright: ignore[reportUnknownArgumentType]


def _text_in(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _attachment_line(attachment: Attachment) -> str:
    name = file_name(attachment)
    if attachment.transcribed_text:
        return f"Voice message: {one_line(attachment.transcribed_text)}"
    return f"Attachment: {name}" if name else ""


def _author(account: Account, message: Message) -> str:
    sender = message.sender
    if sender is None:
        return "Contact" if message.message_type == 0 else "Agent"
    if sender.type == "user":
        return account.agent_entity(sender).name
    name = one_line(sender.shown_name) or "Contact"
    return f"{name} (bot)" if sender.type in _BOTS else name


def _head(account: Account, conversation: Conversation) -> str:
    """Return what is known of the conversation, above its messages."""
    meta = conversation.meta
    contact = account.contact_entity(meta.sender) if meta.sender and meta.sender.id else None
    assignee = account.agent_entity(meta.assignee) if meta.assignee and meta.assignee.id else None
    attributes = conversation.custom_attributes.items()
    return field_lines(
        [
            ("Conversation", str(conversation.id)),
            ("Subject", str(conversation.additional_attributes.get("mail_subject") or "")),
            ("Contact", contact.name if contact else ""),
            ("E-mail", contact.attributes.get("email", "") if contact else ""),
            ("Inbox", account.inbox_entity(conversation.inbox_id).name),
            ("Status", conversation.status),
            ("Priority", conversation.priority),
            ("Assignee", assignee.name if assignee else ""),
            ("Team", meta.team.name if meta.team else ""),
            ("Labels", ", ".join(sorted(conversation.labels))),
            *((label(name), plain(value)) for name, value in attributes),
            ("Started", time_text(conversation.created_at)),
        ]
    )


def label(name: str) -> str:
    """Return the name of an attribute as people write it."""
    return one_line(name.replace("_", " ")).capitalize()


def plain(value: object) -> str:
    """Return a simple value as text, "" for one that has parts."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else ""


def _work_state(status: str) -> WorkState | None:
    """Return what a conversation's status says; one that is pending waits for a bot, a snoozed one for later."""
    if status == "resolved":
        return WorkState.CLOSED
    return WorkState.OPEN if status in ("open", "pending", "snoozed") else None


def _metadata(account: Account, thread: Thread) -> dict[str, str]:
    conversation = thread.conversation
    activities = [
        one_line(message.content)
        for message, _ in thread.messages
        if message.message_type == _ACTIVITY and not message.private
    ]
    return {
        "status": conversation.status,
        "inbox": account.inbox_entity(conversation.inbox_id).name,
        "labels": ", ".join(sorted(conversation.labels)),
        "activity": "; ".join(activities[-_SHOWN_ACTIVITIES:]),
    }


def _structure(
    account: Account, thread: Thread, part: Iterable[tuple[Message, Json]], *, with_people: bool
) -> ItemStructure:
    """Return the conversation, its messages and what they reply to; with people, also its contact, assignee and inbox."""
    conversation = thread.conversation
    entity = own_entity(account, conversation)
    shown = [message for message, _ in part if not message.is_deleted]
    replies = _find_replies(thread, shown)
    by_id = {message.id: message for message in (*shown, *(first for _, first in replies))}
    entities = {
        id_: StatedEntity(
            ref=global_ref(SYSTEM, "message", str(message.id)),
            kind="message",
            name=f"Message by {_author(account, message)}, {time_text(message.created_at)}",
            url=message_url(account, conversation, message.id),
        )
        for id_, message in by_id.items()
    }
    messages = tuple(entities.values())
    links = tuple(
        StatedLink(
            source=message.ref, target=entity.ref, type=LinkType.THREAD_OF, relation="message"
        )
        for message in messages
    )
    links += tuple(
        StatedLink(
            source=entities[reply.id].ref,
            target=entities[first.id].ref,
            type=LinkType.RELATED_TO,
            relation="in_reply_to",
        )
        for reply, first in replies
    )
    if not with_people:
        return ItemStructure(entities=(entity, *messages), links=links)
    meta = conversation.meta
    others = [("inbox", account.inbox_entity(conversation.inbox_id))]
    if meta.sender and meta.sender.id:
        others.append(("contact", account.contact_entity(meta.sender)))
    if meta.assignee and meta.assignee.id:
        others.append(("assignee", account.agent_entity(meta.assignee)))
    links += tuple(
        StatedLink(source=entity.ref, target=other.ref, type=LinkType.RELATED_TO, relation=relation)
        for relation, other in others
    )
    entities = (entity, *(other for _, other in others), *messages)
    return ItemStructure(entities=entities, links=links)


def _find_replies(thread: Thread, shown: Iterable[Message]) -> list[tuple[Message, Message]]:
    """Return those of the messages that reply to another, each with that one.

    A public message names no private note, because not all who see the message see the note.
    """
    public = {message.id: message for message, _ in thread.select(private=False)}
    messages = public | {message.id: message for message, _ in thread.select(private=True)}
    replies: list[tuple[Message, Message]] = []
    for message in shown:
        first = (messages if message.private else public).get(message.replies_to or 0)
        if first is not None and first.id != message.id and not first.is_deleted:
            replies.append((message, first))
    return replies
