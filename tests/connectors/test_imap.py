"""A mailbox as a source: on one in memory for what we do with threads, and on GreenMail for what goes over the network."""

import imaplib
from base64 import b85encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from zlib import compress

import pytest
from pydantic_core import to_json

from lightwell.connectors.imap.connection import Account, FolderState, Listed, Mailbox, connect
from lightwell.connectors.imap.source import ImapSource, open_imap
from lightwell.domain.business_systems import NewSource, not_stored, parse_stated_tags
from lightwell.domain.errors import Invalid, SourceFailed
from lightwell.domain.ids import ProjectId, global_ref, new_id
from lightwell.ingest.parse import parse
from lightwell.ingest.parse.messages import take_files
from lightwell.testing.connector_contract import check_connector
from lightwell.wiring.connectors import bind_address
from tests.connectors.pulling import Shelf
from tests.greenmail_server.server import PASSWORD, USER, mailbox, use_greenmail

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
TAGS = {"acl_tags": "staff", "acl_tags/Löhne & mehr": "team:pay"}
STATED = frozenset({"staff", "team:pay"})
UNKNOWN = global_ref("imap", "thread", "mail.example/ada%40halden.example/none")


def message(number: int, subject: str, text: str, *answers: int, file: str = "") -> bytes:
    made = EmailMessage()
    made["Message-ID"] = f"<{number}@halden.example>"
    made["Subject"], made["From"], made["To"] = (
        subject,
        "Ada Lind <ada@halden.example>",
        "bob@x.example",
    )
    made["Date"] = format_datetime(BEGIN + timedelta(hours=number))
    if answers:
        made["References"] = " ".join(f"<{answer}@halden.example>" for answer in answers)
    made.set_content(text)
    if file:
        made.add_attachment(file.encode(), "text", "plain", filename="Prüfung.txt")
    return made.as_bytes()


def filled() -> dict[str, list[bytes]]:
    return {
        "INBOX": [
            message(1, "Pump", "The Nordwind pump leaks.", file="Checked: 12 bar."),
            message(2, "Lunch", "Soup on Monday."),
            message(3, "Re: Pump", "It holds 12 bar again.\n\n> The Nordwind pump leaks.", 1),
        ],
        "Löhne & mehr": [message(4, "Re: Pump", "Salaries rise by 4 percent.", 1, 3)],
    }


@dataclass(slots=True)
class Held(Mailbox):
    """A mailbox in memory; `reads` counts the messages that were read."""

    account: Account = field(
        default_factory=lambda: Account(url="imaps://mail.example", user=USER, password=PASSWORD)
    )
    imap: imaplib.IMAP4 = field(default_factory=lambda: imaplib.IMAP4.__new__(imaplib.IMAP4))
    folders: dict[str, dict[int, bytes]] = field(default_factory=dict[str, dict[int, bytes]])
    next: dict[str, int] = field(default_factory=dict[str, int])
    reads: int = 0
    lists: int = 0

    def put(self, folder: str, source: bytes) -> None:
        uid = self.next[folder] = self.next.get(folder, 0) + 1
        self.folders.setdefault(folder, {})[uid] = source

    async def state(self, folder: str) -> FolderState:
        return FolderState(7, self.next[folder] + 1, len(self.folders[folder]))

    async def list_messages(self, folder: str) -> list[Listed]:
        self.lists += 1
        held = self.folders[folder].items()
        return [Listed(uid, len(source), source.partition(b"\n\n")[0]) for uid, source in held]

    async def read(self, folder: str, uid: int, *, whole: bool) -> bytes:
        self.reads += 1
        source = self.folders[folder].get(uid, b"")
        return source if whole else source.partition(b"\n\n")[0]


def in_memory(**options: str) -> tuple[Held, ImapSource]:
    held = Held()
    for folder, sources in filled().items():
        for source in sources:
            held.put(folder, source)
    return held, opened(held, **options)


def opened(held: Held, **options: str) -> ImapSource:
    return ImapSource(
        mailbox=held,
        folders=tuple(held.folders),
        tags=parse_stated_tags({**TAGS, **options}),
        fingerprint=str(options),
        max_bytes=10_000,
    )


def titled(shelf: Shelf) -> dict[str, list[str]]:
    return {item[0].title: [each.title for each in item[1:]] for item in shelf.documents.values()}


async def test_a_mailbox_keeps_the_contract() -> None:
    _, source = in_memory()
    await check_connector(source, unknown=UNKNOWN, stated=STATED)


async def test_a_thread_is_a_document_with_its_files_and_what_is_unchanged_is_not_listed() -> None:
    held, source = in_memory()
    shelf = Shelf()
    await shelf.sync(source)
    by_title = {
        (item[0].title, *sorted(item[0].acl_tags)): item for item in shelf.documents.values()
    }
    assert set(by_title) == {("Pump", "staff"), ("Lunch", "staff"), ("Pump", "team:pay")}
    pump, file = by_title["Pump", "staff"]
    text = parse(pump.content, pump.format, name="").text
    assert text.count("leaks") == 1
    assert "It holds 12 bar again." in text
    assert "Prüfung.txt" in text
    assert "Salaries" not in text
    assert (pump.author, pump.updated_at) == ("Ada Lind", BEGIN + timedelta(hours=3))
    assert (file.title, file.content, file.is_file) == ("Prüfung.txt", b"Checked: 12 bar.", True)
    assert b"Checked" not in pump.content
    held.reads = held.lists = 0
    await shelf.sync(opened(held))
    assert (shelf.changed, held.lists, held.reads) == ([], 0, 0)
    held.put("INBOX", message(5, "Re: Pump", "It leaks again.", 1, 3))
    await shelf.sync(opened(held))
    assert (shelf.changed, held.reads) == ([pump.url], 3)


async def test_a_walk_that_was_cut_short_reads_the_rest_and_what_changed_meanwhile() -> None:
    held, shelf = Held(), Shelf()
    for number in range(60):
        held.put("INBOX", message(number, f"Pump {number}", "It leaks."))
    await shelf.sync(opened(held), pages=1)
    assert held.reads == 25
    held.put("INBOX", message(60, "Re: Pump 0", "It holds.", 0))
    del held.folders["INBOX"][2]
    await shelf.sync(opened(held))
    assert held.reads == 25 + 35 + 2
    await shelf.sync(opened(held))
    assert held.reads == 25 + 35 + 2


async def test_the_cursor_that_each_page_of_a_large_mailbox_stores_is_short() -> None:
    held, shelf = Held(), Shelf()
    for number in range(1_000):
        held.put("INBOX", message(number, f"Pump {number}", "It leaks."))
    await shelf.sync(opened(held))
    assert len(shelf.cursors["thread"]) < 10_000


async def test_a_cursor_of_the_form_before_leads_to_one_complete_walk() -> None:
    held, source = in_memory()
    old = {"options": "{}", "folders": {"INBOX": await held.state("INBOX")}, "threads": {"a": "b"}}
    shelf = Shelf(cursors={"thread": b85encode(compress(to_json(old))).decode()})
    await shelf.sync(source)
    assert len(shelf.documents) == 3
    held.lists = 0
    await shelf.sync(opened(held))
    assert held.lists == 0


async def test_what_is_deleted_goes_with_a_sweep_and_a_message_from_its_thread_at_once() -> None:
    held, source = in_memory()
    shelf = Shelf()
    await shelf.sync(source)
    del held.folders["INBOX"][2], held.folders["INBOX"][3]
    later = opened(held)
    await shelf.sync(later)
    (pump,) = [item[0] for item in shelf.documents.values() if item[0].url in shelf.changed]
    assert b"again" not in pump.content
    assert len(shelf.documents) == 3
    await shelf.sweep(later)
    assert sorted(titled(shelf)) == ["Pump"]
    assert len(shelf.documents) == 2


async def test_other_tags_reach_what_is_stored_and_folders_that_others_see_share_no_thread() -> (
    None
):
    held, source = in_memory()
    shelf = Shelf()
    await shelf.sync(source)
    await shelf.sync(opened(held, acl_tags="team:new"))
    tags = {item[0].acl_tags for item in shelf.documents.values()}
    assert tags == {frozenset({"team:new"}), frozenset({"team:pay"})}


async def test_a_message_that_is_too_large_or_broken_costs_itself_alone() -> None:
    held, _ = in_memory()
    held.put("INBOX", message(6, "Large", "x" * 11_000))
    held.put("INBOX", message(7, "Maze", "boundary=\n" * 300))
    shelf = Shelf()
    await shelf.sync(opened(held))
    large = next(item[0] for item in shelf.documents.values() if item[0].title == "Large")
    assert len(large.content) < 1_000
    assert [each.reason for each in shelf.unreadable] == ["broken"]
    assert "Lunch" in titled(shelf)


def test_files_are_taken_out_of_a_message_and_mails_in_it_are_files() -> None:
    inner = EmailMessage()
    inner["Subject"] = "Offer"
    inner.set_content("We offer 12 pumps.")
    outer = EmailMessage()
    outer["Subject"], outer["From"] = "Fwd: Offer", "ada@halden.example"
    outer.set_content("See below.")
    outer.add_attachment(inner)
    source, files = take_files(outer.as_bytes())
    assert [each.name for each in files] == ["Offer.eml"]
    assert b"12 pumps" in files[0].content
    assert b"12 pumps" not in source
    assert b"See below." in source


def test_a_header_that_the_library_does_not_write_is_kept_as_it_came() -> None:
    damaged = message(1, "Pump", "It leaks.", file="12 bar").replace(b"Date: ", b"Date: a\x0cb: c ")
    source, (file,) = take_files(damaged)
    assert b"Date: a\x0cb: c " in source
    assert file.content == b"12 bar"


def test_a_server_that_the_environment_does_not_name_gets_no_password() -> None:
    source = not_stored(
        NewSource(name="box", system="imap", options={"base_url": "imaps://evil.example"}),
        ProjectId(new_id()),
        BEGIN,
    )
    with pytest.raises(Invalid, match="LIGHTWELL_SOURCE_BOX_BASE_URL"):
        bind_address(source, "imaps://mail.example")
    bound = bind_address(replace(source, options={}), "imaps://mail.example:993/")
    assert bound == {"base_url": "imaps://mail.example:993"}
    with pytest.raises(Invalid, match="imaps://"):
        bind_address(replace(source, options={}), "https://mail.example")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs its server in the environment"),
        ({"base_url": "imaps://x"}, "needs the option user"),
        ({"base_url": "imaps://x", "user": "a\r\nb"}, "needs the option user"),
        ({"base_url": "imaps://x", "user": "a", "folders": ","}, "folders are"),
        ({"base_url": "imaps://x", "user": "a", "folder": "x"}, "no option 'folder'"),
    ],
)
async def test_options_that_are_wrong_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        async with open_imap({**TAGS, **options}, PASSWORD, 1_000):
            pass


async def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    account = Account(url="imap://127.0.0.1:1", user=USER, password=PASSWORD)
    assert PASSWORD not in repr(account)
    with pytest.raises(SourceFailed, match=r"127\.0\.0\.1 cannot be reached: ConnectionRefused"):
        await connect(account)


@pytest.mark.slow
async def test_a_real_mailbox_is_read_as_one_in_memory_and_nothing_is_marked() -> None:
    with use_greenmail() as (port, tls_port), mailbox(port) as imap:
        imap.create('"L&APY-hne &- mehr"')
        for folder, sources in zip(
            ("INBOX", '"L&APY-hne &- mehr"'), filled().values(), strict=True
        ):
            for source in sources:
                imap.append(folder, "", "", source)
        options = {**TAGS, "base_url": f"imap://127.0.0.1:{port}", "user": USER}
        options["folders"] = "INBOX,Löhne & mehr"

        @asynccontextmanager
        async def real() -> AsyncGenerator[ImapSource]:
            async with open_imap(options, PASSWORD, 10_000) as source:
                yield source

        async with real() as source:
            await check_connector(source, unknown=UNKNOWN, stated=STATED)
        shelf = Shelf()
        async with real() as source:
            await shelf.sync(source)
        assert sorted(item[0].title for item in shelf.documents.values()) == [
            "Lunch",
            "Pump",
            "Pump",
        ]
        imap.select()
        assert imap.uid("SEARCH", "UNSEEN")[1] == [b"1 2 3"]
        imap.append("INBOX", "", "", message(5, "Re: Pump", "It leaks again.", 1, 3))
        imap.store("2", "+FLAGS", "\\Deleted")
        imap.expunge()
        async with real() as source:
            await shelf.sync(source)
            assert len(shelf.changed) == 1
            await shelf.sweep(source)
        assert sorted(item[0].title for item in shelf.documents.values()) == ["Pump", "Pump"]
        with pytest.raises(SourceFailed, match="refuses the user or the password"):
            async with open_imap(options, "wrong", 10_000):
                pass
        with pytest.raises(SourceFailed, match="cannot be reached: SSLCertVerificationError"):
            await connect(
                Account(url=f"imaps://127.0.0.1:{tls_port}", user=USER, password=PASSWORD)
            )
        with pytest.raises(SourceFailed, match="no folder 'None'"):
            async with open_imap({**options, "folders": "None"}, PASSWORD, 10_000) as source:
                await source.directory()
