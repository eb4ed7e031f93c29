"""What every connector to a business system must do, for tests of connectors: `await check_connector(...)`.

Each check raises `AssertionError` that says what is wrong. The system must not change meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lightwell.domain.access import Tags, parse_tags
from lightwell.domain.documents import ADDRESS_SCHEMES, NewDocument
from lightwell.domain.errors import Invalid, Refused
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, SourceItem
from lightwell.ports import ItemSource

_MAX_ITEMS, _MAX_BYTES = 100, 32_000_000
_LONG = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Genuine:
    """A webhook as the system sends it, with its signature, and when it arrives. `has_time` where its time is checked."""

    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    has_time: bool = True


async def check_connector(
    connector: ItemSource,
    *,
    unknown: GlobalRef,
    webhook: Genuine | None = None,
    stated: Tags = frozenset(),
) -> None:
    """Check everything; `unknown` is a well-formed reference of an item that the system does not have.

    `stated` are the access tags that the source's options state, which need not begin with the system's name.
    """
    pulled = await check_pull(connector, stated)
    await check_resume(connector)
    await check_listing(connector, pulled)
    await check_fetch(connector, pulled, unknown)
    await check_directory(connector)
    if webhook is not None:
        check_webhook(connector, webhook)


async def check_pull(
    connector: ItemSource, stated: Tags = frozenset()
) -> dict[GlobalRef, SourceItem]:
    """Check each item of a complete pull, and that a second pull gives the same; return the items."""
    pulled = await _pull_all(connector)
    assert pulled, "a complete pull finds no item: put some into the system for this test"
    for item in pulled.values():
        check_item(connector.system, item, stated)
        await check_files(item)
    assert await _pull_all(connector) == pulled, "two complete pulls of the same items differ"
    urls = [document.url for item in pulled.values() for document in _documents_of(item)]
    assert len(set(urls)) == len(urls), "two documents have one URL"
    return pulled


def check_item(system: str, item: SourceItem, stated: Tags = frozenset()) -> None:
    """Check that an item names itself, its documents, tags and links as it must."""
    prefix = f"{system}:"
    is_sound = item.ref.startswith(prefix) and item.ref.count(":") > 1
    assert is_sound, f"{item.ref} is not {system}:<kind>:<id>"
    for file in item.files:
        described = file.document
        assert described.file_version, f"{item.ref}: a file has no version, so it is always read"
        assert not described.has_content, f"{item.ref}: a file comes with its content"
    for document in _documents_of(item):
        assert document.system == system, f"{item.ref}: a document is of another system"
        assert document.item_ref == item.ref, f"{item.ref}: a document belongs to another item"
        scheme = document.url.partition("://")[0]
        assert scheme in ADDRESS_SCHEMES, f"{item.ref}: a URL has another scheme than these"
        assert len(document.content_hash) == 64, f"{item.ref}: the hash is not SHA-256"
        is_titled = (
            bool(document.title.strip()) or document.is_file
        )  # a file may have its own title
        assert is_titled, f"{item.ref}: a document has no title"
        assert document.acl_tags, f"{item.ref}: a document without tags is visible to nobody"
        tags = parse_tags(document.acl_tags) - stated
        foreign = {tag for tag in tags if not tag.startswith(prefix)}
        assert not foreign, f"{item.ref}: {foreign} do not begin with {prefix}"
        entities = [entity.ref for entity in document.structure.entities]
        assert not entities or entities[0] == item.ref, (
            f"{item.ref}: its own entity is not the first"
        )
        ends = {end for link in document.structure.links for end in (link.source, link.target)}
        assert ends <= set(entities), f"{item.ref}: a link has an end that is no entity"


async def check_files(item: SourceItem) -> None:
    """Check that each file is read as the document that describes it, with its content."""
    for file in item.files:
        read = await file.read()
        assert read.url == file.document.url, f"{item.ref}: a file is read as another document"
        assert read.has_content, f"{item.ref}: a file that is read has no content"


async def check_resume(connector: ItemSource) -> None:
    """Check that a pull that goes on from any page's cursor, as after a crash, finds all that is missing."""
    for stream in connector.streams:
        pages = [page async for page in connector.pull(stream, "")]
        for page in pages:
            assert len(page.items) <= _MAX_ITEMS, f"{stream}: a page has too many items"
            size = sum(len(document.content) for item in page.items for document in item.documents)
            assert size <= _MAX_BYTES, f"{stream}: a page is too large"
        for number, page in enumerate(pages):
            after = _state([again async for again in connector.pull(stream, page.cursor)])
            missing = _state(pages[number + 1 :]).keys() - _state(pages[: number + 1]).keys()
            lost = missing - after.keys()
            assert not lost, f"{stream}: after page {number + 1}, {sorted(lost)} are never pulled"


async def check_listing(connector: ItemSource, items: Mapping[GlobalRef, SourceItem]) -> None:
    """Check that a listing names exactly the items that a complete pull finds, those that cannot be read included."""
    listed: set[GlobalRef] = set()
    pulled = set(items)
    for stream in connector.streams:
        async for refs in connector.list_present(stream):
            listed.update(refs)
        async for page in connector.pull(stream, ""):
            pulled.update(item.ref for item in page.unreadable)
    assert listed >= pulled, f"{sorted(pulled - listed)} are pulled, and not listed"
    assert pulled >= listed, f"{sorted(listed - pulled)} are listed, and never pulled"


async def check_fetch(
    connector: ItemSource, pulled: Mapping[GlobalRef, SourceItem], unknown: GlobalRef
) -> None:
    """Check that fetching gives what pulling gave, and that what is unknown is removed."""
    refs = list(pulled)[:20]
    page = await connector.fetch([*refs, unknown])
    assert page.cursor == "", "a fetched page has a cursor"
    assert unknown in page.removed, f"{unknown} does not exist, and is not removed"
    fetched = {item.ref: item for item in page.items}
    for ref in refs:
        assert fetched.get(ref) == pulled[ref], f"{ref} is not fetched as it was pulled"


async def check_directory(connector: ItemSource) -> None:
    """Check that groups have distinct names, the system's own tags, and members who are people of the directory."""
    directory = await connector.directory()
    names = [group.name for group in directory.groups]
    assert len(set(names)) == len(names), "two groups have one name"
    people = {person.external_id for person in directory.people}
    assert len(people) == len(directory.people), "two people have one external id"
    for group in directory.groups:
        foreign = {
            tag for tag in parse_tags(group.tags) if not tag.startswith(f"{connector.system}:")
        }
        assert not foreign, f"{group.name}: {foreign} are not tags of {connector.system}"
        assert group.members <= people, f"{group.name} has members who are not in the directory"


def check_webhook(connector: ItemSource, webhook: Genuine) -> None:
    """Check that a genuine webhook is read, and that a changed, an unsigned and an old one are refused."""
    hint = connector.read_webhook(webhook.headers, webhook.body, webhook.received_at)
    again = connector.read_webhook(webhook.headers, webhook.body, webhook.received_at)
    assert hint.delivery, "a delivery has no name, so that a repetition is not recognised"
    assert hint == again, "a repeated delivery is not read the same"
    prefix = f"{connector.system}:"
    assert all(ref.startswith(prefix) for ref in hint.refs), (
        "a webhook names items of another system"
    )
    _must_refuse(connector, replace(webhook, body=webhook.body + b" "), "a changed body")
    _must_refuse(connector, replace(webhook, body=b"no json"), "a body that is no JSON")
    _must_refuse(connector, replace(webhook, headers={}), "a webhook without a signature")
    if webhook.has_time:
        late = replace(webhook, received_at=webhook.received_at + _LONG)
        _must_refuse(connector, late, "a webhook of yesterday")
        early = replace(webhook, received_at=webhook.received_at - _LONG)
        _must_refuse(connector, early, "a webhook of tomorrow")


def _must_refuse(connector: ItemSource, webhook: Genuine, what: str) -> None:
    try:
        connector.read_webhook(webhook.headers, webhook.body, webhook.received_at)
    except Refused:
        return
    except Invalid as error:
        raise AssertionError(f"{what} is read before its signature is checked") from error
    raise AssertionError(f"{what} is not refused")


def _documents_of(item: SourceItem) -> tuple[NewDocument, ...]:
    return (*item.documents, *(file.document for file in item.files))


async def _pull_all(connector: ItemSource) -> dict[GlobalRef, SourceItem]:
    items: dict[GlobalRef, SourceItem] = {}
    for stream in connector.streams:
        items |= _state([page async for page in connector.pull(stream, "")])
    return items


def _state(pages: Sequence[ItemPage]) -> dict[GlobalRef, SourceItem]:
    """Return what a store holds that takes the pages in order."""
    state: dict[GlobalRef, SourceItem] = {}
    for page in pages:
        state |= {item.ref: item for item in page.items}
        for ref in page.removed:
            state.pop(ref, None)
    return state
