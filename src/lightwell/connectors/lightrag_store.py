"""A working directory of LightRAG, with its storages in files: whole documents, and what people wrote into the graph.

What LightRAG extracted and computed is not read: documents are read anew. Of the graph only what no passage supports was written by hand for sure; an
edited description stands where an extracted one stood, and cannot be told from it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from lxml import etree  # pyright: ignore

from lightwell.connectors.single_document import Origin, make_document
from lightwell.domain.access import Tags
from lightwell.domain.documents import NewDocument
from lightwell.domain.errors import Invalid, NotFound, SourceFailed, TooLarge, Unreadable
from lightwell.domain.formats import format_of_text
from lightwell.domain.graph import KIND, MAX_WEIGHT, ManualEdit, RelationMention, kind_from_words
from lightwell.domain.requests import IngestRequest
from lightwell.ports import Change, ChangedDocument, UnchangedDocument, UnreadableDocument

SYSTEM: Final = "lightrag"
SCOPE: Final = f"{SYSTEM}:///"

_FULL_DOCUMENTS, _STATUSES = "kv_store_full_docs.json", "kv_store_doc_status.json"
_GRAPH: Final = "graph_chunk_entity_relation.graphml"
_PREVIEW: Final = "{{LRdoc}}"
_WITHOUT_NAME: Final = frozenset({"", "unknown_source", "no-file-path", "custom_kg"})
_BY_HAND: Final = frozenset({"", "manual_creation", "UNKNOWN"})
"""The `source_id` of what no passage supports; otherwise it names passages, joined by `<SEP>`."""

_PART: Final = 1_000_000
_XML_ERROR: Final = cast("type[Exception]", etree.LxmlError)
_MOST_EDITS: Final = 100_000
_LONGEST_ID, _LONGEST_NAME, _LONGEST_TITLE = 300, 200, 80
_NO_TEXT: Final = (
    "LightRAG keeps its text elsewhere, or has not read it: run `lightwell ingest` on LightRAG's input folder,"
    " where its file is"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandMade:
    """What people wrote into the graph: entities, and relations between entities that may come from documents."""

    entities: list[ManualEdit] = field(default_factory=list[ManualEdit])
    relations: list[RelationMention] = field(default_factory=list[RelationMention])


@dataclass(frozen=True, slots=True, kw_only=True)
class LightragStore:
    """A `Connector` with the documents of a working directory, all for readers with `tags`. It removes none: a document that is gone there stays."""

    folder: Path
    tags: Tags
    max_bytes: int

    @property
    def scope(self) -> str:
        return SCOPE

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield each document of LightRAG, one at a time; raise `SourceFailed` for files that LightRAG did not write, `NotFound` for none."""
        times = await asyncio.to_thread(self._times)
        members = self._members(_FULL_DOCUMENTS)
        while (member := await asyncio.to_thread(next, members, None)) is not None:
            name, value = member
            if len(name) > _LONGEST_ID or not name.isprintable():
                raise SourceFailed(f"{_FULL_DOCUMENTS} has ids that are none of LightRAG's")
            document = self._read(name, _object(value), times.get(name))
            if isinstance(document, UnreadableDocument):
                yield document
            elif hashes.get(document.url) == document.content_hash:
                yield UnchangedDocument(url=document.url, document=replace(document, content=b""))
            else:
                yield ChangedDocument(document=document)

    def read_by_hand(self) -> HandMade:
        """Return what people wrote into the graph; raise `SourceFailed` for a file that is no graph of LightRAG's."""
        path = self.folder / _GRAPH
        return _read_graph(path) if path.is_file() else HandMade()

    def _times(self) -> dict[str, datetime]:
        """Return when each document came to LightRAG, where that is known."""
        if not (self.folder / _STATUSES).is_file():
            return {}
        return {
            name: moment
            for name, value in self._members(_STATUSES)
            if (moment := _moment(_text(_object(value), "created_at"))) is not None
        }

    def _members(self, name: str) -> Iterator[tuple[str, object]]:
        path = self.folder / name
        if not path.is_file():
            raise NotFound(
                f"There is no {name} in {self.folder}: name the working directory of a LightRAG that keeps its storages in files"
            )
        return _read_members(path, longest=_PART + 6 * self.max_bytes)

    def _read(
        self, source_id: str, record: Mapping[str, object], moment: datetime | None
    ) -> NewDocument | UnreadableDocument:
        text = _text(record, "content")
        name = _name(_text(record, "file_path"))
        url = "/".join(quote(part, safe="") for part in (source_id, name) if part)
        url = f"{SCOPE}{url}"
        if not text.strip() or text.startswith(_PREVIEW):
            return UnreadableDocument(url=url, reason="no_text", message=_NO_TEXT)
        request = IngestRequest(
            document_url=url,
            acl_tags=self.tags,
            title="" if name else text.strip().partition("\n")[0][:_LONGEST_TITLE],
            format=format_of_text(name),
        )
        origin = Origin(system=SYSTEM, kind="document", source_id=source_id, url=url, name=name)
        try:
            content = text.encode()
            document = make_document(request, origin, content, self.max_bytes)
        except UnicodeEncodeError:
            return UnreadableDocument(url=url, reason="no_text", message="its text is no Unicode")
        except (Unreadable, TooLarge, Invalid) as error:
            return UnreadableDocument(url=url, reason=error.code, message=str(error))
        return replace(document, created_at=moment, updated_at=moment)


def _name(path: str) -> str:
    """Return the last part of a path that LightRAG noted, "" where it noted none."""
    last = "" if path in _WITHOUT_NAME else path.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in last if sign.isprintable()).strip()[-_LONGEST_NAME:]


def _object(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _text(record: Mapping[str, object], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _read_members(path: Path, *, longest: int) -> Iterator[tuple[str, object]]:
    """Yield the members of the JSON object in a file one by one, without reading the file as a whole.

    Raises `SourceFailed` for another file, and for a member of more than `longest` characters.
    """
    with _only_what_lightrag_writes(path), path.open(encoding="utf-8") as file:
        reader = _Reader(file.read, longest)
        reader.take("{")
        if reader.peek() == "}":
            return
        while True:
            name = reader.value()
            reader.take(":")
            value = reader.value()
            if not isinstance(name, str):
                raise SourceFailed(f"{path.name} has names that are no texts")
            yield name, value
            if reader.peek() == "}":
                return
            reader.take(",")


@contextmanager
def _only_what_lightrag_writes(path: Path) -> Generator[None]:
    try:
        yield
    except (ValueError, RecursionError, OSError, _XML_ERROR) as error:
        raise SourceFailed(
            f"{path.name} is not as LightRAG writes it, or cannot be read: {error}"
        ) from error


class _Reader:
    """Reads JSON values from a file, of which it holds one value at a time, and at most `longest` characters."""

    def __init__(self, read: Callable[[int], str], longest: int) -> None:
        self._read = read
        self._longest = longest
        self._text, self._place = "", 0
        self._is_at_end = False
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next sign that is no white space, "" at the end."""
        while True:
            rest = self._text[self._place : self._place + _PART].lstrip()
            if rest:
                self._place = self._text.index(rest[0], self._place)
                return rest[0]
            if not self._fill():
                return ""

    def take(self, sign: str) -> None:
        """Go behind this sign; raise `ValueError` where another stands."""
        if self.peek() != sign:
            raise ValueError(f"{sign} is missing")
        self._place += 1

    def value(self) -> object:
        """Return the next value; raise `ValueError` where there is none."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
            except json.JSONDecodeError:
                if not self._fill():
                    raise
                continue
            if end < len(self._text) or not self._fill():
                self._place = end
                return cast("object", value)

    def _fill(self) -> bool:
        """Read as much again as is not taken yet; return whether there was more."""
        self._text, self._place = self._text[self._place :], 0
        if len(self._text) > self._longest:
            raise ValueError(f"a value has more than {self._longest:,} characters")
        more = self._read(max(_PART, len(self._text)))
        self._text += more
        return bool(more)


def _read_graph(path: Path) -> HandMade:
    hand_made, names = HandMade(), dict[str, str]()
    with _only_what_lightrag_writes(path):
        elements = cast(
            "Iterator[tuple[str, Any]]",
            etree.iterparse(
                str(path),
                tag=("{*}key", "{*}node", "{*}edge"),
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                huge_tree=False,
            ),
        )
        for _, element in elements:
            if element.get("attr.name") is not None:
                names[element.get("id", "")] = element.get("attr.name")
            else:
                _note(hand_made, element, names)
            _forget(element)
            if len(hand_made.entities) + len(hand_made.relations) + len(names) > _MOST_EDITS:
                raise ValueError(f"it has more than {_MOST_EDITS:,} entities and relations by hand")
    return hand_made


def _note(hand_made: HandMade, element: Any, names: Mapping[str, str]) -> None:
    """Note a node or an edge that no passage supports."""
    properties = {names.get(data.get("key"), ""): (data.text or "").strip() for data in element}
    if properties.get("source_id", "") not in _BY_HAND:
        return
    description = properties.get("description", "")
    if (source := element.get("source")) is not None:
        hand_made.relations.append(
            RelationMention(
                subject=source,
                object=element.get("target", ""),
                keywords=properties.get("keywords", ""),
                description=description,
                weight=_weight(properties.get("weight", "")),
            )
        )
    else:
        kind = kind_from_words(properties.get("entity_type", ""))
        edit = ManualEdit(
            name=element.get("id", ""),
            kind=kind if KIND.fullmatch(kind) else "",
            description=description,
        )
        hand_made.entities.append(edit)


def _forget(element: Any) -> None:
    """Free what is read of the tree: a graph may be larger than memory."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if 0 < weight <= MAX_WEIGHT else 1.0
