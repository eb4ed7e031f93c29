"""What a question costs by the number of access classes, for readers who see a part of them.

`python -m benchmarks classes [--documents 10000] [--times 1] [--classes 1,100,1000,10000] [--shares 1,10,50,100] [--store FOLDER] [--statements]`

One store of small documents, each with an access class of its own, and copies of it in which the same documents have fewer.
A reader of a share sees the same documents in each of them, so the answers are the same and only the walls differ; "1"
are as few classes as tell the readers apart, one to four. `--times 10` puts ten documents in the place of each.
Statements, rows, pages and planning are pg_stat_statements', processor time is the scheduler's. `--store` keeps the
store and its copies, and `--statements` lists the dearest statements of each.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks import classes_store
from benchmarks.growth import WORDS, Timed, project
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records.database import Database, connect
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.server import temporary_folder

ASKED, WARM, RESOLVED = 40, 8, 10

_SETTINGS = """
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track_planning = on
shared_buffers = '512MB'
"""

_COUNTED = """
SELECT sum(calls)::float8, sum(rows)::float8, sum(shared_blks_hit + shared_blks_read)::float8, sum(total_plan_time)
FROM pg_stat_statements
"""

_DEAREST = """
SELECT calls::float8, total_exec_time, total_plan_time, rows::float8, (shared_blks_hit + shared_blks_read)::float8,
       left(regexp_replace(query, '\\s+', ' ', 'g'), 130)
FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 20
"""

Found = list[tuple[str, int]]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one question: statements, rows, pages; milliseconds of planning, of PostgreSQL and of this process.

    `reader`: of resolving a reader, by both. `same`: how many questions found the same as with the first number of classes.
    """

    classes: int
    share: int
    statements: float
    rows: float
    pages: float
    planning: float
    postgres: float
    own: float
    reader: float
    same: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """A store that is measured: the database, its server, how many classes it has, which part the reader sees."""

    uri: str
    postmaster: psutil.Process
    classes: int
    share: int

    def postgres_seconds(self) -> float:
        """Return what the connections to the copies have taken; maintenance is left out."""
        return sum(
            int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9
            for process in self.postmaster.children(recursive=True)
            if " classes_" in " ".join(process.cmdline())
        )

    async def measure(self, first: list[Found], *, lists_statements: bool) -> Cost:
        """Ask, and return the cost; what is found is added to `first` where that is empty."""
        async with connect(self.uri, max_connections=4) as database:
            await database.execute("VACUUM ANALYZE", {})
            kb, embedder = await project(database)
            source = random.Random(5)
            questions = [question(source) for _ in range(ASKED + WARM)]
            await self._ask(kb, questions[:WARM])
            await database.rows("SELECT pg_stat_statements_reset()", {})
            began, own = self.postgres_seconds(), _own_seconds(embedder)
            found = await self._ask(kb, questions[WARM:])
            own, postgres = _own_seconds(embedder) - own, self.postgres_seconds() - began
            ((statements, rows, pages, planning),) = await database.rows(_COUNTED, {})
            if lists_statements:
                await _print_dearest(database)
            resolving = await self._resolving(kb)
        if not first:
            first.extend(found)
        return Cost(
            classes=self.classes,
            share=self.share,
            statements=statements / ASKED,
            rows=rows / ASKED,
            pages=pages / ASKED,
            planning=planning / ASKED,
            postgres=postgres * 1000 / ASKED,
            own=own * 1000 / ASKED,
            reader=resolving * 1000 / RESOLVED,
            same=sum(one == other for one, other in zip(found, first, strict=True)),
        )

    async def _ask(self, kb: KnowledgeBase, questions: Sequence[str]) -> list[Found]:
        reader = await kb.reader([f"share:{self.share}"])
        retrievals = [await kb.questions.search(text, reader) for text in questions]
        return [
            [(entry.chunk.url, entry.chunk.index) for entry in retrieval.evidence]
            for retrieval in retrievals
        ]

    async def _resolving(self, kb: KnowledgeBase) -> float:
        began = time.process_time() + self.postgres_seconds()
        for _ in range(RESOLVED):
            await kb.reader([f"share:{self.share}"])
        return time.process_time() + self.postgres_seconds() - began


def question(source: random.Random) -> str:
    words = source.choices(WORDS[20:3000], k=5)
    return f"What did {classes_store.name_of(source)} say about {' '.join(words)}?"


def _own_seconds(embedder: Timed) -> float:
    return time.process_time() - embedder.seconds


async def _print_dearest(database: Database) -> None:
    for calls, executing, planning, rows, pages, text in await database.rows(_DEAREST, {}):
        print(
            f"  {calls / ASKED:5.2f} times, ms {executing / ASKED:7.2f} + {planning / ASKED:5.2f} planning,"
            f" {rows / ASKED:7.1f} rows, {pages / ASKED:8.0f} pages: {text}"
        )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classes", description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--classes", default="1,100,1000,10000")
    parser.add_argument("--shares", default=",".join(map(str, classes_store.SHARES)))
    parser.add_argument("--store", type=Path)
    parser.add_argument("--statements", action="store_true")
    options = parser.parse_args(arguments)
    if options.store:
        measure_all(options.store, options)
    else:
        with temporary_folder() as folder:
            measure_all(folder, options)


def measure_all(folder: Path, options: argparse.Namespace) -> None:
    """Make what is missing in the folder, measure each number of classes and share, and print the table."""
    if not (folder / "postgres").exists():
        with run_server(folder):
            pass
        with (folder / "postgres" / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS)
    costs: list[Cost] = []
    first: dict[int, list[Found]] = {}
    with run_server(folder) as uri:
        pid = status(folder).pid
        assert pid is not None
        for classes in map(int, options.classes.split(",")):
            store = store_of(uri, classes, options)
            for share in map(int, options.shares.split(",")):
                print(f"{classes:,} classes, {share} %")
                asked = Run(uri=store, postmaster=psutil.Process(pid), classes=classes, share=share)
                cost = asked.measure(
                    first.setdefault(share, []), lists_statements=options.statements
                )
                costs.append(asyncio.run(cost))
    show(costs)


def store_of(uri: str, classes: int, options: argparse.Namespace) -> str:
    """Return the connection string of a copy with so many classes."""
    with psycopg.connect(uri, autocommit=True) as database:
        classes_store.run(database, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    if not classes_store.is_filled(uri):
        asyncio.run(classes_store.fill(uri, options.documents))
    if options.times > 1:
        uri, is_new = classes_store.copy(uri, f"times_{options.times}")
        if is_new:
            classes_store.multiply(uri, options.times)
    documents = options.documents * options.times
    uri, is_new = classes_store.copy(uri, f"classes_{classes}_of_{documents}")
    if is_new and classes < documents:
        classes_store.merge_classes(uri, classes, documents)
    return uri


def show(costs: Sequence[Cost]) -> None:
    table = Table(
        title="A question by access classes and the share of documents that the reader sees"
    )
    for one in fields(Cost):
        table.add_column(one.name, justify="right")
    for cost in costs:
        table.add_row(
            *(
                f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
                for value in asdict(cost).values()
            )
        )
    Console(width=120).print(table)
