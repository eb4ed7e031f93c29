"""What programs push into a source: items, who may see them, and who belongs to which group."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lightwell.domain.access import Tags
from lightwell.domain.business_systems import SourceCounts
from lightwell.domain.directory import parse_email
from lightwell.domain.documents import PUSHED
from lightwell.domain.errors import Invalid
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.source_items import SourceItem
from lightwell.domain.texts import require_text
from lightwell.text.regex import regex

ITEM = "item"
"""The kind of pushed documents; the references of groups have another."""

_MAX_ID_BYTES = 400
_MAX_GROUP_LENGTH = 150
_PLAIN = regex(r"[A-Za-z0-9._@+/-]{1,120}")
_DOMAIN = regex(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Who has an access tag of a source: everybody with this address (`ada@halden.example`, `@halden.example`, `*`). `name` is for people."""

    tag: str
    name: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who may see an item: its tags, and the grants that give them. The members of groups are pushed by themselves."""

    tags: Tags = frozenset()
    grants: frozenset[Grant] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedItem:
    """A line about an item: what it is now, or that it is gone (None). Without a `version` it counts as one of the version that is stored."""

    number: int
    ref: GlobalRef
    version: int | None
    item: SourceItem | None
    grants: frozenset[Grant] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedGroup:
    """A line about a group: the addresses of all its members, none for one that is gone."""

    number: int
    ref: GlobalRef
    version: int | None
    tag: str
    name: str
    addresses: frozenset[str]


PushedLine = PushedItem | PushedGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptItem:
    """A line that says no more of an item than that it is still there."""

    number: int
    ref: GlobalRef


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFailure:
    """A line that was not stored, by its number from 1; `id` is "" where none could be read. The line itself is not quoted."""

    number: int
    id: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PushBatch:
    """Lines to store together, in order. `kept` are items that other lines only name, those that failed included; `unread` counts lines that name nothing."""

    lines: tuple[PushedLine, ...] = ()
    kept: frozenset[GlobalRef] = frozenset()
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResult:
    """What lines did: counts of documents, lines that came too late (`outdated`) or repeat the version of a group, groups, and failures."""

    counts: SourceCounts = field(default_factory=SourceCounts)
    outdated: int = 0
    groups: int = 0
    failures: tuple[LineFailure, ...] = ()

    def __add__(self, other: "PushResult") -> "PushResult":
        return PushResult(
            counts=self.counts + other.counts,
            outdated=self.outdated + other.outdated,
            groups=self.groups + other.groups,
            failures=self.failures + other.failures,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """What of a batch counts: the last current line of each thing by its reference. `versions` are to be noted, those of things that are seen included."""

    latest: Mapping[GlobalRef, PushedLine]
    versions: Mapping[GlobalRef, int | None]
    outdated: int


def plan_batch(lines: Sequence[PushedLine], stored: Mapping[GlobalRef, int | None]) -> BatchPlan:
    """Return what the lines come to after what is `stored`: the versions of what lines named before."""
    versions = dict(stored)
    latest: dict[GlobalRef, PushedLine] = {}
    seen: set[GlobalRef] = set()
    outdated = 0
    for line in lines:
        seen.add(line.ref)
        newest = versions.get(line.ref)
        if line.version is not None and newest is not None and line.version < newest:
            outdated += 1
            continue
        versions[line.ref] = newest if line.version is None else line.version
        latest[line.ref] = line
    return BatchPlan(
        latest=latest,
        versions={ref: versions[ref] for ref in seen if ref in stored or _is_noted(latest[ref])},
        outdated=outdated,
    )


def _is_noted(line: PushedLine) -> bool:
    """Return whether something must be remembered of what no line has named before: not that it is gone, where no version says since when."""
    return isinstance(line, PushedGroup) or line.item is not None or line.version is not None


def make_item_ref(source_name: str, external_id: str) -> GlobalRef:
    """Return the reference of an item of a source; raise `Invalid` for an id that is none."""
    return global_ref(PUSHED, ITEM, f"{source_name}/{_check_id(external_id)}")


def external_id(source_name: str, ref: GlobalRef) -> str:
    """Return the id at the pusher of an item's reference."""
    return ref.removeprefix(f"{PUSHED}:{ITEM}:{source_name}/")


def make_group(
    line: tuple[int, int | None], source_name: str, group_id: str, members: Sequence[str]
) -> PushedGroup:
    """Return a group with members by their e-mail addresses; `line` is its number and version. Raises `Invalid`."""
    number, version = line
    return PushedGroup(
        number=number,
        ref=global_ref(PUSHED, "group", f"{source_name}/{_check_group(group_id)}"),
        version=version,
        tag=_tag("group", group_id),
        name=f"{source_name}: {group_id}",
        addresses=frozenset(map(_check_email, members)),
    )


def make_audience(
    source_name: str,
    *,
    people: Sequence[str] = (),
    groups: Sequence[str] = (),
    domains: Sequence[str] = (),
    everyone: bool = False,
) -> Audience:
    """Return who may see an item of a source: people by their e-mail addresses, groups by their ids, all at a domain, all. Raises `Invalid`."""
    grants: set[Grant] = set()
    for address in map(_check_email, people):
        name = f"{source_name}: {address}"
        grants.add(Grant(tag=_person_tag(address), name=name, address=address))
    for domain in map(_check_domain, domains):
        name = f"{source_name}: everyone at {domain}"
        grants.add(Grant(tag=_tag("domain", domain), name=name, address=f"@{domain}"))
    if everyone:
        name = f"{source_name}: everyone"
        grants.add(Grant(tag=f"{PUSHED}:everyone", name=name, address="*"))
    of_groups = {_tag("group", _check_group(group)) for group in groups}
    return Audience(
        tags=frozenset(of_groups | {grant.tag for grant in grants}), grants=frozenset(grants)
    )


def _person_tag(address: str) -> str:
    """Return a person's tag, without the address: whoever sees an item sees its tags."""
    return f"{PUSHED}:person:{hashlib.sha256(address.encode()).hexdigest()[:32]}"


def _tag(kind: str, name: str) -> str:
    """Return the access tag of this name at the pusher; a name that no tag can have, or that looks like another, is a hash in it."""
    if not _PLAIN.fullmatch(name):
        name = "~" + hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{PUSHED}:{kind}:{name}"


def _check_id(text: str) -> str:
    require_text(text, "The id")
    if not text.strip() or _CONTROL.search(text) or len(text.encode()) > _MAX_ID_BYTES:
        raise Invalid(f"An id has 1 to {_MAX_ID_BYTES} bytes, and no control characters")
    return text


def _check_group(text: str) -> str:
    if len(_check_id(text)) > _MAX_GROUP_LENGTH:
        raise Invalid(f"The id of a group has at most {_MAX_GROUP_LENGTH} characters")
    return text


def _check_email(text: str) -> str:
    address = parse_email(text)
    if not address:
        raise Invalid("An e-mail address is empty")
    return address


def _check_domain(text: str) -> str:
    domain = text.strip().lower().removeprefix("@")
    if not _DOMAIN.fullmatch(domain):
        raise Invalid("A domain is written like halden.example")
    return domain
