"""The objects of a bucket, at S3, Google Cloud Storage, Azure or a server that speaks as they do: see `docs/sources/bucket.md`."""

import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import AzureStore, GCSStore, S3Store

from lightwell.connectors.opening import check_stated_options, fingerprint_of, parse_base_url
from lightwell.connectors.rows import Result, StoredCursor, make_page, parse_cursor
from lightwell.domain.business_systems import StatedTags, parse_stated_tags
from lightwell.domain.documents import BUCKET, Format, NewDocument
from lightwell.domain.errors import Invalid, Refused, SourceFailed, Unreadable
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import (
    AttachedFile,
    ItemPage,
    SourceDirectory,
    SourceItem,
    UnreadableItem,
    WebhookHint,
)
from lightwell.ingest.parse.formats import detect_format, has_known_extension
from lightwell.text.regex import regex

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import AzureConfig, ClientConfig, GCSConfig, ObjectStore, S3Config

OBJECT = "object"
AMBIENT = "environment"
"""The token that stands for the credentials which the cloud gives to the machine."""

_OPTIONS = ("url", "region", "web_url", "base_url")
_NAME = regex(r"[a-z0-9][a-z0-9._-]{2,62}")
_REGION = regex(r"[a-z0-9-]{1,40}")
_STATUS = regex(r"status code: (\d{3})")
_PAGE_OBJECTS = 50
_MAX_OBJECTS = 200_000
_COMPLETE_AFTER = timedelta(days=1)
"""How often all objects are compared, not only the latest: one that was sent in parts is as old as its first part."""

_OVERLAP = timedelta(hours=1)
_FAILURES = (BaseError, OSError, ValueError)
"""What obstore raises. Its messages are not shown: they may quote a signed address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPlace:
    """Where the objects are: `scheme` is s3, gs or az; `account` is that of Azure, "" elsewhere; `prefix` has no slash at its ends."""

    scheme: str
    account: str
    name: str
    prefix: str

    @property
    def root(self) -> str:
        """The bucket's name in references and addresses: `s3/files`, `az/account/files`."""
        return "/".join(filter(None, (self.scheme, self.account, self.name)))


class Cursor(StoredCursor):
    """Objects until `since` are read, and all were compared at `complete_at`; of a walk under way `after` is the last object, and `latest` the newest date."""

    options: str = ""
    since: datetime | None = None
    complete_at: datetime | None = None
    after: str = ""
    latest: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSource:
    """The objects of a bucket that Lightwell can read; an `ItemSource`. `now` is the clock."""

    store: "ObjectStore"
    place: BucketPlace
    tags: StatedTags
    web_url: str
    fingerprint: str
    max_bytes: int
    now: Callable[[], datetime]

    @property
    def system(self) -> str:
        return BUCKET

    @property
    def streams(self) -> tuple[str, ...]:
        return (OBJECT,)

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        """Yield the objects that are as new as the last one, once a day all, in the order of their keys."""
        position = parse_cursor(Cursor, cursor)
        if position.options != self.fingerprint:
            position = Cursor(options=self.fingerprint)
        if position.complete_at and self.now() - position.complete_at > _COMPLETE_AFTER:
            position = position.model_copy(update={"complete_at": None, "since": None})
        since, latest = position.since, position.latest or position.since
        results: list[Result] = []
        async for objects in self._list(position.after):
            for meta in objects:
                latest = max(latest or meta["last_modified"], meta["last_modified"])
                if since is None or meta["last_modified"] >= since - _OVERLAP:
                    results.append(self._result(meta))
                if len(results) == _PAGE_OBJECTS:
                    moved = {"after": meta["path"], "latest": latest}
                    yield make_page(results, position.model_copy(update=moved).to_text())
                    results = []
        complete_at = position.complete_at or self.now()
        done = Cursor(options=self.fingerprint, since=latest, complete_at=complete_at)
        yield make_page(results, done.to_text())

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        async for objects in self._list(""):
            yield [self._ref(meta["path"]) for meta in objects]

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        results: list[Result] = []
        for ref in refs:
            key = unquote(ref.split(":", 2)[2].removeprefix(f"{self.place.root}/"))
            if self._ref(key) != ref or not self._is_read(key):
                results.append(ref)
                continue
            try:
                results.append(self._result(await obstore.head_async(self.store, key)))
            except FileNotFoundError:
                results.append(ref)
            except _FAILURES as error:
                raise _failure(self.place, error) from None
        return make_page(results, "")

    async def directory(self) -> SourceDirectory:
        """Return nobody, once the bucket is there: who sees its objects is what the options say."""
        async for _ in self._list("", chunk=1):
            break
        return SourceDirectory(people=(), groups=())

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        raise Refused("A bucket sends no webhooks")

    async def _list(self, after: str, chunk: int = 1000) -> AsyncIterator[list["ObjectMeta"]]:
        """Yield the objects to be read, in the order of their keys; raise `SourceFailed`, also for too many."""
        count = 0
        listing = obstore.list(
            self.store, self.place.prefix or None, offset=after or None, chunk_size=chunk
        )
        try:
            async for objects in listing:
                count += len(objects)
                if count > _MAX_OBJECTS:
                    raise SourceFailed(
                        f"{self.place.name} has more than {_MAX_OBJECTS:,} objects; name a prefix"
                    )
                yield [meta for meta in objects if self._is_read(meta["path"])]
        except _FAILURES as error:
            raise _failure(self.place, error) from None

    def _is_read(self, key: str) -> bool:
        """Return whether an object lies below the prefix, is not hidden, and has the extension of a format that is read."""
        path = PurePosixPath(key)
        prefix = self.place.prefix
        is_below = not prefix or key == prefix or key.startswith(f"{prefix}/")
        is_shown = not any(part.startswith(".") for part in path.parts)
        return is_below and is_shown and bool(path.suffix) and has_known_extension(path.name)

    def _ref(self, key: str) -> GlobalRef:
        return global_ref(BUCKET, OBJECT, f"{self.place.root}/{quote(key)}")

    def _result(self, meta: "ObjectMeta") -> Result:
        ref = self._ref(meta["path"])
        if meta["size"] > self.max_bytes:
            limit = f"{self.max_bytes / 1000**2:,.0f} MB"
            return UnreadableItem(
                ref=ref, reason="too_large", message=f"The object is larger than {limit}"
            )
        return SourceItem(ref=ref, documents=(), files=(self._file(meta, ref),))

    def _file(self, meta: "ObjectMeta", ref: GlobalRef) -> AttachedFile:
        key = meta["path"]
        version = meta["e_tag"] or f"{meta['size']}:{meta['last_modified'].isoformat()}"
        base = self.web_url or f"{self.place.scheme}://{self.place.root.partition('/')[2]}"
        url = f"{base}/{quote(key)}"
        document = NewDocument(
            system=BUCKET,
            kind=OBJECT,
            source_id=ref.split(":", 2)[2],
            url=url,
            format=Format.TEXT,
            title="",
            topic="",
            acl_tags=self.tags.find(key),
            content=b"",
            content_hash=hashlib.sha256(json.dumps([url, version]).encode()).hexdigest(),
            updated_at=meta["last_modified"].replace(microsecond=0),
            metadata={"path": key},
            item_ref=ref,
            file_version=version,
            has_content=False,
            is_file=True,
        )

        async def read() -> NewDocument:
            content = await self._read(key)
            try:
                format_ = detect_format(PurePosixPath(key).name, content)
            except Unreadable as error:
                raise Invalid(str(error)) from error
            return replace(document, content=content, format=format_, has_content=True)

        return AttachedFile(document=document, read=read)

    async def _read(self, key: str) -> bytes:
        """Return an object's content; raise `Invalid` for one that is gone or grew meanwhile: it is read again."""
        content = bytearray()
        try:
            answer = await obstore.get_async(self.store, key)
            async for part in answer.stream():
                content += bytes(part)
                if len(content) > self.max_bytes:
                    raise Invalid("it grew while it was read")
        except FileNotFoundError:
            raise Invalid("it was deleted while it was read") from None
        except _FAILURES as error:
            raise _failure(self.place, error) from None
        return bytes(content)


def _failure(place: BucketPlace, error: Exception) -> SourceFailed:
    """Return what went wrong without what obstore says of it, which may hold a signed address."""
    match error:
        case PermissionDeniedError() | UnauthenticatedError() | PermissionError():
            reason = "refuses the token, or what it asks for"
        case FileNotFoundError():
            reason = "does not exist"
        case _:
            status = _STATUS.search(str(error))
            reason = f"cannot be read: {f'status {status[1]}' if status else type(error).__name__}"
    return SourceFailed(f"The bucket {place.name} {reason}")


@asynccontextmanager
async def open_bucket(
    options: Mapping[str, str], token: str, max_bytes: int, store: "ObjectStore | None" = None
) -> AsyncGenerator[BucketSource]:
    """Open the bucket that the options name; raise `Invalid` for an option that is missing, not known or wrong.

    `token` is "" for a bucket that everybody may read. `store` stands for the network.
    """
    check_stated_options(BUCKET, options, _OPTIONS)
    place = parse_place(options.get("url", ""))
    web_url = options.get("web_url", "")
    yield BucketSource(
        store=store or _open_store(place, options, token),
        place=place,
        tags=parse_stated_tags(options),
        web_url=parse_base_url(web_url) if web_url else "",
        fingerprint=fingerprint_of(options),
        max_bytes=max_bytes,
        now=lambda: datetime.now(UTC),
    )


def parse_place(url: str) -> BucketPlace:
    """Return where a bucket is, from `s3://files/reports`, `gs://files` or `az://account/files`; raise `Invalid`."""
    parts = urlsplit(url.strip())
    path = parts.path.strip("/")
    account, name = "", parts.netloc
    if parts.scheme == "az":
        account, (name, _, path) = parts.netloc, path.partition("/")
    is_named = _NAME.fullmatch(name) and (not account or _NAME.fullmatch(account))
    if parts.scheme not in ("s3", "gs", "az") or not is_named or parts.query or parts.fragment:
        raise Invalid(
            "A bucket needs the option url, such as s3://files/reports, gs://files or az://account/files"
        )
    return BucketPlace(scheme=parts.scheme, account=account, name=name, prefix=path.strip("/"))


def _open_store(place: BucketPlace, options: Mapping[str, str], token: str) -> "ObjectStore":
    """Return the bucket as obstore opens it, with this token alone: the credentials of the machine only where the token says so."""
    base_url = options.get("base_url", "")
    client: ClientConfig = {"timeout": "60s", "allow_http": base_url.startswith("http://")}
    match place.scheme:
        case "s3":
            return S3Store(place.name, config=_s3(options, base_url, token), client_options=client)
        case "gs":
            google: GCSConfig = {"skip_signature": not token}
            if token not in ("", AMBIENT):
                google["service_account_key"] = token
            if base_url:
                google["base_url"] = base_url
            return GCSStore(place.name, config=google, client_options=client)
        case _:
            azure: AzureConfig = {"account_name": place.account, "skip_signature": not token}
            if token.startswith(("?", "sv=")):
                azure["sas_key"] = token
            elif token not in ("", AMBIENT):
                azure["account_key"] = token
            if base_url:
                azure["endpoint"] = base_url
            return AzureStore(place.name, config=azure, client_options=client)


def _s3(options: Mapping[str, str], base_url: str, token: str) -> "S3Config":
    region = options.get("region", "us-east-1")
    if not _REGION.fullmatch(region):
        raise Invalid("region is a word such as eu-central-1")
    config: S3Config = {
        "region": region,
        "skip_signature": not token,
        "aws_endpoint_url_s3": base_url or f"https://s3.{region}.amazonaws.com",
    }
    if token in ("", AMBIENT):
        return config
    id_, separator, secret = token.partition(":")
    if not separator:
        raise Invalid(
            "The token of a bucket at S3 is the id of an access key, a colon, and its secret"
        )
    return {**config, "access_key_id": id_, "secret_access_key": secret}
