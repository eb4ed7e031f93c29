"""A business system in memory, and its connector: for tests of the engine, and as the shortest complete example."""

import hashlib
import hmac
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lightwell.domain.business_systems import Source
from lightwell.domain.documents import Format, NewDocument
from lightwell.domain.errors import Invalid, Refused
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink
from lightwell.domain.source_items import (
    ItemPage,
    SourceDirectory,
    SourceGroup,
    SourceItem,
    SourcePerson,
    UnreadableItem,
    WebhookHint,
)

SYSTEM = "memory"
_MAX_AGE = timedelta(minutes=1)
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class MemoryRecord:
    """One record of the system; `version` grows with each change of any record."""

    kind: str
    title: str
    text: str
    team: str
    version: int
    about: str = ""
    is_broken: bool = False


@dataclass(slots=True, kw_only=True)
class MemorySystem:
    """A business system whose records, people and teams tests change as they like.

    `before` is called with the name of each call, and may raise or change records.
    """

    secret: str = "memory-secret"  # noqa: S105 - of a fake
    page_size: int = 2
    records: dict[str, MemoryRecord] = field(default_factory=dict[str, MemoryRecord])
    people: dict[str, str] = field(default_factory=dict[str, str])
    teams: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    version: int = 0
    calls: list[str] = field(default_factory=list[str])
    before: Callable[[str], None] = lambda call: None

    def put(
        self, name: str, text: str, *, title: str = "", team: str = "core", about: str = ""
    ) -> None:
        """Create or change a record, such as `issue/1`; `about` names a record that it belongs to."""
        self.version += 1
        kind = name.partition("/")[0]
        self.records[name] = MemoryRecord(kind, title or name, text, team, self.version, about)

    def delete(self, name: str) -> None:
        """Delete a record for good: no pull will ever mention it."""
        del self.records[name]

    def call(self, name: str) -> None:
        self.calls.append(name)
        self.before(name)

    def webhook(
        self, delivery: str, names: Iterable[str], *, directory: bool = False, moment: datetime
    ) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of a genuine webhook."""
        body = json.dumps(
            {
                "delivery": delivery,
                "refs": [ref_of(name) for name in names],
                "directory": directory,
                "at": moment.isoformat(),
            }
        ).encode()
        return {"x-memory-signature": _sign(self.secret, body)}, body


@dataclass(frozen=True, slots=True)
class MemorySource:
    """The connector of a `MemorySystem`; an `ItemSource`."""

    inner: MemorySystem
    secret: str = "memory-secret"  # noqa: S105 - of a fake

    @property
    def system(self) -> str:
        return SYSTEM

    @property
    def streams(self) -> tuple[str, ...]:
        return ("issue", "note")

    async def pull(self, stream: str, cursor: str) -> AsyncIterator[ItemPage]:
        done = int(cursor or 0)
        while True:
            self.inner.call(f"pull {stream}")
            changed = sorted(
                (record.version, name)
                for name, record in self.inner.records.items()
                if record.kind == stream and record.version > done
            )[: self.inner.page_size]
            if not changed:
                return
            done = changed[-1][0]
            yield self._page([name for _, name in changed], str(done))

    async def list_present(self, stream: str) -> AsyncIterator[Sequence[GlobalRef]]:
        names = [name for name, record in self.inner.records.items() if record.kind == stream]
        for start in range(0, len(names), self.inner.page_size):
            self.inner.call(f"list {stream}")
            yield [ref_of(name) for name in names[start : start + self.inner.page_size]]

    async def fetch(self, refs: Sequence[GlobalRef]) -> ItemPage:
        self.inner.call("fetch")
        names = [name_of(ref) for ref in refs]
        return self._page([name for name in names if name in self.inner.records], "", names)

    async def directory(self) -> SourceDirectory:
        self.inner.call("directory")
        return SourceDirectory(
            people=tuple(
                SourcePerson(external_id=id_, email=email, name=id_.title(), is_active=True)
                for id_, email in self.inner.people.items()
            ),
            groups=tuple(
                SourceGroup(name=f"Team {team}", tags=team_tags(team), members=frozenset(members))
                for team, members in self.inner.teams.items()
            ),
        )

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, received_at: datetime
    ) -> WebhookHint:
        signature = headers.get("x-memory-signature", "")
        if not hmac.compare_digest(signature, _sign(self.secret, body)):
            raise Refused("The signature is wrong")
        try:
            read = json.loads(body)
            refs, sent_at = tuple(read["refs"]), datetime.fromisoformat(read["at"])
        except (ValueError, KeyError, TypeError):
            raise Invalid("This is not a webhook of the memory system") from None
        if abs(received_at - sent_at) > _MAX_AGE:
            raise Refused("The webhook is too old")
        return WebhookHint(delivery=read["delivery"], refs=refs, directory=read["directory"])

    def _page(self, names: Sequence[str], cursor: str, requested: Sequence[str] = ()) -> ItemPage:
        records = self.inner.records
        broken = [name for name in names if records[name].is_broken]
        return ItemPage(
            items=tuple(
                self._item(name, records[name]) for name in names if not records[name].is_broken
            ),
            cursor=cursor,
            removed=tuple(ref_of(name) for name in requested if name not in records),
            unreadable=tuple(
                UnreadableItem(ref=ref_of(name), reason="broken", message="it cannot be read")
                for name in broken
            ),
        )

    def _item(self, name: str, record: MemoryRecord) -> SourceItem:
        ref = ref_of(name)
        structure = self._structure(ref, name, record)
        facts = [record.text, record.title, repr(structure)]
        document = NewDocument(
            system=SYSTEM,
            kind=record.kind,
            source_id=name.partition("/")[2],
            url=f"https://memory.example/{name}",
            format=Format.MARKDOWN,
            title=record.title,
            topic="",
            acl_tags=team_tags(record.team),
            content=record.text.encode(),
            content_hash=hashlib.sha256("\0".join(facts).encode()).hexdigest(),
            updated_at=_EPOCH + timedelta(seconds=record.version),
            item_ref=ref,
            structure=structure,
        )
        return SourceItem(ref=ref, documents=(document,))

    def _structure(self, ref: GlobalRef, name: str, record: MemoryRecord) -> ItemStructure:
        entity = StatedEntity(
            ref=ref,
            kind=record.kind,
            name=record.title,
            url=f"https://memory.example/{name}",
            aliases=(name.upper().replace("/", "-"),),
        )
        if not record.about:
            return ItemStructure(entities=(entity,))
        about = StatedEntity(
            ref=ref_of(record.about), kind=record.about.partition("/")[0], name=record.about
        )
        link = StatedLink(source=ref, target=about.ref, type=LinkType.BELONGS_TO, relation="about")
        return ItemStructure(entities=(entity, about), links=(link,))


def open_memory(
    system: MemorySystem,
) -> Callable[[Source], AbstractAsyncContextManager[MemorySource]]:
    """Return what opens the connector of this system, whatever the source."""

    @asynccontextmanager
    async def open_connector(source: Source) -> AsyncGenerator[MemorySource, None]:
        if source.system != SYSTEM:
            raise Invalid(f"There is no connector for {source.system!r}")
        yield MemorySource(system, system.secret)

    return open_connector


def ref_of(name: str) -> GlobalRef:
    """Return the reference of a record: `memory:issue:1` for `issue/1`."""
    kind, _, id_ = name.partition("/")
    return global_ref(SYSTEM, kind, id_)


def name_of(ref: GlobalRef) -> str:
    """Return the name of the record with this reference."""
    _, kind, id_ = ref.split(":", 2)
    return f"{kind}/{id_}"


def team_tags(team: str) -> frozenset[str]:
    """Return the access tags of a team's records."""
    return frozenset((f"{SYSTEM}:team:{team}",))


def _sign(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
