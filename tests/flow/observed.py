"""All that a reader can observe of a project, as plain values by which two projects can be compared."""

import dataclasses
import enum
import re
from collections.abc import AsyncIterable, Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from operator import attrgetter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeVar, cast
from uuid import UUID

from lightwell.curate.graph import Graph
from lightwell.domain.access import Reader
from lightwell.domain.errors import LightwellError
from lightwell.domain.exports import ExportConfig, ExportFormat
from lightwell.domain.graph import Entity
from lightwell.domain.graph_views import EntityFilter
from lightwell.domain.links import LinkFilter
from lightwell.domain.questions import Mode
from lightwell.knowledge_base import KnowledgeBase

Item = TypeVar("Item")

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_TIMES = re.compile(r"(?:^|_)(?:ms|at)$|^(?:timings|latency|cursor|total_duration)$")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00")
_OF_THE_STORE = {"class_id", "classes", "project_id"}
"""Numbers that a store gives in the order in which it meets things; no door shows them."""


@dataclass(frozen=True)
class Plain:
    """Takes values apart into places and scalars: ids become numbers in the order in which they are met, times go."""

    ids: dict[str, str] = field(default_factory=dict[str, str])

    def parts(self, value: object, place: str = "") -> Iterator[tuple[str, object]]:
        """Yield each scalar of the value with its place in it."""
        match value:
            case enum.Enum():
                yield place, value.value
            case UUID():
                yield place, self.text(value.hex)
            case str():
                yield place, self.text(value)
            case date():
                yield place, value.isoformat()
            case float():
                yield place, round(value, 9)
            case _:
                yield from self._inside(value, place)

    def _inside(self, value: object, place: str) -> Iterator[tuple[str, object]]:
        match value:
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                yield place, type(value).__name__
                names = [one.name for one in dataclasses.fields(value)]
                yield from self._inside({name: getattr(value, name) for name in names}, place)
            case Mapping():
                for key, item in cast("Mapping[object, object]", value).items():
                    if _is_told(str(key)):
                        yield from self.parts(item, f"{place}.{self.text(str(key))}")
            case frozenset() | set():
                items = [repr(list(self.parts(item))) for item in cast("Iterable[object]", value)]
                yield place, sorted(items)
            case list() | tuple():
                items = cast("list[object]", value)
                yield f"{place}.count", len(items)
                for number, item in enumerate(items):
                    yield from self.parts(item, f"{place}[{number}]")
            case _:
                yield place, value

    def text(self, text: str) -> str:
        return _UUID.sub(
            lambda match: self.ids.setdefault(match[0].replace("-", ""), f"<id {len(self.ids)}>"),
            text,
        )


def _is_told(name: str) -> bool:
    return name not in _OF_THE_STORE and not _TIMES.search(name)


async def _attempt(call: Awaitable[object]) -> object:
    """Return what the call returns, or the error that a person would read."""
    try:
        return await call
    except LightwellError as error:
        return (type(error).__name__, str(error))


async def entities_seen(graph: Graph, reader: Reader) -> list[Entity]:
    """Return the entities that a reader sees, by reference and name."""
    listed = await graph.list_entities(reader, EntityFilter(), limit=1000)
    return sorted((entity for entity, _ in listed), key=attrgetter("ref", "name"))


async def _all(items: AsyncIterable[Item]) -> list[Item]:
    return [item async for item in items]


async def observe(
    kb: KnowledgeBase,
    reader: Reader,
    chance: Random,
    names: Iterable[str],
    questions: Iterable[str],
) -> dict[str, object]:
    """Return all that this reader can observe, by place; of what depends on a name or a question, a sample."""
    graph, seen = kb.graph, dict[str, object]()
    for question in chance.sample(list(questions), 2):
        for mode in chance.sample([mode for mode in Mode if mode is not Mode.BYPASS], 2):
            call = kb.questions.search(question, reader, limit=20, mode=mode)
            seen[f"search {mode.value} {question}"] = await _attempt(call)
        seen[f"ask {question}"] = await _attempt(kb.questions.ask(question, reader))
        seen[f"statements {question}"] = await _attempt(kb.questions.statements(question, reader))
    for name in chance.sample(list(names), 5):
        seen[f"brief {name}"] = await _attempt(kb.questions.brief(name, reader))
        seen[f"candidates {name}"] = await _attempt(kb.questions.candidates(name, reader))
        seen[f"entity {name}"] = await _attempt(graph.entity(reader, name))
        seen[f"near {name}"] = await _attempt(graph.neighbourhood(reader, name, depth=2))
        seen[f"proposed for {name}"] = await _attempt(graph.proposals(reader, about=name))
    documents = await _all(kb.documents.iterate(reader, limit=500))
    links = await graph.links.list_links(reader, LinkFilter())
    seen |= {
        "entities": await entities_seen(graph, reader),
        "relations": await _all(graph.relations(reader, limit=500)),
        "merges": await graph.merges(reader),
        "splits": await graph.splits(reader),
        "proposed merges": await graph.proposals(reader, limit=50),
        "links": sorted(links, key=attrgetter("source.ref", "target.ref", "type.value")),
        "status": await kb.documents.status(reader),
        "documents": documents,
        "texts": [
            await _attempt(kb.documents.text(reader, document.url)) for document in documents
        ],
        "conversations": [(one.title, one.messages) for one in await kb.conversations.list(reader)],
        "open jobs": sorted(
            (job.url, job.state.value, job.step, job.error)
            for job in await kb.jobs.list(reader, limit=500)
            if job.state.is_open
        ),
        "export": await _export(kb, reader),
    }
    return _rank_times(dict(Plain().parts(seen)))


def _rank_times(seen: dict[str, object]) -> dict[str, object]:
    """Return the view with its moments, such as when an entity was changed last, as their ranks: two stores live at two times."""
    texts = [value for value in seen.values() if isinstance(value, str)]
    moments = sorted({moment for text in texts for moment in _MOMENT.findall(text)})
    ranks = {moment: f"<moment {rank}>" for rank, moment in enumerate(moments)}
    return {
        place: _MOMENT.sub(lambda match: ranks[match[0]], value)
        if isinstance(value, str)
        else value
        for place, value in seen.items()
    }


async def _export(kb: KnowledgeBase, reader: Reader) -> dict[str, list[str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "export.csv"
        config = ExportConfig(format=ExportFormat.CSV, output_path=path, include_chunks=True)
        await kb.documents.export(reader, config)
        return _read_all(Path(folder))


def _read_all(folder: Path) -> dict[str, list[str]]:
    """Return the lines of each file by its name."""
    return {
        file.name: file.read_text("utf-8-sig").splitlines() for file in sorted(folder.iterdir())
    }


def differences(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """Return a line for each place that differs, at most twelve; the ids behind the first may only be shifted."""
    places = [place for place in {**one, **other} if one.get(place) != other.get(place)]
    return [f"{place}: {one.get(place)!r} | {other.get(place)!r}" for place in places[:12]]
