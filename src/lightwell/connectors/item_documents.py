"""Documents of business systems: the form that all connectors share."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter

from lightwell.domain.access import Tags
from lightwell.domain.documents import Format, NewDocument, WorkState, work_metadata
from lightwell.domain.ids import GlobalRef
from lightwell.domain.item_structure import NO_STRUCTURE, ItemStructure
from lightwell.domain.texts import DROPPED
from lightwell.text.regex import regex

_STRUCTURE = TypeAdapter(ItemStructure)
_MAX_TITLE = 200
_HEADING = regex(r"^[ ]{0,3}(?:#{1,6}(?:[ \t]+|$))+", re.MULTILINE)
_UNDERLINE = regex(r"^[ ]{0,3}(?:=+|-+)[ \t]*$\n?", re.MULTILINE)
_LINE_END = regex("[\x85\u2028\u2029]")
_UNPRINTABLE = regex(rf"[\x0b\x0c{DROPPED}]")
"""What is dropped where documents are read is dropped here already: a heading must not become one then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemText:
    """One document of an item. `payload` is the system's own record of it, without secrets.

    `due` is its deadline, as `2026-06-30`, and `own_authors` are those of our own people who wrote in it. `fingerprint` stands for what the text does not show and yet determines the document, such as the version of a file.
    """

    system: str
    kind: str
    source_id: str
    item_ref: GlobalRef
    url: str
    title: str
    text: str
    tags: Tags
    structure: ItemStructure = NO_STRUCTURE
    author: str = ""
    author_ref: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    payload: Mapping[str, object] = field(default_factory=dict[str, object])
    fingerprint: str = ""
    unhashed_structure: ItemStructure | None = None
    work_state: WorkState | None = None
    due: str = ""
    own_authors: tuple[str, ...] = ()


def make_item_document(item: ItemText) -> NewDocument:
    """Return the document in Markdown; its hash covers text, title, address, author, state, deadline, own authors and structure, and not the access tags.

    `unhashed_structure`, where given, is stored in place of `structure`, and the hash does not cover it.
    """
    title = one_line(item.title)[:_MAX_TITLE]
    facts = [item.text, title, item.url, item.author, item.author_ref, item.fingerprint]
    stated = _STRUCTURE.dump_python(item.structure, mode="json")
    work = work_metadata(
        work_state=item.work_state, due=item.due, own_authors=[*map(one_line, item.own_authors)]
    )
    covered = json.dumps([facts, stated, *work.values()], sort_keys=True)
    metadata = {name: clean(value) for name, value in item.metadata.items() if value}
    if item.author:
        metadata["author"] = one_line(item.author)
    return NewDocument(
        system=item.system,
        kind=item.kind,
        source_id=item.source_id,
        url=item.url,
        format=Format.MARKDOWN,
        title=title,
        topic="",
        acl_tags=item.tags,
        content=clean(item.text).encode(),
        content_hash=hashlib.sha256(covered.encode()).hexdigest(),
        created_at=item.created_at,
        updated_at=item.updated_at,
        metadata=metadata | work,
        author_ref=item.author_ref,
        raw_payload=item.payload,
        item_ref=item.item_ref,
        structure=item.unhashed_structure or item.structure,
    )


def field_lines(fields: Iterable[tuple[str, str]]) -> str:
    """Return `Label: value` lines, without those that have no value."""
    return "\n".join(f"{label}: {line}" for label, value in fields if (line := one_line(value)))


def one_line(text: str) -> str:
    """Return the text with each run of white space as one blank."""
    return " ".join(clean(text).split())


def clean(text: str) -> str:
    """Return the text without control characters, soft hyphens, byte order marks and lone surrogates, which nobody sees or no store accepts."""
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def plain_paragraphs(text: str) -> str:
    """Return what somebody wrote as text that cannot be mistaken for headings of the document around it."""
    lines = _LINE_END.sub("\n", clean(text).strip())
    return _UNDERLINE.sub("", _HEADING.sub("", lines)).strip("\n").rstrip()
