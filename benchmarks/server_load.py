"""How many questions a second the HTTP server answers, and how long one waits, as clients become more.

`python -m benchmarks server_load [--documents 800] [--seconds 15] [--clients 1,16,64] [--ingest 1000] [--processes 1,2,3]`

The server is a process of its own, `lightwell serve`; `wrk` sends questions over connections that stay open. A stand-in for the chat
model replies at once, or after a second, with the first sentence that it is shown; `extracts` are answers without a model. The bundled
models embed and rerank, but in the last setup, which shows what is Lightwell's own. Then 200 streams are open at once, and questions
are asked while documents are ingested. With `--processes`, the first and the last setup only, by so many processes. `wrk`, the stand-in and the server share the machine's cores.
"""

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.growth import TAGS, document
from lightwell.client import AsyncClient, ServerError
from lightwell.domain.api_keys import Scope
from lightwell.domain.documents import NewDocument
from lightwell.knowledge_base.api_keys import ApiKeys
from lightwell.settings import EmbeddingSettings, QuestionSettings, Settings
from lightwell.testing.endpoint import Behaviour, Body, FakeEndpoint
from lightwell.testing.models import HashEmbedder
from lightwell.testing.sources import InMemorySource
from lightwell.wiring import open_knowledge_base
from lightwell.wiring.database import open_database

QUESTIONS = 200
DISTINCT = 5_000
"""Questions where processes are compared, so that none comes again from a process's memory."""

WARM_UP = 45
"""Seconds of questions before processes are compared: each keeps the vectors of sentences that it has read."""

STREAMS = 200

_SCRIPT = """
local questions = {}
for line in io.lines(os.getenv("QUESTIONS")) do questions[#questions + 1] = line end
local next = os.time() * 397 % #questions -- or each run would begin with the questions of the one before
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("KEY")
request = function()
  next = next % #questions + 1
  return wrk.format(nil, nil, nil, questions[next])
end
done = function(summary, latency, requests)
  local failed = summary.errors.status + summary.errors.timeout + summary.errors.read + summary.errors.connect
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(95), failed))
end
"""

_PASSAGE = re.compile(r"^\[(\d+)\]\n(~{3,})\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server: where it listens and answers questions, a key for all documents, and its process."""

    url: str
    key: str
    process: psutil.Process
    path: str = "/v1/query"

    @property
    def megabytes(self) -> float:
        """The resident memory of the server's processes, without its database."""
        return sum(each.memory_info().rss for each in self._processes()) / 1e6

    def cpu_seconds(self) -> float:
        """Return the processor time of the server's processes so far, without its database."""
        return sum(sum(each.cpu_times()[:2]) for each in self._processes())

    def _processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one run of `wrk` saw; times in milliseconds."""

    per_second: float
    p50: float
    p95: float
    failed: int
    cpu: float
    """Of the server for each question, without its database."""


def quote_first(body: Body) -> str:
    """Reply with the first sentence of the first passage."""
    sent = cast("Sequence[Mapping[str, str]]", body["messages"])[-1]["content"]
    passage = _PASSAGE.search(sent)
    if passage is None:
        return json.dumps({"answerable": False, "sentences": []})
    sentence = passage[3].strip().split(". ")[0].splitlines()[-1].rstrip(".") + "."
    cited = {"text": sentence, "citations": [int(passage[1])]}
    return json.dumps({"answerable": True, "sentences": [cited]})


def questions(documents: Sequence[NewDocument], count: int = QUESTIONS) -> list[str]:
    """Return questions in words of the documents' sentences."""
    source = random.Random(11)
    asked: list[str] = []
    for each in source.choices(list(documents), k=count):
        text = each.content.decode()
        words = source.choice(text.split(". ")).split()
        asked.append(f"What about {' '.join(source.sample(words, min(4, len(words))))}?")
    return asked


@contextmanager
def serving(
    settings: Settings, key: str, chat: FakeEndpoint | None, processes: int = 1
) -> Generator[Served]:
    """Run `lightwell serve` on these settings, with so many processes that answer, until the block ends."""
    own = {
        "LIGHTWELL_DATA": str(settings.data),
        "LIGHTWELL_HTTP_PORT": "0",
        "LIGHTWELL_KEY_REQUESTS_PER_MINUTE": "0",
        "LIGHTWELL_TENANT_REQUESTS_PER_MINUTE": "0",
    }
    if settings.embedding.url:
        own |= {
            "LIGHTWELL_EMBEDDING_URL": settings.embedding.url,
            "LIGHTWELL_EMBEDDING_MODEL": settings.embedding.model,
            "LIGHTWELL_RERANK": settings.questions.rerank,
        }
    if chat is not None:
        own |= {"LIGHTWELL_CHAT_URL": chat.base_url, "LIGHTWELL_CHAT_MODEL": "stand-in"}
    command = [str(Path(sys.executable).with_name("lightwell")), "serve"]
    if processes > 1:
        command += ["--workers", str(processes)]
    with subprocess.Popen(
        command, env=os.environ | own, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            url = ""
            while not url:
                line = process.stderr.readline()
                if not line:
                    raise SystemExit("the server did not start")
                url = next(iter(re.findall(r"http://\S+?(?=;)", line)), "")
            yield Served(url=url, key=key, process=psutil.Process(process.pid))
        finally:
            process.terminate()


def measure(served: Served, folder: Path, *, clients: int, seconds: int) -> Load:
    """Let `wrk` ask with so many clients at once."""
    script = folder / "ask.lua"
    script.write_text(_SCRIPT)
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "60s", "-s", str(script)]
    before = served.cpu_seconds()
    ended = subprocess.run(
        [*command, served.url + served.path],
        env=os.environ | {"KEY": served.key, "QUESTIONS": str(folder / "questions.jsonl")},
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", ended.stdout)
    if found is None:
        raise SystemExit(f"wrk said: {ended.stdout}")
    count, microseconds, p50, p95, failed = (int(each) for each in found.groups())
    return Load(
        per_second=count / microseconds * 1e6,
        p50=p50 / 1000,
        p95=p95 / 1000,
        failed=failed,
        cpu=1000 * (served.cpu_seconds() - before) / max(1, count),
    )


async def stream_at_once(served: Served, asked: Sequence[str], count: int) -> tuple[int, float]:
    """Open so many streams at once; return how many were answered to the end, and the seconds that it took."""
    http = httpx.AsyncClient(
        timeout=300, limits=httpx.Limits(max_connections=count, max_keepalive_connections=count)
    )

    async def one(question: str) -> bool:
        last = None
        try:
            async for event in client.stream(question):
                last = event
        except ServerError:
            return False
        return last is not None and last.type.value == "done"

    began = time.perf_counter()
    async with AsyncClient(served.url, api_key=served.key, http=http) as client:
        done = await asyncio.gather(*(one(asked[at % len(asked)]) for at in range(count)))
    return sum(done), time.perf_counter() - began


async def prepare(settings: Settings, documents: Sequence[NewDocument]) -> str:
    """Ingest the documents, and return a key that sees them all."""
    async with open_knowledge_base(settings) as kb:
        await kb.ingestion.ingest(InMemorySource(documents=tuple(documents)))
    async with open_database(settings) as database:
        keys = ApiKeys(database=database, tenant=settings.tenant)
        _, token = await keys.create("default", "load", scopes=(Scope.READ,), tags=TAGS)
    return token.text


async def ingest_more(settings: Settings, first: int, count: int) -> None:
    """Ingest so many more documents."""
    async with open_knowledge_base(settings) as kb:
        known_and_new = tuple(document(number) for number in range(first + count))
        await kb.ingestion.ingest(InMemorySource(documents=known_and_new))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks server_load", description=__doc__)
    parser.add_argument("--documents", type=int, default=800)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--ingest", type=int, default=1000, help="documents; 0 leaves it out")
    parser.add_argument("--processes", default="", help="as in 1,2,3: compares so many")
    given = parser.parse_args(arguments)
    if shutil.which("wrk") is None:
        sys.exit("this benchmark needs wrk: apt-get install wrk")
    folder = Path(tempfile.mkdtemp(prefix="lightwell-load-"))
    folder.chmod(0o711)
    try:
        _run(given, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How one server answers: its name in the table, what its chat model waits, and its other settings."""

    name: str
    latency: float | None = None
    """Seconds before each reply of the chat model; None for no chat model."""
    has_own_models: bool = True
    """Whether the bundled models embed and rerank; else the stand-in embeds, and nothing reranks."""


SETUPS = (
    Setup(name="extracts"),
    Setup(name="model, 0 s", latency=0.0),
    Setup(name="model, 1 s", latency=1.0),
    Setup(name="model, 0 s; stand-in vectors, no reranking", latency=0.0, has_own_models=False),
)


def _run(given: argparse.Namespace, folder: Path) -> None:
    documents = [document(number) for number in range(given.documents)]
    asked = questions(documents, DISTINCT if given.processes else QUESTIONS)
    bodies = (json.dumps({"query": each}) for each in asked)
    (folder / "questions.jsonl").write_text("\n".join(bodies) + "\n")
    table = Table(
        "answers by", "clients", "questions/s", "p50 ms", "p95 ms", "failed", "CPU ms", "MB"
    )
    with FakeEndpoint(embedder=HashEmbedder(384)).running() as embedder:
        bundled = Settings(data=folder / "bundled")
        other = Settings(
            data=folder / "other",
            embedding=EmbeddingSettings(url=embedder.base_url, model="stand-in"),
            questions=QuestionSettings(rerank="none"),
        )
        keys = {each.data: asyncio.run(prepare(each, documents)) for each in (bundled, other)}
        if given.processes:
            for setup in (SETUPS[0], SETUPS[-1]):
                settings = bundled if setup.has_own_models else other
                _compare_processes(setup, settings, keys[settings.data], (given, folder, table))
        for setup in () if given.processes else SETUPS:
            settings = bundled if setup.has_own_models else other
            model = FakeEndpoint(quote_first, behaviour=Behaviour(latency=setup.latency or 0.0))
            chat = None if setup.latency is None else model
            with model.running(), serving(settings, keys[settings.data], chat) as served:
                measure_clients(served, setup.name, given, folder, table)
                if setup == SETUPS[1]:
                    done, seconds = asyncio.run(stream_at_once(served, asked, STREAMS))
                    table.add_row(f"{STREAMS} streams", str(done), "", f"{seconds:.1f} s in all")
                if setup == SETUPS[1] and given.ingest:
                    _measure_ingestion(served, settings, given, folder, table)
    Console(width=120).print(table)


def _compare_processes(
    setup: Setup, settings: Settings, key: str, told: tuple[argparse.Namespace, Path, Table]
) -> None:
    """Add the rows of one setup for each number of processes that answer."""
    given, folder, table = told
    chat = None if setup.latency is None else FakeEndpoint(quote_first)
    with chat.running() if chat else nullcontext():
        for processes in (int(each) for each in given.processes.split(",")):
            with serving(settings, key, chat, processes) as served:
                measure(served, folder, clients=16, seconds=WARM_UP)
                name = f"{setup.name}; {processes} processes"
                measure_clients(served, name, given, folder, table)


def measure_clients(
    served: Served, name: str, given: argparse.Namespace, folder: Path, table: Table
) -> None:
    """Add a row for each number of clients."""
    measure(served, folder, clients=2, seconds=3)  # models and pool are opened
    for clients in (int(each) for each in given.clients.split(",")):
        load = measure(served, folder, clients=clients, seconds=given.seconds)
        table.add_row(name, str(clients), *_figures(load), f"{served.megabytes:.0f}")


def _measure_ingestion(
    served: Served, settings: Settings, given: argparse.Namespace, folder: Path, table: Table
) -> None:
    """Add questions of 16 clients while documents are ingested by a process of their own."""
    code = (
        "import asyncio, sys; from pathlib import Path; from benchmarks.server_load import ingest_more;"
        "from lightwell.settings import EmbeddingSettings, QuestionSettings, Settings;"
        "asyncio.run(ingest_more(Settings(data=Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])))"
    )
    numbers = (str(given.documents), str(given.ingest))
    command = [sys.executable, "-c", code, str(settings.data), *numbers]
    with subprocess.Popen(command) as ingesting:
        load = measure(served, folder, clients=16, seconds=2 * given.seconds)
        is_busy = ingesting.poll() is None
        ingesting.terminate()
    name = "model, 0 s, while ingesting" if is_busy else "... ingestion ended early"
    table.add_row(name, "16", *_figures(load), f"{served.megabytes:.0f}")


def _figures(load: Load) -> list[str]:
    numbers = (f"{load.per_second:.1f}", f"{load.p50:.0f}", f"{load.p95:.0f}")
    return [*numbers, str(load.failed), f"{load.cpu:.0f}"]


if __name__ == "__main__":
    main(sys.argv[1:])
