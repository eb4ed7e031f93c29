"""What `ask` does: an answer at once, sentence by sentence, or as a list of statements."""

import json
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import typer
from rich.console import Group
from rich.text import Text

import lightwell.entrypoints.cli.costs as costs
import lightwell.entrypoints.cli.people as people
import lightwell.entrypoints.cli.shapes as shapes
import lightwell.entrypoints.cli.show as show
from lightwell.domain.access import Reader
from lightwell.domain.errors import ModelFailed
from lightwell.domain.ids import SessionId
from lightwell.domain.questions import Mode, QueryRequest
from lightwell.domain.streams import StreamChunk
from lightwell.entrypoints.cli.edge import Report, settings, settings_of_store
from lightwell.entrypoints.cli.waiting import question_meter
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.meter import Meter
from lightwell.wiring import open_knowledge_base


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """A question as it was typed."""

    text: str
    topic: str
    limit: int
    mode: Mode
    session: SessionId | None = None

    @property
    def request(self) -> QueryRequest:
        return QueryRequest(
            query=self.text,
            session_id=self.session,
            top_k=self.limit,
            topic_filter=self.topic,
            mode=self.mode,
        )


async def ask(options: AskOptions, who: Sequence[str]) -> Report:
    """Report the answer; insufficient evidence is an answer too."""
    meter = question_meter()
    async with _open(options, who, meter) as (kb, reader):
        began = time.perf_counter()
        answer = await kb.query(options.request, reader)
        document = shapes.answer(answer, milliseconds=_since(began))
    paid = _cost_lines(meter)
    return Report(
        document={**document, "usage": paid.document()},
        text=Group(show.answer(answer), *paid.lines()),
    )


async def statements(options: AskOptions, who: Sequence[str]) -> Report:
    """Report what the documents state, each with its citations and dates."""
    meter = question_meter()
    async with _open(options, who, meter) as (kb, reader):
        began = time.perf_counter()
        listed = await kb.statements(
            options.text, reader, topic=options.topic, limit=options.limit, mode=options.mode
        )
        document = shapes.statements(listed, milliseconds=_since(began))
    paid = _cost_lines(meter)
    return Report(
        document={**document, "usage": paid.document()},
        text=Group(show.statements(listed), *paid.lines()),
    )


async def stream(options: AskOptions, who: Sequence[str], *, as_json: bool) -> Report:
    """Print the answer as it comes, and report what is left to say; raise `ModelFailed` when its model does."""
    last: StreamChunk | None = None
    meter = question_meter()
    async with _open(options, who, meter) as (kb, reader):
        events = kb.query_stream(options.request, reader)
        async for event in events:
            last = event
            if as_json:
                typer.echo(json.dumps(shapes.event(event)))
            else:
                sys.stdout.write(show.clean(event.content))
            sys.stdout.flush()
    if last is not None and last.error:
        raise ModelFailed(last.error)
    answer = None if last is None else last.answer
    if answer is None:
        return Report(document={}, text=Text(), printed=True)
    return Report(
        document={},
        text=Group(Text("\n"), show.citations_and_notes(answer), *_cost_lines(meter).lines()),
        printed=as_json,
    )


@asynccontextmanager
async def _open(
    options: AskOptions, who: Sequence[str], meter: Meter
) -> AsyncGenerator[tuple[KnowledgeBase, Reader], None]:
    """Open the project, after everything that can be checked without it."""
    options.request.question()
    tags = people.tags(who)
    async with open_knowledge_base(settings_of_store(), meter) as kb:
        yield kb, await people.reader(kb, tags)


def _cost_lines(meter: Meter) -> costs.Costs:
    return costs.actual_costs(meter.usages, settings())


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
