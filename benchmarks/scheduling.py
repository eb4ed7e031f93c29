"""How well ingestion keeps a model's slots busy: the time it takes over the time that the calls alone need.

    python -m benchmarks.scheduling

A local endpoint that answers each call after 0.5 or 2 seconds, 16 slots: 48 documents of one chunk, 6 of eight, and
both kinds mixed. The ideal is the number of calls over the slots, rounded up, times the latency.
"""

import asyncio
import logging
import multiprocessing
import multiprocessing.connection
import time
from dataclasses import dataclass
from math import ceil

import structlog

from lightwell.records.database import Database, connect
from lightwell.testing.endpoint import Behaviour, FakeEndpoint
from lightwell.testing.server import temporary_server
from lightwell.testing.sources import InMemorySource, make_document
from tests.flow.extraction_model import SLOTS, Options, names, read_by_model

LATENCIES = (0.5, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Documents by how many chunks each has."""

    name: str
    chunks: tuple[int, ...]

    @property
    def calls(self) -> int:
        return sum(self.chunks)


LOADS = (
    Load(name="48 documents of 1 chunk", chunks=(1,) * 48),
    Load(name="6 documents of 8 chunks", chunks=(8,) * 6),
    Load(name="24 of 1 and 3 of 8, mixed", chunks=(8, *(1,) * 8) * 3),
)

WARM_UP = Load(name="what libraries and the endpoint load at their first call", chunks=(2,))
TURNS = 3


def text(number: int, chunks: int) -> str:
    """Return a document that is cut into so many chunks, each like no other."""
    return "\n\n".join(
        f"# Part {part} of report {number}\n\n"
        + " ".join(
            f"Site Number {number} with pump {part}-{line} delivered {line * 7} litres to Acme Corp in March."
            for line in range(30)
        )
        for part in range(chunks)
    )


def endpoint(latency: float, told: multiprocessing.connection.Connection) -> None:
    """Serve in a process of its own until something is said."""

    with FakeEndpoint(names, behaviour=Behaviour(latency=latency)).running() as running:
        told.send(running.base_url)
        told.recv()
        told.send((len(running.requests), running.max_at_once))


async def measured(database: Database, base_url: str, load: Load, name: str) -> float:
    """Return the seconds from the first claim to the last document's end."""
    documents = tuple(
        make_document(f"{number:02}.md", text(number, chunks), ["team:a"])
        for number, chunks in enumerate(load.chunks)
    )
    async with read_by_model(database, base_url, Options(name=name)) as (project, _):
        await project.kb.ingestion.enqueue(InMemorySource(documents=documents))
        began = time.perf_counter()
        done = await project.kb.ingestion.ingest(InMemorySource(documents=documents))
        seconds = time.perf_counter() - began
        status = await project.kb.documents.status(await project.kb.reader(["team:a"]))
        assert not done.problems
        assert status.chunks == load.calls, (status.chunks, load.calls)
    return seconds


async def best(database: Database, load: Load, latency: float) -> tuple[float, int]:
    """Return the shortest of three walls in seconds, since neighbours disturb, and the most calls there were at once."""
    here, there = multiprocessing.Pipe()
    serving = multiprocessing.get_context("spawn").Process(target=endpoint, args=(latency, there))
    serving.start()
    base_url = await asyncio.to_thread(here.recv)
    await measured(database, base_url, WARM_UP, f"warm {load.name} {latency}")
    walls = [
        await measured(database, base_url, load, f"{load.name} {latency} {turn}")
        for turn in range(TURNS)
    ]
    here.send("enough")
    calls, most = here.recv()
    serving.join()
    assert calls == TURNS * load.calls + WARM_UP.calls
    return min(walls), most


async def run(conninfo: str) -> None:
    print("| documents | latency | calls | ideal | wall | wall / ideal | most at once |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    async with connect(conninfo) as database:
        for load in LOADS:
            for latency in LATENCIES:
                wall, most = await best(database, load, latency)
                ideal = ceil(load.calls / SLOTS) * latency
                print(
                    f"| {load.name} | {latency} s | {load.calls} | {ideal:.1f} s | {wall:.2f} s"
                    f" | {wall / ideal:.2f} | {most} |"
                )


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with temporary_server() as uri:
        asyncio.run(run(uri))
