"""The state of a stand-in for Chatwoot, and its webhooks; `chatwoot_server.py` serves it over HTTP."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast
from uuid import UUID

Row = dict[str, object]
TOKEN, SECRET = "chatwoot-token", "chatwoot-secret"
ACCOUNT = 1
START = int(datetime(2026, 3, 2, 9, 0, tzinfo=UTC).timestamp())
_TYPES = {0: "incoming", 1: "outgoing", 2: "activity", 3: "template"}


@dataclass(slots=True, kw_only=True)
class FakeChatwoot:
    """An account. `before` is called with each request's method and path, and may change rows.

    `refusals` are the statuses of the next answers; 429 comes without `Retry-After`, as Chatwoot sends it. `is_signing` is
    false for a server before 4.12. A minute passes with each change.
    """

    base_url: str = "http://chat.test"
    webhook_secret: str = SECRET
    is_signing: bool = True
    before: Callable[[str], None] = lambda call: None
    refusals: list[int] = field(default_factory=list[int])
    calls: list[str] = field(default_factory=list[str])
    agents: dict[int, Row] = field(default_factory=dict[int, Row])
    inboxes: dict[int, Row] = field(default_factory=dict[int, Row])
    inbox_members: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    contacts: dict[int, Row] = field(default_factory=dict[int, Row])
    contact_notes: dict[int, list[Row]] = field(default_factory=dict[int, list[Row]])
    companies: dict[int, Row] | None = None
    conversations: dict[int, Row] = field(default_factory=dict[int, Row])
    messages: dict[int, Row] = field(default_factory=dict[int, Row])
    labels: dict[int, Row] = field(default_factory=dict[int, Row])
    portals: dict[str, Row] = field(default_factory=dict[str, Row])
    articles: dict[int, Row] = field(default_factory=dict[int, Row])
    files: dict[int, tuple[str, bytes]] = field(default_factory=dict[int, tuple[str, bytes]])
    clock: int = START
    _ids: int = 0
    _display_ids: int = 0

    def new_id(self) -> int:
        self._ids += 1
        return self._ids

    def tick(self) -> int:
        self.clock += 60
        return self.clock

    def add_agent(self, name: str, email: str, *, role: str = "agent") -> int:
        id_ = self.new_id()
        self.agents[id_] = {
            "id": id_,
            "account_id": ACCOUNT,
            "availability_status": "online",
            "auto_offline": True,
            "confirmed": True,
            "email": email,
            "available_name": name,
            "name": name,
            "role": role,
            "thumbnail": "",
            "custom_role_id": None,
        }
        return id_

    def add_inbox(self, name: str, members: Iterable[int]) -> int:
        id_ = self.new_id()
        self.inboxes[id_] = {
            "id": id_,
            "name": name,
            "channel_type": "Channel::Api",
            "channel_id": id_,
            "avatar_url": "",
            "greeting_enabled": False,
            "working_hours_enabled": False,
            "timezone": "UTC",
        }
        self.inbox_members[id_] = set(members)
        return id_

    def add_company(self, name: str, domain: str) -> int:
        """Add a company; without any, the account has no such feature."""
        id_ = self.new_id()
        company: Row = {"id": id_, "name": name, "domain": domain}
        self.companies = {**(self.companies or {}), id_: company}
        return id_

    def add_contact(
        self, name: str, email: str, *, company: int | None = None, note: str = "", by: int = 0
    ) -> int:
        """Add a contact, perhaps with a note by an agent."""
        id_ = self.new_id()
        self.contacts[id_] = {
            "id": id_,
            "additional_attributes": {"city": "Bergen", "country": "Norway"},
            "availability_status": "offline",
            "email": email,
            "name": name,
            "phone_number": None,
            "blocked": False,
            "identifier": None,
            "thumbnail": "",
            "custom_attributes": {},
            "last_activity_at": None,
            "created_at": self.tick(),
            "contact_inboxes": [],
        }
        if company and self.companies:
            named = {"id": company, "name": self.companies[company]["name"]}
            self.contacts[id_] |= {"company_id": company, "company": named}
        if note:
            user = {**self.sender("user", by)}
            written = {"id": self.new_id(), "content": note, "user": user}
            self.contact_notes[id_] = [{**written, "created_at": self.tick()}]
        return id_

    def add_conversation(
        self,
        inbox: int,
        contact: int,
        *,
        assignee: int | None = None,
        subject: str = "",
        labels: Iterable[str] = (),
    ) -> int:
        self._display_ids += 1
        id_, now = self._display_ids, self.tick()
        self.conversations[id_] = {
            "id": id_,
            "account_id": ACCOUNT,
            "uuid": str(UUID(int=id_, version=4)),
            "additional_attributes": {"mail_subject": subject} if subject else {},
            "agent_last_seen_at": 0,
            "assignee_last_seen_at": 0,
            "can_reply": True,
            "contact_last_seen_at": 0,
            "custom_attributes": {},
            "inbox_id": inbox,
            "labels": list(labels),
            "muted": False,
            "snoozed_until": None,
            "status": "open",
            "created_at": now,
            "updated_at": float(now),
            "timestamp": now,
            "first_reply_created_at": None,
            "unread_count": 0,
            "last_activity_at": now,
            "priority": None,
            "waiting_since": None,
            "sla_policy_id": None,
            "contact_id": contact,
            "assignee_id": assignee,
        }
        return id_

    def change_conversation(self, id_: int, **changes: object) -> None:
        self.conversations[id_] |= {**changes, "updated_at": float(self.tick())}

    def delete_conversation(self, id_: int) -> None:
        """Delete a conversation, of which Chatwoot sends no webhook."""
        del self.conversations[id_]
        self.messages = {
            key: row for key, row in self.messages.items() if row["conversation_id"] != id_
        }

    def add_message(
        self,
        conversation: int,
        content: str | None,
        sender: tuple[str, int] | None,
        *,
        private: bool = False,
        kind: int | None = None,
    ) -> int:
        """Add a message by `("contact" or "user" or "agent_bot", id)`; `kind` 2 is an activity, 3 a template."""
        id_, now = self.new_id(), self.tick()
        incoming = sender is not None and sender[0] == "contact"
        type_ = (0 if incoming else 1) if kind is None else kind
        self.messages[id_] = {
            "id": id_,
            "content": content,
            "account_id": ACCOUNT,
            "inbox_id": self.conversations[conversation]["inbox_id"],
            "conversation_id": conversation,
            "message_type": type_,
            "created_at": now,
            "updated_at": now,
            "private": private,
            "status": "sent",
            "source_id": None,
            "content_type": "text",
            "content_attributes": {},
        }
        if sender:
            self.messages[id_]["sender"] = self.sender(*sender)
        touched = {"updated_at": float(now), "last_activity_at": now, "timestamp": now}
        self.conversations[conversation] |= touched
        if incoming and sender:
            self.contacts[sender[1]]["last_activity_at"] = now
        return id_

    def edit_message(self, id_: int, **changes: object) -> None:
        """Change a message; since 4.12 that does not change the conversation's `updated_at`."""
        self.messages[id_] |= {**changes, "updated_at": self.tick()}

    def delete_message(self, id_: int) -> None:
        self.edit_message(
            id_,
            content="This message was deleted",
            content_attributes={"deleted": True},
            attachments=[],
        )

    def attach(
        self,
        message: int,
        name: str,
        content: bytes,
        *,
        file_type: str = "file",
        transcript: str = "",
    ) -> int:
        id_ = self.new_id()
        self.files[id_] = (name, content)
        attachment: Row = {
            "id": id_,
            "message_id": message,
            "file_type": file_type,
            "account_id": ACCOUNT,
            "extension": None,
            "data_url": f"{self.base_url}/rails/active_storage/blobs/redirect/{id_}/{name}",
            "thumb_url": "",
            "file_size": len(content),
        }
        if transcript:
            attachment["transcribed_text"] = transcript
        attached = cast("list[Row]", self.messages[message].setdefault("attachments", []))
        attached.append(attachment)
        return id_

    def add_portal(self, slug: str, name: str) -> None:
        self.portals[slug] = {"id": self.new_id(), "slug": slug, "name": name, "archived": False}

    def add_article(
        self, portal: str, title: str, content: str, *, author: int, status: str = "published"
    ) -> int:
        id_ = self.new_id()
        self.articles[id_] = {
            "id": id_,
            "title": title,
            "content": content,
            "description": "",
            "slug": f"{id_}-{title.lower().replace(' ', '-')}",
            "status": status,
            "views": 0,
            "account_id": ACCOUNT,
            "updated_at": self.tick(),
            "portal": portal,
            "author": self.sender("user", author),
        }
        return id_

    def sender(self, kind: str, id_: int) -> Row:
        if kind == "contact":
            row = self.contacts[id_]
            return {**{name: row[name] for name in ("id", "name", "email")}, "type": "contact"}
        if kind == "user":
            row = self.agents[id_]
            named = {name: row[name] for name in ("id", "name", "available_name")}
            return {**named, "type": "user"}
        return {"id": id_, "name": "Helper", "type": kind}

    def webhook(self, event: str, id_: int) -> tuple[dict[str, str], bytes]:
        """Return headers (with names in lower case) and body of a genuine delivery about the row with this id."""
        account = {"account": {"id": ACCOUNT, "name": "Halden"}}
        payload: Row = {"event": event, **account}
        if event.startswith("message_"):
            message = self.messages[id_]
            kind = _TYPES[cast("int", message["message_type"])]
            created_at = datetime.fromtimestamp(cast("int", message["created_at"]), UTC)
            payload |= {**message, "message_type": kind, "created_at": created_at.isoformat()}
            payload["conversation"] = {"id": message["conversation_id"]}
        elif event.startswith("conversation_"):
            payload |= {**self.conversations.get(id_, {}), "id": id_}
        else:
            payload["id"] = id_
        return self.sign(json.dumps(payload).encode())

    def sign(self, body: bytes, *, seconds: int | None = None) -> tuple[dict[str, str], bytes]:
        """Return the headers with which this server would send a body."""
        delivery = {"x-chatwoot-delivery": str(UUID(int=self.new_id(), version=4))}
        if not self.is_signing:
            return {}, body
        timestamp = str(self.clock if seconds is None else seconds)
        signed = f"{timestamp}.".encode() + body
        digest = hmac.new(self.webhook_secret.encode(), signed, hashlib.sha256).hexdigest()
        signature = {"x-chatwoot-signature": f"sha256={digest}"}
        return {**delivery, **signature, "x-chatwoot-timestamp": timestamp}, body

    def show(self, conversation: Mapping[str, object]) -> Row:
        """Return a conversation as the API sends it."""
        shown = {name: value for name, value in conversation.items() if not name.endswith("_id")}
        shown |= {name: conversation[name] for name in ("account_id", "inbox_id", "sla_policy_id")}
        contact, assignee = conversation["contact_id"], conversation["assignee_id"]
        meta: Row = {"sender": self.contacts[cast("int", contact)], "channel": "Channel::Api"}
        if assignee in self.agents:
            meta["assignee"] = self.agents[cast("int", assignee)]
        messages = [row for row in self.messages.values() if row["conversation_id"] == shown["id"]]
        return {**shown, "meta": meta, "messages": messages[-1:]}
