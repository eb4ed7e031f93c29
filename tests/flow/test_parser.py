"""Parsing in processes with limits: a hostile file affects only its own process."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightwell.domain.documents import DocumentState, Format
from lightwell.domain.errors import LimitExceeded, ParserFailed, Unreadable
from lightwell.ingest import parser as parsing
from lightwell.ingest import worker
from lightwell.ingest.parser import Parser
from lightwell.ingest.parser_messages import ChunkedDocument, ParserLimits
from lightwell.ingest.progress import DocumentOutcome
from lightwell.settings import Settings
from lightwell.testing.sources import InMemorySource, make_document
from lightwell.wiring import open_resources, resources
from tests.patience import PATIENCE

from .conftest import Project

MB = 1024**2
TAGS = ["team:a"]
SENTENCE = b"The pump of Osprey Systems was delivered to Nordwind Energie in Hamburg. "
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def pdf_that_draws_itself() -> bytes:
    """One page with a form that draws itself twice: PDFium takes gigabytes for these 800 bytes."""
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<</X 5 0 R>>>>"
    page = b"/Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 6 0 R"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<<" + page + b"/Resources<</Font<</F1 4 0 R>>/XObject<</X 5 0 R>>>>>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        stream(b"/X Do /X Do ", form),
        stream(b"/X Do BT /F1 12 Tf 10 700 Td (Hello) Tj ET"),
    ]
    content, places = bytearray(b"%PDF-1.7\n"), list[int]()
    for number, each in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n" % number + each + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"xref\n0 %d\n0000000000 65535 f \n" % size + table
    end += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, len(content))
    return bytes(content) + end


def stream(content: bytes, keys: bytes = b"") -> bytes:
    packed = zlib.compress(content)
    head = b"<<" + keys + b"/Filter/FlateDecode/Length %d>>" % len(packed)
    return head + b"stream\n" + packed + b"\nendstream"


@ON_LINUX
def test_a_limit_of_the_processor_that_an_administrator_set_is_kept_and_parses_all() -> None:
    """As with `ulimit -t 900` or systemd's LimitCPU; a process of its own, since nobody can raise the limit again."""
    program = (
        f"import resource\nresource.setrlimit(resource.RLIMIT_CPU, (900, 900))\n{_PARSES_TWICE}"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stdout == "1 1 (900, 900)\n", ended.stderr


_PARSES_TWICE = """
import asyncio
from lightwell.domain.documents import Format
from lightwell.ingest.parser import Parser

parser = Parser()
for _ in range(2):
    document = asyncio.run(parser.parse(b"A pump.", Format.TEXT, name="a.txt"))
    print(len(document.chunks), end=" ")
(process,) = parser.process_ids
print(resource.prlimit(process, resource.RLIMIT_CPU))
parser.close()
"""


def parse(parser: Parser, content: bytes, format: Format = Format.TEXT) -> ChunkedDocument:
    return asyncio.run(parser.parse(content, format, name="a.txt"))


def gone(pid: int) -> bool:
    """Wait for a process to end; a child of ours that is not reaped yet has ended too."""
    for _ in range(round(PATIENCE / 0.05)):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def parser() -> Iterator[Parser]:
    with closing(Parser(ParserLimits(memory_bytes=512 * MB), processes=1)) as made:
        yield made


def test_a_process_starts_with_the_first_document_and_is_kept(parser: Parser) -> None:
    assert parser.process_ids == []
    assert parse(parser, b"# Pumps\n\nHello, reader.", Format.MARKDOWN).title == "Pumps"
    first = parser.process_ids
    assert len(first) == 1
    with pytest.raises(Unreadable, match="PDF is damaged"):
        parse(parser, b"%PDF-1.7 nothing", Format.PDF)
    assert parse(parser, SENTENCE).chunks[0].text == SENTENCE.decode().strip()
    assert parser.process_ids == first


def test_a_process_is_replaced_after_many_documents(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "_MAX_DOCUMENTS", 2)
    seen: list[int] = []
    for _ in range(3):
        parse(parser, SENTENCE)
        seen += [pid for pid in parser.process_ids if pid not in seen]
    assert len(seen) == 2


@ON_LINUX
def test_a_process_has_no_environment_and_no_connection_of_its_parent(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTWELL_CHAT_API_KEY", "hunter2")
    with Path("/dev/zero").open("rb") as other:
        os.set_inheritable(other.fileno(), True)  # noqa: FBT003 - its only way
        parse(parser, SENTENCE)
        (pid,) = parser.process_ids
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        opened = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
        assert [name for name in opened if not name.startswith(("pipe:", "/dev/null"))] == []


async def test_a_pdf_that_takes_all_memory_fails_alone(project: Project, parser: Parser) -> None:
    hostile = replace(
        make_document("bad.pdf", "", TAGS), content=pdf_that_draws_itself(), format=Format.PDF
    )
    good = make_document("good.md", "The pump is blue.", TAGS)
    await project.kb.ingestion.enqueue(InMemorySource(documents=(hostile, good)))
    told: list[DocumentOutcome] = []
    await worker.run_until_done(replace(project.context, parser=parser), told.append)
    errors = {outcome.url.rsplit("/", 1)[1]: outcome.error for outcome in told}
    assert errors["good.md"] == ""
    assert "512 MB of memory" in errors["bad.pdf"]
    assert "split it" in errors["bad.pdf"]
    reader = await project.kb.reader(TAGS)
    assert (await project.kb.documents.get(reader, good.url)).state is DocumentState.ACTIVE


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (ParserLimits(cpu_seconds=0), "processor time; split it"),
        (ParserLimits(seconds=1.5), "longer than 2 seconds; split it"),
    ],
)
def test_a_document_that_takes_too_long_is_refused_and_the_next_is_read(
    limits: ParserLimits, named: str
) -> None:
    with closing(Parser(limits)) as parser:
        with pytest.raises(LimitExceeded, match=named):
            parse(parser, SENTENCE * 200_000)
        assert parse(parser, b"Hello, reader.").chunks


@pytest.mark.parametrize(
    ("size", "seconds"),
    [(0, 10), (100_000, 11), (2_000_000, 30), (5_000_000, 60), (50_000_000, 60)],
)
def test_a_small_file_may_take_less_time_of_the_processor(size: int, seconds: int) -> None:
    assert ParserLimits().cpu_seconds_for(size) == seconds
    assert ParserLimits(cpu_seconds=20).cpu_seconds_for(size) == min(20, seconds)


async def test_the_documents_of_a_batch_are_parsed_side_by_side(project: Project) -> None:
    documents = tuple(
        make_document(f"{number}.md", "The pump is blue.", TAGS) for number in range(4)
    )
    await project.kb.ingestion.enqueue(InMemorySource(documents=documents))
    with closing(Parser(processes=2)) as parser:
        context = replace(project.context, parser=parser)
        await worker.run_until_done(context, lambda _: None)
        assert len(parser.process_ids) == 2


def test_a_process_that_somebody_killed_is_replaced(parser: Parser) -> None:
    parse(parser, SENTENCE)
    (pid,) = parser.process_ids
    os.kill(pid, signal.SIGKILL)
    assert parse(parser, SENTENCE).chunks
    assert pid not in parser.process_ids


def test_signals_for_a_whole_terminal_or_service_leave_the_document_in_hand(
    parser: Parser,
) -> None:
    parse(parser, SENTENCE)
    (pid,) = parser.process_ids
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, each)
    parse(parser, SENTENCE)
    assert parser.process_ids == [pid]


@ON_LINUX
async def test_who_is_cancelled_takes_the_process_along(parser: Parser) -> None:
    await parser.parse(SENTENCE, Format.TEXT, name="a.txt")
    (pid,) = parser.process_ids
    task = asyncio.create_task(parser.parse(SENTENCE * 200_000, Format.TEXT, name="a.txt"))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(gone, pid)
    assert (await parser.parse(SENTENCE, Format.TEXT, name="a.txt")).chunks


PARENT = """
import asyncio, sys
from lightwell.domain.documents import Format
from lightwell.ingest.parser import Parser
async def main():
    parser = Parser()
    await parser.parse(b"Hello, reader.", Format.TEXT, name="a.txt")
    print(*parser.process_ids, flush=True)
    if sys.argv[1] == "busy":
        await parser.parse(b"Hello, reader. " * 1_200_000, Format.TEXT, name="a.txt")
    await asyncio.sleep(600)
asyncio.run(main())
"""


@ON_LINUX
@pytest.mark.parametrize("state", ["idle", "busy"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_its_parent(state: str, end: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(end)
        parent.wait()
    assert gone(pid)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("sys.executable", "/no/python"),
        ("lightwell.ingest.parser._BOOTSTRAP", "raise SystemExit(3)"),
        ("lightwell.ingest.parser._BOOTSTRAP", "print('x' * 100)"),
    ],
)
async def test_without_a_process_nothing_is_tried_and_no_attempt_counts(
    project: Project, parser: Parser, monkeypatch: pytest.MonkeyPatch, where: str, value: str
) -> None:
    await project.kb.ingestion.enqueue(
        InMemorySource(documents=(make_document("a.md", "The pump is blue.", TAGS),))
    )
    context = replace(project.context, parser=parser)
    with monkeypatch.context() as patched:
        patched.setattr(where, value)
        with pytest.raises(ParserFailed, match="did not start"):
            await worker.run_until_done(context, lambda outcome: None)
    rows = await project.database.rows("SELECT status, attempts FROM ingestion_jobs", {})
    assert rows == [("chunking", 0)]
    told: list[DocumentOutcome] = []
    await worker.run_until_done(context, told.append)
    assert [outcome.error for outcome in told] == [""]


def test_a_closed_parser_says_so(parser: Parser) -> None:
    parse(parser, SENTENCE)
    (pid,) = parser.process_ids
    parser.close()
    assert gone(pid)
    with pytest.raises((ParserFailed, RuntimeError)):
        parse(parser, SENTENCE)


async def test_a_knowledge_base_ends_its_processes(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "Parser", Parser)  # not one that tests share
    async with open_resources(Settings(database_url=SecretStr(database_url))) as opened:
        await opened.parser.parse(SENTENCE, Format.TEXT, name="a.txt")
        (pid,) = opened.parser.process_ids
    assert gone(pid)
