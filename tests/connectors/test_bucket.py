"""A bucket as a source: obstore's own store in memory for what we do with objects, and moto's S3 server for what goes over the network."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import obstore
import pytest
from obstore.store import MemoryStore, S3Store

from lightwell.connectors.bucket import BucketSource, open_bucket, parse_place
from lightwell.domain.errors import Invalid, SourceFailed
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.testing.connector_contract import check_connector
from tests.connectors.pulling import Shelf
from tests.moto_server import use_moto

if TYPE_CHECKING:
    from obstore.store import S3Config

OPTIONS = {"url": "s3://files", "acl_tags": "staff", "acl_tags/pay": "team:pay"}
STATED = frozenset({"staff", "team:pay"})


def ref(key: str) -> GlobalRef:
    return global_ref("bucket", "object", f"s3/files/{key}")


async def filled(store: MemoryStore | S3Store) -> None:
    texts = {f"notes/{number}.md": f"# Note {number}\n\nText {number}." for number in range(120)}
    others = {
        "pay/2026 july.md": "Salaries rise by 4 percent.",
        "pumps/é#?%.txt": "A pump needs 12 bar.",
        "pumps/logo.bin": "no text",
        ".hidden/a.md": "hidden",
        "pumps/_SUCCESS": "",
    }
    for key, text in {**texts, **others}.items():
        await obstore.put_async(store, key, text.encode())


async def synced(
    shelf: Shelf, store: MemoryStore | S3Store, later: timedelta = timedelta(0), **more: str
) -> BucketSource:
    async with open_bucket({**OPTIONS, **more}, "", 1_000, store) as source:
        moved = BucketSource(
            **{name: getattr(source, name) for name in source.__slots__ if name != "now"},
            now=lambda: datetime.now(UTC) + later,
        )
        await shelf.sync(moved)
    return moved


async def test_a_bucket_keeps_the_contract() -> None:
    store = MemoryStore()
    await filled(store)
    async with open_bucket(OPTIONS, "", 1_000, store) as source:
        await check_connector(source, unknown=ref("none.md"), stated=STATED)


async def test_objects_are_read_once_with_the_tags_of_their_place() -> None:
    store, shelf = MemoryStore(), Shelf()
    await filled(store)
    await synced(shelf, store)
    assert len(shelf.documents) == 122
    pay = shelf.one(ref("pay/2026%20july.md"))
    assert (pay.acl_tags, pay.url) == (frozenset({"team:pay"}), "s3://files/pay/2026%20july.md")
    assert shelf.one(ref("pumps/%C3%A9%23%3F%25.txt")).acl_tags == {"staff"}
    await synced(shelf, store)
    assert shelf.changed == []
    await obstore.put_async(store, "notes/7.md", b"Changed.")
    await synced(shelf, store)
    assert shelf.changed == ["s3://files/notes/7.md"]
    await obstore.delete_async(store, "notes/8.md")
    await shelf.sweep(await synced(shelf, store))
    assert (len(shelf.documents), ref("notes/8.md") in shelf.documents) == (121, False)
    await synced(shelf, store, web_url="https://files.example.com/")
    assert shelf.one(ref("notes/7.md")).url == "https://files.example.com/notes/7.md"


async def test_the_latest_objects_are_listed_and_once_a_day_all() -> None:
    store = MemoryStore()
    await filled(store)
    shelf = Shelf()
    source = await synced(shelf, store)
    cursor = shelf.cursors["object"]
    old = cursor.replace(str(datetime.now(UTC).year), "2090", 1)
    assert old != cursor
    pages = [page async for page in source.pull("object", old)]
    assert sum(len(page.items) for page in pages) == 0
    later = await synced(shelf, store, timedelta(days=2))
    shelf.cursors["object"] = old
    pages = [page async for page in later.pull("object", old)]
    assert sum(len(page.items) for page in pages) == 122


async def test_what_cannot_be_read_costs_itself_alone() -> None:
    store = MemoryStore()
    await obstore.put_async(store, "a.md", b"x" * 2_000)
    await obstore.put_async(store, "b.md", b"\x89PNG\r\n")
    await obstore.put_async(store, "c.md", b"Good.")
    async with open_bucket(OPTIONS, "", 1_000, store) as source:
        (page,) = [page async for page in source.pull("object", "")]
        assert [(each.ref, each.reason) for each in page.unreadable] == [(ref("a.md"), "too_large")]
        broken, good = page.items
        with pytest.raises(Invalid, match="PNG"):
            await broken.files[0].read()
        assert (await good.files[0].read()).content == b"Good."
        await obstore.delete_async(store, "c.md")
        with pytest.raises(Invalid, match="deleted"):
            await good.files[0].read()
        assert (await source.fetch([ref("../x.md"), ref("c.md")])).removed == (
            ref("../x.md"),
            ref("c.md"),
        )


@pytest.mark.parametrize(
    ("options", "token", "message"),
    [
        ({"acl_tags": "a"}, "", "needs the option url"),
        ({"url": "https://x/y", "acl_tags": "a"}, "", "needs the option url"),
        ({"url": "s3://../x", "acl_tags": "a"}, "", "needs the option url"),
        ({"url": "s3://files"}, "", "needs the option acl_tags"),
        ({"url": "s3://files", "acl_tags": "a"}, "secret", "a colon, and its secret"),
        ({"url": "s3://files", "acl_tags": "a", "region": "x.evil.example/"}, "", "region is"),
        ({"url": "s3://files", "acl_tags": "a", "prefix": "x"}, "", "no option 'prefix'"),
    ],
)
async def test_options_that_are_wrong_are_refused(
    options: dict[str, str], token: str, message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        async with open_bucket(options, token, 1_000):
            pass


def test_a_place_is_read_from_its_address() -> None:
    assert parse_place("s3://files/a/b/").prefix == "a/b"
    azure = parse_place("az://account/files/reports")
    assert (azure.root, azure.prefix) == ("az/account/files", "reports")
    assert parse_place("gs://files").root == "gs/files"


async def test_a_server_that_does_not_answer_is_named_without_the_secret() -> None:
    options = {**OPTIONS, "base_url": "http://127.0.0.1:1"}
    async with open_bucket(options, "id:secret", 1_000) as source:
        with pytest.raises(SourceFailed) as failed:
            await asyncio.wait_for(source.directory(), 60)
    assert "secret" not in str(failed.value)


@pytest.mark.slow
async def test_a_bucket_of_a_real_s3_server_is_read_as_one_in_memory() -> None:
    with use_moto() as url:
        options = {**OPTIONS, "base_url": url}
        config: S3Config = {
            "region": "us-east-1",
            "endpoint": url,
            "access_key_id": "i",
            "secret_access_key": "s",
        }
        store = S3Store("files", config=config, client_options={"allow_http": True})
        await filled(store)
        async with open_bucket(options, "i:s", 1_000) as source:
            await check_connector(source, unknown=ref("none.md"), stated=STATED)
        shelf = Shelf()
        async with open_bucket({**options, "url": "s3://files/pumps"}, "i:s", 1_000) as source:
            await shelf.sync(source)
        assert list(shelf.documents) == [ref("pumps/%C3%A9%23%3F%25.txt")]
        async with open_bucket({**options, "url": "s3://nothing"}, "i:s", 1_000) as source:
            with pytest.raises(SourceFailed, match="status 404"):
                await source.directory()
