"""What a question costs when the reader was told of merges.

`python -m benchmarks merges [--counts 0,50,500]`: a store of 800 documents as in `growth`; entities are merged in pairs,
the commonest as targets. CPU by question counts this process and the server's apart; the embedder's share is left out.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.growth import TAGS, Arriving, Timed, document, project, question
from lightwell.domain.access import Reader
from lightwell.domain.graph_views import EntityFilter, EntityOrder
from lightwell.knowledge_base import KnowledgeBase
from lightwell.records.database import Database, connect
from lightwell.records.graph import entity_lists
from lightwell.stores.embedded.server import run_server, status
from lightwell.testing.server import temporary_folder

COUNTS = (0, 50, 500)
DOCUMENTS, ASKED, WARM = 800, 100, 60


@dataclass(frozen=True, kw_only=True)
class Measured:
    """CPU milliseconds per question, of this process and of the server."""

    merges: int
    own: float
    server: float


def server_seconds(postmaster: psutil.Process) -> float:
    times = [process.cpu_times() for process in (postmaster, *postmaster.children(recursive=True))]
    return sum(each.user + each.system for each in times)


async def pairs(database: Database, reader: Reader, count: int) -> list[tuple[str, str]]:
    """Return the ids of sources and targets, each in one pair: the commonest entities are targets."""
    listed = await entity_lists.list_page(
        database, reader, EntityFilter(order=EntityOrder.PASSAGES), after="", limit=100_000
    )
    ids = [str(entity.id) for entity, _ in listed if entity.kind != "document"]
    sources = ids[count : 2 * count]
    random.Random(count).shuffle(sources)
    return list(zip(sources, ids[:count], strict=True))


async def measure(
    kb: KnowledgeBase, embedder: Timed, reader: Reader, postmaster: psutil.Process, merges: int
) -> Measured:
    source = random.Random(7)
    questions = [question(source) for _ in range(ASKED)]
    for text in questions[:WARM]:
        await kb.questions.search(text, reader)
    own, server, embedded = time.process_time(), server_seconds(postmaster), embedder.seconds
    for text in questions:
        await kb.questions.search(text, reader)
    own, server = time.process_time() - own, server_seconds(postmaster) - server
    return Measured(
        merges=merges,
        own=(own - (embedder.seconds - embedded)) * 1000 / ASKED,
        server=server * 1000 / ASKED,
    )


async def run(uri: str, counts: Sequence[int], postmaster: psutil.Process) -> list[Measured]:
    found: list[Measured] = []
    async with connect(uri) as database:
        kb, embedder = await project(database)
        await kb.ingestion.ingest(Arriving(tuple(document(number) for number in range(DOCUMENTS))))
        reader = await kb.reader(TAGS[:2])
        waiting = await pairs(database, reader, max(counts))
        done = 0
        for count in counts:
            for source, target in track(waiting[done:count], description=f"merging {count}"):
                await kb.graph.merge(reader, [source], target)
            done = count
            await database.execute("VACUUM ANALYZE", {})
            found.append(await measure(kb, embedder, reader, postmaster, count))
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks merges", description=__doc__)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    counts = sorted(int(count) for count in parser.parse_args(arguments).counts.split(","))
    with temporary_folder() as folder, run_server(folder) as uri:
        pid = status(folder).pid
        assert pid is not None
        found = asyncio.run(run(uri, counts, psutil.Process(pid)))
    table = Table(title="A question, as the reader's merges grow")
    for heading in ("merges", "own CPU ms / question", "server CPU ms / question"):
        table.add_column(heading, justify="right")
    for one in found:
        table.add_row(f"{one.merges:,}", f"{one.own:.1f}", f"{one.server:.1f}")
    Console(width=120).print(table)
