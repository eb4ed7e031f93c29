"""Commands that read: they open the project, resolve who asks, and report."""

import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
import lightwell.entrypoints.cli.show as show
from lightwell.domain.access import Reader
from lightwell.domain.documents import Document
from lightwell.domain.questions import Mode, make_question, require_retrieval_mode
from lightwell.entrypoints.cli.edge import Exit, Report, settings, settings_of_store
from lightwell.entrypoints.cli.waiting import question_meter
from lightwell.models.meter import Meter

if TYPE_CHECKING:
    from lightwell.knowledge_base import KnowledgeBase

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


async def search(text: str, who: Sequence[str], *, topic: str, limit: int, mode: Mode) -> Report:
    """Report the passages that bear on the question, best first."""
    require_retrieval_mode(make_question(text, topic=topic, limit=limit, mode=mode))
    meter = question_meter()
    async with _open(who, meter) as (kb, reader):
        began = time.perf_counter()
        found = await kb.search(text, reader, topic=topic, limit=limit, mode=mode)
        document = shapes.retrieval(found, milliseconds=_since(began))
    paid = costs.actual_costs(meter.usages, settings())
    return Report(
        document={**document, "usage": paid.document()},
        text=Group(show.retrieval(found), *paid.lines()),
    )


async def status(who: Sequence[str]) -> Report:
    """Report how much the reader's part of the project holds."""
    async with _open(who) as (kb, reader):
        held = await kb.status(reader)
    documents = {state.value: count for state, count in held.documents.items()}
    by_state = ", ".join(f"{count} {state}" for state, count in documents.items())
    rows = [
        ("documents", by_state or "none"),
        ("passages", str(held.chunks)),
        ("entities", str(held.entities)),
        ("relations", str(held.relations)),
        ("waiting", _open_jobs_note(held.open_jobs)),
    ]
    counts = {"chunks": held.chunks, "entities": held.entities, "relations": held.relations}
    return Report(
        document={"documents": documents, **counts, "openJobs": held.open_jobs},
        text=show.fields(rows),
    )


async def documents(who: Sequence[str], *, after: str, limit: int) -> Report:
    """Report a page of the reader's documents, by URL."""
    async with _open(who) as (kb, reader):
        held = [each async for each in kb.documents(reader, after=after, limit=limit + 1)]
    page = held[:limit]
    following = page[-1].url if len(held) > limit else None
    return Report(
        document=shapes.documents(page, following=following),
        text=show.documents(page, following=following),
    )


async def document(name: str, who: Sequence[str]) -> Report:
    """Report what is known of one document."""
    async with _open(who) as (kb, reader):
        held = await kb.document(reader, document_name(name))
    return Report(document=shapes.document(held), text=_document_fields(held))


async def document_text(name: str, who: Sequence[str]) -> Report:
    """Report what is known of one document, and its text."""
    async with _open(who) as (kb, reader):
        held = await kb.document(reader, document_name(name))
        text = await kb.text(reader, document_name(name))
    return Report(
        document={**shapes.document(held), "text": text},
        text=Group(_document_fields(held), Text(), Text(show.clean(text))),
    )


async def passages(name: str, who: Sequence[str], *, after: int, limit: int) -> Report:
    """Report the passages of one document."""
    async with _open(who) as (kb, reader):
        held = await kb.chunks(reader, document_name(name), after=after, limit=limit)
    parts = [
        Group(
            Text.assemble((f"passage {each.index + 1}", "bold"), f"  {show.clean(each.ref)}"),
            Text(show.clean(each.text)),
            *(Text(f"read from {reply}", style="dim") for reply in each.llm_cache_ids),
            Text(),
        )
        for each in held
    ]
    return Report(document={"passages": shapes.chunks(held)}, text=Group(*parts))


async def keywords(text: str) -> Report:
    """Report what a question is about."""
    from lightwell.wiring import open_knowledge_base

    chosen, meter = settings_of_store(), Meter()
    async with open_knowledge_base(chosen, meter) as kb:
        found = await kb.keywords(text)
    paid = costs.actual_costs(meter.usages, chosen)
    rows = [
        ("themes", ", ".join(found.high)),
        ("names and terms", ", ".join(found.low)),
        ("by", "the chat model" if found.by_model else "the question's own words"),
    ]
    return Report(
        document={**shapes.keywords(found), "usage": paid.document()},
        text=Group(show.fields(rows), *paid.lines()),
    )


async def doctor() -> Report:
    """Report what is well and what is not, and how to mend it."""
    from lightwell.wiring import examine

    found = await examine(settings())
    well = all(each.ok for each in found)
    checks = [
        {"name": each.name, "ok": each.ok, "detail": each.detail, "mend": each.fix}
        for each in found
    ]
    return Report(
        document={"ok": well, "checks": checks},
        text=show.checks(found),
        code=Exit.FINE if well else Exit.INCOMPLETE,
    )


@asynccontextmanager
async def _open(
    who: Sequence[str], meter: Meter | None = None
) -> "AsyncGenerator[tuple[KnowledgeBase, Reader], None]":
    tags = people.tags(who)
    from lightwell.wiring import open_knowledge_base

    async with open_knowledge_base(settings_of_store(), meter) as kb:
        yield kb, await people.reader(kb, tags)


def document_name(name: str) -> str:
    """Return the name that the project knows: a path becomes its URL, a URL, reference or id stays."""
    return name if ":" in name or _ID.fullmatch(name) else Path(name).resolve().as_uri()


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)


def _open_jobs_note(open_jobs: int) -> str:
    return f"{open_jobs} for a worker (`lightwell worker`)" if open_jobs else "nothing"


def _document_fields(document: Document) -> show.RenderableType:
    return show.fields(
        [
            ("title", document.title),
            ("url", document.url),
            ("reference", document.ref),
            ("id", str(document.id)),
            (
                "state",
                f"{document.state.value}: {document.error}"
                if document.error
                else document.state.value,
            ),
            ("format", document.format),
            ("author", document.author),
            *((name, value) for name, value in document.metadata.items() if name != "author"),
            ("topic", document.topic),
            ("language", document.language),
            ("access", ", ".join(sorted(document.acl_tags))),
            ("passages", str(document.chunk_count)),
            ("size", f"{document.file_size:,} bytes"),
            ("changed", f"{document.updated_at:%Y-%m-%d %H:%M}"),
            ("ingested", f"{document.ingested_at:%Y-%m-%d %H:%M}" if document.ingested_at else ""),
        ]
    )
