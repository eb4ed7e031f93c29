"""How Linear's objects read as Markdown."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import cast

from lightwell.connectors.linear.entities import SYSTEM, known_teams, ref
from lightwell.connectors.linear.values import Attachment, Dated, Named, ProjectHome
from lightwell.domain.access import Tags
from lightwell.domain.documents import Format, NewDocument, WorkState, work_metadata
from lightwell.domain.item_structure import ItemStructure
from lightwell.domain.source_items import SourceItem

Fact = tuple[str, str | datetime | None]
"""A label and a value of a text's header; a fact without a value is left out."""

_OPEN = frozenset("triage backlog unstarted proposed planned started paused active".split())
_CLOSED = frozenset("completed canceled duplicate".split())
_HEALTH = {"onTrack": "On track", "atRisk": "At risk", "offTrack": "Off track"}


def one_line(text: str) -> str:
    return " ".join(text.split())


def day(moment: datetime | None) -> str:
    """Return the day in UTC, as `2026-11-23`."""
    return moment.date().isoformat() if moment else ""


def join_names(values: Iterable[Named]) -> str:
    """Return the names in alphabetical order, since Linear's order has no meaning."""
    return ", ".join(sorted(one_line(value.name) for value in values))


def describe_health(health: str | None) -> str:
    return _HEALTH.get(health or "", health or "")


def render(title: str, facts: Iterable[Fact], *bodies: str | None) -> str:
    """Return the title as a heading, a line for each fact, and the bodies, as paragraphs of their own."""
    header = "\n".join(
        f"{label}: {one_line(value) if isinstance(value, str) else day(value)}"
        for label, value in facts
        if value
    )
    parts = [f"# {one_line(title)}", header, *((body or "").strip() for body in bodies)]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_attachments(attachments: Iterable[Attachment]) -> str:
    """Return the list of links, the oldest first; "" without any."""
    lines = [
        f"- {one_line(attachment.title)}{f' ({one_line(attachment.subtitle)})' if attachment.subtitle else ''}: {attachment.url}"
        for attachment in attachments
    ]
    return "\n".join(["## Links", "", *lines]) if lines else ""


def quote(text: str | None) -> str:
    """Return the text as a quotation."""
    return "\n".join(f"> {line}" for line in (text or "").strip().splitlines())


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What an item's document says, and what the item states. `author` is a name and a reference; `raw` is Linear's record.

    `due` is its deadline, as `2026-06-30`, "" for none.
    """

    title: str
    url: str
    content: str
    tags: Tags
    structure: ItemStructure
    raw: Mapping[str, object]
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    author: tuple[str, str] = ("", "")
    work_state: WorkState | None = None
    due: str | None = None


def read_work_state(type_: str) -> WorkState | None:
    """Return what the type of a status says; None for a type that Linear adds later."""
    if type_.lower() in _CLOSED:
        return WorkState.CLOSED
    return WorkState.OPEN if type_.lower() in _OPEN else None


def make_item(kind: str, value: Dated, written: Written) -> SourceItem:
    """Return the item with its one document."""
    item_ref, (author, author_ref) = ref(kind, value.id), written.author
    facts = {"author": author, "created": day(value.created_at), **written.metadata}
    if value.archived_at:
        facts["archived"] = day(value.archived_at)
    metadata = {name: one_line(text) for name, text in facts.items() if text}
    is_own = author and author_ref.startswith(ref("user", ""))
    metadata |= work_metadata(
        work_state=written.work_state,
        due=written.due,
        own_authors=[one_line(author)] if is_own else [],
    )
    stated = asdict(written.structure)
    hashed = [written.content, written.title, written.url, author_ref, metadata, stated]
    document = NewDocument(
        system=SYSTEM,
        kind=kind,
        source_id=value.id,
        url=written.url,
        format=Format.MARKDOWN,
        title=one_line(written.title),
        topic="",
        acl_tags=written.tags,
        content=written.content.encode(),
        content_hash=sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest(),
        created_at=value.created_at,
        updated_at=value.updated_at,
        metadata=metadata,
        author_ref=author_ref,
        raw_payload=_without_other_teams(written.raw),
        item_ref=item_ref,
        structure=written.structure,
    )
    return SourceItem(ref=item_ref, documents=(document,))


def _without_other_teams(record: Mapping[str, object]) -> dict[str, object]:
    """Return Linear's record without the teams of projects that not all who see it may know.

    A project itself names its known teams; in other records, projects name none, so that they need not be read again
    when a team becomes private.
    """
    kept = {name: _without_teams(value) for name, value in record.items()}
    if record.get("__typename") == "Project":
        named = known_teams(ProjectHome.model_validate(record))
        kept["teams"] = {"nodes": [team.model_dump(by_alias=True) for team in named]}
    return kept


def _without_teams(value: object) -> object:
    if isinstance(value, list):
        return [_without_teams(element) for element in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    record = cast("dict[str, object]", value)
    return {
        name: _without_teams(inner)
        for name, inner in record.items()
        if not (name == "teams" and record.get("__typename") == "Project")
    }
