"""Chatwoot's connector against the stand-in for Chatwoot."""

import socket
from asyncio import StreamReader, StreamWriter, create_task, start_server
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
import stamina
import uvicorn

from lightwell.connectors.attachments import AttachmentReader
from lightwell.connectors.chatwoot.conversations import PART_MESSAGES
from lightwell.connectors.chatwoot.source import ChatwootSource, open_chatwoot
from lightwell.domain.documents import Format
from lightwell.domain.errors import Invalid, Refused, SourceFailed, Unreadable
from lightwell.domain.ids import GlobalRef
from lightwell.domain.item_structure import LinkType
from lightwell.testing.chatwoot import SECRET, TOKEN
from lightwell.testing.chatwoot_server import make_chatwoot_app
from lightwell.testing.connector_contract import Genuine, check_connector
from tests.chatwoot_world import BASE, Support, opened
from tests.connectors.pulling import Shelf


@pytest.fixture(autouse=True)
def _no_waiting() -> Generator[None]:
    stamina.set_testing(True, attempts=3)
    yield
    stamina.set_testing(False)


async def test_a_conversation_is_a_document_that_names_author_and_date_of_each_message() -> None:
    support, shelf = Support(), Shelf()
    async with opened(support) as source:
        await shelf.sync(source)
    documents = {each.url: each for each in shelf.documents[GlobalRef("chatwoot:conversation:1-1")]}
    page = f"{BASE}/app/accounts/1/conversations/1"
    talk, notes = documents[page], documents[f"{page}#notes"]
    assert talk.content.decode() == (
        "Conversation: 1\nSubject: Gateway down\nContact: Petra Voss\nE-mail: petra@nordwind.example\n"
        "Inbox: Support\nStatus: open\nAssignee: Bob Okafor\nLabels: urgent\nStarted: 2026-03-02 09:03 UTC\n\n"
        "## Petra Voss, 2026-03-02 09:04 UTC\n\nThe gateway\nis down since noon.\n\nAttachment: led.png\n\n"
        "## Bob Okafor, 2026-03-02 09:08 UTC\n\nWe send a technician on Friday.\n\nAttachment: reset steps.md"
    )
    assert talk.title == "Conversation 1 with Petra Voss: Gateway down"
    assert talk.acl_tags == {f"chatwoot:inbox:{support.inbox}"}
    assert talk.metadata["activity"] == "Bob self-assigned this conversation"
    assert "pay late" in notes.content.decode()
    assert notes.acl_tags == {f"chatwoot:inbox:{support.inbox}:internal"}
    assert "pay late" not in str(talk) + str(
        [each for each in documents.values() if each is not notes]
    )
    file = documents[f"{page}?messageId={support.answer}#attachment-{support.manual}"]
    assert (file.format, file.title) == (Format.MARKDOWN, f"reset steps.md in {talk.title}")
    assert b"ten seconds" in file.content
    photo = documents[f"{page}?messageId={support.first}#attachment-{support.photo}"]
    assert photo.metadata["file_url"].endswith("/led.png")
    assert b"Attachment: led.png\nKind: image" in photo.content


async def test_messages_are_entities_of_their_conversation() -> None:
    support, shelf = Support(), Shelf()
    async with opened(support) as source:
        await shelf.sync(source)
    talk = shelf.documents[GlobalRef("chatwoot:conversation:1-1")][0].structure
    message = {each.ref: each for each in talk.entities}[
        GlobalRef(f"chatwoot:message:{support.first}")
    ]
    assert message.url == f"{BASE}/app/accounts/1/conversations/1?messageId={support.first}"
    threads = {each.source for each in talk.links if each.type is LinkType.THREAD_OF}
    assert threads == {f"chatwoot:message:{support.first}", f"chatwoot:message:{support.answer}"}
    others = {
        (each.relation, each.target) for each in talk.links if each.type is not LinkType.THREAD_OF
    }
    assert others == {
        ("inbox", f"chatwoot:inbox:{support.inbox}"),
        ("contact", f"chatwoot:contact:{support.petra}"),
        ("assignee", f"chatwoot:user:{support.bob}"),
    }
    contact, notes = shelf.documents[GlobalRef(f"chatwoot:contact:{support.petra}")]
    assert [each.relation for each in contact.structure.links] == ["company"]
    assert contact.structure.entities[0].attributes["email"] == "petra@nordwind.example"
    assert "## Bob Okafor, 2026-03-02 09:02 UTC\n\nPrefers the phone." in notes.content.decode()
    assert notes.acl_tags == {"chatwoot:account:internal"}


async def test_a_long_conversation_has_parts_and_a_new_message_changes_the_last_one() -> None:
    support, shelf = Support(), Shelf()
    contact = ("contact", support.petra)
    long = support.chatwoot.add_conversation(support.inbox, support.petra)
    for number in range(3 * PART_MESSAGES + 150):
        support.chatwoot.add_message(long, f"Message {number}", contact)
    ref = GlobalRef(f"chatwoot:conversation:1-{long}")
    async with opened(support) as source:
        await shelf.sync(source)
        assert len(shelf.documents[ref]) == 4
        assert (
            support.chatwoot.calls.count(f"GET /api/v1/accounts/1/conversations/{long}/messages")
            == 2
        )
        new = support.chatwoot.add_message(long, "One more", contact)
        await shelf.sync(source)
    assert len(shelf.changed) == 1
    last = shelf.documents[ref][-1]
    assert last.url == shelf.changed[0]
    assert last.structure.entities[-1].ref == f"chatwoot:message:{new}"


async def test_edited_and_deleted_messages_and_conversations() -> None:
    support, shelf = Support(), Shelf()
    chatwoot, ref = support.chatwoot, GlobalRef("chatwoot:conversation:1-1")
    async with opened(support) as source:
        await shelf.sync(source)
        chatwoot.edit_message(support.first, content="The gateway works again.")
        await shelf.fetch(
            source,
            source.read_webhook(
                *chatwoot.webhook("message_updated", support.first), support.now
            ).refs,
        )
        assert "works again" in shelf.text(ref)
        chatwoot.delete_message(support.answer)
        chatwoot.add_message(support.talk, "Thank you", ("contact", support.petra))
        await shelf.sync(source)
        assert "technician" not in shelf.text(ref)
        assert "was deleted" not in shelf.text(ref)
        assert not any("reset steps" in each.title for each in shelf.documents[ref])
        chatwoot.clock += 3600
        await shelf.sync(source)
        chatwoot.edit_message(support.first, content="Silently edited.")
        await shelf.sync(source)
        assert "Silently" not in shelf.text(ref)
        source.options = replace(source.options, rewalk=timedelta(seconds=1))
        await shelf.sync(source)
        assert "Silently" in shelf.text(ref)
        chatwoot.delete_conversation(support.talk)
        await shelf.sweep(source)
    assert ref not in shelf.documents
    assert GlobalRef(f"chatwoot:contact:{support.petra}") in shelf.documents


async def test_a_second_sync_changes_nothing_and_reads_only_what_was_touched() -> None:
    support, shelf = Support(), Shelf()
    for number in range(60):
        support.chatwoot.add_conversation(support.inbox, support.petra, subject=f"Subject {number}")
    async with opened(support) as source:
        await shelf.sync(source)
        assert len(shelf.documents) == 63
        support.chatwoot.clock += 3600
        await shelf.sync(source)
        support.chatwoot.calls.clear()
        await shelf.sync(source)
        assert shelf.changed == []
        assert not any("messages" in call for call in support.chatwoot.calls)
        support.chatwoot.change_conversation(7, status="resolved")
        await shelf.sync(source)
        assert shelf.changed == [f"{BASE}/app/accounts/1/conversations/7"]
        assert "Status: resolved" in shelf.text("chatwoot:conversation:1-7")
        assert shelf.one("chatwoot:conversation:1-7").metadata["work_state"] == "closed"
        assert shelf.one("chatwoot:conversation:1-8").metadata["work_state"] == "open"


async def test_a_walk_is_complete_although_conversations_are_deleted_meanwhile() -> None:
    support, shelf = Support(), Shelf()
    for _ in range(120):
        support.chatwoot.add_conversation(support.inbox, support.petra)
    doomed = [2, 3, 4, 30, 31]

    def disturb(call: str) -> None:
        if call.endswith("/conversations") and doomed:
            support.chatwoot.delete_conversation(doomed.pop())

    support.chatwoot.before = disturb
    async with opened(support) as source:
        await shelf.sync(source)
        stored = {int(ref.rpartition("-")[2]) for ref in shelf.documents if ":conversation:" in ref}
        assert support.chatwoot.conversations.keys() - stored == set()
        clean = Shelf()
        await clean.sync(source)
        for pages in range(1, 9):
            cut = Shelf()
            await cut.sync(source, pages=pages)
            await cut.sync(source)
            assert cut.hashes() == clean.hashes()


async def test_groups_say_who_may_see_which_inbox() -> None:
    support = Support()
    chatwoot = support.chatwoot
    async with opened(support) as source:
        before = {each.name: each for each in (await source.directory()).groups}
        chatwoot.inbox_members[support.inbox] = {support.cy}
        chatwoot.agents[support.cy]["custom_role_id"] = 3
        after = {each.name: each for each in (await source.directory()).groups}
    name = f"Inbox Support ({support.inbox})"
    tags = {f"chatwoot:inbox:{support.inbox}", f"chatwoot:inbox:{support.inbox}:internal"}
    assert (before[name].members, before[name].tags) == ({str(support.ada), str(support.bob)}, tags)
    assert after[name].members == {str(support.ada)}
    assert str(support.cy) in before["Account"].members
    assert str(support.cy) not in after["Account"].members


async def test_webhooks_are_checked() -> None:
    support = Support()
    chatwoot, now = support.chatwoot, support.now
    headers, body = chatwoot.webhook("message_created", support.first)
    async with opened(support) as source:
        hint = source.read_webhook(headers, body, now)
        assert hint.refs == ("chatwoot:conversation:1-1",)
        assert hint.delivery == headers["x-chatwoot-delivery"]
        assert source.read_webhook(*chatwoot.webhook("contact_updated", 5), now).refs == (
            "chatwoot:contact:5",
        )
        assert source.read_webhook(*chatwoot.webhook("inbox_updated", 1), now).directory
        assert source.read_webhook(*chatwoot.webhook("conversation_typing_on", 1), now).refs == ()
        for bad in (
            ({**headers, "x-chatwoot-signature": "sha256=0"}, body, now),
            ({**headers, "x-chatwoot-timestamp": "1"}, body, now),
            (headers, body + b" ", now),
            (dict[str, str](), body, now),
            (headers, body, now + timedelta(minutes=6)),
        ):
            with pytest.raises(Refused):
                source.read_webhook(*bad)
        with pytest.raises(Invalid):
            source.read_webhook(*chatwoot.sign(b"{}"), now)
        with pytest.raises(Invalid):
            source.read_webhook(*chatwoot.sign(b'{"event": "x", "account": {"id": 2}}'), now)
    async with opened(support, unsigned_webhooks="true") as source:
        assert source.read_webhook({}, body, now).refs == hint.refs
        with pytest.raises(Refused):
            source.read_webhook({**headers, "x-chatwoot-signature": "sha256=0"}, body, now)


async def test_emails_voice_messages_and_articles() -> None:
    support, shelf = Support(), Shelf()
    chatwoot = support.chatwoot
    mail = chatwoot.add_message(support.talk, None, ("contact", support.petra))
    text = {"reply": "The new text.", "full": "The new text.\n> the old one"}
    chatwoot.edit_message(
        mail,
        content_type="incoming_email",
        content_attributes={"email": {"subject": "Offer", "text_content": text}},
    )
    voice = chatwoot.add_message(support.talk, None, ("contact", support.petra))
    chatwoot.attach(voice, "voice.ogg", b"OggS", file_type="audio", transcript="Please call me.")
    chatwoot.add_portal("help", "Help")
    guide = chatwoot.add_article(
        "help", "Reset a gateway", "## Steps\nHold it.", author=support.bob
    )
    draft = chatwoot.add_article("help", "Draft", "secret", author=support.bob, status="draft")
    async with opened(support) as source:
        await shelf.sync(source)
        talk = shelf.text("chatwoot:conversation:1-1")
        assert "Subject: Offer\n\nThe new text.\n\n##" in talk
        assert "Voice message: Please call me." in talk
        article = shelf.one(f"chatwoot:article:{guide}")
        assert article.url == f"{BASE}/hc/help/articles/{guide}-reset-a-gateway"
        assert article.author == "Bob Okafor"
        assert f"chatwoot:article:{draft}" not in shelf.documents
        chatwoot.articles[guide]["status"] = "archived"
        page = await shelf.fetch(source, [GlobalRef(f"chatwoot:article:{guide}")])
        assert page.removed == (f"chatwoot:article:{guide}",)


async def test_limits_failures_and_rows_of_an_unknown_form() -> None:
    support, shelf = Support(), Shelf()
    async with opened(support) as source:
        support.chatwoot.refusals = [429, 502]
        await shelf.sync(source)
        support.chatwoot.refusals = [401]
        with pytest.raises(SourceFailed, match="administrator"):
            await shelf.sync(source)
        support.chatwoot.change_conversation(support.talk, inbox_id="broken")
        await shelf.sync(source)
    assert [each.ref for each in shelf.unreadable] == ["chatwoot:conversation:1-1"]
    assert GlobalRef("chatwoot:conversation:1-1") in shelf.documents
    for options in (
        {},
        {"base_url": BASE},
        {"base_url": BASE, "account": "x"},
        {"base_url": BASE, "account": "1", "bot_messages": "maybe"},
    ):
        with pytest.raises(Invalid):
            async with open_chatwoot(options, TOKEN, SECRET):
                pass


async def test_messages_of_bots_are_read_on_request_only() -> None:
    support, shelf = Support(), Shelf()
    async with opened(support, bot_messages="true") as source:
        await shelf.sync(source)
    assert "## Helper (bot), 2026-03-02 09:07 UTC\n\nBeep" in shelf.text(
        "chatwoot:conversation:1-1"
    )


@asynccontextmanager
async def served(support: Support) -> AsyncGenerator[str]:
    """Serve the account on a free port of the loopback."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        app = make_chatwoot_app(support.chatwoot)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        serving = create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


async def test_files_are_downloaded_from_the_server_without_the_token_and_within_limits() -> None:
    support = Support()
    async with served(support) as base_url:
        support.chatwoot.base_url = base_url
        files = AttachmentReader(base_url=base_url, max_bytes=100)
        large = support.chatwoot.attach(support.answer, "large.md", b"x" * 101)
        start = f"{base_url}/rails/active_storage/blobs/redirect"
        assert b"ten seconds" in await files.read(f"{start}/{support.manual}/reset.md")
        for url, reason in (
            (f"{start}/{large}/large.md", "too_large"),
            (f"{start}/999/none.md", "unreachable"),
            ("http://127.0.0.1:1/x.md", "forbidden"),
            ("https://169.254.169.254/x.md", "forbidden"),
            ("http://chat.test/x.md", "forbidden"),
        ):
            with pytest.raises(Unreadable) as failure:
                await files.read(url)
            assert failure.value.reason == reason


async def test_another_name_of_the_system_s_own_address_opens_no_port_there() -> None:
    """The address is allowed for the system's own server; a service beside it is none of its files."""
    reached: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def note(reader: StreamReader, writer: StreamWriter) -> None:
        reached.append("reached")
        writer.close()

    async with await start_server(note, "127.0.0.1", 0) as beside:
        port = beside.sockets[0].getsockname()[1]
        files = AttachmentReader(base_url="http://chat.internal:1", max_bytes=100, resolve=resolve)
        with pytest.raises(Unreadable) as failure:
            await files.read(f"https://other.example:{port}/x.md")
    assert (failure.value.reason, reached) == ("forbidden", [])


async def test_it_keeps_the_contract_of_connectors() -> None:
    support = Support()
    for number in range(30):
        support.chatwoot.add_conversation(support.inbox, support.petra, subject=f"Subject {number}")
        support.chatwoot.add_contact(f"Contact {number}", f"{number}@nordwind.example")
    support.chatwoot.add_portal("help", "Help")
    support.chatwoot.add_article("help", "Reset a gateway", "Hold it.", author=support.bob)
    headers, body = support.chatwoot.webhook("message_created", support.first)
    webhook = Genuine(headers=headers, body=body, received_at=support.now)
    async with opened(support) as source:
        await check_connector(
            source, unknown=GlobalRef("chatwoot:conversation:1-999"), webhook=webhook
        )


def limit_bytes(source: ChatwootSource, max_bytes: int) -> None:
    source.api = replace(source.api, client=replace(source.api.client, max_bytes=max_bytes))


async def test_messages_that_are_too_large_for_one_answer_come_in_smaller_pages() -> None:
    support, shelf, clean = Support(), Shelf(), Shelf()
    for number in range(300):
        support.chatwoot.add_message(support.talk, f"Line {number}", ("contact", support.petra))
    async with opened(support) as source:
        await clean.sync(source)
        limit_bytes(source, 60_000)
        await shelf.sync(source)
    assert shelf.hashes() == clean.hashes()
    assert not shelf.unreadable


async def test_a_conversation_that_is_too_large_costs_only_itself() -> None:
    support, shelf = Support(), Shelf()
    large = support.chatwoot.add_conversation(support.inbox, support.petra)
    for text in ("x" * 50_000, "The last one is small."):
        support.chatwoot.add_message(large, text, ("contact", support.petra))
    async with opened(support) as source:
        limit_bytes(source, 40_000)
        await shelf.sync(source)
    (unreadable,) = shelf.unreadable
    assert (unreadable.ref, unreadable.reason) == (f"chatwoot:conversation:1-{large}", "too_large")
    assert GlobalRef(f"chatwoot:conversation:1-{support.talk}") in shelf.documents


async def test_changes_that_are_too_many_for_one_answer_are_found_by_a_walk() -> None:
    support, shelf, clean = Support(), Shelf(), Shelf()
    async with opened(support) as source:
        await shelf.sync(source)
        for number in range(60):
            talk = support.chatwoot.add_conversation(support.inbox, support.petra)
            support.chatwoot.add_message(talk, f"News {number}", ("contact", support.petra))
        limit_bytes(source, 60_000)
        await shelf.sync(source)
        await clean.sync(source)
    assert shelf.hashes() == clean.hashes()
    assert len(shelf.documents) > 60
