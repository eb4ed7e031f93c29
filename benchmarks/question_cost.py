"""What a question costs, new and asked before, and what reading the documents cost: counts, which are the same on every machine, and processor time.

`python -m benchmarks question_cost [COLLECTION] [--documents PATH] [--questions 60] [--store FOLDER] [--beside CHECKOUT]`

Without COLLECTION the example company and its questions, with the ratio of each count to the one in `question_counts.toml`, which `tests/flow/test_costs.py`
holds. `--store` keeps the store, and reads nothing that it has already. `--beside` runs the same with the interpreter of another checkout first, such as
that of the commit before, and prints the ratio to it instead.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import onnxruntime
import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from lightwell.connectors.files import Files
from lightwell.domain.access import Reader
from lightwell.evaluation.collection import TAGS, PublicDocuments, load_collection
from lightwell.knowledge_base import KnowledgeBase
from lightwell.settings import Settings, settings_from_environment
from lightwell.stores.embedded.server import status
from lightwell.testing.server import temporary_folder
from lightwell.wiring import open_knowledge_base
from lightwell.world import DOCUMENTS, QUESTIONS

STORED = tomllib.loads(Path(__file__).with_name("question_counts.toml").read_text("utf-8"))
"""The counts of the example company by what `figures` calls them."""


@dataclass(kw_only=True)
class Counts:
    """What a stretch of work asked of PostgreSQL and of the network."""

    statements: float = 0
    rows: float = 0
    bytes: float = 0
    """Of all values that PostgreSQL returned."""
    inferences: float = 0
    tokens: float = 0

    def __sub__(self, other: "Counts") -> "Counts":
        mine, others = asdict(self), asdict(other)
        return Counts(**{name: mine[name] - others[name] for name in mine})


@contextmanager
def counting() -> Generator[Counts]:
    """Count until the block ends."""
    counts, adding = Counts(), Lock()
    execute: Callable[..., Any] = psycopg.AsyncCursor.execute
    run = cast("Callable[..., Any]", onnxruntime.InferenceSession.run)

    async def execute_counted(cursor: Any, *arguments: Any, **options: Any) -> Any:
        done = await execute(cursor, *arguments, **options)
        task = asyncio.current_task()
        if task is not None and "-worker-" in task.get_name():
            return done  # the pool opens one more connection, as it does when a machine is slow
        counts.statements += 1
        result = cursor.pgresult
        if result is not None:
            counts.rows += result.ntuples
            counts.bytes += sum(
                len(result.get_value(row, column) or b"")
                for row in range(result.ntuples)
                for column in range(result.nfields)
            )
        return done

    def run_counted(session: Any, outputs: Any, inputs: Any, *arguments: Any) -> Any:
        tokens = int(np.asarray(inputs["input_ids"]).size)
        with adding:  # the network runs in several threads
            counts.inferences += 1
            counts.tokens += tokens
        return run(session, outputs, inputs, *arguments)

    with (
        patch.object(psycopg.AsyncCursor, "execute", execute_counted),
        patch.object(onnxruntime.InferenceSession, "run", run_counted),
    ):
        yield counts


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The counts of one question, or of a megabyte of text, and milliseconds of this process and of PostgreSQL."""

    counts: Counts
    own_ms: float
    server_ms: float


@dataclass(kw_only=True)
class Clock:
    """What this process and PostgreSQL's have taken so far; the latter only where its first process is given."""

    counts: Counts
    postmaster: psutil.Process | None = None
    began: Counts = field(default_factory=Counts)
    own: float = 0.0
    server: float = 0.0

    def start(self) -> None:
        self.began = replace(self.counts)
        self.own, self.server = self._own(), self._server()

    def stop(self) -> Cost:
        return Cost(
            counts=replace(self.counts) - self.began,
            own_ms=(self._own() - self.own) * 1000,
            server_ms=(self._server() - self.server) * 1000,
        )

    def _own(self) -> float:
        times = [
            child.cpu_times()
            for child in psutil.Process().children(recursive=True)
            if child.name() != "postgres"
        ]
        return time.process_time() + sum(spent.user + spent.system for spent in times)

    def _server(self) -> float:
        if self.postmaster is None:
            return 0.0
        processes = (self.postmaster, *self.postmaster.children(recursive=True))
        times = [process.cpu_times() for process in processes]
        return sum(spent.user + spent.system for spent in times)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Means for a question, and the total of reading `megabytes` of text; p95 is of this process's milliseconds."""

    new: Cost
    before: Cost
    new_p95: float
    before_p95: float
    reading: Cost | None
    megabytes: float
    disk: float
    """Bytes on the disk for a byte of text."""


def mean(costs: Sequence[Cost]) -> Cost:
    """Return the mean of several costs."""
    counts = {
        name: statistics.fmean(getattr(cost.counts, name) for cost in costs)
        for name in asdict(Counts())
    }
    return Cost(
        counts=Counts(**counts),
        own_ms=statistics.fmean(cost.own_ms for cost in costs),
        server_ms=statistics.fmean(cost.server_ms for cost in costs),
    )


async def ask_all(
    kb: KnowledgeBase, reader: Reader, questions: Iterable[str], clock: Clock
) -> list[Cost]:
    """Ask one question after the other."""
    costs: list[Cost] = []
    for question in questions:
        clock.start()
        await kb.questions.ask(question, reader)
        costs.append(clock.stop())
    return costs


async def measure(settings: Settings, arguments: argparse.Namespace) -> Report:
    """Read the documents and ask the questions, in a store of its own."""
    if arguments.collection:
        collection = load_collection(
            arguments.collection, unpack_below=settings.data, documents=arguments.documents
        )
        root, questions = collection.root, [question.text for question in collection.questions]
    else:
        root, questions = DOCUMENTS, [question.text for question in QUESTIONS]
    step = max(1, len(questions) // arguments.questions)
    with counting() as counts:
        async with open_knowledge_base(settings) as kb:
            pid = status(settings.data).pid
            assert pid is not None
            clock = Clock(counts=counts, postmaster=psutil.Process(pid))
            return await read_and_ask(kb, clock, root, questions[::step][: arguments.questions])


async def read_and_ask(
    kb: KnowledgeBase, clock: Clock, root: Path, questions: Sequence[str]
) -> Report:
    """Read the documents below `root`, and ask each question twice."""
    clock.start()
    result = await kb.ingestion.ingest(PublicDocuments(Files(root=root, default_tags=TAGS)))
    reading = clock.stop()
    reader = await kb.reader(TAGS)
    database = kb.documents.context.database
    await database.execute("VACUUM ANALYZE", {})
    await kb.questions.ask("What is this about?", reader)
    new = await ask_all(kb, reader, questions, clock)
    before = await ask_all(kb, reader, questions, clock)
    text, disk = (
        await database.rows(
            "SELECT sum(length(chunk_text)), pg_database_size(current_database()) FROM document_chunks",
            {},
        )
    )[0]
    return Report(
        new=mean(new),
        before=mean(before),
        new_p95=statistics.quantiles([cost.own_ms for cost in new], n=20)[-1],
        before_p95=statistics.quantiles([cost.own_ms for cost in before], n=20)[-1],
        reading=reading if result.done else None,
        megabytes=float(text) / 1e6,
        disk=float(disk) / float(text),
    )


def figures(report: dict[str, Any]) -> dict[str, float]:
    """Return the figures of a report by what they are called."""
    rows: dict[str, float] = {}
    for name, title in (("new", "new question"), ("before", "asked before")):
        cost = report[name]
        rows |= {f"{title}: {count}": value for count, value in cost["counts"].items()}
        rows[f"{title}: processor, ms"] = cost["own_ms"] + cost["server_ms"]
        rows[f"{title}: of it PostgreSQL, ms"] = cost["server_ms"]
        rows[f"{title}: p95 of this process, ms"] = report[f"{name}_p95"]
    if reading := report["reading"]:
        megabytes = report["megabytes"]
        for count in ("statements", "inferences", "tokens"):
            rows[f"a megabyte of text: {count}"] = reading["counts"][count] / megabytes
        rows["a megabyte of text: processor, s"] = (
            (reading["own_ms"] + reading["server_ms"]) / 1000 / megabytes
        )
    rows["disk / text"] = report["disk"]
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks question_cost", description=__doc__)
    parser.add_argument("collection", type=Path, nargs="?")
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    other = _beside(given, arguments) if given.beside else None
    with temporary_folder() as folder:
        settings = settings_from_environment().model_copy(update={"data": given.store or folder})
        report = asdict(asyncio.run(measure(settings, given)))
    if given.json:
        print(json.dumps(report))
        return
    others = figures(other) if other else {} if given.collection else STORED
    table = Table(title="What a question costs")
    for heading in ("", "beside" if other else "stored", "here", "ratio"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, value in figures(report).items():
        if name not in others:
            table.add_row(name, "", f"{value:,.1f}", "")
            continue
        ratio = value / others[name] if others[name] else float(value > 0)
        table.add_row(name, f"{others[name]:,.1f}", f"{value:,.1f}", f"{ratio:.2f}")
    Console(width=120).print(table)


def _beside(given: argparse.Namespace, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the report of another checkout, whose store stands beside ours."""
    kept = [
        argument
        for argument, before in zip(arguments, ["", *arguments], strict=False)
        if "--beside" not in (argument, before) and "--store" not in (argument, before)
    ]
    store = [f"--store={given.store}-beside"] if given.store else []
    code = "import sys, runpy; sys.argv[0] = 'question_cost'; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    printed = subprocess.run(
        [given.beside / ".venv" / "bin" / "python", "-c", code, __file__, *kept, *store, "--json"],
        cwd=given.beside,
        env=os.environ,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(printed.splitlines()[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
