"""What an Attio workspace consists of: its objects and their attributes, lists, members, and the names of records."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lightwell.connectors.attio.api import AttioApi, parse, path_of
from lightwell.connectors.attio.models import (
    Actor,
    AttioList,
    AttioObject,
    Attribute,
    Member,
    Record,
    RecordKey,
    Token,
    Value,
)
from lightwell.connectors.attio.values import current, is_mapped, value_text
from lightwell.domain.errors import SourceFailed
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.item_structure import StatedEntity
from lightwell.text.regex import regex

SYSTEM = "attio"
_STANDARD = {
    "companies": "company",
    "people": "person",
    "deals": "deal",
    "users": "user",
    "workspaces": "workspace",
}
_OWN_KINDS = frozenset(
    ("note", "task", "comment", "meeting", "call", "member", "list-entry", "record", "merge")
)
_UNKIND = regex(r"[^a-z0-9_-]+")
_ATTRIBUTES_PER_PAGE = 100
_NAMES_PER_QUERY = 100
_REMEMBERED_NAMES = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectType:
    """A standard or custom object; `kind` is its part of references: `company` for the object `companies`."""

    id: str
    slug: str
    noun: str
    kind: str
    attributes: tuple[Attribute, ...]

    def ref(self, record_id: str) -> GlobalRef:
        return global_ref(SYSTEM, self.kind, record_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListType:
    """A list of records, and the attributes that its entries have beside those of the records."""

    list: AttioList
    attributes: tuple[Attribute, ...]

    @property
    def id(self) -> str:
        return self.list.key


@dataclass(slots=True)
class Workspace:
    """The configuration of a workspace as of one moment, and the names of the records that were met last."""

    api: AttioApi
    slug: str
    objects: tuple[ObjectType, ...]
    lists: tuple[ListType, ...]
    members: Mapping[str, Member]
    _names: OrderedDict[GlobalRef, StatedEntity] = field(
        default_factory=OrderedDict[GlobalRef, StatedEntity]
    )

    def object(self, name: str) -> ObjectType | None:
        """Return the object with this id, slug or kind; None for an unknown one."""
        return next(
            (type_ for type_ in self.objects if name in (type_.id, type_.slug, type_.kind)), None
        )

    def list(self, list_id: str) -> ListType | None:
        return next((list_type for list_type in self.lists if list_type.id == list_id), None)

    def actor_name(self, actor: Actor) -> str:
        """Return the name of a member, "" for what is no person."""
        member = self.members.get(actor.id or "") if actor.type == "workspace-member" else None
        return member.name if member else ""

    def actor_ref(self, actor: Actor) -> str:
        if actor.type == "workspace-member" and actor.id:
            return f"{SYSTEM}:member:{actor.id}"
        return f"{SYSTEM}:{actor.type}" if actor.type else ""

    def member_entity(self, member_id: str) -> StatedEntity | None:
        """Return a member as an entity, None for one who is not known."""
        member = self.members.get(member_id)
        if member is None:
            return None
        return StatedEntity(
            ref=global_ref(SYSTEM, "member", member_id),
            kind="person",
            name=member.name,
            attributes={"email": member.email_address.lower()} if member.email_address else {},
        )

    def record_url(self, key: RecordKey) -> str:
        """Return the address of a record's page, for a record that was not read."""
        type_ = self.object(key.object)
        kind = type_.kind if type_ else key.object
        return f"https://app.attio.com/{self.slug}/{kind}/{key.record_id}"

    async def name_records(self, keys: Iterable[RecordKey]) -> dict[RecordKey, StatedEntity]:
        """Return the records as entities, with names and addresses; those that no longer exist are left out."""
        types = {key: kind for key in dict.fromkeys(keys) if (kind := self.object(key.object))}
        missing: dict[str, list[str]] = {}
        for key, type_ in types.items():
            if type_.ref(key.record_id) not in self._names:
                missing.setdefault(type_.slug, []).append(key.record_id)
        loaded: dict[GlobalRef, StatedEntity] = {}
        for slug, ids in missing.items():
            for start in range(0, len(ids), _NAMES_PER_QUERY):
                loaded |= await self._load_names(slug, ids[start : start + _NAMES_PER_QUERY])
        named: dict[RecordKey, StatedEntity] = {}
        for key, type_ in types.items():
            ref = type_.ref(key.record_id)
            entity = loaded.get(ref) or self._names.get(ref)
            if entity:
                named[key] = entity
        self._remember(loaded)
        return named

    def note_record(self, type_: ObjectType, record: Record) -> StatedEntity:
        """Return a record as an entity, and remember its name."""
        entity = describe_record(type_, record)
        self._remember({entity.ref: entity})
        return entity

    async def _load_names(self, slug: str, ids: Sequence[str]) -> dict[GlobalRef, StatedEntity]:
        body = {"filter": {"record_id": {"$in": list(ids)}}, "limit": len(ids)}
        rows = await self.api.query(path_of("objects", slug, "records", "query"), body)
        type_ = self.object(slug)
        if type_ is None or rows is None:
            return {}
        records = [parse(Record, row) for row in rows]
        return {(entity := describe_record(type_, record)).ref: entity for record in records}

    def _remember(self, entities: Mapping[GlobalRef, StatedEntity]) -> None:
        self._names.update(entities)
        while len(self._names) > _REMEMBERED_NAMES:
            self._names.popitem(last=False)


async def load_workspace(api: AttioApi) -> Workspace:
    """Read the configuration; raise `SourceFailed` where the token is not valid, which Attio answers with status 200."""
    token = parse(Token, await api.require("/v2/self"))
    if not token.active:
        raise SourceFailed(
            "Attio says that the token is not active: create a new one, or enter it again"
        )
    objects = [parse(AttioObject, row) for row in await api.list_all("/v2/objects")]
    lists = [parse(AttioList, row) for row in await api.list_all("/v2/lists")]
    members = [parse(Member, row) for row in await api.list_all("/v2/workspace_members")]
    return Workspace(
        api=api,
        slug=token.workspace_slug,
        objects=tuple(
            [
                await _object_type(api, found_object)
                for found_object in objects
                if found_object.api_slug
            ]
        ),
        lists=tuple([await _list_type(api, found_list) for found_list in lists]),
        members={member.key: member for member in members},
    )


def describe_record(type_: ObjectType, record: Record) -> StatedEntity:
    """Return a record as an entity; what tells it from namesakes are e-mail addresses, domains and places."""
    attributes: dict[str, str] = {}
    aliases: list[str] = []
    for name, kind in (("email", "email-address"), ("domain", "domain"), ("location", "location")):
        if texts := _values_of_type(type_, record, kind):
            attributes[name] = texts[0] if name == "location" else texts[0].lower()
            if name != "location":
                aliases += [text.lower() for text in texts[1:]]
    return StatedEntity(
        ref=type_.ref(record.key),
        kind=type_.kind,
        name=record_name(type_, record),
        url=record.web_url,
        aliases=tuple(aliases),
        attributes=attributes,
    )


def record_name(type_: ObjectType, record: Record) -> str:
    """Return the record's name, else its first text, else what it is, with the beginning of its id."""
    slugs = [
        "name",
        *(
            attribute.api_slug
            for attribute in type_.attributes
            if attribute.type in ("text", "personal-name")
        ),
    ]
    for slug in slugs:
        for value in current(record.values.get(slug, ())):
            if text := value_text(value, _no_name).strip():
                return text
    fallback = _values_of_type(type_, record, "email-address") or _values_of_type(
        type_, record, "domain"
    )
    return fallback[0] if fallback else f"{type_.noun} {record.key[:8]}"


def kind_of(slug: str) -> str:
    """Return the kind of an object's records: `company` for `companies`, the slug of a custom object."""
    kind = _STANDARD.get(slug) or _UNKIND.sub("-", slug.lower())
    is_taken = kind in _OWN_KINDS or (slug not in _STANDARD and kind in _STANDARD.values())
    return f"object-{kind}" if is_taken else kind


def _values_of_type(type_: ObjectType, record: Record, kind: str) -> list[str]:
    slugs = [attribute.api_slug for attribute in type_.attributes if attribute.type == kind]
    values = [value for slug in slugs for value in current(record.values.get(slug, ()))]
    return [text for value in values if (text := value_text(value, _no_name))]


def _no_name(value: Value) -> str:
    return ""


async def _object_type(api: AttioApi, row: AttioObject) -> ObjectType:
    slug = row.api_slug or row.key
    return ObjectType(
        id=row.key,
        slug=slug,
        noun=row.singular_noun or slug,
        kind=kind_of(slug),
        attributes=await _attributes(api, path_of("objects", slug, "attributes")),
    )


async def _list_type(api: AttioApi, row: AttioList) -> ListType:
    path = path_of("lists", row.key, "attributes")
    return ListType(list=row, attributes=await _attributes(api, path))


async def _attributes(api: AttioApi, path: str) -> tuple[Attribute, ...]:
    rows = await api.list_all(path, limit=_ATTRIBUTES_PER_PAGE)
    return tuple(attribute for row in rows if is_mapped(attribute := parse(Attribute, row)))
