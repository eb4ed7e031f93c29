"""Attio's objects as items: text that reads well, with what they state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lightwell.connectors.attio.models import (
    Actor,
    Attribute,
    Comment,
    Entry,
    Note,
    Record,
    RecordKey,
    Task,
    Value,
    parse_time,
)
from lightwell.connectors.attio.values import (
    attribute_fields,
    current,
    date_text,
    last_change,
    time_text,
)
from lightwell.connectors.attio.workspace import (
    SYSTEM,
    ListType,
    ObjectType,
    Workspace,
    describe_record,
)
from lightwell.connectors.item_documents import ItemText, clean, field_lines, make_item_document
from lightwell.connectors.rows import Json
from lightwell.domain.access import Tags
from lightwell.domain.documents import WorkState
from lightwell.domain.ids import GlobalRef, global_ref
from lightwell.domain.item_structure import ItemStructure, LinkType, StatedEntity, StatedLink
from lightwell.domain.source_items import SourceItem

WORKSPACE_TAGS: Tags = frozenset((f"{SYSTEM}:workspace",))
CALL_TAGS: Tags = frozenset((f"{SYSTEM}:calls",))
_MAX_STATED = 50
_TITLE_CHARACTERS = 80
_BELONGS_TO = frozenset(("company", "associated_company"))
"""Slugs of references that say what a record is part of: a person's company, the company of a deal."""

Names = Mapping[RecordKey, StatedEntity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A value that refers to a record or a member, and the slug of its attribute."""

    relation: str
    value: Value

    @property
    def record(self) -> RecordKey | None:
        value = self.value
        if value.target_object and value.target_record_id:
            return RecordKey(object=value.target_object, record_id=value.target_record_id)
        return None


@dataclass(frozen=True, slots=True)
class ItemMaker:
    """Turns what one workspace sends into items; `names` has the records that they refer to."""

    workspace: Workspace
    names: Names

    def record(
        self, type_: ObjectType, record: Record, raw: Json, former_ids: Sequence[str] = ()
    ) -> SourceItem:
        """Return a record; `former_ids` are those of records that were merged into it."""
        entity = describe_record(type_, record)
        fields = attribute_fields(type_.attributes, record.values, self.name_of)
        structure = self._with_references(entity, references(type_.attributes, record.values))
        mapped = [
            value
            for attribute in type_.attributes
            for value in current(record.values.get(attribute.api_slug, ()))
        ]
        names = [(type_.noun, entity.name)] + [field for field in fields if field[1] != entity.name]
        text = field_lines([*names, ("Created", date_text(record.created_at))])
        item = self._text(entity, text, raw, record.created_at)
        aliases = tuple(type_.ref(former) for former in former_ids)
        merged = replace(entity, aliases=(*entity.aliases, *aliases))
        owner = structure.entities[1:]
        return _item(
            replace(
                item,
                structure=structure,
                unhashed_structure=replace(structure, entities=(merged, *owner)),
                updated_at=last_change(record.created_at, mapped),
                metadata={"status": dict(fields).get("Deal stage", "")},
            )
        )

    def entry(self, type_: ListType, entry: Entry, raw: Json) -> SourceItem:
        """Return an entry of a list: where a record stands there."""
        parent = self._about(entry.parent)
        name = type_.list.name
        entity = StatedEntity(
            ref=entry_ref(type_.id, entry.key),
            kind="list-entry",
            name=f"{parent.name} in {name}",
            url=f"{parent.url}#list-entry-{entry.key}",
        )
        fields = attribute_fields(type_.attributes, entry.entry_values, self.name_of)
        about = [("List", name), (parent.kind.capitalize(), parent.name)]
        text = field_lines([*about, *fields, ("Added", date_text(entry.created_at))])
        item = self._text(entity, text, raw, entry.created_at)
        values = [
            value for entry_values in entry.entry_values.values() for value in current(entry_values)
        ]
        structure = self._with_references(entity, references(type_.attributes, entry.entry_values))
        return _item(
            replace(
                item,
                tags=list_tags(type_.id),
                structure=_add(structure, [(parent, "parent_record")]),
                updated_at=last_change(entry.created_at, values),
                metadata={"list": name},
            )
        )

    def note(self, note: Note, raw: Json) -> SourceItem:
        parent = self._about(note.parent)
        title = note.title.strip() or "Note"
        entity = StatedEntity(
            ref=global_ref(SYSTEM, "note", note.key),
            kind="note",
            name=title,
            url=f"{parent.url}#note-{note.key}",
        )
        author = self.workspace.actor_name(note.created_by_actor)
        head = field_lines(
            [("Note on", parent.name), ("Title", title), *_signed(author, note.created_at)]
        )
        body = clean(note.content_markdown or note.content_plaintext).strip()
        item = self._text(entity, f"{head}\n\n{body}", raw, note.created_at, note.created_by_actor)
        return _item(
            replace(
                item,
                title=f"Note on {parent.name}: {title}",
                structure=_add(ItemStructure(entities=(entity,)), [(parent, "about")]),
            )
        )

    def task(self, task: Task, raw: Json) -> SourceItem:
        parents = [self._about(linked.record) for linked in task.linked_records]
        page = parents[0].url if parents else f"https://app.attio.com/{self.workspace.slug}/tasks"
        first_line = clean(task.content_plaintext).strip().partition("\n")[0] or "Task"
        name = first_line[:_TITLE_CHARACTERS]
        own_entity = StatedEntity(
            ref=global_ref(SYSTEM, "task", task.key),
            kind="task",
            name=name,
            url=f"{page}#task-{task.key}",
        )
        people = [
            entity
            for assignee in task.assignees
            if (entity := self.workspace.member_entity(assignee.referenced_actor_id))
        ]
        author = self.workspace.actor_name(task.created_by_actor)
        status = "done" if task.is_completed else "open"
        head = field_lines(
            [
                ("Task about", ", ".join(parent.name for parent in parents)),
                ("Status", status),
                ("Deadline", date_text(task.deadline_at)),
                ("Assignee", ", ".join(person.name for person in people)),
                *_signed(author, task.created_at),
            ]
        )
        text = f"{head}\n\n{clean(task.content_plaintext).strip()}"
        item = self._text(own_entity, text, raw, task.created_at, task.created_by_actor)
        links = [(parent, "about") for parent in parents] + [
            (person, "assignee") for person in people
        ]
        return _item(
            replace(
                item,
                title=f"Task: {name}",
                structure=_add(ItemStructure(entities=(own_entity,)), links),
                metadata={"status": status},
                due=date_text(task.deadline_at),
                work_state=WorkState.CLOSED if task.is_completed else WorkState.OPEN,
            )
        )

    def comment(self, comment: Comment, raw: Json) -> SourceItem:
        parent = self._about(comment.record.record)
        author = self.workspace.actor_name(comment.author)
        entity = StatedEntity(
            ref=global_ref(SYSTEM, "comment", comment.key),
            kind="comment",
            name=f"Comment on {parent.name}",
            url=f"{parent.url}#comment-{comment.key}",
        )
        state = "resolved" if comment.resolved_at else ""
        head = field_lines(
            [("Comment on", parent.name), *_signed(author, comment.created_at), ("Status", state)]
        )
        text = f"{head}\n\n{clean(comment.content_plaintext).strip()}"
        item = self._text(entity, text, raw, comment.created_at, comment.author)
        return _item(
            replace(
                item,
                tags=list_tags(comment.entry.list_id) if comment.entry else WORKSPACE_TAGS,
                structure=_add(ItemStructure(entities=(entity,)), [(parent, "about")]),
                metadata={"thread": comment.thread_id, "status": state},
                work_state=WorkState.CLOSED if comment.resolved_at else None,
            )
        )

    def name_of(self, value: Value) -> str:
        """Return the name that a reference stands for."""
        if value.target_object and value.target_record_id:
            key = RecordKey(object=value.target_object, record_id=value.target_record_id)
            entity = self.names.get(key)
            return entity.name if entity else ""
        member = self.workspace.members.get(value.referenced_actor_id or "")
        return member.name if member else ""

    def about(self, keys: Iterable[RecordKey]) -> list[StatedEntity]:
        """Return those of the records that are there."""
        return [self.names[key] for key in keys if key in self.names]

    def _about(self, key: RecordKey) -> StatedEntity:
        """Return the record that something is about, nameless where the token does not show it."""
        if entity := self.names.get(key):
            return entity
        type_ = self.workspace.object(key.object)
        kind = type_.kind if type_ else "record"
        noun = type_.noun if type_ else "record"
        return StatedEntity(
            ref=global_ref(SYSTEM, kind, key.record_id),
            kind=kind,
            name=f"{noun} {key.record_id[:8]}",
            url=self.workspace.record_url(key),
        )

    def _with_references(self, entity: StatedEntity, stated: Iterable[Reference]) -> ItemStructure:
        links: list[tuple[StatedEntity, str]] = []
        for reference in stated:
            key = reference.record
            member_id = reference.value.referenced_actor_id or ""
            target = self.names.get(key) if key else self.workspace.member_entity(member_id)
            if target:
                links.append((target, reference.relation))
        return _add(ItemStructure(entities=(entity,)), links)

    def _text(
        self,
        entity: StatedEntity,
        text: str,
        raw: Json,
        created_at: str,
        author: Actor | None = None,
    ) -> ItemText:
        _, kind, source_id = entity.ref.split(":", 2)
        return ItemText(
            system=SYSTEM,
            kind=kind,
            source_id=source_id,
            item_ref=entity.ref,
            url=entity.url,
            title=entity.name,
            text=text,
            tags=WORKSPACE_TAGS,
            author=self.workspace.actor_name(author) if author else "",
            author_ref=self.workspace.actor_ref(author) if author else "",
            own_authors=(self.workspace.actor_name(author),) if author else (),
            created_at=parse_time(created_at),
            updated_at=parse_time(created_at),
            payload=raw,
        )


def entry_ref(list_id: str, entry_id: str) -> GlobalRef:
    """Return the reference of a list's entry; it names the list, too, because entries are fetched from their list."""
    return global_ref(SYSTEM, "list-entry", f"{list_id}.{entry_id}")


def list_tags(list_id: str) -> Tags:
    return frozenset((f"{SYSTEM}:list:{list_id}",))


def references(
    attributes: Iterable[Attribute], values: Mapping[str, Sequence[Value]]
) -> list[Reference]:
    """Return the values of mapped attributes that refer to records or members."""
    slugs = [attribute.api_slug for attribute in attributes]
    return [
        Reference(relation=slug, value=value)
        for slug in slugs
        for value in current(values.get(slug, ()))[:_MAX_STATED]
        if value.attribute_type in ("record-reference", "actor-reference")
    ]


def _signed(author: str, created_at: str) -> list[tuple[str, str]]:
    return [("Author", author), ("Date", time_text(parse_time(created_at)))]


def _add(structure: ItemStructure, links: Sequence[tuple[StatedEntity, str]]) -> ItemStructure:
    """Return the structure with links of its own entity to others, each of which is stated once."""
    source = structure.entities[0]
    entities = {entity.ref: entity for entity in structure.entities}
    for target, _ in links:
        entities.setdefault(target.ref, target)
    new = (
        StatedLink(
            source=source.ref,
            target=target.ref,
            type=LinkType.BELONGS_TO if relation in _BELONGS_TO else LinkType.RELATED_TO,
            relation=relation,
        )
        for target, relation in links
        if target.ref != source.ref
    )
    merged = dict.fromkeys((*structure.links, *new))
    return ItemStructure(entities=tuple(entities.values()), links=tuple(merged))


def _item(text: ItemText) -> SourceItem:
    return SourceItem(ref=text.item_ref, documents=(make_item_document(text),))
