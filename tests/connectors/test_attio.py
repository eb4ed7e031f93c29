"""Attio's connector against the stand-in for Attio."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
import stamina

from lightwell.connectors.attio.api import AttioApi
from lightwell.connectors.attio.source import open_attio
from lightwell.domain.errors import Invalid, Refused, SourceFailed
from lightwell.domain.ids import GlobalRef
from lightwell.domain.item_structure import LinkType
from lightwell.testing.attio import SECRET, TOKEN, FakeAttio
from lightwell.testing.connector_contract import Genuine, check_connector
from tests.attio_world import NOW, Halden, opened
from tests.connectors.pulling import Shelf


@pytest.fixture(autouse=True)
def _no_waiting() -> object:
    stamina.set_testing(True, attempts=3)
    yield
    stamina.set_testing(False)


async def test_records_become_lines_that_read_well_with_their_links() -> None:
    halden, shelf = Halden(), Shelf()
    async with opened(halden.attio) as source:
        await shelf.sync(source)
    deal = shelf.one(f"attio:deal:{halden.deal}")
    assert deal.content.decode() == (
        "Deal: TARN-4 roll-out\nDeal stage: Negotiation\nDeal owner: Ada Lindqvist\nDeal value: 48000 EUR\n"
        "Associated people: Petra Voss\nAssociated company: Nordwind Energie\nCreated: 2026-03-02"
    )
    assert (deal.title, deal.kind, deal.acl_tags) == (
        "TARN-4 roll-out",
        "deal",
        {"attio:workspace"},
    )
    assert deal.url == f"https://app.attio.com/halden/deal/{halden.deal}"
    created = halden.attio.records[halden.deal]["created_at"]
    assert deal.created_at == datetime.fromisoformat(str(created))
    links = {(each.relation, each.type, each.target) for each in deal.structure.links}
    assert links == {
        ("associated_company", LinkType.BELONGS_TO, f"attio:company:{halden.nordwind}"),
        ("associated_people", LinkType.RELATED_TO, f"attio:person:{halden.petra}"),
        ("owner", LinkType.RELATED_TO, f"attio:member:{halden.ada}"),
    }
    company = shelf.one(f"attio:company:{halden.nordwind}").structure.entities[0]
    assert (company.name, company.aliases) == ("Nordwind Energie", ("nordwind-energie.example",))
    assert company.attributes == {"domain": "nordwind.example", "location": "Bergen, NO"}
    person = shelf.one(f"attio:person:{halden.petra}")
    assert person.structure.entities[0].attributes == {"email": "petra@nordwind.example"}
    assert [each.relation for each in person.structure.links] == ["company"]


async def test_what_people_wrote_names_its_record_author_and_date() -> None:
    halden, shelf = Halden(), Shelf()
    async with opened(halden.attio) as source:
        await shelf.sync(source)
    note = shelf.one(f"attio:note:{halden.note}")
    assert note.content.decode().startswith(
        "Note on: TARN-4 roll-out\nTitle: Call of Monday\nAuthor: Ada Lindqvist\nDate: 2026-03-02 09:00 UTC\n\nThey want"
    )
    assert note.title == "Note on TARN-4 roll-out: Call of Monday"
    assert (note.author, note.author_ref) == ("Ada Lindqvist", f"attio:member:{halden.ada}")
    assert [each.target for each in note.structure.links] == [f"attio:deal:{halden.deal}"]
    assert "Status: open\nDeadline: 2026-06-30\nAssignee: Bob Okafor" in shelf.text(
        f"attio:task:{halden.task}"
    )
    assert shelf.one(f"attio:task:{halden.task}").metadata["work_state"] == "open"
    assert "work_state" not in shelf.one(f"attio:deal:{halden.deal}").metadata
    assert "Comment on: TARN-4 roll-out\nAuthor: Bob Okafor" in shelf.text(
        f"attio:comment:{halden.comment}"
    )
    entry = shelf.one(f"attio:list-entry:{halden.list}.{halden.entry}")
    assert "List: Key accounts\nCompany: Nordwind Energie\nTier: Gold" in entry.content.decode()
    assert entry.acl_tags == {f"attio:list:{halden.list}"}
    meeting, call = shelf.documents[GlobalRef(f"attio:meeting:{halden.meeting}")]
    assert (
        "Participants: ada@halden.example, petra@nordwind.example\nAbout: TARN-4 roll-out"
        in meeting.content.decode()
    )
    assert call.content.decode().endswith(
        "Ada (0:00): Welcome.\n\nPetra (0:09): We need it by June. Not later."
    )
    assert meeting.acl_tags == call.acl_tags == {"attio:calls"}
    assert len({each.url for item in shelf.documents.values() for each in item}) == 9


async def test_groups_say_who_may_see_what() -> None:
    halden = Halden()
    async with opened(halden.attio) as source:
        before = await source.directory()
        halden.attio.make_list_private(halden.list, [halden.bob, halden.eve])
        after = await source.directory()
    groups = {each.name: each for each in before.groups}
    assert groups["Workspace"].members == {halden.ada, halden.bob}
    assert groups["Calls"].members == {halden.ada}
    assert groups["List Key accounts"].members == {halden.ada, halden.bob}
    private = {each.name: each for each in after.groups}["List Key accounts"]
    assert (private.members, private.tags) == ({halden.bob}, {f"attio:list:{halden.list}"})
    assert [each.is_active for each in before.people] == [True, True, False]


async def test_a_second_sync_changes_nothing_and_asks_only_for_what_is_new() -> None:
    halden, shelf = Halden(), Shelf()
    async with opened(halden.attio) as source:
        await shelf.sync(source)
        halden.attio.calls.clear()
        source.now = lambda: NOW + timedelta(minutes=10)
        fresh = halden.attio.add_record("companies", {"name": "Castell Water"})
        await shelf.sync(source)
        assert shelf.changed == [f"https://app.attio.com/halden/company/{fresh}"]
        assert not any("threads" in call or "notes" in call for call in halden.attio.calls)
        halden.attio.change_record(halden.nordwind, {"last_interaction": "2026-03-02T00:00:00Z"})
        source.now = lambda: NOW + timedelta(hours=1)
        await shelf.sync(source)
        assert shelf.changed == []
        halden.attio.change_record(halden.deal, {"stage": "Won"})
        source.now = lambda: NOW + timedelta(hours=2)
        await shelf.sync(source)
        assert shelf.changed == [f"https://app.attio.com/halden/deal/{halden.deal}"]
        assert "Deal stage: Won" in shelf.text(f"attio:deal:{halden.deal}")


async def test_rows_that_come_and_go_while_they_are_listed_hide_no_other() -> None:
    halden, shelf = Halden(), Shelf()
    attio = halden.attio
    for number in range(30):
        attio.add_record("companies", {"name": f"Company {number}"})
    for number in range(120):
        attio.add_note(halden.deal, f"Note {number}", "text", halden.ada)
    gone = list(attio.records)[3:9]

    def disturb(call: str) -> None:
        if "query" in call and gone:
            del attio.records[gone.pop()]
        if call == "GET /v2/notes":  # which lists the newest first
            for newest in list(attio.notes)[-7:]:
                del attio.notes[newest]
            attio.add_note(halden.deal, "Late", "text", halden.ada)

    attio.before = disturb
    async with opened(attio, query_rows=4) as source:
        await shelf.sync(source)
    stored = {ref.rpartition(":")[2] for ref in shelf.documents}
    early = {
        id_ for id_, row in {**attio.records, **attio.notes}.items() if row.get("title") != "Late"
    }
    assert early - stored == set()


async def test_a_sync_that_is_cut_off_goes_on_where_it_was() -> None:
    halden, clean = Halden(), Shelf()
    for number in range(9):
        halden.attio.add_record("companies", {"name": f"Company {number}"})
    async with opened(halden.attio, query_rows=4) as source:
        await clean.sync(source)
        for pages in range(1, 12):
            cut = Shelf()
            await cut.sync(source, pages=pages)
            await cut.sync(source)
            assert cut.hashes() == clean.hashes()


async def test_deletions_are_found_by_a_sweep() -> None:
    halden, shelf = Halden(), Shelf()
    async with opened(halden.attio) as source:
        await shelf.sync(source)
        del halden.attio.notes[halden.note]
        del halden.attio.comments[halden.comment]
        del halden.attio.entries[halden.entry]
        del halden.attio.meetings[halden.meeting]
        await shelf.sweep(source)
    assert {ref.split(":")[1] for ref in shelf.documents} == {"company", "person", "deal", "task"}


async def test_a_webhook_names_what_its_events_are_about() -> None:
    halden, shelf = Halden(), Shelf()
    attio = halden.attio
    headers, body = attio.webhook(
        attio.event("record.updated", attio.records[halden.deal]),
        attio.event("record.updated", attio.records[halden.deal]),
        attio.event("note-content.updated", attio.notes[halden.note]),
        attio.event("list.updated", attio.lists[halden.list]),
    )
    async with opened(attio) as source:
        hint = source.read_webhook(headers, body, NOW)
        assert hint.directory
        assert hint.delivery == headers["idempotency-key"]
        assert len(hint.refs) == 2
        page = await shelf.fetch(source, hint.refs)
        assert {item.ref for item in page.items} == {
            f"attio:deal:{halden.deal}",
            f"attio:note:{halden.note}",
        }
        assert set(hint.refs) <= {*page.removed, *(item.ref for item in page.items)}
        with pytest.raises(Refused):
            source.read_webhook({**headers, "attio-signature": "0" * 64}, body, NOW)
        with pytest.raises(Refused):
            source.read_webhook({}, body + b" ", NOW)
        forged = FakeAttio().webhook()
        with pytest.raises(Invalid):
            source.read_webhook(*_signed(attio, b"[]"), NOW)
        assert source.read_webhook(*forged, NOW).refs == ()


def _signed(attio: FakeAttio, body: bytes) -> tuple[dict[str, str], bytes]:
    return {"attio-signature": hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}, body


async def test_a_record_that_was_merged_lives_on_as_a_name_of_the_other() -> None:
    halden, shelf = Halden(), Shelf()
    former = halden.attio.add_record("companies", {"name": "Nordwind GmbH"})
    async with opened(halden.attio) as source:
        await shelf.sync(source)
        headers, body = halden.attio.merge_records(halden.nordwind, former)
        page = await shelf.fetch(source, source.read_webhook(headers, body, NOW).refs)
    old, new = GlobalRef(f"attio:company:{former}"), GlobalRef(f"attio:company:{halden.nordwind}")
    assert page.merged == {old: new}
    assert old in page.removed
    assert old not in shelf.documents
    assert old in shelf.one(new).structure.entities[0].aliases


async def test_custom_objects_are_read_by_what_their_attributes_say() -> None:
    halden, shelf = Halden(), Shelf()
    halden.attio.add_object("task", "Site", {"site_name": "text", "customer": "record-reference"})
    site = halden.attio.add_record("task", {"site_name": "Rørøs", "customer": halden.nordwind})
    async with opened(halden.attio) as source:
        await shelf.sync(source)
    document = shelf.one(f"attio:object-task:{site}")
    assert (
        document.content.decode() == "Site: Rørøs\nCustomer: Nordwind Energie\nCreated: 2026-03-02"
    )
    assert document.title == "Rørøs"


async def test_limits_and_failures_of_the_server() -> None:
    halden, shelf = Halden(), Shelf()
    async with opened(halden.attio) as source:
        halden.attio.refusals = [429, 503]
        await shelf.sync(source)
        assert len(shelf.documents) == 8
        halden.attio.refusals = [403]
        with pytest.raises(SourceFailed, match="scopes"):
            await shelf.sync(source)
        halden.attio.records[halden.deal]["values"] = "broken"
        source.now = lambda: NOW + timedelta(hours=2)
        await shelf.sync(source)
    assert [each.ref for each in shelf.unreadable] == [f"attio:deal:{halden.deal}"]


async def test_options_that_are_wrong_are_refused() -> None:
    for options in (
        {"speed": "1"},
        {"relist_seconds": "soon"},
        {"base_url": "ftp://x"},
        {"call_readers": "all"},
    ):
        with pytest.raises(Invalid):
            async with open_attio(options, TOKEN, SECRET):
                pass


async def test_it_keeps_the_contract_of_connectors() -> None:
    halden = Halden()
    halden.attio.add_comment(halden.nordwind, "On the entry.", halden.bob, halden.entry)
    headers, body = halden.attio.webhook(
        halden.attio.event("note.created", halden.attio.notes[halden.note])
    )
    webhook = Genuine(headers=headers, body=body, received_at=NOW, has_time=False)
    async with opened(halden.attio, query_rows=2) as source:
        await check_connector(
            source, unknown=GlobalRef(f"attio:deal:{halden.note}"), webhook=webhook
        )


async def test_a_meeting_whose_transcript_has_no_end_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    halden, shelf = Halden(), Shelf()
    answer = AttioApi.get

    async def get(
        api: AttioApi, path: str, params: Mapping[str, str | int] | None = None
    ) -> dict[str, object] | None:
        found = await answer(api, path, params)
        if found and path.endswith("/transcript"):
            return {**found, "pagination": {"next_cursor": "0"}}
        return found

    monkeypatch.setattr(AttioApi, "get", get)
    async with opened(halden.attio) as source:
        await shelf.sync(source)
    (unreadable,) = shelf.unreadable
    assert (unreadable.ref, unreadable.reason) == (f"attio:meeting:{halden.meeting}", "too_large")
    assert GlobalRef(f"attio:deal:{halden.deal}") in shelf.documents
